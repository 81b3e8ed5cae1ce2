package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGlossary holds the terms of each table in order, and looks for each in pages and in Go files.
func TestGlossary(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		var here []string
		for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| .* \| .* \|$`).FindAllStringSubmatch(section, -1) {
			if row[1] != "term" {
				here = append(here, row[1])
			}
		}
		if !slices.IsSorted(here) {
			t.Errorf("terms out of order: want %q", slices.Sorted(slices.Values(here)))
		}
		terms = append(terms, here...)
	}
	if len(terms) < 40 {
		t.Errorf("%d terms", len(terms))
	}
	unused := map[string]*regexp.Regexp{}
	for _, term := range terms {
		unused[term] = regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(term) + `s?\b`)
	}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == filepath.Join("..", "generated") || path != ".." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); len(unused) == 0 || d.Name() == "glossary.md" || ext != ".md" && ext != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		for term, word := range unused {
			if word.Match(text) {
				delete(unused, term)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for term := range unused {
		t.Errorf("nothing uses the term %q", term)
	}
}
