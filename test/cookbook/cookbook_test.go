// Package cookbook tests the operators of docs/cookbook.md in a module of their own.
package cookbook

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/opgen/opgen/test/outside"

	// The module uses these. The imports make go test run the test again if they change.
	_ "github.com/opgen/opgen/generated/catalogue"
	_ "github.com/opgen/opgen/optest"
)

// checks is a pattern for the summary of a check of one operator.
const checks = `--- PASS: TestOperators/(\w+)/(\w+)/\d+`

// TestCookbook runs all checks of package optest on all operators of the module. Each operator is in some of
// them.
func TestCookbook(t *testing.T) {
	m, err := outside.Make(t.Context(), t.TempDir(), "example.com/cookbook", "testdata", "../..")
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Go(t.Context(), "test", "-v", "./...")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, c := range regexp.MustCompile(checks).FindAllStringSubmatch(out, -1) {
		ran[c[2]]++
	}
	specs, err := filepath.Glob("testdata/specs/*.toml")
	if err != nil || len(specs) != 21 {
		t.Errorf("want 21 specs, got %d, %v", len(specs), err)
	}
	for _, spec := range specs {
		if name := strings.TrimSuffix(filepath.Base(spec), ".toml"); ran[name] < 10 {
			t.Errorf("operator %s: want at least 10 checks that pass, got %d", name, ran[name])
		}
	}
}

// block is a block of code of the cookbook: the language, the path in a comment and the code.
var block = regexp.MustCompile("(?ms)^```(toml|go)\n(?:#|//) ([\\w./]+)\n(.*?)^```$")

// TestPage checks that docs/cookbook.md shows the specs and kernels of the module as they are, and all of the
// specs.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	blocks := block.FindAllStringSubmatch(string(text), -1)
	for _, b := range blocks {
		shown[b[2]] = true
		file, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(b[2])))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(file), b[3]) || b[1] == "toml" && string(file) != b[3] {
			t.Errorf("docs/cookbook.md: the code of %s is not that of the file", b[2])
		}
	}
	if n := strings.Count(string(text), "\n```\n"); n != len(blocks) {
		t.Errorf("docs/cookbook.md has %d blocks of code, of which %d name a file: want all", n, len(blocks))
	}
	specs, err := filepath.Glob("testdata/specs/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		if name := "specs/" + filepath.Base(spec); !shown[name] {
			t.Errorf("docs/cookbook.md does not show %s", name)
		}
	}
}
