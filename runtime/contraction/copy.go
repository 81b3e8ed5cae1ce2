package contraction

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/box"
)

// CopyA returns the axes with which box.PutSums copies a block of a to matrices, one after the other.
func (p *Product) CopyA(batch, rows, sum Block) []box.Axis {
	return p.MatA.pack(batch, rows, sum, p.onlyA, func(x box.Axis) int { return x.A })
}

// CopyB returns the axes with which box.PutSums copies a block of b to matrices, one after the other.
func (p *Product) CopyB(batch, sum, cols Block) []box.Axis {
	return p.MatB.pack(batch, sum, cols, p.onlyB, func(x box.Axis) int { return x.B })
}

// CopyC returns the axes with which box.Put copies matrices to a block of c, and to those that are the same.
func (p *Product) CopyC(batch, rows, cols Block) []box.Axis {
	axes := p.MatC.pack(batch, rows, cols, nil, func(x box.Axis) int { return x.C })
	for i, x := range axes {
		axes[i].C, axes[i].A = x.A, x.C
	}
	return append(axes, p.repeat...)
}

// Kept returns the axes of a part that is computed by sums over boxes, with the elements of c contiguous in a
// copy.
func (p *Product) Kept(part Block) []box.Axis {
	axes, step := slices.Clone(part.Axes), 1
	for i := len(axes) - 1; i >= 0; i-- {
		axes[i].C = step
		step *= axes[i].Extent
	}
	return axes
}

// Place returns where a matrix that begins at an element of a tensor is stored, as columns of a wider matrix
// whose rows are all inside of the tensor: the offset of the wider matrix, the first of its columns, and its
// number of columns.
func (m *Matrix) Place(at, rows, cols, size int) (begin, first, width int) {
	width = m.apart
	if rows == 1 {
		width = cols // it is as wide as it is, whatever lies behind it
	}
	first = max(at+rows*width-size, 0)
	return at - first, first, width
}

// pack returns the axes of blocks whose elements are copied side by side, and of what is summed.
func (m *Matrix) pack(batch, rows, cols Block, summed []box.Axis, distance func(box.Axis) int) []box.Axis {
	if m.Transposed {
		rows, cols = cols, rows
	}
	axes := slices.Concat(batch.Axes, rows.Axes, cols.Axes, summed)
	kept, step := len(axes)-len(summed), 1
	for i := len(axes) - 1; i >= 0; i-- {
		x := box.Axis{Extent: axes[i].Extent, A: distance(axes[i])}
		if i < kept {
			x.C = step
			step *= x.Extent
		}
		axes[i] = x
	}
	return axes
}

// Gaps calls f with the ranges of elements lo to hi-1 of input i that no product reads, since the input has a
// label twice.
func (c *Chain) Gaps(i, lo, hi int, f func(lo, hi int)) {
	var axes []box.Axis
	for l, n := range c.extents {
		if d := c.inputs[i].strides[l]; d > 0 {
			axes = append(axes, box.Axis{Extent: n, C: d})
		}
	}
	if count(axes) == c.inputs[i].size {
		return
	}
	slices.SortFunc(axes, func(x, y box.Axis) int { return cmp.Compare(y.C, x.C) })
	g := gaps{lo, hi, f}
	g.walk(box.Merge(axes), 0)
	if g.next < hi {
		f(g.next, hi)
	}
}

// gaps finds the elements between those that are read.
type gaps struct {
	next int // the element behind the last one that was read
	hi   int
	f    func(lo, hi int)
}

// walk visits the elements that are read, in their order, of a box that begins at an element. Only those from
// next on count.
func (g *gaps) walk(axes []box.Axis, at int) {
	if len(axes) == 0 || len(axes) == 1 && axes[0].C == 1 {
		if g.next < min(at, g.hi) {
			g.f(g.next, min(at, g.hi))
		}
		g.next = max(g.next, at+count(axes))
		return
	}
	x := axes[0]
	for v := max(g.next-at, 0) / x.C; v < x.Extent && at+v*x.C < g.hi; v++ {
		g.walk(axes[1:], at+v*x.C)
	}
}
