package loops

import (
	"slices"

	"github.com/opgen/opgen/internal/term"
)

// digits returns a statement in which an index whose quotient and remainder by a number are used became two: that quotient
// and that remainder. So places that depend on them are linear.
func digits(s *statement) *statement {
	for i, v := range s.vars {
		n := divisor(s, v)
		if n == 0 || n < shortest && i == len(s.vars)-1 && found(s) {
			continue
		}
		high := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(extent(v) / n)}
		low := &term.Variable{Name: v.Name + "'", Lo: term.Number(0), Hi: term.Number(n)}
		whole := term.Sum(term.Product(high.Term(), term.Number(n)), low.Term())
		var replaced func(x *term.Term) *term.Term
		replaced = func(x *term.Term) *term.Term {
			switch {
			case x == nil:
				return nil
			case divides(x, v, n) && x.Op == term.Quotient:
				return high.Term()
			case divides(x, v, n):
				return low.Term()
			case x.Op == term.Index && x.Var == v:
				return whole
			}
			return x.Map(replaced)
		}
		out := s.mapped(replaced)
		out.vars = slices.Concat(s.vars[:i], []*term.Variable{high, low}, s.vars[i+1:])
		return digits(out)
	}
	return s
}

// shortest is how many elements an innermost index goes over at least, if it comes from another one.
const shortest = 16

// found reports whether a statement only copies or adds elements of one tensor, which strips of integers can find.
func found(s *statement) bool {
	return s.value.Op == term.Element && s.value.Read.Else == nil && s.guard == nil
}

// mapped returns a statement with its values replaced.
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

// walk calls visit for the values of a statement.
func (s *statement) walk(visit func(*term.Term)) {
	s.value.Walk(visit)
	s.guard.Walk(visit)
	s.left.Which.Walk(visit)
	for _, x := range s.left.Idx {
		x.Walk(visit)
	}
}

// divisor returns the number by which an index is divided, if that divides its extent; otherwise 0.
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

// divides reports whether x is the quotient or the remainder of an index by a number.
func divides(x *term.Term, v *term.Variable, n int) bool {
	if x.Op != term.Quotient && x.Op != term.Modulo || x.Args[0].Op != term.Index || x.Args[0].Var != v {
		return false
	}
	d, known := x.Args[1].Known()
	return known && d == n
}

// maxPieces is into how many pieces a statement is cut at most.
const maxPieces = 8

// pieces cuts a statement where conditions on one of its indices begin or cease to hold, so that each piece has loops
// without these conditions.
func pieces(s *statement) []*statement {
	for i, v := range s.vars {
		cuts := cutsOf(s, v)
		if len(cuts) == 0 {
			continue
		}
		var out []*statement
		for k := 0; k+1 < len(cuts); k++ {
			lo, hi := cuts[k], cuts[k+1]
			w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(hi - lo)}
			to := map[*term.Variable]*term.Term{v: term.Sum(w.Term(), term.Number(lo))}
			vars := slices.Concat(s.vars[:i], []*term.Variable{w}, s.vars[i+1:])
			if hi == lo+1 {
				to[v] = term.Number(lo)
				vars = slices.Concat(s.vars[:i], s.vars[i+1:])
			}
			p := s.mapped(func(x *term.Term) *term.Term { return x.Substitute(to) })
			p.vars, p.value, p.guard = vars, settled(p.value), settled(p.guard)
			out = append(out, pieces(p)...)
		}
		if len(out) <= maxPieces {
			return out
		}
	}
	return []*statement{s}
}

// cutsOf returns where conditions on an index change, with the ends of its range; nothing if there are none.
func cutsOf(s *statement, v *term.Variable) []int {
	at := []int{0, extent(v)}
	s.walk(func(x *term.Term) {
		if x.Op != term.Less && x.Op != term.AtMost && x.Op != term.Equal && x.Op != term.Unequal ||
			x.Args[0].Kind != term.Integer || x.Args[1].Kind != term.Integer {
			return
		}
		f := linear(x.Args[0]).plus(linear(x.Args[1]), -1)
		if len(f.rest) > 0 || len(f.vars) != 1 || f.vars[0].of != v || f.vars[0].factor != 1 && f.vars[0].factor != -1 {
			return
		}
		zero := -f.base * f.vars[0].factor // where both sides are equal
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
