package tuned

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func entry(operator string, workers, ranges int) Entry {
	return Entry{Device: Device{"a processor, go", workers}, Use: Use{operator, "forward", `{"dim":1}`, "f32", "input=64x1024"}, Ranges: ranges}
}

// TestText writes a table and reads it again: sorted, with an entry on a line.
func TestText(t *testing.T) {
	t.Parallel()
	var x Table
	x.Set(entry("softmax", 2, 4))
	x.Set(entry("softmax", 1, 3))
	odd := entry("its \"own\"'\t", 1, 7)
	odd.Types, odd.Shapes = "", ""
	x.Set(odd)
	x.Set(entry("softmax", 1, 1)) // in place of that of 3
	text := x.Text()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	want := `  { processor = "a processor, go", workers = 1, operator = "softmax", task = "forward", attrs = '{"dim":1}', types = "f32", shapes = "input=64x1024", ranges = 1 },`
	if len(lines) != 7 || lines[4] != want {
		t.Errorf("got\n%swant 7 lines, the fifth one\n%s", text, want)
	}
	y, problems := Parse("x.toml", text)
	if len(problems) > 0 || y.Text() != text || len(y.Entries) != 3 {
		t.Errorf("%v: read again it is\n%s", problems, y.Text())
	}
	if e := y.Entries[1]; e.Line != 5 || e.Column != 5 {
		t.Errorf("want the second entry in line 5, column 5, got %d, %d", e.Line, e.Column)
	}
	if e := (Entry{}); y.Entries[0].Use != odd.Use || compare(&e, &y.Entries[0]) >= 0 {
		t.Errorf("want %+v, got %+v", odd, y.Entries[0])
	}
}

// TestProblems reads files with mistakes.
func TestProblems(t *testing.T) {
	t.Parallel()
	line := `{ processor = "p", workers = 1, operator = "o", task = "t", attrs = '{}', types = "", shapes = "", ranges = 1 },`
	changed := func(from, to string) string {
		return "edition = 1\nentry = [\n  " + strings.Replace(line, from, to, 1) + "\n]\n"
	}
	for _, x := range []struct{ text, want string }{
		{changed("", ""), ""},
		{"edition = 1\n", ""},
		{"edition = ", "f:1:10: "},
		{"entry = []\n", "f:1:1: want edition = 1, got none"},
		{"edition = 2\n", "f:1:11: want edition = 1"},
		{"edition = 1\nentrys = 3\n", "f:2:10: want the keys edition and entry, got entrys"},
		{"edition = 1\nentry = 3\n", "f:2:9: want a list of tables"},
		{changed("ranges = 1", "ranges = 0"), fmt.Sprintf("f:3:102: ranges: want a number from 1 to %d", mostRanges)},
		{changed("ranges = 1", "ranges = 4097"), "f:3:102: ranges: want a number from 1 to 4096"},
		{changed("ranges = 1", `ranges = "1"`), "f:3:102: ranges: want a number from 1 to 4096"},
		{changed("workers = 1", "workers = -1"), "f:3:22: workers: want a number from 1 to 32768"},
		{changed("'{}'", "'{'"), `f:3:63: attrs: want JSON, got "{"`},
		{changed(`"o"`, `""`), "f:3:35: operator: want a text"},
		{changed(`"o"`, `3`), "f:3:35: operator: want a text"},
		{changed("ranges = 1", "range = 1"), "f:3:102: want the keys attrs, operator, processor, ranges, shapes, task, types, workers, got range"},
		{changed("ranges = 1", "range = 1"), "f:3:5: want ranges in each entry, got none"},
		{changed(line, line+"\n  "+line), "f:4:5: want one entry for a device and uses, got another one in line 3"},
		{changed(line, line+line), "f:3:1: want one entry on a line of its own"},
		{changed(line, line+" # why"), ""},
		{"edition = 1\nentry = [" + line + "]\n", "f:2:1: want a line of its own for each of 1 entries, got 0 lines"},
	} {
		_, problems := Parse("f", x.text)
		found := x.want == "" && len(problems) == 0
		for _, p := range problems {
			found = found || x.want != "" && strings.HasPrefix(p.Error(), x.want)
		}
		if !found {
			t.Errorf("%s\nwant %q, got %v", x.text, x.want, problems)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), File)
	if _, err := Read(file); !os.IsNotExist(err) {
		t.Errorf("want an error that there is no file, got %v", err)
	}
	if err := os.WriteFile(file, []byte("edition = 3\nother = 4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), ":1:11: want edition") || !strings.Contains(err.Error(), ":2:9: want the keys") {
		t.Errorf("want both problems, got %v", err)
	}
}

func TestRounded(t *testing.T) {
	t.Parallel()
	for _, x := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {1024, 1024}, {1025, 2048}} {
		if got := Rounded(x[0]); got != x[1] {
			t.Errorf("Rounded(%d): want %d, got %d", x[0], x[1], got)
		}
	}
}

func TestProcessor(t *testing.T) {
	t.Parallel()
	got := processor("processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel name\t: another\n")
	if got != "AMD EPYC family 26 model 2" {
		t.Errorf("got %q", got)
	}
	if processor("") == "" || Processor() == "" {
		t.Error("want a name without anything known, got none")
	}
}
