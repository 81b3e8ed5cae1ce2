package diag

import (
	"errors"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/source"
)

// mark returns a span from a text in which » and « stand around it.
func mark(t *testing.T, path, marked string) source.Span {
	t.Helper()
	before, rest, ok1 := strings.Cut(marked, "»")
	inner, after, ok2 := strings.Cut(rest, "«")
	if !ok1 || !ok2 {
		t.Fatalf("no place in %q", marked)
	}
	f := &source.File{Path: path, Text: before + inner + after}
	return source.Span{File: f, Start: len(before), End: len(before) + len(inner)}
}

func text(t *testing.T, ds ...*Diagnostic) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, ds); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteText(t *testing.T) {
	long := strings.Repeat("0123456789", 30)
	tests := []struct{ name, marked, want string }{
		{"in the middle", "a = 1\nb = »two« # no\n", "f:2:5: OP104: m\n  b = two # no\n      ^^^\n"},
		{"nothing", "a = »«1\n", "f:1:5: OP104: m\n  a = 1\n      ^\n"},
		{"end of line", "a = 1»\n«b", "f:1:6: OP104: m\n  a = 1\n       ^\n"},
		{"end of file", "a = 1\n»«", "f:2:1: OP104: m\n"},
		{"empty file", "»«", "f:1:1: OP104: m\n"},
		{"several lines", "a = »[\n1,\n]«\n", "f:1:5: OP104: m\n  a = [\n      ^\n"},
		{"tabs", "\ta\t= »1«", "f:1:6: OP104: m\n  \ta\t= 1\n  \t \t  ^\n"},
		{"tab before", "a =\t»1«", "f:1:5: OP104: m\n  a =\t1\n     \t^\n"},
		{"wide letters", "é = 'ü' »x«", "f:1:9: OP104: m\n  é = 'ü' x\n          ^\n"},
		{"ends of Windows", "a = 1\r\nb = »2«\r\n", "f:2:5: OP104: m\n  b = 2\n      ^\n"},
		{"control characters", "a = '\x1b[31m' »x«", "f:1:13: OP104: m\n  a = '\ufffd[31m' x\n              ^\n"},
		{"not UTF-8", "a = '\xff\xfe' »x«", "f:1:10: OP104: m\n  a = '\ufffd\ufffd' x\n           ^\n"},
		{"long, at the beginning", "»abc« " + long, "f:1:1: OP104: m\n  abc " + long[:193] + "...\n  ^^^\n"},
		{"long, at the end", long + "»abc«", "f:1:301: OP104: m\n  ..." + long[220:] + "abc\n  " + strings.Repeat(" ", 83) + "^^^\n"},
		{"long, all of it", "»" + long + "«", "f:1:1: OP104: m\n  " + long[:197] + "...\n  " + strings.Repeat("^", 200) + "\n"},
	}
	for _, tt := range tests {
		var l List
		if got := text(t, l.Add(BadValue, mark(t, "f", tt.marked), "m")); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestRelated(t *testing.T) {
	var l List
	d := l.Add(Duplicate, mark(t, "f", "a = 1\n»a« = 2"), "%s twice", "a").See(mark(t, "g", "»a« = 1"), "first %s", "here").Hinted("remove %d", 1)
	want := "f:2:1: OP202: a twice\n  a = 2\n  ^\ng:1:1: note: first here\n  a = 1\n  ^\n  hint: remove 1\n"
	if got := text(t, d); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// A finding without a file is its message.
	if got := text(t, l.Add(Clash, source.Span{}, "a\nb\x07")); got != "OP602: a\ufffdb\ufffd\n" {
		t.Errorf("got %q", got)
	}
}

func TestSorted(t *testing.T) {
	a, b := &source.File{Path: "a", Text: "0123456789"}, &source.File{Path: "b", Text: "0123456789"}
	at := func(f *source.File, n int) source.Span { return source.Span{File: f, Start: n, End: n + 1} }
	var l, other List
	l.Add(BadValue, at(b, 1), "b1")
	l.Add(BadValue, at(a, 5), "a5 z")
	l.Add(BadValue, at(a, 5), "a5 y")
	l.Add(BadName, at(a, 5), "a5 x")
	l.Add(BadValue, at(a, 5), "a5 z") // again
	other.Add(BadValue, at(a, 3), "a3")
	other.Add(BadValue, at(a, 3), "a3") // again
	l.Merge(&other)
	if l.Len() != 7 || l.Empty() || !new(List).Empty() {
		t.Errorf("the list has %d findings, empty: %v", l.Len(), l.Empty())
	}
	var got []string
	for _, d := range l.Sorted() {
		got = append(got, d.Message)
	}
	if want := "a3, a5 y, a5 z, a5 x, b1"; strings.Join(got, ", ") != want {
		t.Errorf("order is %s, want %s", strings.Join(got, ", "), want)
	}
}

func TestRules(t *testing.T) {
	for code, r := range Rules {
		if len(code) != 5 || !strings.HasPrefix(string(code), "OP") {
			t.Errorf("the code %q is not OP and three digits", code)
		}
		if r.Title == "" || !strings.HasSuffix(r.Doc, ".") {
			t.Errorf("%s has the title %q and the text %q", code, r.Title, r.Doc)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a code without a rule is accepted")
		}
	}()
	new(List).Add("OP999", source.Span{}, "")
}

type failing struct{}

var errFull = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWriteFails(t *testing.T) {
	var l List
	l.Add(BadValue, source.Span{}, "m")
	if err := WriteText(failing{}, l.Sorted()); err != errFull {
		t.Errorf("WriteText: %v", err)
	}
}
