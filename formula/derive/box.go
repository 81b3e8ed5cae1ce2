package derive

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
)

// Window maps an index along an axis of a result to the half-open range [lo, hi) of indices along an axis of
// an operand that the result may read. A nil Window is the identity: each index reads itself only.
type Window func(index int) (lo, hi int)

// Share says which elements along an axis of a result an index computes: Size of them, from Scale*i + Shift
// on, where i is the index. Those of different indices must be different ones. A nil Share is the element of
// the same number.
type Share struct{ Scale, Shift, Size int }

// index returns the index that computes an element; ok is false if none does.
func (s *Share) index(element int) (i int, ok bool) {
	if s == nil {
		return element, true
	}
	i = shape.FloorDiv(element-s.Shift, s.Scale)
	return i, i >= 0 && element < s.Scale*i+s.Shift+s.Size
}

// ragged reports whether an index computes fewer elements than others, as the axis ends.
func (s *Share) ragged(i, extent int) bool {
	return s != nil && (s.Scale*i+s.Shift < 0 || s.Scale*i+s.Shift+s.Size > extent)
}

// Touch is an access that violates a Window: to compute Index of a result, statements read the range [Lo, Hi)
// along the axis of the operand.
type Touch struct {
	Index, Lo, Hi int
	Any           bool // the range depends on elements of tensors
}

// most bounds the number of index values that hull enumerates for one read.
const most = 1 << 14

// Outside checks a declared window against the reads of statements. From the axes of tensor result, it
// follows the index back to the reads of the source, which is tensor of with axes ofAxes. The result's
// elements are computed by the indices that share says. It returns the first index whose reads leave the
// window, or whose window is larger than its reads, with the range that it reads. It returns nil if the
// window is exact.
func Outside(p *program.Program, statements []*program.Statement, result int, axes []int, share *Share, of int, ofAxes []int, w Window) *Touch {
	if share != nil && w == nil {
		w = func(index int) (lo, hi int) { return index, index + 1 }
	}
	b := &boxes{p: p, statements: statements, share: share, of: of, axes: ofAxes, window: w, seen: map[int]bool{}, hulls: map[int][2]int{}}
	b.tensor(result, axes)
	if b.wrong != nil || w == nil || b.partial {
		return b.wrong
	}
	extent, _ := p.Tensors[result].Shape[axes[0]].Known()
	for i, h := range b.hulls {
		if share.ragged(i, extent) {
			continue
		}
		if lo, hi := b.stated(i); (lo < h[0] || hi > h[1]) && (b.wrong == nil || i < b.wrong.Index) {
			b.wrong = &Touch{Index: i, Lo: h[0], Hi: h[1]}
		}
	}
	return b.wrong
}

// boxes follows an index backward from the result to the reads of the source.
type boxes struct {
	p          *program.Program
	statements []*program.Statement
	share      *Share
	of         int
	axes       []int
	window     Window
	seen       map[int]bool
	hulls      map[int][2]int // by result index: the hull of its reads
	partial    bool           // whether some reads were not followed, so that hulls are incomplete
	wrong      *Touch
}

// tensor follows the index into the statements that define t. The index is the subscripts of t at axes.
func (b *boxes) tensor(t int, axes []int) {
	if b.seen[t] {
		return
	}
	b.seen[t] = true
	for _, s := range b.statements {
		if s.Target != t {
			continue
		}
		moving := make([]*term.Term, len(axes))
		for i, a := range axes {
			if s.Left.ByNumber || a >= len(s.Left.Idx) || s.Left.Idx[a].Op != term.Index {
				b.partial = true
				return
			}
			moving[i] = s.Left.Idx[a]
		}
		if s.Recurrence != nil && b.wrong == nil && slices.ContainsFunc(moving, func(m *term.Term) bool { return m.Var == s.Over }) {
			b.wrong = &Touch{Any: true} // an element depends on all those before it
		}
		s.Reads(func(r *term.Read) { b.read(r, moving) })
	}
}

