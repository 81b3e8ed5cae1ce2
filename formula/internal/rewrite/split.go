package rewrite

import (
	"slices"

	algebra "github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/term"
)

// Digits splits a loop over an index that is divided by a constant into two loops, over the quotient and over
// the remainder. Offsets then become affine.
func Digits(s *Statement) *Statement {
	for i, v := range s.Vars {
		n := divisor(s, v)
		if n == 0 || n < Shortest && i == len(s.Vars)-1 && found(s) {
			continue
		}
		high := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(Extent(v) / n)}
		low := &term.Variable{Name: v.Name + "'", Lo: term.Number(0), Hi: term.Number(n)}
		return Digits(s.split(i, n, []*term.Variable{high, low}, high.Term(), low.Term()))
	}
	return s
}

// residues splits a loop over i that uses (i+c)/n or (i+c)%n for a small n, as strided windows do. It returns
// a statement for each value of i%n, and statements for the remaining values of i if n does not divide the
// extent.
func residues(s *Statement) []*Statement {
	if !apartValues(s) {
		return []*Statement{Digits(s)}
	}
	for i, v := range s.Vars {
		n := residue(s, v)
		if n == 0 {
			continue
		}
		if more := Extent(v) % n; more > 0 {
			first, rest := s.from(i, 0, Extent(v)-more), s.from(i, Extent(v)-more, more)
			return append(residues(first), residues(rest)...)
		}
		var out []*Statement
		for k := range n {
			high := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(Extent(v) / n)}
			out = append(out, residues(s.split(i, n, []*term.Variable{high}, high.Term(), term.Number(k)))...)
		}
		if len(out) <= maxResidues {
			return out
		}
	}
	return []*Statement{Digits(s)}
}

// split returns the statement with index i replaced by vars. high and low are its quotient and remainder by
// n.
func (s *Statement) split(i, n int, vars []*term.Variable, high, low *term.Term) *Statement {
	v := s.Vars[i]
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
	out := s.Mapped(replaced)
	out.Vars = slices.Concat(s.Vars[:i], vars, s.Vars[i+1:])
	out.Value, out.Guard = settled(out.Value), settled(out.Guard)
	return out
}

// from returns the statement with index i restricted to count values, from lo on.
func (s *Statement) from(i, lo, count int) *Statement {
	v := s.Vars[i]
	w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(count)}
	to := map[*term.Variable]*term.Term{v: term.Sum(w.Term(), term.Number(lo))}
	vars := slices.Concat(s.Vars[:i], []*term.Variable{w}, s.Vars[i+1:])
	if count == 1 {
		to[v] = term.Number(lo)
		vars = slices.Concat(s.Vars[:i], s.Vars[i+1:])
	}
	out := s.Mapped(func(x *term.Term) *term.Term { return x.Substitute(to) })
	out.Vars, out.Value, out.Guard = vars, settled(out.Value), settled(out.Guard)
	return out
}

// found reports whether a statement only copies or adds elements of a tensor, which needs no affine offset: a
// gather by integer strips does it.
func found(s *Statement) bool {
	return s.Value.Op == term.Element && s.Value.Read.Else == nil && s.Guard == nil
}

// divisor returns the constant that divides index v in quotients and remainders of a statement, if it also
// divides v's extent. It returns 0 if there is none.
func divisor(s *Statement, v *term.Variable) int {
	n := 0
	s.Walk(func(x *term.Term) {
		if (x.Op == term.Quotient || x.Op == term.Modulo) && x.Args[0].Op == term.Index && x.Args[0].Var == v {
			if d, known := x.Args[1].Known(); known && d > 1 && d < Extent(v) && Extent(v)%d == 0 && (n == 0 || d == n) {
				n = d
			}
		}
	})
	return n
}

// residue returns a small constant n if a statement uses (v+c)/n or (v+c)%n, and c is not 0 or n does not
// divide the extent of v. It returns 0 if there is none.
func residue(s *Statement, v *term.Variable) int {
	n := 0
	s.Walk(func(x *term.Term) {
		if x.Op != term.Quotient && x.Op != term.Modulo {
			return
		}
		if d, known := x.Args[1].Known(); known && d > 1 && d <= mostUnrolled && Extent(v) >= d*Shortest && (n == 0 || d == n) {
			if at, divides := dividend(x, v, d); divides && (at != 0 || Extent(v)%d != 0) {
				n = d
			}
		}
	})
	return n
}

