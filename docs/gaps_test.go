package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guard is a test in a row of gaps.md: the folder of its package, and the name of the function.
var guard = regexp.MustCompile("`([\\w/.]+) (Test\\w+)`")

// TestGaps checks that each row of the tables in gaps.md names a test that exists, or gives the reason why the gap stays.
func TestGaps(t *testing.T) {
	text, err := os.ReadFile("gaps.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.TrimSpace(cells[0]) == "gap" {
			continue
		}
		rows++
		tests := guard.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 && !strings.Contains(cells[2], "stays") {
			t.Errorf("%s: want a test, or why the gap stays", strings.TrimSpace(cells[0]))
		}
		for _, test := range tests {
			if !hasTest(t, filepath.Join("..", test[1]), test[2]) {
				t.Errorf("%s: there is no %s in %s", strings.TrimSpace(cells[0]), test[2], test[1])
			}
		}
	}
	if rows < 24 {
		t.Errorf("want a row for each of 24 gaps and more, got %d", rows)
	}
}

// hasTest reports whether a folder has a test function.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
				return true
			}
		}
	}
	return false
}
