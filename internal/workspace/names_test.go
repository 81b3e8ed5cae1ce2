package workspace_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/workspace"
)

// open returns the snapshot of a module with some open documents.
func open(t testing.TB, d *workspace.Disk, overlay map[string]string) *workspace.Snapshot {
	t.Helper()
	texts, err := d.Texts(overlay)
	if err != nil {
		t.Fatal(err)
	}
	s := (&workspace.Cache{}).Open(texts)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return s
}

func written(s source.Span) string { return s.File.Text[s.Start:s.End] }

var kindOf = regexp.MustCompile(`(?m)^kind += "(\w+)"`)

// Every name of the catalogue stands where the server says that it stands, is declared somewhere, and means
// something.
func TestNamesOfCatalogue(t *testing.T) {
	s := open(t, workspace.NewDisk(root(t)), nil)
	count, silent := map[workspace.Kind]int{}, 0
	implied := map[string][]string{} // by path, slots that specs of a kind need not declare, and their dimension
	for _, p := range s.Paths() {
		text, _ := s.Text(p)
		if kind := kindOf.FindStringSubmatch(text); kind != nil {
			implied[p] = map[string][]string{"initializer": {"tensor", "N"}, "optimizer": {"weight", "grad"}}[kind[1]]
		}
		for _, n := range s.Names(p) {
			count[n.Kind]++
			if got := strings.TrimRight(written(n.Span), "'"); got != n.Text {
				t.Errorf("%v: want the name %s, got %s", n.Span.Pos(), n.Text, got)
			}
			if n.Kind == workspace.Key || n.Kind == workspace.ElementType || n.Kind == workspace.Builtin || n.Kind == workspace.Declaration {
				continue
			}
			if len(s.Definition(p, n.Span.Start)) == 0 && n.Kind != workspace.Argument && !slices.Contains(implied[p], n.Text) && n.Text != "T" { // which a spec need not declare
				t.Errorf("%v: nothing declares %s, of kind %d", n.Span.Pos(), n.Text, n.Kind)
			}
			h, err := s.Hover(context.Background(), p, n.Span.Start)
			if err != nil {
				t.Fatal(err)
			}
			if h == nil {
				silent++
				t.Logf("%v: nothing is told about %s, of kind %d", n.Span.Pos(), n.Text, n.Kind)
			}
		}
	}
	if silent > 0 {
		t.Errorf("nothing is told about %d names", silent)
	}
	for k, least := range map[workspace.Kind]int{workspace.Key: 3000, workspace.Slot: 1000, workspace.Attribute: 500, workspace.Dimension: 800, workspace.Index: 1000,
		workspace.Value: 200, workspace.Function: 10, workspace.Builtin: 200, workspace.Spec: 50, workspace.EnumValue: 200, workspace.TypeVariable: 100, workspace.Argument: 5} {
		if count[k] < least {
			t.Errorf("want %d names of kind %d at least, got %d", least, k, count[k])
		}
	}
}

// root returns the folder of this module.
func root(t testing.TB) string {
	t.Helper()
	d := workspace.NewDisk("../..")
	return d.Root()
}
