package taskgraph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/internal/base/memplan"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// Allocation is the place of a tile in the memory of a block, in bytes.
type Allocation struct {
	Tile   *STensor
	Offset int
	Bytes  int
}

// memory is the layout of the tiles of a block.
type memory struct {
	order []*operator // those of a round of the for-loop, then those after it
	loop  int         // how many are of a round
	tiles []Allocation
	at    map[*STensor]int // number in tiles
	bytes int
}

// tileAlign is the alignment of a tile, in bytes: what GPUs load at once.
const tileAlign = 16

// Allocated returns where the tiles of a block lie: inputs that operators use, and what operators compute.
// Tiles that are needed at different times may share memory. A block that only a function computes has none.
// The error is an *Error if the block graph cannot run.
func (b *Block) Allocated() ([]Allocation, error) {
	if e := b.check(); e != nil {
		return nil, e
	}
	return slices.Clone(b.memory.tiles), nil
}

// layout places the tiles of a block. A tile lives from the operator that computes it, or, of an input, from
// the first that uses it, to the last that uses it. A sum over the for-loop lives in all rounds.
func (b *Block) layout() *Error {
	m := memory{at: map[*STensor]int{}}
	for _, after := range []bool{false, true} {
		for _, o := range b.ops {
			if late := o.out.after && !o.accum; late == after {
				m.order = append(m.order, o)
			}
		}
		if !after {
			m.loop = len(m.order)
		}
	}
	var buffers []memplan.Buffer
	use := func(s *STensor, when int) {
		i, known := m.at[s]
		if !known {
			i = len(buffers)
			m.at[s] = i
			n := shape.Prod(s.dims) * dtype.F32.Size()
			m.tiles = append(m.tiles, Allocation{Tile: s, Bytes: n})
			buffers = append(buffers, memplan.Buffer{Bytes: int64(n+tileAlign-1) / tileAlign * tileAlign, First: when, Last: when})
		}
		buffers[i].Last = max(buffers[i].Last, when)
	}
	for when, o := range m.order {
		for _, a := range o.args {
			if b.loops() > 1 && a.from != nil && when >= m.loop {
				return &Error{Slot: o.name, Axis: -1, Want: "tiles of the end of the for-loop", Got: "an input"}
			}
			use(a, when)
		}
		use(o.out, when)
		if o.accum {
			buffers[m.at[o.out]].First = 0
		}
	}
	for _, s := range b.outputs {
		if s.output != nil {
			use(s.output, len(m.order))
		}
	}
	l, err := memplan.Plan(buffers, memplan.DefaultEffort)
	if err != nil {
		return &Error{Axis: -1, Want: "tiles that can be placed", Got: err.Error()}
	}
	for i := range m.tiles {
		m.tiles[i].Offset = int(l.Offsets[i])
	}
	m.bytes = int(l.Bytes)
	budget := b.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	if m.bytes > budget {
		return &Error{Axis: -1, Want: fmt.Sprintf("tiles that take at most %d bytes", budget), Got: fmt.Sprintf("%d bytes in tiles", m.bytes)}
	}
	b.memory = m
	return nil
}
