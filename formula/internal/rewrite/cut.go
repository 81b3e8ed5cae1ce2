package rewrite

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// cut splits each long sum that has one result into partial sums and their sum in float64. The partition
// depends on extents only, so results are bit-identical for every number of workers.
func (z *normalizer) cut() {
	var out []*Statement
	for _, s := range z.out {
		r := s.Reduction()
		if len(s.Vars) > 0 || s.Add || s.Guard != nil || r == nil || r.Kind != reduction.Sum || s.Value.Kind != term.Real || r.Scan() != nil || r.IsOrder() {
			out = append(out, s)
			continue
		}
		if d, parts := cutAt(r); parts > 1 {
			out = append(out, z.partial(s, r, d, parts))
		}
		out = append(out, s)
	}
	z.out = out
}

// cutAt returns the number of the reduced index that is split, and into how many parts. parts is 0 if the sum
// is not split.
func cutAt(r *term.Reduction) (d, parts int) {
	all := 1
	for _, v := range r.Vars {
		n, known := v.Hi.Known()
		if !known || !v.Lo.Is(0) {
			return 0, 0
		}
		all *= n
	}
	if all < leastCut {
		return 0, 0
	}
	for d, v := range r.Vars {
		for n := min(mostSums, Extent(v)); n >= 4; n-- {
			if Extent(v)%n == 0 {
				return d, n
			}
		}
	}
	return 0, 0
}

// partial returns a statement of the partial sums of s, and makes s their sum.
func (z *normalizer) partial(s *Statement, r *term.Reduction, d, parts int) *Statement {
	v := r.Vars[d]
	n := term.Number(Extent(v) / parts)
	l := &program.Local{Name: "t", Kind: term.Real, Slot: -1, Old: -1, Shape: []*term.Term{term.Number(parts)}}
	id := z.p.Add(l)
	z.tensors = append(z.tensors, Tensor{Local: true, Memory: id})
	element := func(i *term.Variable) *term.Read {
		return &term.Read{Tensor: id, Count: 1, Text: "t", Idx: []*term.Term{i.Term()}, Ext: l.Shape}
	}
	part := &term.Variable{Name: "i", Lo: term.Number(0), Hi: term.Number(parts)}
	within := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: n}
	to := map[*term.Variable]*term.Term{v: term.Sum(term.Product(part.Term(), n), within.Term())}
	of := *r
	of.Vars = append([]*term.Variable{}, r.Vars...)
	of.Vars[d] = within
	of.Body, of.Guard = r.Body.Substitute(to), r.Guard.Substitute(to)
	out := &Statement{Target: id, Left: element(part), Vars: []*term.Variable{part}, Lenient: s.Lenient,
		Value: &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &of}}
	all := &term.Variable{Name: "i", Lo: term.Number(0), Hi: term.Number(parts)}
	s.Value = &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: reduction.Sum, Vars: []*term.Variable{all}, Part: -1,
		Body: &term.Term{Op: term.Element, Kind: term.Real, Read: element(all)}}}
	s.Parts = true
	return out
}
