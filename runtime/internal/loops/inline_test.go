package loops

import (
	"testing"

	"github.com/opgen/opgen/internal/program"
	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestCopies checks that a sum which a later statement copies is given by that statement, unless that would change what is read.
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     bool // whether the tensor of sums is one of the task
		users   int
		inPlace bool // whether the copy goes to the memory of what is summed
		want    int  // how many statements remain
	}{{"copied", false, 1, false, 1}, {"given", true, 1, false, 2}, {"twice", false, 2, false, 3}, {"in place", false, 1, true, 2}} {
		shape := []*term.Term{term.Number(4)}
		local := func(name string) *program.Local {
			return &program.Local{Name: name, Shape: shape, Kind: term.Real, Slot: -1, Old: -1}
		}
		p := &program.Program{Tensors: []*program.Local{local("x"), local("sums"), local("y"), local("z")}}
		of := func(tensor int, v *term.Variable) *term.Read {
			return &term.Read{Tensor: tensor, Count: 1, Idx: []*term.Term{v.Term()}, Ext: shape}
		}
		element := func(r *term.Read) *term.Term { return &term.Term{Op: term.Element, Kind: term.Real, Read: r} }
		n, m := index("n", 4), index("m", 4)
		product := &term.Term{Op: term.Multiply, Kind: term.Real, Args: []*term.Term{element(of(0, n)), element(of(0, m))}}
		sum := &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: "sum", Vars: []*term.Variable{m}, Part: -1, Body: product}}
		statements := []*program.Statement{{Target: 1, Left: of(1, n), Vars: []*term.Variable{n}, Value: sum}}
		for i := range c.users {
			k := index("k", 4)
			statements = append(statements, &program.Statement{Target: 2 + i, Left: of(2+i, k), Vars: []*term.Variable{k}, Value: element(of(1, k))})
		}
		tensors := []Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1, Local: !c.own}, {Type: dtype.F32, Memory: 2}, {Type: dtype.F32, Memory: 3}}
		if c.inPlace {
			tensors[2].Memory = 0
		}
		z := newNormalizer(p, tensors)
		if err := z.normalize(statements); err != nil {
			t.Fatal(err)
		}
		if got := len(z.out); got != c.want {
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
			if err := r.Run(g, Time{}, 0, 1, 1); err != nil {
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
