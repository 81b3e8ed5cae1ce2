package main

import (
	"os"
	"strings"
	"testing"
)

// TestPage compares docs/schemas.md with the counts, which do not fall unnoticed.
func TestPage(t *testing.T) {
	c, err := count(list)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	c.write(&b)
	page, err := os.ReadFile("../../docs/schemas.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n```text\n"+b.String()+"```\n") {
		t.Errorf("docs/schemas.md has other counts than these:\n%s", &b)
	}
}

// TestSpec asks for the spec of a schema, of one that is refused, and of none.
func TestSpec(t *testing.T) {
	c, err := count("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\naten::f(Storage s) -> Tensor\n")
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.spec("aten::add.Tensor")
	if err != nil || !strings.Contains(text, `alpha = { type = "number", default = 1 }`) || !strings.Contains(text, "other = {") {
		t.Errorf("got %v\n%s", err, text)
	}
	for name, want := range map[string]string{"aten::f": "aten::f: no spec says it: Storage", "aten::g": `such as aten::add.Tensor, got "aten::g"`} {
		if text, err := c.spec(name); err == nil || !strings.Contains(err.Error(), want) || text != "" {
			t.Errorf("%s: got %v and %q, want an error with %s", name, err, text, want)
		}
	}
}

// TestParse reads the parts of signatures.
func TestParse(t *testing.T) {
	s, err := parse(`a::b.out(Tensor(a!)[] self, int[2]? size=[1, 2], *, str mode="x, y)") -> (Tensor(a!)[] out, bool)`)
	if err != nil {
		t.Fatal(err)
	}
	want := []param{{"self", "Tensor[]", "", true}, {"size", "int[]?", "[1, 2]", false}, {"mode", "str", `"x, y)"`, false}}
	if len(s.params) != 3 || s.params[0] != want[0] || s.params[1] != want[1] || s.params[2] != want[2] {
		t.Errorf("got %+v, want %+v", s.params, want)
	}
	if len(s.results) != 2 || s.results[0] != (param{"out", "Tensor[]", "", true}) || s.results[1] != (param{"", "bool", "", false}) {
		t.Errorf("got %+v", s.results)
	}
	if _, err := parse("a::b"); err == nil {
		t.Error("want an error")
	}
}
