package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// varied rewrites a variance by the corrected two-pass algorithm of Chan, Golub and LeVeque. The first pass
// computes the mean, rounded to T. The second pass averages the differences from this mean, and their
// squares. The average difference corrects mean and variance: if all elements are equal, it is exactly the
// error of the mean.
//
// varied returns n if no statement can store the mean, or if strips cannot compute the reduction because of a
// guard or of ranges that depend on other indices. reduceReal then computes differences from the first
// element.
func (z *normalizer) varied(n *term.Term, vars []*term.Variable, lenient bool) *term.Term {
	r := n.Reduction
	if z.whole || n.Op != term.Reduce || r.Kind != reduction.Variance || r.Guard != nil || len(r.Vars) == 0 || slices.ContainsFunc(r.Vars, func(v *term.Variable) bool {
		_, known := v.Hi.Known()
		return !known || !v.Lo.Is(0)
	}) {
		return n
	}
	copied := *r
	copied.Kind = reduction.Mean
	mean := &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &copied}
	at := slices.IndexFunc(z.out, func(s *Statement) bool { return (lenient || !s.Lenient) && givenBy(s, mean) != nil })
	if at < 0 {
		z.temporary(mean, vars, lenient)
		at = len(z.out) - 1
	}
	s := z.out[at]
	if slices.ContainsFunc(z.out[at+1:], func(o *Statement) bool { return z.tensors[o.Target].Memory == z.tensors[s.Target].Memory }) {
		return n
	}
	place := givenBy(s, mean)
	if place == nil { // the mean does not determine all its indices, and cannot be matched
		return n
	}
	own := func(name string, typed bool) *term.Read {
		left := *s.Left
		l := &program.Local{Name: name, Kind: term.Real, Shape: z.p.Tensors[s.Target].Shape, Slot: -1, Old: -1}
		left.Tensor, left.Count, left.Text = z.p.Add(l), 1, name
		t := Tensor{Local: true, Memory: left.Tensor}
		if typed {
			t.Type = z.own
		}
		z.tensors = append(z.tensors, t)
		return &left
	}
	element := func(left *term.Read) *term.Term { return &term.Term{Op: term.Element, Kind: term.Real, Read: left} }
	rough, off, squares := own("rough", true), own("off", false), own("squares", false)
	average := func(left *term.Read, of func(difference *term.Term) *term.Term) *Statement {
		m := s.Value.Map(func(x *term.Term) *term.Term { return x }) // with variables of its own
		m.Reduction.Body = of(term.Arithmetic(term.Subtract, m.Reduction.Body, element(rough)))
		return &Statement{Target: left.Tensor, Left: left, Vars: s.Vars, Value: m, Lenient: s.Lenient}
	}
	first := *s
	first.Target, first.Left = rough.Tensor, rough
	z.out = slices.Concat(z.out[:at:at], []*Statement{
		&first,
		average(off, func(d *term.Term) *term.Term { return d }),
		average(squares, func(d *term.Term) *term.Term { return term.Arithmetic(term.Multiply, d, d) }),
		{Target: s.Target, Left: s.Left, Vars: s.Vars, Value: term.Arithmetic(term.Add, element(rough), element(off)), Lenient: s.Lenient},
	}, z.out[at+1:])
	here := place.Read
	given := func(left *term.Read) *term.Term {
		read := *here
		read.Tensor, read.Text = left.Tensor, left.Text
		return element(&read)
	}
	correction := given(off)
	difference := term.Arithmetic(term.Subtract, given(squares), term.Arithmetic(term.Multiply, correction, correction))
	return term.Applied("max", difference, term.RealNumber(0))
}
