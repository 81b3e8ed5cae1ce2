package loops

import (
	"bytes"
	"math"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// heads returns y = t + t * t and z, which is t with its last two dimensions exchanged, where t is the
// product of x and w for each of b values, and the sum of t's rows. Only one group of loops uses t.
func heads(b, n, m, k int) (*program.Program, []*program.Statement) {
	p := &program.Program{Tensors: []*program.Local{reals("x", b, n, k), reals("w", b, k, m), reals("t", b, n, m), reals("y", b, n, m), reals("z", b, m, n), reals("s", b, n)}}
	h, r, c, s := index("h", b), index("r", n), index("c", m), index("s", k)
	product := &program.Statement{Target: 2, Left: readOf(p, 2, h.Term(), r.Term(), c.Term()), Vars: []*term.Variable{h, r, c},
		Value: reduce(reduction.Sum, timesOf(elementOf(readOf(p, 0, h.Term(), r.Term(), s.Term())), elementOf(readOf(p, 1, h.Term(), s.Term(), c.Term()))), s)}
	h, r, c = index("h", b), index("r", n), index("c", m)
	t := elementOf(readOf(p, 2, h.Term(), r.Term(), c.Term()))
	square := &program.Statement{Target: 3, Left: readOf(p, 3, h.Term(), r.Term(), c.Term()), Vars: []*term.Variable{h, r, c}, Value: term.Sum(t, timesOf(t, t))}
	h, r, c = index("h", b), index("r", n), index("c", m)
	moved := &program.Statement{Target: 4, Left: readOf(p, 4, h.Term(), c.Term(), r.Term()), Vars: []*term.Variable{h, c, r},
		Value: elementOf(readOf(p, 2, h.Term(), r.Term(), c.Term()))}
	h, r, c = index("h", b), index("r", n), index("c", m)
	sums := &program.Statement{Target: 5, Left: readOf(p, 5, h.Term(), r.Term()), Vars: []*term.Variable{h, r},
		Value: reduce(reduction.Sum, elementOf(readOf(p, 2, h.Term(), r.Term(), c.Term())), c)}
	return p, []*program.Statement{product, square, moved, sums}
}

// TestTransients compiles loops with a local tensor of which parts keep blocks, and runs them in parts.
// Results are those of loops with memory for all of it.
func TestTransients(t *testing.T) {
	withoutCollections(t)
	defer func(sizes blockSizes) { blocks, rooms = sizes, roomPool{} }(blocks)
	blocks = blockSizes{elements: 8192, rows: 128}
	for _, tt := range []struct {
		dims [4]int
		kept int // of how many tensors parts keep blocks
	}{{[4]int{5, 40, 90, 7}, 1}, {[4]int{3, 300, 33, 5}, 1}, {[4]int{300, 9, 12, 3}, 1}, {[4]int{2, 2, 130, 2}, 0}, {[4]int{4, 1, 1, 1}, 0}} {
		dims := tt.dims
		var want [][]byte
		for _, least := range []int{math.MaxInt, 0} {
			blocks.least = least
			for _, parts := range []int{1, 2, 3, 11} {
				p, statements := heads(dims[0], dims[1], dims[2], dims[3])
				tensors, memory := filled(p)
				tensors[2].Local, memory[2] = true, nil
				rooms = roomPool{}
				c, err := Compile(p, statements, tensors, Options{})
				if err != nil {
					t.Fatal(err)
				}
				kept := 0
				for _, g := range c.(*code[float32]).groups {
					kept += len(g.transients)
				}
				if least == 0 && kept != tt.kept || least > 0 && kept != 0 {
					t.Fatalf("%v: blocks of %d tensors are kept, of those with at least %d bytes", dims, kept, least)
				}
				runParts(t, c, memory, parts, 3)
				if want == nil {
					for _, m := range memory[3:] {
						want = append(want, bytes.Clone(m))
					}
				}
				for i, m := range memory[3:] {
					if !bytes.Equal(m, want[i]) {
						t.Errorf("%v, %d parts: with blocks of tensors of at least %d bytes, %s is another one", dims, parts, least, p.Tensors[3+i].Name)
					}
				}
				if used := 4 * dims[0] * dims[1] * dims[2]; kept > 0 && (len(rooms.free) != 1 || 8*len(rooms.free[0]) > used/2+roomAlign) {
					t.Errorf("%v: want a room of at most half of %d bytes, got %v", dims, used, rooms.free)
				}
			}
		}
	}
}

// TestSharedRooms compiles a chain of products. Each is needed by the next one only, so two of them have
// memory at a time.
func TestSharedRooms(t *testing.T) {
	const n, products = 160, 6
	p := &program.Program{Tensors: []*program.Local{reals("w", n, n)}}
	var statements []*program.Statement
	tensors := []rewrite.Tensor{{Type: dtype.F32, Memory: 0}}
	for i := range products {
		p.Tensors = append(p.Tensors, reals("t", n, n))
		tensors = append(tensors, rewrite.Tensor{Type: dtype.F32, Memory: i + 1, Local: i < products-1})
		r, c, s := index("r", n), index("c", n), index("s", n)
		statements = append(statements, &program.Statement{Target: i + 1, Left: readOf(p, i+1, r.Term(), c.Term()), Vars: []*term.Variable{r, c},
			Value: reduce(reduction.Sum, timesOf(elementOf(readOf(p, i, s.Term(), r.Term())), elementOf(readOf(p, 0, s.Term(), c.Term()))), s)})
	}
	c, err := Compile(p, statements, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.(*code[float32]).local.bytes, 2*4*n*n; c.Groups() != products || got != want {
		t.Errorf("%d groups: want a room of %d bytes, got %d", c.Groups(), want, got)
	}
}

// TestPlannedMemory runs loops with a local tensor that has memory. What it holds goes there.
func TestPlannedMemory(t *testing.T) {
	p, statements := heads(3, 40, 200, 7)
	tensors, memory := filled(p)
	tensors[2].Local, tensors[2].Planned = true, true
	clear(memory[2])
	c, err := Compile(p, statements, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	runParts(t, c, memory, 2, 3)
	x, y := as[float32](memory[2]), as[float32](memory[3])
	for i, v := range x {
		if y[i] != v+v*v {
			t.Fatalf("element %d: the memory holds %v, of which the loops gave %v", i, v, y[i])
		}
	}
	if used := c.(*code[float32]).local.bytes; used > 0 {
		t.Errorf("the loops want a room of %d bytes", used)
	}
}
