package driver_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
)

// defaultConfig is the opgen.toml of archives that have none.
const defaultConfig = "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n"

// diagArchives returns the archives in testdata/diag by name. Each holds a module with a mistake, and in want
// what opgen check prints. The name of an archive begins with the code of its finding. If it is the code
// alone, the archive is the example in docs/diagnostics.md.
func diagArchives(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	paths, err := filepath.Glob("testdata/diag/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no archives in testdata/diag", err)
	}
	archives := map[string]*txtar.Archive{}
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		archives[strings.TrimSuffix(filepath.Base(p), ".txtar")] = a
	}
	return archives
}

// archiveModule writes the module that an archive holds and returns its root.
func archiveModule(t testing.TB, a *txtar.Archive) string {
	t.Helper()
	root := t.TempDir()
	files := map[string][]byte{"go.mod": []byte("module example.com/m\n\nrequire github.com/opgen/opgen v0.1.0\n"), "opgen.toml": []byte(defaultConfig)}
	for _, f := range a.Files {
		if f.Name != "want" {
			files[f.Name] = f.Data
		}
	}
	if err := os.Mkdir(filepath.Join(root, "specs"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// checkArchive returns the findings of the module that an archive holds, and those of its plug-ins.
func checkArchive(t testing.TB, a *txtar.Archive) []*diag.Diagnostic {
	t.Helper()
	r, err := driver.Diff(t.Context(), archiveModule(t, a), driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Findings.Empty() {
		return r.Border.Sorted()
	}
	return r.Findings.Sorted()
}

var findingsLine = regexp.MustCompile(`(?m)^findings: (\d+)$`)

// TestDiagnostics checks the whole text that opgen check prints for each archive. There is one finding,
// unless the archive's comment gives another number.
func TestDiagnostics(t *testing.T) {
	for name, a := range diagArchives(t) {
		t.Run(name, func(t *testing.T) {
			ds := checkArchive(t, a)
			code := diag.Code(strings.ToUpper(name[:5]))
			if !slices.ContainsFunc(ds, func(d *diag.Diagnostic) bool { return d.Code == code }) {
				t.Errorf("no finding has the code %s that the archive is named after", code)
			}
			findings := 1
			if m := findingsLine.FindSubmatch(a.Comment); m != nil {
				findings, _ = strconv.Atoi(string(m[1]))
			}
			if len(ds) != findings {
				t.Errorf("%d findings, want %d", len(ds), findings)
			}
			var got bytes.Buffer
			if err := diag.WriteText(&got, ds); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, filepath.Join("testdata/diag", name+".txtar"), a, got.Bytes())
		})
	}
}

// unprovoked lists the codes that no archive gives, with the reason.
var unprovoked = map[diag.Code]string{}

// TestEveryCode checks that each rule has an archive with the name of its code.
func TestEveryCode(t *testing.T) {
	archives := diagArchives(t)
	for code := range diag.Rules {
		why, exempt := unprovoked[code]
		_, shown := archives[strings.ToLower(string(code))]
		switch {
		case exempt && shown:
			t.Errorf("%s has an archive, which contradicts its reason in unprovoked: %s", code, why)
		case !exempt && !shown:
			t.Errorf("no archive %s.txtar", strings.ToLower(string(code)))
		}
	}
}

// checkGolden compares a test's output with the section want of an archive, or rewrites the section.
func checkGolden(t *testing.T, path string, a *txtar.Archive, got []byte) {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	if *update {
		if i < 0 {
			i = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: "want"})
		}
		a.Files[i].Data = got
		if err := os.WriteFile(path, txtar.Format(a), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if i < 0 {
		t.Fatal("the archive has no section want; run the test with -update")
	}
	if want := a.Files[i].Data; !bytes.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestAllFindings checks that one run reports all mistakes of all files, sorted by file and place.
func TestAllFindings(t *testing.T) {
	const path = "testdata/diag_many.txtar"
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ds := checkArchive(t, a)
	var got bytes.Buffer
	perFile := map[string]int{}
	for i, d := range ds {
		line, col := d.Span.File.Position(d.Span.Start)
		fmt.Fprintf(&got, "%s:%d:%d: %s: %s\n", d.Span.File.Path, line, col, d.Code, d.Message)
		perFile[d.Span.File.Path]++
		if i == 0 {
			continue
		}
		prev := ds[i-1].Span
		if c := cmp.Or(cmp.Compare(prev.File.Path, d.Span.File.Path), cmp.Compare(prev.Start, d.Span.Start)); c > 0 {
			t.Errorf("finding %d: want a place behind that of finding %d, got one in front", i, i-1)
		}
	}
	want := map[string]int{"specs/a_mask.toml": 7, "specs/b_scale.toml": 8, "specs/c_copy.toml": 2, "specs/sub/broken.toml": 1}
	if !maps.Equal(perFile, want) {
		t.Errorf("findings by file are %v, want %v", perFile, want)
	}
	checkGolden(t, path, a, got.Bytes())
}

// TestJSON checks findings as JSON, which is the form for programs.
func TestJSON(t *testing.T) {
	const path = "testdata/diag_json.txtar"
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := generate.Check(generate.Options{Dir: archiveModule(t, a)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(r.Findings, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, path, a, append(got, '\n'))
}
