package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// digits splits a loop over an index that is divided by a constant into two loops, over the quotient and over
// the remainder. Offsets then become affine.
func digits(s *statement) *statement {
	for i, v := range s.vars {
		n := divisor(s, v)
		if n == 0 || n < shortest && i == len(s.vars)-1 && found(s) {
			continue
		}
		high := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(extent(v) / n)}
		low := &term.Variable{Name: v.Name + "'", Lo: term.Number(0), Hi: term.Number(n)}
		return digits(s.split(i, n, []*term.Variable{high, low}, high.Term(), low.Term()))
	}
	return s
}

// residues splits a loop over i that uses (i+c)/n or (i+c)%n for a small n, as strided windows do. It returns
// a statement for each value of i%n, and statements for the remaining values of i if n does not divide the
// extent.
func residues(s *statement) []*statement {
	if !apartValues(s) {
		return []*statement{digits(s)}
	}
	for i, v := range s.vars {
		n := residue(s, v)
		if n == 0 {
			continue
		}
		if more := extent(v) % n; more > 0 {
			first, rest := s.from(i, 0, extent(v)-more), s.from(i, extent(v)-more, more)
			return append(residues(first), residues(rest)...)
		}
		var out []*statement
		for k := range n {
			high := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(extent(v) / n)}
			out = append(out, residues(s.split(i, n, []*term.Variable{high}, high.Term(), term.Number(k)))...)
		}
		if len(out) <= maxResidues {
			return out
		}
	}
	return []*statement{digits(s)}
}

// split returns the statement with index i replaced by vars. high and low are its quotient and remainder by
// n.
func (s *statement) split(i, n int, vars []*term.Variable, high, low *term.Term) *statement {
	v := s.vars[i]
	whole := term.Sum(term.Product(high, term.Number(n)), low)
	var replaced func(x *term.Term) *term.Term
	replaced = func(x *term.Term) *term.Term {
		if x == nil {
			return nil
		}
		if at, divides := dividend(x, v, n); divides { // (n * high + low + at) / n, or its remainder
			rest := term.Arithmetic(x.Op, term.Norm(term.Sum(low, term.Number(at))), term.Number(n))
			if at == 0 && (low.Op == term.Index || low.Op == term.Constant) {
				rest = map[term.Op]*term.Term{term.Quotient: term.Number(0), term.Modulo: low}[x.Op]
			}
			if x.Op == term.Quotient {
				return term.Sum(high, rest)
			}
			return rest
		}
		if x.Op == term.Index && x.Var == v {
			return whole
		}
		return x.Map(replaced)
	}
	out := s.mapped(replaced)
	out.vars = slices.Concat(s.vars[:i], vars, s.vars[i+1:])
	out.value, out.guard = settled(out.value), settled(out.guard)
	return out
}

// from returns the statement with index i restricted to count values, from lo on.
func (s *statement) from(i, lo, count int) *statement {
	v := s.vars[i]
	w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(count)}
	to := map[*term.Variable]*term.Term{v: term.Sum(w.Term(), term.Number(lo))}
	vars := slices.Concat(s.vars[:i], []*term.Variable{w}, s.vars[i+1:])
	if count == 1 {
		to[v] = term.Number(lo)
		vars = slices.Concat(s.vars[:i], s.vars[i+1:])
	}
	out := s.mapped(func(x *term.Term) *term.Term { return x.Substitute(to) })
	out.vars, out.value, out.guard = vars, settled(out.value), settled(out.guard)
	return out
}

// found reports whether a statement only copies or adds elements of a tensor, which needs no affine offset: a
// gather by integer strips does it.
func found(s *statement) bool {
	return s.value.Op == term.Element && s.value.Read.Else == nil && s.guard == nil
}

// mapped returns the statement with f applied to its terms.
func (s *statement) mapped(f func(*term.Term) *term.Term) *statement {
	out := *s
	left := *s.left
	left.Idx = nil
	for _, x := range s.left.Idx {
		left.Idx = append(left.Idx, f(x))
	}
	if left.Which != nil {
		left.Which = f(left.Which)
	}
	out.left, out.value = &left, f(s.value)
	if s.guard != nil {
		out.guard = f(s.guard)
	}
	return &out
}

// walk calls visit for the terms of a statement.
func (s *statement) walk(visit func(*term.Term)) {
	s.value.Walk(visit)
	s.guard.Walk(visit)
	s.left.Which.Walk(visit)
	for _, x := range s.left.Idx {
		x.Walk(visit)
	}
}

// divisor returns the constant that divides index v in quotients and remainders of a statement, if it also
// divides v's extent. It returns 0 if there is none.
func divisor(s *statement, v *term.Variable) int {
	n := 0
	s.walk(func(x *term.Term) {
		if (x.Op == term.Quotient || x.Op == term.Modulo) && x.Args[0].Op == term.Index && x.Args[0].Var == v {
			if d, known := x.Args[1].Known(); known && d > 1 && d < extent(v) && extent(v)%d == 0 && (n == 0 || d == n) {
				n = d
			}
		}
	})
	return n
}

