package cugen

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// A transposing statement reads with stride 1 along one index and writes with stride 1 along another. It is
// computed by tiles in shared memory: threads load a tile with coalesced accesses, and then store it
// transposed with coalesced accesses.
const (
	turnSide  = 32
	leastTurn = 1 << 16 // elements
)

// turn describes a transposing statement.
type turn struct {
	read       *term.Read     // the read that goes through shared memory
	down, last *term.Variable // the indices along which the read, and the write, have stride 1
}

// turned returns a description of the statement if it transposes and is large enough, or nil.
func turned(vars []*term.Variable, statements []*loops.Nested) *turn {
	if len(statements) != 1 || len(vars) < 2 || box(vars) < leastTurn || slices.ContainsFunc(vars, rewrite.IsOpen) || statements[0].Guard != nil {
		return nil
	}
	s := statements[0]
	t := &turn{last: vars[len(vars)-1]}
	if n, known := rewrite.Stride(s.Left, t.last); !known || n != 1 || rewrite.Extent(t.last) < turnSide {
		return nil
	}
	plain := true
	s.Value.Walk(func(n *term.Term) {
		plain = plain && n.Op != term.Reduce
		if n.Op != term.Element {
			return
		}
		along, known := rewrite.Stride(n.Read, t.last)
		if _, linear := rewrite.Offset(n.Read); !linear || !known || along == 0 || along == 1 {
			return
		}
		for _, v := range vars[:len(vars)-1] {
			if beside, known := rewrite.Stride(n.Read, v); known && beside == 1 && rewrite.Extent(v) >= turnSide {
				plain = plain && t.read == nil
				t.read, t.down = n.Read, v
			}
		}
	})
	if !plain || t.read == nil {
		return nil
	}
	return t
}

// byTiles writes a transposing statement by tiles in shared memory.
func (f *function) byTiles(vars []*term.Variable, s *loops.Nested, t *turn) {
	f.barriers = true
	across := func(v *term.Variable) int { return (rewrite.Extent(v) + turnSide - 1) / turnSide }
	tile := func(v *term.Variable) *term.Variable {
		return &term.Variable{Name: v.Name + "_tile", Lo: term.Number(0), Hi: term.Number(across(v))}
	}
	down, last := tile(t.down), tile(t.last)
	var outer []*term.Variable
	for _, v := range vars {
		switch v {
		case t.down:
			outer = append(outer, down)
		case t.last:
			outer = append(outer, last)
		default:
			outer = append(outer, v)
		}
	}
	n := box(outer)
	f.grid = [3]int{min(n, mostBlocks), 1, 1}
	typ := f.typeOfRead(t.read)
	shared, block := f.unique("tile"), f.unique("block")
	f.hold(shared, fmt.Sprintf("%s %s[%d][%d]", typ, shared, turnSide, turnSide+1))
	f.open("for (long long %s = grid.block.x; %s < %d; %s += grid.blocks.x) {", block, block, n, block)
	f.indices(outer, block)
	side, k := f.name("int", "side", fmt.Sprintf("threadIdx.x %% %d", turnSide)), f.unique("k")
	pass := func(fast, slow, fastTile, slowTile *term.Variable, body func()) {
		f.open("for (int %s = threadIdx.x / %d; %s < %d; %s += %d) {", k, turnSide, k, turnSide, k, threads/turnSide)
		f.names[fast] = f.name("int", fast.Name, fmt.Sprintf("%s * %d + %s", f.names[fastTile], turnSide, side))
		f.names[slow] = f.name("int", slow.Name, fmt.Sprintf("%s * %d + %s", f.names[slowTile], turnSide, k))
		f.open("if (%s < %d && %s < %d) {", f.names[fast], rewrite.Extent(fast), f.names[slow], rewrite.Extent(slow))
		body()
		f.close()
		f.close()
	}
	pass(t.down, t.last, down, last, func() {
		at, _ := f.place(t.read)
		f.line("%s[%s][%s] = opgen_load(%s, %s);", shared, k, side, f.memory(t.read.Tensor, false), at)
	})
	f.line("__syncthreads();")
	f.forget()
	f.turned = map[*term.Read]string{t.read: fmt.Sprintf("%s[%s][%s]", shared, side, k)}
	pass(t.last, t.down, last, down, func() { f.statement(s) })
	f.turned = nil
	f.line("__syncthreads();")
	f.close()
}

// typeOfRead returns the C type of a loaded element.
func (f *function) typeOfRead(r *term.Read) string {
	switch f.p.Tensors[r.Tensor].Kind {
	case term.Integer:
		return "long long"
	case term.Boolean:
		return "bool"
	}
	if ctypes[f.tensors[r.Tensor].Type] == "double" {
		return "double"
	}
	return "float"
}
