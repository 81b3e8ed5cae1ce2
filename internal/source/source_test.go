package source

import (
	"fmt"
	"strings"
	"testing"
)

// dump lists every key and value of a tree with its position.
func dump(b *strings.Builder, path string, n Node) {
	sp := SpanOf(n)
	line, col := sp.File.Position(sp.Start)
	switch n := n.(type) {
	case *Table:
		for _, e := range n.Entries {
			p := e.Key
			if path != "" {
				p = path + "." + e.Key
			}
			kl, kc := sp.File.Position(e.KeySpan.Start)
			fmt.Fprintf(b, "%d:%d key %s\n", kl, kc, p)
			dump(b, p, e.Value)
		}
	case *Array:
		fmt.Fprintf(b, "%d:%d array %s\n", line, col, path)
		for i, e := range n.Elems {
			dump(b, fmt.Sprintf("%s[%d]", path, i), e)
		}
	case *Scalar:
		fmt.Fprintf(b, "%d:%d %s = %v\n", line, col, path, n.Value)
	}
}

func TestPositions(t *testing.T) {
	text := `# comment
name = "x" # trailing
"quoted key" = 'lit'
a.b.c = 1

[slots.input]
shape = [
  "N...", # first
  3,
]
attrs = { x = 1, y = { z = "é" }, w = [1, 2] }
[slots.output]
doc = """
two
lines"""
[[examples]]
input = [3, 5]
[[examples]]
input = []
[examples.sub]
k = 1.5
`
	root, err := Parse("t.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	dump(&b, "", root)
	want := `2:1 key name
2:8 name = x
3:1 key quoted key
3:16 quoted key = lit
4:1 key a
4:3 key a.b
4:5 key a.b.c
4:9 a.b.c = 1
6:2 key slots
6:8 key slots.input
7:1 key slots.input.shape
7:9 array slots.input.shape
8:3 slots.input.shape[0] = N...
9:3 slots.input.shape[1] = 3
11:1 key slots.input.attrs
11:11 key slots.input.attrs.x
11:15 slots.input.attrs.x = 1
11:18 key slots.input.attrs.y
11:24 key slots.input.attrs.y.z
11:28 slots.input.attrs.y.z = é
11:35 key slots.input.attrs.w
11:39 array slots.input.attrs.w
11:40 slots.input.attrs.w[0] = 1
11:43 slots.input.attrs.w[1] = 2
12:8 key slots.output
13:1 key slots.output.doc
13:7 slots.output.doc = two
lines
16:3 key examples
16:1 array examples
17:1 key examples[0].input
17:9 array examples[0].input
17:10 examples[0].input[0] = 3
17:13 examples[0].input[1] = 5
19:1 key examples[1].input
19:9 array examples[1].input
20:11 key examples[1].sub
21:1 key examples[1].sub.k
21:5 examples[1].sub.k = 1.5
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestDefinedTwice(t *testing.T) {
	tests := []struct{ text, at, first string }{
		{"[slots.a]\nx = 1\n[slots.b]\n[slots.a]\n", "4:8", "1:8"},
		{"x = 1\ny = 2\nx = 3\n", "3:1", "1:1"},
		{"a = { k = 1, k = 2 }\n", "1:14", "1:7"},
		{"a = { k = 1 }\na.b = 2\n", "2:1", "1:1"},
		{"a = { k = { l = 1 } }\n[a.k.m]\n", "2:2", "1:1"},
		{"a = { k = {}, k.l = 1 }\n", "1:15", "1:7"},
		{"a = {}\n[a]\n", "2:2", "1:1"},
	}
	for _, tt := range tests {
		_, err := Parse("t.toml", tt.text)
		if err == nil {
			t.Errorf("%q: no error", tt.text)
			continue
		}
		pos := func(s Span) string {
			if s.File == nil {
				return "none"
			}
			l, c := s.File.Position(s.Start)
			return fmt.Sprintf("%d:%d", l, c)
		}
		if pos(err.Span) != tt.at || pos(err.First) != tt.first {
			t.Errorf("%q: at %s, first %s; want %s, %s (%v)", tt.text, pos(err.Span), pos(err.First), tt.at, tt.first, err)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	tests := map[string]string{
		"a = \n":                "t.toml:1:5",
		"x = 1\n[a":             "t.toml:2:2",
		"s = \"abc":             "t.toml:1:8",
		"= 3":                   "t.toml:1:1",
		"a = [1, 2":             "t.toml:1:9",
		"\x00":                  "t.toml:1:1",
		"k = 1 = 2":             "t.toml:1:7",
		"k = 'a' 'b":            "t.toml:1:9",
		"c = [1, {\"\" = 'x'}]": "t.toml:1:10",
		"[a.'']":                "t.toml:1:4",
		// The parser takes the last quote for a part of the string, which the format does not permit.
		`c="""\\""""""`: "t.toml:1:14",
	}
	for text, want := range tests {
		_, err := Parse("t.toml", text)
		if err == nil {
			t.Errorf("%q: no error", text)
		} else if !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%q: got %v, want it at %s", text, err, want)
		}
	}
}

// FuzzParse checks that whatever BurntSushi/toml accepts, the scanner finds the same keys and
// values, and that nothing makes either of them panic.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a = 1", "[a.b]\nc = [1, {d = 'x'}]\n[[e]]\nf = \"\"\"\nx\"\"\"\"\"\n[[e]]", "\"a\\\"b\" = '''\n'x'''", "a . b = 2 # c", "t = 1979-05-27 07:32:00Z", "x = {\n a = 1, # c\n b = 2,\n}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := Parse("fuzz.toml", text)
		if err != nil {
			if strings.Contains(text, `\""""""`) {
				return // the parser takes the first quote for one behind a backslash, even if that is itself behind one
			}
			if strings.HasPrefix(err.Message, "scanned") || strings.HasPrefix(err.Message, "read ") || err.Message == errSyntax.Error() {
				t.Fatalf("the scanner disagrees with the parser: %v", err)
			}
			return
		}
		var b strings.Builder
		dump(&b, "", root)
	})
}
