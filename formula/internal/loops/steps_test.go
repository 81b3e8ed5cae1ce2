package loops

import (
	"bytes"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// filled returns tensors of float32 for those of a program, which share no memory, with elements that differ.
func filled(p *program.Program) (tensors []rewrite.Tensor, memory [][]byte) {
	for i, l := range p.Tensors {
		tensors = append(tensors, rewrite.Tensor{Type: dtype.F32, Memory: i})
		memory = append(memory, make([]byte, 4*rewrite.Elements(l)))
		for k, x := 0, as[float32](memory[i]); k < len(x); k++ {
			x[k] = float32((k*7+i)%13) / 8
		}
	}
	return tensors, memory
}

// runParts runs all groups in parts, and returns the bytes of a tensor.
func runParts(t *testing.T, c Code, memory [][]byte, parts, tensor int) []byte {
	t.Helper()
	r := c.Bind(memory)
	for g := range c.Groups() {
		for i := range parts {
			if err := r.Run(g, g+1, Time{Run: 1}, i, i+1, parts); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bytes.Clone(memory[tensor])
}

// TestSteps compiles the gradients of an affine map for several numbers of steps. The sums that give the
// gradient of the bias join the group of the gradient of the weight, which goes over the same rows, if there
// are too few steps: what both read is then read once. Results do not depend on it.
func TestSteps(t *testing.T) {
	const n, k, o = 12, 20, 70
	build := func() (*program.Program, []*program.Statement) {
		p := &program.Program{Tensors: []*program.Local{reals("x", n, k), reals("w", o, k), reals("g", n, o), reals("dx", n, k), reals("dw", o, k), reals("db", o)}}
		product := func(target int, row, col, sum *term.Variable, a, b *term.Read) *program.Statement {
			return &program.Statement{Target: target, Left: readOf(p, target, row.Term(), col.Term()), Vars: []*term.Variable{row, col},
				Value: reduce(reduction.Sum, timesOf(elementOf(a), elementOf(b)), sum)}
		}
		r, c, s := index("n", n), index("k", k), index("o", o)
		input := product(3, r, c, s, readOf(p, 2, r.Term(), s.Term()), readOf(p, 1, s.Term(), c.Term()))
		r, c, s = index("o", o), index("k", k), index("n", n)
		weight := product(4, r, c, s, readOf(p, 2, s.Term(), r.Term()), readOf(p, 0, s.Term(), c.Term()))
		r, s = index("o", o), index("n", n)
		bias := &program.Statement{Target: 5, Left: readOf(p, 5, r.Term()), Vars: []*term.Variable{r},
			Value: reduce(reduction.Sum, elementOf(readOf(p, 2, s.Term(), r.Term())), s)}
		return p, []*program.Statement{input, weight, bias}
	}
	var want []byte
	for _, steps := range []int{3, 2, 1, 0} {
		p, statements := build()
		tensors, memory := filled(p)
		code, err := Compile(p, statements, tensors, Options{Steps: steps})
		if err != nil {
			t.Fatal(err)
		}
		groups := 2 // without steps, they join at once; and the gradient of input has rows of its own
		if steps == 3 {
			groups = 3
		}
		if got := code.Groups(); got != groups {
			t.Errorf("%d steps: got %d groups, want %d", steps, got, groups)
		}
		for _, parts := range []int{1, 2, 7} {
			got := runParts(t, code, memory, parts, 5)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d steps, %d parts: the gradient of the bias differs", steps, parts)
			}
		}
	}
}

// TestSharedIndex runs a product of matrices after a part of a statement with the same index, which leaves a
// value in it.
func TestSharedIndex(t *testing.T) {
	const rows, cols, sums = 3, 5, 4
	p := &program.Program{Tensors: []*program.Local{reals("a", rows, sums), reals("b", cols, sums), reals("c", rows, cols), reals("u", cols), reals("v", cols)}}
	r, c, s := index("r", rows), index("c", cols), index("s", sums)
	code, err := Compile(p, []*program.Statement{
		{Target: 4, Left: readOf(p, 4, c.Term()), Vars: []*term.Variable{c}, Value: timesOf(elementOf(readOf(p, 3, c.Term())), elementOf(readOf(p, 3, c.Term())))},
		{Target: 2, Left: readOf(p, 2, r.Term(), c.Term()), Vars: []*term.Variable{r, c},
			Value: reduce(reduction.Sum, timesOf(elementOf(readOf(p, 0, r.Term(), s.Term())), elementOf(readOf(p, 1, c.Term(), s.Term()))), s)},
	}, []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}, {Type: dtype.F32, Memory: 2}, {Type: dtype.F32, Memory: 3}, {Type: dtype.F32, Memory: 4}}, Options{Steps: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, memory := filled(p)
	a, b := as[float32](memory[0]), as[float32](memory[1])
	for _, parts := range []int{1, 2, 5} {
		x := as[float32](runParts(t, code, memory, parts, 2))
		for i := range rows {
			for j := range cols {
				var want float32
				for k := range sums {
					want += float32(a[i*sums+k] * b[j*sums+k])
				}
				if got := x[i*cols+j]; got != want {
					t.Errorf("%d parts, element [%d, %d]: got %v, want %v", parts, i, j, got, want)
				}
			}
		}
	}
}

// TestDisjoint checks that statements which write different ends of a tensor do not keep each other apart.
func TestDisjoint(t *testing.T) {
	const n = 70
	p := &program.Program{Tensors: []*program.Local{reals("x", n, 3), reals("y", 2*n), reals("z", n)}}
	half := func(offset int) *program.Statement {
		i, j := index("i", n), index("j", 3)
		return &program.Statement{Target: 1, Left: readOf(p, 1, term.Sum(i.Term(), term.Number(offset))), Vars: []*term.Variable{i},
			Value: reduce(reduction.Sum, elementOf(readOf(p, 0, i.Term(), j.Term())), j)}
	}
	for _, c := range []struct{ second, groups int }{{n, 1}, {n / 2, 2}} {
		tensors, _ := filled(p)
		code, err := Compile(p, []*program.Statement{half(0), half(c.second)}, tensors, Options{Steps: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := code.Groups(); got != c.groups {
			t.Errorf("elements 0 to %d and from %d on: got %d groups, want %d", n-1, c.second, got, c.groups)
		}
	}
}
