package source_test

import (
	"testing"

	"github.com/opgen/opgen/internal/source"
)

// TestWithin checks where parts of strings stand: the word bad, in all kinds of strings.
func TestWithin(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"basic", `k = "a bad"`, "bad"},
		{"literal", `k = 'a bad'`, "bad"},
		{"escapes", `k = "\t\u00e9\\ bad"`, "bad"},
		{"escape in the part", `k = "a \u0062ad"`, `\u0062ad`},
		{"lines of a literal", "k = '''\na\n  bad'''", "bad"},
		{"lines of a basic string", "k = \"\"\"\na \\\"\"\n  bad\"\"\"", "bad"},
		{"a line that goes on", "k = \"\"\"a \\\n   bad\"\"\"", "bad"},
		{"Windows lines", "k = '''\r\na\r\nbad\r\n'''\r\n", "bad"},
		{"Windows lines that go on", "k = \"\"\"\r\na \\\r\n  bad\r\n\"\"\"\r\n", "bad"},
		{"not ASCII", "k = 'é bad'", "bad"},
	}
	for _, tt := range tests {
		root, err := source.Parse("f.toml", tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		s := root.Entries[0].Value.(*source.Scalar)
		v := s.Value.(string)
		at := len(v) - len("bad")
		for v[at:at+3] != "bad" {
			at--
		}
		span := s.Within(at, at+3)
		if got := tt.text[span.Start:span.End]; got != tt.want {
			t.Errorf("%s: got %q of %q, want %q", tt.name, got, tt.text, tt.want)
		}
		if whole := s.Within(at, len(v)+1); whole != s.Span {
			t.Errorf("%s: a part beyond the end is at %v", tt.name, whole)
		}
	}
}
