package taskgraph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Dim3 holds extents along x, y and z; 0 stands for 1.
type Dim3 struct{ X, Y, Z int }

// axes returns the three extents.
func (d Dim3) axes() [3]int { return [3]int{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }

// count returns the product of the extents.
func (d Dim3) count() int { return shape.Prod(d.sorted()) }

func (d Dim3) sorted() []int { a := d.axes(); return a[:] }

// Map says how a grid divides a tensor. Axis x, y or z of the grid divides dimension X, Y or Z of the tensor
// into equal parts, of which the last may be smaller. -1 stands for an axis that divides no dimension: all
// its blocks access the same elements.
type Map struct{ X, Y, Z int }

// None is the map of a tensor all of whose elements every block accesses.
var None = Map{-1, -1, -1}

// Along returns the map in which only axis x of the grid divides the tensor, along dimension d.
func Along(d int) Map { return Map{d, -1, -1} }

func (m Map) axes() [3]int { return [3]int{m.X, m.Y, m.Z} }

// Affine is a bound of the elements that a block touches: Scale*i + Shift, where i is the block's number
// along an axis of the grid.
type Affine struct{ Scale, Shift int }

func (a Affine) at(i int) int { return a.Scale*i + a.Shift }

// span says which indices of a dimension a block touches: those from lo to hi-1, by its number along an axis;
// all of them if axis is -1.
type span struct {
	axis   int
	lo, hi Affine
}

// Axes of a grid.
const (
	X = iota
	Y
	Z
)

// Block is a block graph: the division of a layer into blocks, and the computation of a block.
type Block struct {
	// Grid is the number of blocks. Each becomes a task.
	Grid Dim3
	// Threads is the number of threads of a block on a device, at most 1024. Workers on CPUs have one.
	Threads Dim3
	// Cluster divides the grid into groups of blocks that follow each other in the order of tasks, so that
	// workers run them at about the same time.
	Cluster Dim3
	// ForLoop is the number of parts of its inputs over which a block iterates; 0 stands for 1.
	ForLoop int
	// ReductionDimX is the extent that ReductionToDimX leaves.
	ReductionDimX int
	// Folds lists axes of the grid (X, Y or Z) whose blocks add to the same tile of the outputs, in the order
	// of their numbers.
	Folds []int
	// Budget is the maximum size of a block's tiles, in bytes; 0 stands for DefaultBudget.
	Budget int

	inputs, outputs []*STensor
	ops             []*operator
	err             *Error
	memory          memory
}

// DefaultBudget is the memory for the tiles of a block, in bytes: what GPUs have as shared memory of a block
// of threads, without what they reserve.
const DefaultBudget = 96 << 10

// NewBlock returns a block graph with a grid of blocks of some threads each. forLoop and reductionDimX are
// those of Block.
func NewBlock(grid, threads Dim3, forLoop, reductionDimX int) *Block {
	return &Block{Grid: grid, Threads: threads, ForLoop: forLoop, ReductionDimX: reductionDimX}
}

// STensor is a tile: the part of a tensor that a block accesses, or the result of an operator of the block.
type STensor struct {
	block *Block
	dims  []int // of the largest tile
	// Of a tile of a tensor: the tensor, its part, and the dimension that the for-loop goes along, or -1.
	from    *DTensor
	spans   []span
	forLoop int
	by      *operator // that computes it; nil of an input
	output  *STensor  // of an output of the block: the tile that is stored
	after   bool      // whether it is computed once, after the for-loop
	slot    string
}

// Dims returns the extents of the tile, the largest of all blocks. The caller must not change them.
func (s *STensor) Dims() []int { return s.dims }

// operand describes the tensor of which the tile is a part.
func (s *STensor) operand() string {
	if s.from == nil {
		return "nothing"
	}
	return s.from.typ.String() + shape.Format(s.from.dims)
}

// NewInput returns the tile of a tensor that each block reads: its part according to the map. The for-loop
// iterates over parts of the tile along dimension forLoopDim. If forLoopDim is -1, each iteration reads the
// whole tile. Layers may use the block graph with any tensor of the type and the shape of t.
func (b *Block) NewInput(t *DTensor, m Map, forLoopDim int) *STensor {
	s := b.tile(fmt.Sprintf("input %d", len(b.inputs)), t, m)
	b.inputs = append(b.inputs, s)
	s.forLoop = forLoopDim
	if forLoopDim < 0 || t == nil {
		s.forLoop = -1
		return s
	}
	n := b.loops()
	switch {
	case forLoopDim >= len(s.dims):
		b.fail(s.slot, forLoopDim, fmt.Sprintf("a dimension below %d for the for-loop", len(s.dims)), fmt.Sprint(forLoopDim))
	case s.dims[forLoopDim]%n != 0:
		b.fail(s.slot, forLoopDim, fmt.Sprintf("an extent that %d rounds of the for-loop divide", n), fmt.Sprint(s.dims[forLoopDim]))
	default:
		s.dims[forLoopDim] /= n
	}
	return s
}

// NewOutput declares the part of a tensor that each block writes, according to the map. tile is the STensor
// that it writes, which operators compute; nil leaves the computation to the function of RegisterTask.
func (b *Block) NewOutput(t *DTensor, m Map, tile *STensor) *STensor {
	s := b.tile(fmt.Sprintf("output %d", len(b.outputs)), t, m)
	s.forLoop = -1
	s.output = tile
	b.outputs = append(b.outputs, s)
	return s
}

// tile returns the tile of a tensor that a map gives.
func (b *Block) tile(slot string, t *DTensor, m Map) *STensor {
	s := &STensor{block: b, from: t, slot: slot, forLoop: -1}
	if t == nil {
		return s
	}
	s.dims = slices.Clone(t.dims)
	s.spans = make([]span, len(t.dims))
	for d := range s.spans {
		s.spans[d].axis = -1
	}
	grid := b.Grid.axes()
	for axis, d := range m.axes() {
		switch {
		case d < 0:
			continue
		case d >= len(t.dims):
			b.fail(slot, d, fmt.Sprintf("a dimension below %d for axis %c of the grid", len(t.dims), 'x'+axis), fmt.Sprint(d))
			continue
		case s.spans[d].axis >= 0:
			b.fail(slot, d, "one axis of the grid for each dimension", fmt.Sprintf("%c and %c", 'x'+s.spans[d].axis, 'x'+axis))
			continue
		}
		size := (t.dims[d]-1)/grid[axis] + 1
		if blocks := (t.dims[d]-1)/max(size, 1) + 1; t.dims[d] == 0 || blocks != grid[axis] {
			b.fail(slot, d, fmt.Sprintf("as many blocks as there are tiles of %d elements of %d, %d", size, t.dims[d], blocks), fmt.Sprint(grid[axis]))
			continue
		}
		s.spans[d] = span{axis, Affine{size, 0}, Affine{size, size}}
		s.dims[d] = size
	}
	return s
}

// Bound replaces what a map says about a dimension of the tile of an input or an output: block i along an
// axis of the grid touches the indices from lo to hi-1, as far as the tensor has them. So tiles may overlap,
// as those of windows do, and may grow with i, as those of causal attention do. It returns s.
func (s *STensor) Bound(dim, axis int, lo, hi Affine) *STensor {
	b := s.block
	if s.from == nil || dim < 0 || dim >= len(s.dims) || axis < X || axis > Z {
		b.fail(s.slot, dim, "a dimension of the tile of a tensor, and an axis from X to Z", fmt.Sprintf("axis %d", axis))
		return s
	}
	n := 0
	for i := range b.Grid.axes()[axis] {
		from, to := max(lo.at(i), 0), min(hi.at(i), s.from.dims[dim])
		n = max(n, to-from)
	}
	s.spans[dim], s.dims[dim] = span{axis, lo, hi}, n
	return s
}

// fail notes the first error.
func (b *Block) fail(slot string, axis int, want, got string) {
	if b.err == nil {
		b.err = &Error{Slot: slot, Axis: axis, Want: want, Got: got}
	}
}

func (b *Block) loops() int { return max(b.ForLoop, 1) }

// maxThreads is the largest number of threads of a block that GPUs run.
const maxThreads = 1024

// check returns the first thing that is wrong with a block graph.
func (b *Block) check() *Error {
	if b.err != nil {
		e := *b.err
		return &e
	}
	fail := func(slot string, axis int, want, got any) *Error {
		return &Error{Slot: slot, Axis: axis, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
	}
	if n := b.Threads.count(); n > maxThreads {
		return fail("", -1, fmt.Sprintf("at most %d threads in a block", maxThreads), n)
	}
	grid, cluster := b.Grid.axes(), b.Cluster.axes()
	for axis := range grid {
		if grid[axis]%cluster[axis] != 0 {
			return fail("", axis, "a number of blocks that clusters divide", fmt.Sprintf("%d by %d", grid[axis], cluster[axis]))
		}
	}
	if len(b.outputs) == 0 {
		return fail("", -1, "an output", "none")
	}
	for _, axis := range b.Folds {
		if axis < X || axis > Z {
			return fail("", -1, "axes from X to Z to fold along", axis)
		}
	}
	for _, s := range b.outputs {
		if s.from == nil {
			continue
		}
		for axis, n := range grid {
			if folds := slices.Contains(b.Folds, axis); n > 1 && !folds && !s.moves(axis, n) {
				return fail(s.slot, axis, "blocks that write different elements, or an axis in Folds", fmt.Sprintf("%d blocks that write the same ones", n))
			} else if folds && slices.ContainsFunc(s.spans, func(p span) bool { return p.axis == axis }) {
				return fail(s.slot, axis, "an output that an axis in Folds does not divide", "one that it divides")
			}
		}
		switch {
		case s.output == nil && len(b.ops) > 0:
			return fail(s.slot, -1, "a tile that operators compute", "none")
		case s.output != nil && s.output.block != b:
			return fail(s.slot, -1, "a tile of the block graph", "one of another")
		case s.output != nil && b.loops() > 1 && !s.output.after:
			return fail(s.slot, -1, "a tile that ForLoopAccum has summed over the for-loop", "one of a single round")
		case s.output != nil && !slices.Equal(s.output.dims, s.dims):
			return fail(s.slot, -1, "a tile "+shape.Format(s.dims), shape.Format(s.output.dims))
		}
	}
	return b.layout()
}

// moves reports whether blocks that differ along an axis write different elements.
func (s *STensor) moves(axis, blocks int) bool {
	return slices.ContainsFunc(s.spans, func(p span) bool {
		if p.axis != axis {
			return false
		}
		for i := 1; i < blocks; i++ {
			if p.lo.at(i) < p.hi.at(i-1) {
				return false
			}
		}
		return true
	})
}

// box returns the elements of its tensor that the tile of a block holds.
func (s *STensor) box(at [3]int) region.Box {
	out := region.Box{Lo: make([]int, len(s.spans)), Hi: slices.Clone(s.from.dims)}
	for d, p := range s.spans {
		if p.axis >= 0 {
			out.Lo[d] = min(max(p.lo.at(at[p.axis]), 0), s.from.dims[d])
			out.Hi[d] = max(min(p.hi.at(at[p.axis]), s.from.dims[d]), out.Lo[d])
		}
	}
	return out
}

// footprint returns the tile as a footprint of the blocks, which are the indices of the step; ok is false if
// a footprint cannot say it, since no block touches anything.
func (s *STensor) footprint() (f region.Footprint, ok bool) {
	f = make(region.Footprint, len(s.spans))
	for d, p := range s.spans {
		if p.axis < 0 {
			continue
		}
		if p.lo.Scale == p.hi.Scale && p.hi.Shift <= p.lo.Shift {
			return nil, false
		}
		f[d] = region.Between(p.axis, [2]int{p.lo.Scale, p.lo.Shift}, [2]int{p.hi.Scale, p.hi.Shift})
	}
	return f, true
}
