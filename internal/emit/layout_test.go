package emit

import (
	"strings"
	"testing"
)

// TestLayDown checks that a declaration that is laid out stays as it is, that its packages are imported, and
// that texts from specs do not hide its place. What stands around it is formatted.
func TestLayDown(t *testing.T) {
	paths := Paths{Runtime: "example.com/rt", Kernels: "example.com/kernels", Generated: "example.com/generated"}
	e := newEmitter(paths, nil)
	const laid = "var X = task.Operator{Name:   `shape.X is no reference`,   Types: []dtype.Type{dtype.F32}}\n" // which go/format would change
	e.text.WriteString("// Y is " + laidBegin + " and " + laidEnd + ".\nvar   Y = `" + laidBegin + "`\n\n// X is laid out.\n")
	e.layDown(laid)
	e.text.WriteString("\n// Z is " + laidBegin + "\nvar   Z = task.KindForward\n")
	src, err := e.layout("p", "", e.text.String())
	if err != nil {
		t.Fatal(err)
	}
	const want = `package p

import (
	"example.com/rt/dtype"
	"example.com/rt/task"
)

// Y is /* laid out: */ and /* end */.
var Y = "/* laid out: */"

// X is laid out.
` + laid + `
// Z is /* laid out: */
var Z = task.KindForward
`
	if got := string(src); got != strings.Replace(want, `"/* laid out: */"`, "`/* laid out: */`", 1) {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
	if src, err := e.format([]byte("package p\n")); err == nil {
		t.Errorf("want an error for a file without the place of the declaration, got %s", src)
	}
	e.laid = "var X = {"
	if src, err := e.layout("p", "", laidBegin+"\n"+laidEnd+"\n"); err == nil {
		t.Errorf("want an error for a declaration that does not parse, got %s", src)
	}
}
