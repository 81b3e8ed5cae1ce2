package loops

import (
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestCopies checks that a sum which a later statement copies is given by that statement, unless that would
// change what is read.
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     bool // whether the tensor of sums is one of the task
		users   int
		inPlace bool // whether the copy goes to the memory of what is summed
		want    int  // how many statements remain
	}{{"copied", false, 1, false, 1}, {"given", true, 1, false, 2}, {"twice", false, 2, false, 3}, {"in place", false, 1, true, 2}} {
		p := &program.Program{Tensors: []*program.Local{reals("x", 4), reals("sums", 4), reals("y", 4), reals("z", 4)}}
		of := func(tensor int, v *term.Variable) *term.Read { return readOf(p, tensor, v.Term()) }
		n, m := index("n", 4), index("m", 4)
		sum := reduce(reduction.Sum, timesOf(elementOf(of(0, n)), elementOf(of(0, m))), m)
		statements := []*program.Statement{{Target: 1, Left: of(1, n), Vars: []*term.Variable{n}, Value: sum}}
		for i := range c.users {
			k := index("k", 4)
			statements = append(statements, &program.Statement{Target: 2 + i, Left: of(2+i, k), Vars: []*term.Variable{k}, Value: elementOf(of(1, k))})
		}
		tensors := []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1, Local: !c.own}, {Type: dtype.F32, Memory: 2}, {Type: dtype.F32, Memory: 3}}
		if c.inPlace {
			tensors[2].Memory = 0
		}
		z, err := rewrite.Normalize(p, statements, tensors, rewrite.Options{Compute: typeOf(p, tensors), Unused: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(z.Statements); got != c.want {
			t.Errorf("%s: want %d statements, got %d", c.name, c.want, got)
		}
		memory := [][]byte{make([]byte, 16), make([]byte, 16), make([]byte, 16), make([]byte, 16)}
		if c.inPlace {
			memory[2] = memory[0]
		}
		copy(as[float32](memory[0]), []float32{1, 2, 3, -1})
		made, err := Compile(p, statements, tensors, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := made.Bind(memory)
		for g := range made.Groups() {
			if err := r.Run(g, g+1, Time{}, 0, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []float32{5, 10, 15, -5} {
			if got := as[float32](memory[2])[i]; got != want {
				t.Errorf("%s: element %d: want %v, got %v", c.name, i, want, got)
			}
		}
	}
}
