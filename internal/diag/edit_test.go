package diag

import (
	"strings"
	"testing"
)

func TestMeant(t *testing.T) {
	tests := []struct{ name, marked, old, new, want string }{
		{"key", "»shap« = 1\n", "shap", "shape", "shape = 1\n"},
		{"key in quotes", "»\"shap\"« = 1\n", "shap", "shape", "\"shape\" = 1\n"},
		{"value", "a = »'inptu'«\n", "inptu", "input", "a = 'input'\n"},
		{"string of an expression", "a = \"m == »'ADDD'«\"\n", "'ADDD'", "'ADD'", "a = \"m == 'ADD'\"\n"},
		{"written with escapes", "a = »\"\\u0061d\"«\n", "ad", "add", ""},
		{"another text", "a = »K + kernl«\n", "kernl", "kernel", ""},
		{"quotes in the new text", "»a« = 1\n", "a", `"b"`, ""},
	}
	for _, tt := range tests {
		var l List
		d := l.Add(UnknownKey, mark(t, "f", tt.marked), "m").Meant(tt.old, tt.new)
		if want := "did you mean " + tt.new + "?"; d.Hint != want {
			t.Errorf("%s: hint %q, want %q", tt.name, d.Hint, want)
		}
		texts, err := Apply(l.Sorted())
		if err != nil || texts["f"] != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, texts["f"], err, tt.want)
		}
	}
}

func TestApply(t *testing.T) {
	var l List
	first := l.Add(UnknownKey, mark(t, "f", "»aa« = bb\n"), "m").Meant("aa", "a")
	second := *first
	second.Span.Start, second.Span.End = 5, 7
	l.all = append(l.all, (&second).Meant("bb", "b"))
	again := *first
	again.Message = "another message"
	l.all = append(l.all, &again) // with the same edit, which is made once
	texts, err := Apply(l.Sorted())
	if err != nil || len(texts) != 1 || texts["f"] != "a = b\n" {
		t.Fatalf("got %q, %v", texts, err)
	}
	third := *first
	third.Message = "a third message"
	l.all = append(l.all, (&third).Meant("aa", "c"))
	if texts, err := Apply(l.Sorted()); err == nil || texts != nil || !strings.Contains(err.Error(), `f:1:1: the edits "a" and "c" overlap`) {
		t.Errorf("overlapping edits gave %q, %v", texts, err)
	}
}
