package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var decisionTitle = regexp.MustCompile(`^# (\d+)\. (.+)\n`)

// TestDecisions checks that the index of decisions has a row for every page, and that pages have the parts of
// the template.
func TestDecisions(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("adr/[0-9]*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("found %d pages, %v", len(pages), err)
	}
	taken := map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		number := name[:min(4, len(name))]
		if taken[number] != "" {
			t.Errorf("%s: want a number of its own, %s has the same", page, taken[number])
		}
		taken[number] = name
		title := decisionTitle.FindStringSubmatch(string(text))
		if title == nil || fmt.Sprintf("%04s", title[1]) != number {
			t.Errorf("%s: want a title that begins with # and the number of the page", page)
			continue
		}
		if row := fmt.Sprintf("| [%s](%s) | %s |\n", number, name, title[2]); !strings.Contains(string(index), row) {
			t.Errorf("adr/README.md: want the row\n%s", row)
		}
		for _, part := range []string{"\nStatus: ", "\n## Context\n", "\n## Decision\n", "\n## Consequences\n"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: want %q", page, part)
			}
		}
	}
}
