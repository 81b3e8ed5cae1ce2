package workspace_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/workspace"
)

const defaultConfig = "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n"

// module writes the files of an archive into a folder, and returns the module there.
func module(t testing.TB, a *txtar.Archive) *workspace.Disk {
	t.Helper()
	root := t.TempDir()
	files := slices.Concat([]txtar.File{
		{Name: "go.mod", Data: []byte("module example.com/m\n\nrequire github.com/opgen/opgen v0.1.0\n")},
		{Name: "opgen.toml", Data: []byte(defaultConfig)},
	}, a.Files)
	if err := os.Mkdir(filepath.Join(root, "specs"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		p := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return workspace.NewDisk(root)
}

// all returns the findings of all files of a fresh snapshot, as text.
func all(t testing.TB, c *workspace.Cache, d *workspace.Disk, overlay map[string]string) map[string]string {
	t.Helper()
	texts, err := d.Texts(overlay)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Open(texts).All(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for p, list := range found {
		out[p] = text(t, list)
	}
	return out
}

func text(t testing.TB, list []*diag.Diagnostic) string {
	var b bytes.Buffer
	if err := diag.WriteText(&b, list); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What opgen check reports of a module, a snapshot reports, too. A snapshot may report more: opgen check does
// not look at kernels while a spec has findings.
func TestSameAsCheck(t *testing.T) {
	paths, err := filepath.Glob("../driver/testdata/diag/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no archives", err)
	}
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		d := module(t, a)
		want, err := driver.Load(d.Root())
		if err != nil {
			continue // a test of another kind
		}
		got := all(t, &workspace.Cache{}, d, nil)
		findings := want.Findings.Sorted()
		if len(findings) == 0 {
			findings = want.Border.Sorted()
		}
		for _, x := range findings {
			one := text(t, []*diag.Diagnostic{x})
			file := "opgen.toml"
			if x.Span.File != nil {
				file = x.Span.File.Path
			}
			if !strings.Contains(got[file], one) {
				t.Errorf("%s: opgen check reports\n%s\nbut a snapshot reports in this file\n%s", filepath.Base(p), one, got[file])
			}
		}
		if want.Findings.Empty() {
			continue
		}
		for file, text := range got {
			for line := range strings.Lines(text) {
				if _, message, found := strings.Cut(line, ": OP"); found && !strings.HasPrefix(message, "7") && !slices.ContainsFunc(findings, func(x *diag.Diagnostic) bool { return strings.Contains(line, x.Message) }) {
					t.Errorf("%s: %s: opgen check does not report\n%s", filepath.Base(p), file, line)
				}
			}
		}
	}
}

// TestTunedBesideFindings has an entry of tuned.toml for an operator whose spec has a finding. Only the spec
// is reported: the operator is not gone.
func TestTunedBesideFindings(t *testing.T) {
	d := module(t, txtar.Parse([]byte(`
-- specs/half.toml --
edition = 1
doc     = "Half of the input."
formula = "output[n] = factor * inputs[n]"
attrs   = { factor = { type = "float", default = 0.5 } }
slots   = { input = { role = "input", shape = ["N"] }, output = { role = "output", shape = ["N"] } }
-- tuned.toml --
edition = 1
entry = [
  { processor = "any", workers = 1, operator = "example.com/m.half", task = "forward", attrs = '{"factor":0.5}', types = "f32", shapes = "input=8", ranges = 1 },
  { processor = "any", workers = 1, operator = "example.com/m.third", task = "forward", attrs = '{}', types = "f32", shapes = "input=8", ranges = 1 },
]
`)))
	got := all(t, &workspace.Cache{}, d, nil)
	if !strings.Contains(got["specs/half.toml"], "inputs") {
		t.Errorf("want a finding about inputs, got %v", got)
	}
	if text := got["tuned.toml"]; strings.Contains(text, "m.half has") || strings.Contains(text, "no operator example.com/m.half") || !strings.Contains(text, "no operator example.com/m.third") {
		t.Errorf("want a finding about m.third alone, got\n%s", text)
	}
}
