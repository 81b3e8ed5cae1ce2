package mistakes

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/mistakes.md")

const page = repository + "/docs/mistakes.md"

const head = `# Mistakes

What is said about seventy mistakes that newcomers make, each in a module of its own. ` + "`go test ./test/mistakes -update`" + ` writes
this page.

Opgen, the Go compiler, ` + "`opgen vet`" + ` and runs are asked in this order; runs in [checked mode](backend.md#checked-mode). The first
message stands here, with the number of further ones. The grades:

- A: place, cause and cure
- B: place and cause
- C: a symptom, or a place in generated code
- D: only in a run, without the place
- F: nothing

`

// silent holds the numbers of mistakes about which nothing is said yet.
var silent = map[string]bool{}

// TestMistakes makes each mistake. None is silent besides, and few have a grade below B.
func TestMistakes(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // of opgen
	files := base(t)
	if s := look(t, mistake{}, files); s.by != "" {
		t.Fatalf("the module without mistakes: %s: %s", s.by, s.text)
	}
	results := make([]said, len(mistakes))
	var run []int
	changed := make([]map[string]string, len(mistakes))
	for i, m := range mistakes {
		changed[i] = m.apply(t, files)
		if results[i] = look(t, m, changed[i]); results[i].by == "" {
			run = append(run, i)
		}
	}
	for i, s := range runAll(t, run, changed) {
		results[i] = s
	}
	counts, below := map[string]int{}, 0
	var rows strings.Builder
	for i, m := range mistakes {
		s := results[i]
		if s.by == "" {
			s.by, s.grade = "nothing", "F"
		}
		counts[s.grade]++
		if s.grade > "B" {
			below++
		}
		if (s.grade == "F") != silent[m.number] {
			t.Errorf("mistake %s, %s: %s says %q", m.number, m.what, s.by, s.text)
		}
		more := ""
		if s.more > 0 {
			more = fmt.Sprintf(" (and %d more)", s.more)
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s%s | %s |\n", m.number, m.what, s.by, cell(s.text), more, s.grade)
	}
	if below > 5 {
		t.Errorf("%d mistakes have a grade below B, want 5 at most", below)
	}
	total := fmt.Sprintf("Of %d mistakes: A %d, B %d, C %d, D %d, F %d.\n\n", len(mistakes), counts["A"], counts["B"], counts["C"], counts["D"], counts["F"])
	text := head + total + "| number | mistake | found by | message | grade |\n|---|---|---|---|---|\n" + rows.String()
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) != text {
		t.Errorf("docs/mistakes.md is out of date; run go test ./test/mistakes -update\n%s", text)
	}
}

// cell returns a text as a cell of a table.
func cell(s string) string {
	return "`" + strings.NewReplacer("|", "\\|", "`", "'", "\n", " ").Replace(s) + "`"
}
