package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)]+)\)`)

// pages returns the pages of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../runtime/conform/testdata/README.md"}
	for _, pattern := range []string{"*.md", "adr/*.md", "operators/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	return list
}

// TestLinks checks that the files exist to which documents link.
func TestLinks(t *testing.T) {
	t.Parallel()
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
	if links == 0 {
		t.Error("no links found: this test looks in the wrong place")
	}
}
