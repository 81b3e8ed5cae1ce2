package emit

import (
	"strings"
	"testing"
)

var testPaths = Paths{Runtime: "example.com/rt", Kernels: "example.com/kernels", Generated: "example.com/generated"}

// TestLayout lays out declarations. Each case gives their text, and the file.
func TestLayout(t *testing.T) {
	long := strings.Repeat("x", 60)
	for name, c := range map[string]struct{ body, doc, want string }{
		"imports": {
			body: "var   X = task.Operator{Type: reflect.TypeFor[int]()}\n\n// Y names shape.Prod.\nvar Y = `op.Ctx`",
			want: "package p\n\nimport (\n\t\"reflect\"\n\n\t\"example.com/rt/task\"\n)\n\nvar X = task.Operator{Type: reflect.TypeFor[int]()}\n\n" +
				"// Y names shape.Prod.\nvar Y = `op.Ctx`\n",
		},
		"one import":          {body: "var X task.ID", want: "package p\n\nimport \"example.com/rt/task\"\n\nvar X task.ID\n"},
		"no import":           {body: "var X int", want: "package p\n\nvar X int\n"},
		"a hidden package":    {body: "func f(op g) { op.Run() }\n\ntype g interface{ Run() }", want: "package p\n\nfunc f(op g) { op.Run() }\n\ntype g interface{ Run() }\n"},
		"a field of the name": {body: "var X = y{op: 1}.op\n\ntype y struct{ op int }", want: "package p\n\nvar X = y{op: 1}.op\n\ntype y struct{ op int }\n"},
		"a comment of the package": {
			doc: "Package p is an example.\n\npackage p", body: "var X task.ID",
			want: "// Package p is an example.\n//\n// package p\npackage p\n\nimport \"example.com/rt/task\"\n\nvar X task.ID\n",
		},
		"a call": {
			body: "func f() {\ng(" + long + ", h(" + long + ", 1))\n}",
			want: "package p\n\nfunc f() {\n\tg(" + long + ",\n\t\th(" + long + ", 1))\n}\n",
		},
		"a list": {
			body: "var X = []y{\n{a: " + long + ", b: z{" + long + "}},\n}",
			want: "package p\n\nvar X = []y{\n\t{a: " + long + ",\n\t\tb: z{" + long + "}},\n}\n",
		},
		"nothing to break": {body: "var X = \"" + long + ", " + long + "\"", want: "package p\n\nvar X = \"" + long + ", " + long + "\"\n"},
	} {
		e := newEmitter(testPaths, nil)
		got, err := e.layout("p", c.doc, c.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if string(got) != c.want {
			t.Errorf("%s: want\n%s\ngot\n%s", name, c.want, got)
		}
	}
	if _, err := newEmitter(testPaths, nil).layout("p", "", "var X = {"); err == nil {
		t.Error("a declaration that does not parse is laid out")
	}
}

// TestIndent compares the indentation by which lines are broken with that of the formatter.
func TestIndent(t *testing.T) {
	const code = `func f(a int,
	b int) {
	if x := g(func() {
		h()
	}); x {
		return
	} else if y {
		z(t{
			{1, 2},
			{
				k: []int{
					3,
				},
			},
		})
	}
}
`
	l := lines{tokens: tokens(code)}
	for text := range strings.Lines(code) {
		want := len(text) - len(strings.TrimLeft(text, "\t"))
		if got, _ := l.next(text); got != want {
			t.Errorf("%d tabs, want %d, before %s", got, want, strings.TrimSpace(text))
		}
	}
}
