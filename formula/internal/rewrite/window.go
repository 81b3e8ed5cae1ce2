package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
)

// windows applies windowed to the guardable reductions in a value, and reports whether any changed.
func windows(n *term.Term) (out *term.Term, found bool) {
	if !n.Reduces() {
		return n, false
	}
	if n.Op == term.Reduce && n.Reduction.Kind.Is(reduction.Guarded) {
		r := Windowed(n.Reduction)
		found = r != n.Reduction
		n = &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: r}
	}
	out = n.Map(func(x *term.Term) *term.Term {
		y, inside := windows(x)
		found = found || inside
		return y
	})
	return out, found
}

// Windowed replaces ranges of a reduction that are windows of constant size, clipped at borders, by constant
// ranges. A guard excludes elements beyond the borders. It returns r if it has no such range.
func Windowed(r *term.Reduction) *term.Reduction {
	out := *r
	out.Vars = nil
	to, found := map[*term.Variable]*term.Term{}, false
	var conditions []*term.Term
	for i, v := range r.Vars {
		w := v
		if v.Lo.UsesAny(r.Vars) || v.Hi.UsesAny(r.Vars) { // of earlier indices, which may have been shifted
			w = &term.Variable{Name: v.Name, Lo: v.Lo.Substitute(to), Hi: v.Hi.Substitute(to)}
			to[v] = w.Term()
		}
		first, size, rest := window(w)
		if size == 0 || looksUp(r.Vars[i+1:], v) { // a later range would be loaded beyond the borders
			out.Vars = append(out.Vars, w)
			continue
		}
		found = true
		element := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(size)}
		to[v] = term.Sum(first, element.Term())
		for _, c := range rest {
			conditions = append(conditions, c.Substitute(map[*term.Variable]*term.Term{w: to[v]}))
		}
		out.Vars = append(out.Vars, element)
	}
	if !found {
		return r
	}
	conditions = append(conditions, r.Guard) // last: it may load elements beyond the borders
	for i, c := range conditions {
		conditions[i] = settled(c.Substitute(to))
		if conditions[i] == nil {
			continue
		}
		if holds, known := conditions[i].Truth(); known && holds {
			conditions[i] = nil
		}
	}
	out.Guard = term.All(conditions...)
	out.Body, out.Number = r.Body.Substitute(to), r.Number.Substitute(to)
	return &out
}

// looksUp reports whether the range of an index in vars is loaded from a tensor at a subscript that uses
// index by.
func looksUp(vars []*term.Variable, by *term.Variable) bool {
	return slices.ContainsFunc(vars, func(v *term.Variable) bool {
		return v.Lo.Reads() && v.Lo.Uses(by) || v.Hi.Reads() && v.Hi.Uses(by)
	})
}

// window returns the begin, the constant size and the border conditions of the smallest window that contains
// the range of v. size is 0 if the range is constant, or if no window has a constant size.
func window(v *term.Variable) (first *term.Term, size int, conditions []*term.Term) {
	if _, known := v.Lo.Known(); known {
		if _, known := v.Hi.Known(); known {
			return nil, 0, nil
		}
	}
	lows, highs := term.Operands(v.Lo, term.Max), term.Operands(v.Hi, term.Min)
	at, end := -1, -1
	for i, lo := range lows {
		for j, hi := range highs {
			d := steady(Linear(hi)).Plus(steady(Linear(lo)), -1)
			if !d.Constant() || d.Base <= 0 || size > 0 && d.Base >= size {
				continue
			}
			if Linear(lo).Constant() && (d.Base > mostInWindow || v.Lo.Reads() || v.Hi.Reads()) { // the range may be a small part of the window
				continue
			}
			at, end, first, size = i, j, lo, d.Base
		}
	}
	if size == 0 {
		return nil, 0, nil
	}
	for i, lo := range lows { // a window may be larger than the dimension that it is a part of
		for j, hi := range highs {
			if d := differenceOf(hi, lo); Linear(lo).Constant() && d.Constant() && d.Base > 0 && d.Base < size {
				at, end, first, size = i, j, lo, d.Base
			}
		}
	}
	// An end that depends on elements may wrap around, where the range is empty and the window is not.
	fixed := func(x *term.Term) bool { return !x.Reads() }
	wraps := !fixed(lows[at]) && !(slices.ContainsFunc(lows, fixed) && slices.ContainsFunc(highs, fixed))
	for i, x := range lows {
		if i != at || wraps {
			conditions = append(conditions, atMost(x, v.Term()))
		}
	}
	for i, x := range highs {
		if i != end || wraps {
			conditions = append(conditions, below(v.Term(), x))
		}
	}
	return first, size, conditions
}

// steady reduces the constants in dividends of quotients to [0, divisor), so that quotients that differ by a
// constant have the same form.
func steady(f Form) Form {
	out := Form{Base: f.Base, Vars: f.Vars}
	for _, p := range f.Rest {
		d := 0
		if p.Of.Op == term.Quotient {
			d, _ = p.Of.Args[1].Known()
		}
		if d <= 0 {
			out.Rest = append(out.Rest, p)
			continue
		}
		x := Linear(p.Of.Args[0])
		q := shape.FloorDiv(x.Base, d)
		out.Base += p.Factor * q
		of := term.Arithmetic(term.Quotient, term.Norm(term.Difference(p.Of.Args[0], term.Number(q*d))), p.Of.Args[1])
		out.Rest = append(out.Rest, Addend{of, p.Factor})
	}
	return out
}

// quotient returns x, d and c if n is x / d + c with a floor quotient. d is 0 for other terms.
func quotient(n *term.Term) (x *term.Term, d, c int) {
	f := Linear(n)
	if len(f.Vars) > 0 || len(f.Rest) != 1 || f.Rest[0].Factor != 1 || f.Rest[0].Of.Op != term.Quotient {
		return nil, 0, 0
	}
	of := f.Rest[0].Of
	if d, known := of.Args[1].Known(); known && d > 0 {
		return of.Args[0], d, f.Base
	}
	return nil, 0, 0
}

// atMost returns x <= y, and below x < y. A side that is a quotient is multiplied by its divisor, since
// strips compare affine forms.
func atMost(x, y *term.Term) *term.Term {
	if a, d, c := quotient(x); d > 0 { // a / d <= y - c
		most := term.Sum(term.Product(term.Number(d), term.Difference(y, term.Number(c))), term.Number(d))
		return term.Compare(term.Less, a, most)
	}
	return term.Compare(term.AtMost, x, y)
}

func below(x, y *term.Term) *term.Term {
	if a, d, c := quotient(y); d > 0 { // x - c + 1 <= a / d
		least := term.Product(term.Number(d), term.Sum(x, term.Number(1-c)))
		return term.Compare(term.AtMost, least, a)
	}
	return term.Compare(term.Less, x, y)
}
