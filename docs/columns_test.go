package docs

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is the longest line of a comment in Go files, with tabs of four columns.
const columns = 110

// TestColumns finds longer lines among the comments that stand alone on their lines. Comments behind code,
// directives, expected output and lines of one word, such as addresses, are as long as they must be.
func TestColumns(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == filepath.Join("..", "generated") || d.Name() == "testdata" || path != ".." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(src, []byte("// Code generated")) {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, src, parser.ParseComments)
		if err != nil {
			return err
		}
		lines := strings.Split(string(src), "\n")
		for _, group := range file.Comments {
			if strings.Contains(group.Text(), "utput:") {
				continue
			}
			for _, c := range group.List {
				at := set.Position(c.Pos())
				before := lines[at.Line-1][:at.Column-1]
				text, ok := strings.CutPrefix(c.Text, "// ")
				if !ok || strings.TrimSpace(before) != "" || !strings.Contains(strings.TrimSpace(text), " ") {
					continue
				}
				if n := 4*len(before) + utf8.RuneCountInString(c.Text); n > columns {
					t.Errorf("%s:%d: a comment of %d columns, want at most %d", strings.TrimPrefix(path, "../"), at.Line, n, columns)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("%d files", files)
	}
}
