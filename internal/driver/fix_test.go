package driver_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/staging"
)

// TestEdits makes each edit of each archive alone. The file must stay TOML, and the finding must be gone.
func TestEdits(t *testing.T) {
	made := 0
	for name, a := range diagArchives(t) {
		for _, d := range checkArchive(t, a) {
			if len(d.Edits) == 0 {
				continue
			}
			made++
			root := archiveModule(t, a)
			p, err := driver.Load(root)
			if err != nil {
				t.Fatal(err)
			}
			same := func(x *diag.Diagnostic) bool { return x.Message == d.Message && x.Span.Pos() == d.Span.Pos() }
			var one diag.List
			for _, x := range p.Findings.Sorted() {
				if same(x) {
					one.Merge(only(x))
				}
			}
			files, err := driver.Fix(root, &one)
			if err != nil || len(files) != 1 {
				t.Errorf("%s: %s: changed %v, %v", name, d.Message, files, err)
				continue
			}
			after, err := driver.Load(root)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(after.Findings.Sorted(), same) {
				t.Errorf("%s: %s: the edit %q does not remove the finding", name, d.Message, d.Edits[0].New)
			}
		}
	}
	if made < 30 {
		t.Errorf("%d findings of the archives have edits, want at least 30", made)
	}
}

// only returns a list of one finding.
func only(d *diag.Diagnostic) *diag.List {
	var l diag.List
	x := l.Add(d.Code, d.Span, "%s", d.Message)
	x.Edits = d.Edits
	return &l
}

// TestFixRefuses checks the cases in which Fix changes no file.
func TestFixRefuses(t *testing.T) {
	const spec = "edition = 1\nname = \"x\"\ndco = \"d\"\ndcoo = \"e\"\n"
	root := t.TempDir()
	writeFiles(t, root, map[string]string{"go.mod": "module example.com/m\n\nrequire github.com/opgen/opgen v0.1.0\n", "opgen.toml": defaultConfig, "specs/x.toml": spec})
	p, err := driver.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	// Both keys are near to doc, which a table may have once.
	if _, err := driver.Fix(root, p.Findings); err == nil || !strings.Contains(err.Error(), "the file would not be TOML: specs/x.toml:4:1: key doc is defined twice") {
		t.Errorf("two keys for one: %v", err)
	}
	path := filepath.Join(root, "specs", "x.toml")
	if err := os.WriteFile(path, []byte(spec+"# changed\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Findings.Sorted(), func(d *diag.Diagnostic) bool { return len(d.Edits) > 0 })
	if _, err := driver.Fix(root, only(p.Findings.Sorted()[i])); !errors.Is(err, staging.ErrChanged) {
		t.Errorf("a changed file: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != spec+"# changed\n" {
		t.Errorf("the file was written: %q, %v", data, err)
	}
}
