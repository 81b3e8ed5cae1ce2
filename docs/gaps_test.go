package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guard is a test in a row of gaps.md: the folder of its package, and the name of the function.
var guard = regexp.MustCompile("`([\\w/.]+) (Test\\w+)`")

// TestGaps checks that each row of the tables in gaps.md names a test that exists, or gives the reason why
// the gap stays.
func TestGaps(t *testing.T) {
	text, err := os.ReadFile("gaps.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row := range guarded(string(text)) {
		rows++
		checkGuards(t, row)
	}
	if rows < 24 {
		t.Errorf("want a row for each of 24 gaps and more, got %d", rows)
	}
}

// A guardedRow is a row of a table of three columns, of which the last says what guards the thing that the
// first names.
type guardedRow struct{ what, found, guards string }

// guarded returns the rows of such tables, without their headings.
func guarded(text string) iter.Seq[guardedRow] {
	return func(yield func(guardedRow) bool) {
		for line := range strings.Lines(text) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.TrimSpace(cells[2]) == "what guards it" {
				continue
			}
			if !yield(guardedRow{strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), cells[2]}) {
				return
			}
		}
	}
}

// checkGuards checks that a row names tests that exist, or gives a reason with the word "stays".
func checkGuards(t *testing.T, row guardedRow) {
	t.Helper()
	tests := guard.FindAllStringSubmatch(row.guards, -1)
	if len(tests) == 0 && !strings.Contains(row.guards, "stays") {
		t.Errorf("%s: want a test, or why it stays", row.what)
	}
	for _, test := range tests {
		if !hasTest(t, filepath.Join("..", test[1]), test[2]) {
			t.Errorf("%s: there is no %s in %s", row.what, test[2], test[1])
		}
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
