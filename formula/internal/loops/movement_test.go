package loops

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// moveCase is a statement y[n, k] = value, where the value of an element follows from that of x.
type moveCase struct {
	name  string
	shape [2]int // of x
	value func(element func(idx ...*term.Term) *term.Term, n, k *term.Term) *term.Term
	want  func(x func(n, k int) float32, n, k int) float32
}

// TestMovements runs statements that move or change elements, whole and in parts, with results that are
// written past the caches and with others.
func TestMovements(t *testing.T) {
	const rows, cols = 150, 1300
	half := func(x *term.Term) *term.Term { return term.Arithmetic(term.Quotient, x, term.Number(2)) }
	third := func(x *term.Term) *term.Term { return term.Arithmetic(term.Quotient, x, term.Number(3)) }
	for _, c := range []moveCase{
		{"copy", [2]int{rows, cols}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term { return x(n, k) },
			func(x func(n, k int) float32, n, k int) float32 { return x(n, k) }},
		{"part", [2]int{rows + 3, cols + 5}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term {
			return x(term.Sum(n, term.Number(3)), term.Sum(k, term.Number(2)))
		}, func(x func(n, k int) float32, n, k int) float32 { return x(n+3, k+2) }},
		{"transpose", [2]int{cols, rows}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term { return x(k, n) },
			func(x func(n, k int) float32, n, k int) float32 { return x(k, n) }},
		{"reversal", [2]int{rows, cols}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term {
			return x(n, term.Difference(term.Number(cols-1), k))
		}, func(x func(n, k int) float32, n, k int) float32 { return x(n, cols-1-k) }},
		{"every other", [2]int{rows, 2 * cols}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term {
			return x(n, term.Product(k, term.Number(2)))
		}, func(x func(n, k int) float32, n, k int) float32 { return x(n, 2*k) }},
		{"repetition", [2]int{rows / 2, cols / 2}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term { return x(half(n), half(k)) },
			func(x func(n, k int) float32, n, k int) float32 { return x(n/2, k/2) }},
		{"three times", [2]int{rows, cols/3 + 1}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term { return x(n, third(k)) },
			func(x func(n, k int) float32, n, k int) float32 { return x(n, k/3) }},
		{"a column to all", [2]int{rows, 1}, func(x func(...*term.Term) *term.Term, n, _ *term.Term) *term.Term { return x(n, term.Number(0)) },
			func(x func(n, k int) float32, n, _ int) float32 { return x(n, 0) }},
		{"sum", [2]int{rows, cols}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term {
			return term.Sum(x(n, k), term.RealNumber(1))
		}, func(x func(n, k int) float32, n, k int) float32 { return x(n, k) + 1 }},
		{"fill", [2]int{rows, cols}, func(func(...*term.Term) *term.Term, *term.Term, *term.Term) *term.Term { return term.RealNumber(2.5) },
			func(func(n, k int) float32, int, int) float32 { return 2.5 }},
		{"slope", [2]int{rows, cols}, func(x func(...*term.Term) *term.Term, n, k *term.Term) *term.Term {
			v := term.Difference(x(n, k), term.RealNumber(2))
			return term.Conditional(term.Compare(term.Less, term.RealNumber(0), v), v, term.RealNumber(-3))
		}, func(x func(n, k int) float32, n, k int) float32 {
			if v := x(n, k) - 2; v > 0 {
				return v
			}
			return -3
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, rows, cols) })
	}
}

