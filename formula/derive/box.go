package derive

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Window says which indices along an axis of a tensor belong to an index of a result: those from lo up to hi.
// It is nil if only the index itself belongs to it.
type Window func(index int) (lo, hi int)

// Touch is what statements read along an axis for an index of a result: from Lo up to Hi.
type Touch struct {
	Index, Lo, Hi int
	Any           bool // which indices these are depends on values
}

// most is how many values of indices are tried for one read.
const most = 1 << 14

// Outside returns an index of a result for which statements read tensor of elsewhere than a window says, or
// not all of it; nil if there is none. axes are the axes of the result that the index counts, and ofAxes
// those of the other tensor.
func Outside(p *program.Program, statements []*program.Statement, result int, axes []int, of int, ofAxes []int, w Window) *Touch {
	b := &boxes{p: p, statements: statements, of: of, axes: ofAxes, window: w, seen: map[int]bool{}, hulls: map[int][2]int{}}
	b.tensor(result, axes)
	if b.wrong != nil || w == nil || b.partial {
		return b.wrong
	}
	for i, h := range b.hulls {
		if lo, hi := b.stated(i); (lo < h[0] || hi > h[1]) && (b.wrong == nil || i < b.wrong.Index) {
			b.wrong = &Touch{Index: i, Lo: h[0], Hi: h[1]}
		}
	}
	return b.wrong
}

// boxes follows an index from a result to the tensor that statements read.
type boxes struct {
	p          *program.Program
	statements []*program.Statement
	of         int
	axes       []int
	window     Window
	seen       map[int]bool
	hulls      map[int][2]int // what is read for an index
	partial    bool           // whether the index could not be followed everywhere
	wrong      *Touch
}

// tensor follows the index to the statements that give a tensor, which has it at some axes.
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
		s.Reads(func(r *term.Read) { b.read(r, moving) })
	}
}

// read follows the index into what is read.
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

// whole reports whether a tensor that does not depend on the index depends on the tensor that is read, so on
// all of it.
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

// found compares a read of the tensor with the window.
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
	for i := range n {
		lo, hi, ok := hull(x, map[*term.Variable]*term.Term{v: term.Number(i)})
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

// stated returns the window of an index within the tensor.
func (b *boxes) stated(i int) (lo, hi int) {
	lo, hi = b.window(i)
	n, _ := b.p.Tensors[b.of].Shape[b.axes[0]].Known()
	return max(lo, 0), min(hi, n)
}

// chosen reports whether an index is an element that statements give: they read what they choose from.
func (b *boxes) chosen(x *term.Term) bool {
	return x.Op == term.Element && b.p.Tensors[x.Read.Tensor].Given
}

// hull returns the range of an index that depends on others, of which some have values. ok is false if there
// are too many.
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