// apartValues reports whether a statement stores each of its elements once and reads no element of its
// target.
func apartValues(s *Statement) bool {
	ok := givesOnce(s) && s.Present() == nil && s.Order() == nil
	s.Walk(func(n *term.Term) {
		ok = ok && (n.Op != term.Element || n.Read.Tensor > s.Target || n.Read.Tensor+n.Read.Count <= s.Target)
	})
	return ok
}

// dividend returns the constant at if x is (v + at) / n or (v + at) % n. divides is false for other terms.
func dividend(x *term.Term, v *term.Variable, n int) (at int, divides bool) {
	if x.Op != term.Quotient && x.Op != term.Modulo {
		return 0, false
	}
	f := Linear(x.Args[0])
	d, known := x.Args[1].Known()
	return f.Base, known && d == n && len(f.Rest) == 0 && len(f.Vars) == 1 && f.Vars[0].Of == v && f.Vars[0].Factor == 1
}

// Pieces splits a loop where a condition on its index changes (index-set splitting), so that conditions are
// constant in each piece. It returns the statements of the pieces. A short innermost loop of many rows stays:
// strips cover several rows, of which pieces would leave something out. It is split if most pieces are one
// value of the index, as in the gradient of the four sides of boxes: each has another value then, and strips
// go over the rows.
func Pieces(s *Statement) []*Statement {
	for i, v := range s.Vars {
		cuts := cutsOf(s, v)
		if len(cuts) == 0 || i > 0 && i == len(s.Vars)-1 && Extent(v) < Shortest && Extent(s.Vars[i-1]) >= leastRows && pointwiseValue(s) && 3*(len(cuts)-1) < 2*Extent(v) {
			continue
		}
		var out []*Statement
		for k := 0; k+1 < len(cuts); k++ {
			lo, hi := cuts[k], cuts[k+1]
			p := s.from(i, lo, hi-lo)
			out = append(out, Pieces(p)...)
		}
		if len(out) <= maxPieces {
			return out
		}
	}
	return []*Statement{s}
}

// cutsOf returns the ends of the pieces of index v, from 0 to its extent. It returns nil if there is only one
// piece. Of too many, the longest one stays, and what is on both of its sides.
func cutsOf(s *Statement, v *term.Variable) []int {
	var at []int
	s.Walk(func(x *term.Term) { at = append(at, changes(x, v)...) })
	if givesOnce(s) && Extent(v) >= Shortest {
		s.Walk(func(x *term.Term) {
			if x.Op == term.Reduce && x.Kind != term.Boolean && bordered(x.Reduction) && (x.Reduction.Body == nil || x.Reduction.Body.Op != term.Multiply) {
				x.Reduction.Guard.Walk(func(c *term.Term) { at = append(at, settles(c, v, x.Reduction.Vars)...) })
			}
		})
	}
	n := Extent(v)
	if all := ends(slices.Clone(at), n, len(at)+1); len(all) > maxPieces+1 {
		from := 0
		for i := range len(all) - 1 {
			if all[i+1]-all[i] > all[from+1]-all[from] {
				from = i
			}
		}
		if all[from+1]-all[from] < n/2 {
			return nil
		}
		at = []int{all[from], all[from+1]}
	}
	return ends(at, n, maxPieces)
}

// settles returns the values of index v between which comparison x of v with reduced indices is not the same
// for all values of these.
func settles(x *term.Term, v *term.Variable, reduced []*term.Variable) []int {
	if x.Op != term.Less && x.Op != term.AtMost || x.Args[0].Kind != term.Integer || x.Args[1].Kind != term.Integer {
		return nil
	}
	f := differenceOf(x.Args[0], x.Args[1])
	sign := f.Factor(v)
	if len(f.Rest) > 0 || sign != 1 && sign != -1 {
		return nil
	}
	for _, m := range f.Vars {
		if m.Of != v && !slices.Contains(reduced, m.Of) {
			return nil
		}
	}
	rest := f.Plus(Form{Vars: []Multiple{{v, sign}}}, -1).Bounds()
	if !rest.Known || 2*(rest.Hi-rest.Lo) > Extent(v) {
		return nil
	}
	if x.Op == term.Less { // f < 0 is f + 1 <= 0
		rest.Lo, rest.Hi = rest.Lo+1, rest.Hi+1
	}
	if sign > 0 { // holds for all up to -Hi, and for none beyond -Lo
		return []int{-rest.Hi + 1, -rest.Lo + 1}
	}
	return []int{rest.Lo, rest.Hi}
}