// residue returns a small constant n if a statement uses (v+c)/n or (v+c)%n, and c is not 0 or n does not
// divide the extent of v. It returns 0 if there is none.
func residue(s *statement, v *term.Variable) int {
	n := 0
	s.walk(func(x *term.Term) {
		if x.Op != term.Quotient && x.Op != term.Modulo {
			return
		}
		if d, known := x.Args[1].Known(); known && d > 1 && d <= mostUnrolled && extent(v) >= d*shortest && (n == 0 || d == n) {
			if at, divides := dividend(x, v, d); divides && (at != 0 || extent(v)%d != 0) {
				n = d
			}
		}
	})
	return n
}

// apartValues reports whether a statement stores each of its elements once and reads no element of its
// target.
func apartValues(s *statement) bool {
	ok := givesOnce(s) && s.present() == nil && s.order() == nil
	s.walk(func(n *term.Term) {
		ok = ok && (n.Op != term.Element || n.Read.Tensor > s.target || n.Read.Tensor+n.Read.Count <= s.target)
	})
	return ok
}

// dividend returns the constant at if x is (v + at) / n or (v + at) % n. divides is false for other terms.
func dividend(x *term.Term, v *term.Variable, n int) (at int, divides bool) {
	if x.Op != term.Quotient && x.Op != term.Modulo {
		return 0, false
	}
	f := linear(x.Args[0])
	d, known := x.Args[1].Known()
	return f.base, known && d == n && len(f.rest) == 0 && len(f.vars) == 1 && f.vars[0].of == v && f.vars[0].factor == 1
}

// pieces splits a loop where a condition on its index changes (index-set splitting), so that conditions are
// constant in each piece. It returns the statements of the pieces.
func pieces(s *statement) []*statement {
	for i, v := range s.vars {
		cuts := cutsOf(s, v)
		if len(cuts) == 0 {
			continue
		}
		var out []*statement
		for k := 0; k+1 < len(cuts); k++ {
			lo, hi := cuts[k], cuts[k+1]
			p := s.from(i, lo, hi-lo)
			out = append(out, pieces(p)...)
		}
		if len(out) <= maxPieces {
			return out
		}
	}
	return []*statement{s}
}

// cutsOf returns the ends of the pieces of index v, from 0 to its extent. It returns nil if there is only one
// piece, or too many.
func cutsOf(s *statement, v *term.Variable) []int {
	at := []int{0, extent(v)}
	s.walk(func(x *term.Term) {
		if x.Op != term.Less && x.Op != term.AtMost && x.Op != term.Equal && x.Op != term.Unequal ||
			x.Args[0].Kind != term.Integer || x.Args[1].Kind != term.Integer {
			return
		}
		f := differenceOf(x.Args[0], x.Args[1])
		if len(f.rest) > 0 || len(f.vars) != 1 || f.vars[0].of != v || f.vars[0].factor != 1 && f.vars[0].factor != -1 {
			return
		}
		zero := -f.base * f.vars[0].factor // both sides are equal here
		switch {
		case x.Op == term.Equal || x.Op == term.Unequal:
			at = append(at, zero, zero+1)
		case (x.Op == term.Less) == (f.vars[0].factor > 0):
			at = append(at, zero)
		default:
			at = append(at, zero+1)
		}
	})
	at = slices.DeleteFunc(at, func(n int) bool { return n < 0 || n > extent(v) })
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) <= 2 || len(at) > maxPieces+1 {
		return nil
	}
	return at
}

// unrolled unrolls a short innermost loop with negative strides, which would make short strips. The
// statements that it returns share common subexpressions.
func (z *normalizer) unrolled(s *statement) []*statement {
	last := len(s.vars) - 1
	if last < 1 || z.ordered || !pointwiseValue(s) || found(s) || extent(s.vars[last]) > mostUnrolled || extent(s.vars[last-1]) < shortest {
		return []*statement{s}
	}
	v := s.vars[last]
	if !reversed(s, v) || !z.apart(s, v) {
		return []*statement{s}
	}
	var out []*statement
	for x := range extent(v) {
		to := map[*term.Variable]*term.Term{v: term.Number(x)}
		p := s.mapped(func(n *term.Term) *term.Term { return n.Substitute(to) })
		p.vars, p.value, p.guard = s.vars[:last:last], settled(p.value), settled(p.guard)
		out = append(out, p)
	}
	return out
}

// givesOnce reports whether a statement stores each of its elements once.
func givesOnce(s *statement) bool {
	return !s.add && !s.parts && s.fold == 0 && s.left.Which == nil
}

// pointwiseValue reports whether a statement stores each of its elements once, with a real value without
// reductions.
func pointwiseValue(s *statement) bool {
	return givesOnce(s) && s.value.Kind == term.Real && !s.value.Reduces()
}

// apart reports whether no loop over v carries a dependence: s reads the memory of its target only where it
// writes it.
func (z *normalizer) apart(s *statement, v *term.Variable) bool {
	own := accessOf(s.left).offset
	ok := !own.hidden(v)
	s.walk(func(n *term.Term) {
		for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
			ok = ok && (z.tensors[n.Read.Tensor+i].Memory != z.tensors[s.target].Memory || accessOf(n.Read).offset.same(own))
		}
	})
	return ok
}

// reversed reports whether a statement loads with a negative stride along v.
func reversed(s *statement, v *term.Variable) bool {
	found := false
	s.value.Walk(func(n *term.Term) {
		if n.Op == term.Element {
			f := accessOf(n.Read).offset
			found = found || !f.hidden(v) && f.factor(v) < 0
		}
	})
	return found
}