func (c *moveCase) run(t *testing.T, rows, cols int) {
	p := &program.Program{Tensors: []*program.Local{reals("x", c.shape[0], c.shape[1]), reals("y", rows, cols)}}
	x0 := func(idx ...*term.Term) *term.Term { return elementOf(readOf(p, 0, idx...)) }
	n, k := index("n", rows), index("k", cols)
	s := []*program.Statement{{Target: 1, Left: readOf(p, 1, n.Term(), k.Term()), Vars: []*term.Variable{n, k}, Value: c.value(x0, n.Term(), k.Term())}}
	memory := [][]byte{make([]byte, 4*c.shape[0]*c.shape[1]), make([]byte, 4*rows*cols)}
	x, y := as[float32](memory[0]), as[float32](memory[1])
	for i := range x {
		x[i] = float32(i%1019) / 100
	}
	at := func(n, k int) float32 { return x[n*c.shape[1]+k] }
	defer func(written, used int) { leastWritten, leastUsed = written, used }(leastWritten, leastUsed)
	for _, past := range []bool{false, true} {
		if past {
			leastWritten, leastUsed = 0, 0
		}
		out, err := Compile(p, s, []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		loops := out.(*code[float32])
		for _, parts := range []int{1, 7} {
			clear(y)
			state := loops.Bind(memory).(*runner[float32]).newState()
			state.past = past
			for _, g := range loops.groups {
				for i := range parts {
					g.run(state, share(g.total, i, parts), share(g.total, i+1, parts))
				}
			}
			for i, got := range y {
				if want := c.want(at, i/cols, i%cols); got != want {
					t.Fatalf("%s: element %d: want %v, got %v", fmt.Sprintf("%d parts, past the caches %v", parts, past), i, want, got)
				}
			}
		}
	}
}

// TestPast checks which parts write past the caches: large ones of tasks that use much memory, and no others.
func TestPast(t *testing.T) {
	for _, c := range []struct {
		rows  int // of 1 Ki elements
		parts int
		want  bool
	}{{1024, 1, false}, {3 << 10, 1, true}, {3 << 10, 12, true}, {3 << 10, 16, false}} {
		p := &program.Program{Tensors: []*program.Local{reals("x", c.rows<<10), reals("y", c.rows<<10)}}
		n := index("n", c.rows<<10)
		s := []*program.Statement{{Target: 1, Left: readOf(p, 1, n.Term()), Vars: []*term.Variable{n}, Value: elementOf(readOf(p, 0, n.Term()))}}
		out, err := Compile(p, s, []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		memory := [][]byte{make([]byte, c.rows<<12), make([]byte, c.rows<<12)}
		x, y := as[float32](memory[0]), as[float32](memory[1])
		for i := range x {
			x[i] = float32(i)
		}
		r := out.Bind(memory).(*runner[float32])
		for i := range c.parts {
			if err := r.Run(0, 1, Time{}, i, i+1, c.parts); err != nil {
				t.Fatal(err)
			}
			used := r.spare.Load()
			if c.parts == 1 {
				used = r.own
			}
			if got := used.past; got != c.want {
				t.Errorf("%d Ki elements in %d parts: written past the caches: got %v, want %v", c.rows, c.parts, got, c.want)
			}
		}
		for i, v := range y {
			if v != float32(i) {
				t.Fatalf("%d Ki elements in %d parts: element %d is %v", c.rows, c.parts, i, v)
			}
		}
	}
}

// TestMovementOfTensors moves elements of several tensors, of which an index says which one is the source.
func TestMovementOfTensors(t *testing.T) {
	const tensors, rows, cols = 3, 5, 4
	p := &program.Program{}
	var kept []rewrite.Tensor
	var memory [][]byte
	for i := range tensors + 1 {
		shape := []int{rows, cols}
		if i == tensors {
			shape = []int{rows, tensors - 1, cols}
		}
		p.Tensors = append(p.Tensors, reals("x", shape...))
		kept = append(kept, rewrite.Tensor{Type: dtype.F64, Memory: i})
		memory = append(memory, make([]byte, 8*rewrite.Elements(p.Tensors[i])))
		for j, x := 0, as[float64](memory[i]); j < len(x); j++ {
			x[j] = float64(100*i + j)
		}
	}
	n, i, k := index("n", rows), index("i", tensors-1), index("k", cols)
	from := &term.Read{Tensor: 0, Count: tensors, Which: term.Difference(term.Number(tensors-1), i.Term()), Idx: []*term.Term{n.Term(), k.Term()}, Ext: p.Tensors[0].Shape}
	s := []*program.Statement{{Target: tensors, Left: readOf(p, tensors, n.Term(), i.Term(), k.Term()), Vars: []*term.Variable{n, i, k}, Value: elementOf(from)}}
	out, err := Compile(p, s, kept, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := out.(*code[float64]).groups[0].units[0].(*movement[float64]); !ok {
		t.Errorf("want a movement, got %T", out.(*code[float64]).groups[0].units[0])
	}
	y := as[float64](memory[tensors])
	for _, parts := range []int{1, 7} {
		clear(y)
		for part := range parts {
			if err := out.Bind(memory).Run(0, 1, Time{}, part, part+1, parts); err != nil {
				t.Fatal(err)
			}
		}
		for at, got := range y {
			n, i, k := at/cols/(tensors-1), at/cols%(tensors-1), at%cols
			if want := float64(100*(tensors-1-i) + n*cols + k); got != want {
				t.Fatalf("%d parts, element %d: want %v, got %v", parts, at, want, got)
			}
		}
	}
}