// ends returns the sorted ends of pieces of a range of n values that is cut at some of them, from 0 to n. It
// returns nil if there is only one piece, or if there are more than most.
func ends(at []int, n, most int) []int {
	at = slices.DeleteFunc(at, func(x int) bool { return x < 0 || x > n })
	at = append(at, 0, n)
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) <= 2 || len(at) > most+1 {
		return nil
	}
	return at
}

// changes returns the values of index v at which a comparison or an extreme x changes, if it says the same
// for all values of other indices, as in 32*i + j < 32 for a j below 32.
func changes(x *term.Term, v *term.Variable) []int {
	// An extreme is an end of a window, or a subscript that is kept within its tensor.
	extreme := x.Op == term.Apply && x.Kind == term.Integer && x.Func.Has(term.Extreme)
	if x.Op != term.Less && x.Op != term.AtMost && x.Op != term.Equal && x.Op != term.Unequal && !extreme ||
		x.Args[0].Kind != term.Integer || x.Args[1].Kind != term.Integer {
		return nil
	}
	f := differenceOf(x.Args[0], x.Args[1])
	if len(f.Rest) > 0 || f.Factor(v) == 0 {
		return nil
	}
	if extreme {
		if Extent(v) < Shortest || !f.alone(v) {
			return nil
		}
		return []int{-f.Base * f.Vars[0].Factor} // both sides are equal here
	}
	rest := f.Plus(Form{Vars: []Multiple{{v, f.Factor(v)}}}, -1).Bounds()
	if !rest.Known {
		return nil
	}
	at := changesAt(x.Op, f.Factor(v), rest.Lo)
	if !slices.Equal(at, changesAt(x.Op, f.Factor(v), rest.Hi)) {
		return nil
	}
	return at
}

// changesAt returns the values of index v at which the comparison of factor * v + base with 0 changes.
func changesAt(op term.Op, factor, base int) []int {
	up := factor > 0
	if !up {
		factor, base = -factor, -base
	}
	// Both sides are equal at -base / factor. Rounded down, this is below; rounded up, it is above.
	below, above := algebra.Floor(-base, factor), -algebra.Floor(base, factor)
	switch {
	case op == term.Equal || op == term.Unequal:
		if below != above {
			return nil
		}
		return []int{below, below + 1}
	case (op == term.Less) == up:
		return []int{above}
	}
	return []int{below + 1}
}

// unrolled unrolls a short innermost loop with negative strides, which would make short strips. The
// statements that it returns share common subexpressions.
func (z *normalizer) unrolled(s *Statement) []*Statement {
	last := len(s.Vars) - 1
	if last < 1 || z.ordered || !pointwiseValue(s) || found(s) || Extent(s.Vars[last]) > mostUnrolled || Extent(s.Vars[last-1]) < Shortest {
		return []*Statement{s}
	}
	v := s.Vars[last]
	if !reversed(s, v) || !z.apart(s, v) {
		return []*Statement{s}
	}
	var out []*Statement
	for x := range Extent(v) {
		to := map[*term.Variable]*term.Term{v: term.Number(x)}
		p := s.Mapped(func(n *term.Term) *term.Term { return n.Substitute(to) })
		p.Vars, p.Value, p.Guard = s.Vars[:last:last], settled(p.Value), settled(p.Guard)
		out = append(out, p)
	}
	return out
}

// givesOnce reports whether a statement stores each of its elements once.
func givesOnce(s *Statement) bool {
	return !s.Add && !s.Parts && s.Fold == 0 && s.Left.Which == nil
}

// pointwiseValue reports whether a statement stores each of its elements once, with a real value without
// reductions.
func pointwiseValue(s *Statement) bool {
	return givesOnce(s) && s.Value.Kind == term.Real && !s.Value.Reduces()
}

// apart reports whether no loop over v carries a dependence: s reads the memory of its target only where it
// writes it.
func (z *normalizer) apart(s *Statement, v *term.Variable) bool {
	own := AccessOf(s.Left).Offset
	ok := !own.Hidden(v)
	s.Walk(func(n *term.Term) {
		for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
			ok = ok && (z.tensors[n.Read.Tensor+i].Memory != z.tensors[s.Target].Memory || AccessOf(n.Read).Offset.Same(own))
		}
	})
	return ok
}

// reversed reports whether a statement loads with a negative stride along v.
func reversed(s *Statement, v *term.Variable) bool {
	found := false
	s.Value.Walk(func(n *term.Term) {
		if n.Op == term.Element {
			f := AccessOf(n.Read).Offset
			found = found || !f.Hidden(v) && f.Factor(v) < 0
		}
	})
	return found
}