// read follows the index into one read of a statement. moving holds the terms of the index in that statement.
func (b *boxes) read(r *term.Read, moving []*term.Term) {
	switch {
	case r.Tensor == b.of && r.Count == 1:
		b.found(r, moving)
	case b.p.Tensors[r.Tensor].Given:
		var axes []int
		for _, m := range moving {
			at := slices.IndexFunc(r.Idx, func(i *term.Term) bool { return term.Identical(i, m) })
			if at >= 0 && !r.ByNumber {
				axes = append(axes, at)
			}
		}
		uses := func(i *term.Term) bool {
			return slices.ContainsFunc(moving, func(m *term.Term) bool { return i.Uses(m.Var) })
		}
		switch {
		case len(axes) == len(moving):
			b.tensor(r.Tensor, axes)
		case slices.ContainsFunc(r.Idx, uses):
			b.partial = true
		case b.window == nil && b.wrong == nil && b.whole(r.Tensor, map[int]bool{}):
			b.wrong = &Touch{Any: true}
		}
	}
}

// whole reports whether tensor t, which does not depend on the index, depends on the source. Then each index
// depends on the whole source.
func (b *boxes) whole(t int, seen map[int]bool) bool {
	seen[t] = true
	for _, s := range b.statements {
		found := false
		if s.Target == t {
			s.Reads(func(r *term.Read) {
				found = found || takes(r, b.of) || !seen[r.Tensor] && b.whole(r.Tensor, seen)
			})
		}
		if found {
			return true
		}
	}
	return false
}

// found checks that read r of the source stays within the declared window, for all values of the index.
func (b *boxes) found(r *term.Read, moving []*term.Term) {
	if r.ByNumber {
		b.partial = true
		return
	}
	if b.window == nil {
		for i, a := range b.axes {
			if !term.Identical(r.Idx[a], moving[i]) && b.wrong == nil {
				b.wrong = &Touch{Any: true}
			}
		}
		return
	}
	x, v := r.Idx[b.axes[0]], moving[0].Var
	if x.Reads() {
		if !b.chosen(x) {
			b.wrong = &Touch{Any: true}
		}
		return
	}
	extent, _ := r.Ext[b.axes[0]].Known()
	n, _ := v.Hi.Known()
	for e := range n {
		i, ok := b.share.index(e)
		if !ok {
			continue
		}
		lo, hi, ok := hull(x, map[*term.Variable]*term.Term{v: term.Number(e)})
		if !ok {
			b.partial = true
			return
		}
		lo, hi = max(lo, 0), min(hi, extent)
		if lo >= hi {
			continue
		}
		if from, to := b.stated(i); lo < from || hi > to {
			b.wrong = &Touch{Index: i, Lo: lo, Hi: hi}
			return
		}
		if h, ok := b.hulls[i]; ok {
			lo, hi = min(lo, h[0]), max(hi, h[1])
		}
		b.hulls[i] = [2]int{lo, hi}
	}
}

// stated returns the declared window of index i, clipped to the extent of the source.
func (b *boxes) stated(i int) (lo, hi int) {
	lo, hi = b.window(i)
	n, _ := b.p.Tensors[b.of].Shape[b.axes[0]].Known()
	return max(lo, 0), min(hi, n)
}

// chosen reports whether a subscript is loaded from a tensor that statements define, such as an argmax.
// These statements read the elements among which the subscript selects, so their reads are checked instead.
func (b *boxes) chosen(x *term.Term) bool {
	return x.Op == term.Element && b.p.Tensors[x.Read.Tensor].Given
}

// hull returns the range [lo, hi) of the values of x, by enumeration of its free variables after values are
// substituted. ok is false if there are more than most combinations, or if a bound is unknown.
func hull(x *term.Term, values map[*term.Variable]*term.Term) (lo, hi int, ok bool) {
	lo, hi, left := math.MaxInt/2, math.MinInt/2, most
	var try func(x *term.Term) bool
	try = func(x *term.Term) bool {
		if left--; left < 0 {
			return false
		}
		free := x.Free()
		if len(free) == 0 {
			n, known := term.Norm(x).Known()
			lo, hi = min(lo, n), max(hi, n+1)
			return known
		}
		v := free[len(free)-1]
		from, known := v.Lo.Substitute(values).Known()
		to, both := v.Hi.Substitute(values).Known()
		if !known || !both {
			return false
		}
		for i := from; i < to; i++ {
			if !try(x.Substitute(map[*term.Variable]*term.Term{v: term.Number(i)})) {
				return false
			}
		}
		return true
	}
	ok = try(x.Substitute(values))
	return lo, hi, ok
}
