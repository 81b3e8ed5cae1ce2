package derive

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// neat simplifies n to a fixed point: it reuses stored values, shrinks sums, and drops conditions that
// ranges imply.
func (d *deriver) neat(n *term.Term) *term.Term {
	for range 3 {
		next := trim(tidy(d.recognize(n)))
		if term.Identical(next, n) {
			n = next
			break
		}
		n = next
	}
	return quotients(n)
}

// recognize replaces subterms that a forward statement already computes by its element (common
// subexpressions). It does not read a quotient from a slot: a quotient is cheap, and the gradient that needs
// it reads its operands anyway.
func (d *deriver) recognize(n *term.Term) *term.Term {
	if n.Op == term.Apply || n.Op == term.Reduce || n.Op == term.Divide || n.Op == term.Multiply {
		if x := d.known(n); x != n && !(n.Op == term.Divide && d.p.Tensors[x.Read.Tensor].Slot >= 0) {
			return x
		}
	}
	return n.Derived(d.recognize)
}

// tidy simplifies sums bottom up.
func tidy(n *term.Term) *term.Term {
	n = n.Derived(tidy)
	switch {
	case n.Op == term.Reduce && n.Reduction.Kind == reduction.Sum:
		return tidySum(n)
	case n.Op == term.Add && complements(n.Args[0], n.Args[1]):
		return term.Chosen(n.Args[0].Args[0], n.Args[0].Args[1], n.Args[1].Args[1])
	case (n.Op == term.Add || n.Op == term.Subtract) && n.Kind == term.Real:
		return common(n)
	case n.Op == term.Multiply && n.Kind == term.Real || n.Op == term.Divide:
		if f := factorsOf(n); f.dropped && !slices.ContainsFunc(slices.Concat(f.numerators, f.denominators), (*term.Term).IsBinade) {
			return f.term()
		}
	}
	return n
}

// complements reports whether x is c ? a : 0 and y is !c ? b : 0.
func complements(x, y *term.Term) bool {
	return x.Op == term.Choose && y.Op == term.Choose && x.Args[2].IsZero() && y.Args[2].IsZero() &&
		y.Args[0].Op == term.Not && term.Identical(x.Args[0], y.Args[0].Args[0])
}

// common factors out the elements that all terms of a sum share: a*y + b*y is (a + b)*y.
func common(n *term.Term) *term.Term {
	var products []*factors
	addends(n, false, &products)
	first := products[0]
	out := &factors{}
	for _, x := range slices.Clone(first.numerators) {
		if x.Reads() && !slices.ContainsFunc(products, func(f *factors) bool { return f.place(x) < 0 }) {
			for _, f := range products {
				i := f.place(x)
				f.numerators = slices.Delete(f.numerators, i, i+1)
			}
			out.numerators = append(out.numerators, x)
		}
	}
	if len(out.numerators) == 0 {
		return n
	}
	total := term.Number(0)
	for _, f := range products {
		total = term.Sum(total, f.term())
	}
	out.numerators = append(out.numerators, total)
	return out.term()
}

// addends appends the terms of a sum, each as a signed product.
func addends(n *term.Term, negative bool, out *[]*factors) {
	switch {
	case n.Op == term.Negate:
		addends(n.Args[0], !negative, out)
	case n.Kind == term.Real && (n.Op == term.Add || n.Op == term.Subtract):
		addends(n.Args[0], negative, out)
		addends(n.Args[1], negative != (n.Op == term.Subtract), out)
	default:
		f := factorsOf(n)
		f.negative = f.negative != negative
		*out = append(*out, f)
	}
}

// place returns the position of x among the numerators of f, or -1.
func (f *factors) place(x *term.Term) int {
	return slices.IndexFunc(f.numerators, func(y *term.Term) bool { return term.Identical(x, y) })
}

// tidySum simplifies a sum. A condition v == x eliminates v, an inequality narrows a range, invariant
// factors and conditions are hoisted, and an unused index becomes the factor of its extent. A sum may be
// empty. A hoisted factor must not load out of bounds then, nor turn the sum's 0 into a NaN. Such a factor
// gets the condition that the sum has terms, or stays inside.
func tidySum(n *term.Term) *term.Term {
	r := *n.Reduction
	s := &sum{vars: slices.Clone(r.Vars), guards: term.Conjuncts(r.Guard), body: r.Body}
	s.narrow()
	for s.body.Op == term.Choose && (s.body.Args[1].IsZero() || s.body.Args[2].IsZero()) {
		c, x := s.body.Args[0], s.body.Args[1]
		if x.IsZero() {
			c, x = term.Negated(c), s.body.Args[2]
		}
		s.guards, s.body = append(s.guards, term.Conjuncts(c)...), x
		s.narrow()
	}
	if s.body.IsZero() || slices.ContainsFunc(s.vars, func(v *term.Variable) bool { return exceeds(v.Lo, v.Hi, 0) }) {
		return term.Number(0)
	}
	terms, told := s.terms()
	var inside, outside []*term.Term
	for _, g := range s.guards {
		if holds, known := g.Truth(); known {
			if !holds {
				return term.Number(0)
			}
			continue
		}
		if g.UsesAny(s.vars) || !told && !certain(g) {
			inside = append(inside, g)
		} else {
			outside = append(outside, g)
		}
	}
	f := factorsOf(s.body)
	plain := true // hoisted factors are safe even if the sum is empty
	in, out := f.split(func(x *term.Term, below bool) bool {
		if x.UsesAny(s.vars) || slices.ContainsFunc(f.ratios, func(r ratio) bool { return r.above == x && r.below.UsesAny(s.vars) }) {
			return true
		}
		if slices.ContainsFunc(f.ratios, func(r ratio) bool { return r.whole && r.below == x && r.above.UsesAny(s.vars) }) {
			return true
		}
		fine := tame(x) && (!below || x.Op == term.Constant && !x.IsZero())
		if !fine && !told {
			return true
		}
		plain = plain && fine
		return false
	})
	guard := term.All(inside...)
	x := in.term()
	var vars []*term.Variable
	scale := term.Number(1)
	for i, v := range s.vars {
		used := x.Uses(v) || guard != nil && guard.Uses(v)
		for _, w := range s.vars[i+1:] {
			used = used || w.Lo.Uses(v) || w.Hi.Uses(v)
		}
		if used || v.Lo.UsesAny(s.vars) || v.Hi.UsesAny(s.vars) || !v.Lo.Is(0) {
			vars = append(vars, v)
		} else {
			scale = term.Product(scale, extentOf(v))
			plain = plain && (occupied(v) || tame(x) && len(in.denominators) == 0)
		}
	}
	switch {
	case len(vars) > 0:
		x = &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &term.Reduction{Kind: reduction.Sum, Vars: vars, Guard: guard, Body: x, Part: -1}}
	case guard != nil:
		x = term.Chosen(guard, x, term.Number(0))
	}
	out.numerators = append(out.numerators, scale, x)
	x = out.term()
	for _, g := range outside {
		plain = plain && certain(g)
	}
	if !plain {
		outside = append(terms, outside...)
	}
	if all := term.All(outside...); all != nil {
		x = term.Chosen(all, x, term.Number(0))
	}
	return x
}

// tame reports whether n can be evaluated speculatively: it reads no tensor, and is finite.
func tame(n *term.Term) bool {
	ok := true
	n.Walk(func(m *term.Term) {
		switch m.Op {
		case term.Element:
			ok = false
		case term.Divide:
			ok = ok && m.Args[1].Op == term.Constant && !m.Args[1].IsZero()
		case term.Power:
			ok = ok && (m.Kind != term.Real || m.Args[1].Op == term.Constant && m.Args[1].Value() >= 1)
		case term.Apply:
			ok = ok && !m.Func.Has(term.Grows|term.Singular)
		case term.Reduce:
			ok = ok && (m.Kind != term.Real || m.Reduction.Kind == reduction.Sum || m.Reduction.Kind == reduction.Prod)
		}
	})
	return ok
}

// terms returns the conditions, in outer indices, under which the sum is not empty: that its ranges are not
// empty. told is false if emptiness depends on other conditions as well.
func (s *sum) terms() (conditions []*term.Term, told bool) {
	told = true
	for _, v := range s.vars {
		switch {
		case occupied(v):
		case v.Lo.UsesAny(s.vars) || v.Hi.UsesAny(s.vars):
			told = false
		default:
			conditions = append(conditions, bounds(term.Less, v.Lo, v.Hi)...)
		}
	}
	for _, g := range s.guards {
		if holds, known := g.Truth(); !(known && holds) && g.UsesAny(s.vars) && !s.leaves(g) {
			told = false
		}
	}
	return conditions, told
}

// leaves reports whether the sum is not empty under guard g: g is v != x, it is the only guard on vars, and v
// has at least two values.
func (s *sum) leaves(g *term.Term) bool {
	if g.Op == term.Not && g.Args[0].Op == term.Equal {
		g = &term.Term{Op: term.Unequal, Kind: term.Boolean, Args: g.Args[0].Args}
	}
	if g.Op != term.Unequal {
		return false
	}
	others := 0
	for _, h := range s.guards {
		if h.UsesAny(s.vars) {
			others++
		}
	}
	return others == 1 && slices.ContainsFunc(s.vars, func(v *term.Variable) bool {
		return (g.Args[0].Op == term.Index && g.Args[0].Var == v && !g.Args[1].UsesAny(s.vars) ||
			g.Args[1].Op == term.Index && g.Args[1].Var == v && !g.Args[0].UsesAny(s.vars)) && exceeds(v.Hi, v.Lo, 2)
	})
}

// sum is the sum of body over vars for which all guards hold.
type sum struct {
	vars   []*term.Variable
	guards []*term.Term
	body   *term.Term
}

// narrow applies the rules replace and cut until neither applies.
func (s *sum) narrow() {
	for range 50 { // a bound, since rewriting may loop
		if !s.replace() && !s.cut() && !s.digit() {
			return
		}
	}
}

// digit counts an index from the beginning of its range, if the range is a block: the values with one
// quotient by a constant, such as 12 * (k / 12) .. 12 * (k / 12) + 12. The quotient becomes that of the
// block, and the remainder the new index. It reports whether it found such an index.
func (s *sum) digit() bool {
	for i, v := range s.vars {
		n, known := term.Norm(term.Difference(v.Hi, v.Lo)).Known()
		if !known || n < 2 || v.Lo.UsesAny(s.vars) || v.Lo.Reads() { // an element may wrap around in a product
			continue
		}
		block, rest := parts(v.Lo, n)
		if !rest.Is(0) {
			continue
		}
		w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(n)}
		digits := map[term.Op]*term.Term{term.Quotient: block, term.Modulo: w.Term()}
		found := false
		var counted func(x *term.Term) *term.Term
		counted = func(x *term.Term) *term.Term {
			if d := digits[x.Op]; d != nil && x.Args[0].Op == term.Index && x.Args[0].Var == v && x.Args[1].Is(n) {
				found = true
				return d
			}
			return x.Map(counted)
		}
		to := map[*term.Variable]*term.Term{v: term.Sum(w.Term(), v.Lo)}
		out := &sum{vars: slices.Clone(s.vars), body: shorter(counted(s.body).Substitute(to))}
		for _, g := range s.guards {
			out.guards = append(out.guards, shorter(counted(g).Substitute(to)))
		}
		if !found || slices.ContainsFunc(s.vars, func(u *term.Variable) bool { return u.Lo.Uses(v) || u.Hi.Uses(v) }) {
			continue
		}
		out.vars[i] = w
		*s = *out
		return true
	}
	return false
}

// longestSubscript bounds the number of terms by which subscripts are compared.
const longestSubscript = 100

// shorter normalizes the subscripts in n that become shorter. The others stay as they are in the formula,
// so that equal values are found.
func shorter(n *term.Term) *term.Term {
	return n.Map(func(x *term.Term) *term.Term {
		if x.Kind == term.Integer && !x.Reads() && !x.Reduces() {
			if y := term.Norm(x); y.Size(longestSubscript) < x.Size(longestSubscript) {
				return y
			}
			return x
		}
		return shorter(x)
	})
}

// replace eliminates an index v with a guard v == x: it substitutes x for v, and adds the condition that x is
// in the range of v. It reports whether it found such a guard.
func (s *sum) replace() bool {
	for i, v := range s.vars {
		if slices.ContainsFunc(s.vars, func(w *term.Variable) bool { return w.Lo.Uses(v) || w.Hi.Uses(v) }) {
			continue
		}
		for j, g := range s.guards {
			x := equals(g, v)
			if x == nil {
				continue
			}
			// Guards are evaluated in order. The range check of x precedes the guards that use x in place of
			// v, and follows the guards that keep the loads in x in bounds.
			uses := func(g *term.Term) bool { return g.Uses(v) }
			before := j
			if i := slices.IndexFunc(s.guards[:j], uses); i >= 0 {
				if !certain(x) {
					continue
				}
				before = i
			}
			m := map[*term.Variable]*term.Term{v: x}
			guards := append(slices.Clone(s.guards[:before]), some(v, x)...)
			if !v.Lo.Is(0) || !term.NonNegative(x) {
				guards = append(guards, bounds(term.AtMost, v.Lo, x)...)
			}
			if !(x.Op == term.Index && x.Var.Lo.Is(0) && term.SameInteger(x.Var.Hi, v.Hi)) {
				guards = append(guards, bounds(term.Less, x, v.Hi)...)
			}
			for k, g := range s.guards[before:] {
				if before+k != j {
					guards = append(guards, g.Substitute(m))
				}
			}
			s.guards, s.body = guards, s.body.Substitute(m)
			s.vars = slices.Delete(slices.Clone(s.vars), i, i+1)
			return true
		}
	}
	return false
}

// some returns the condition that the range of v is not empty, if x reads tensors and is substituted for v.
// The subscripts in x may be in bounds only if v has a value. It returns nil if x reads no tensor or if the
// range is known not to be empty.
func some(v *term.Variable, x *term.Term) []*term.Term {
	c := term.Compare(term.Less, v.Lo, v.Hi)
	if holds, known := c.Truth(); !x.Reads() || known && holds {
		return nil
	}
	return []*term.Term{c}
}

// equals returns x if g is v == x or x == v, else nil.
func equals(g *term.Term, v *term.Variable) *term.Term {
	if g.Op != term.Equal || g.Args[0].Kind != term.Integer || g.Args[1].Kind != term.Integer {
		return nil
	}
	for i, a := range g.Args {
		if other := g.Args[1-i]; a.Op == term.Index && a.Var == v && !other.Uses(v) {
			return other
		}
	}
	return nil
}

// cut moves a guard that is an inequality, such as v <= x, into the range of an index. It reports whether it
// found such a guard.
func (s *sum) cut() bool {
	for i, v := range s.vars {
		for j, g := range s.guards {
			lo, hi := bound(g, v)
			if lo == nil && hi == nil || lo.UsesAny(s.vars[i:]) || hi.UsesAny(s.vars[i:]) {
				continue
			}
			w := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
			if lo != nil {
				if v.Lo.Is(0) && term.NonNegative(lo) {
					w.Lo = lo
				} else {
					w.Lo = term.Greatest(v.Lo, lo)
				}
			}
			if hi != nil {
				w.Hi = term.Least(v.Hi, hi)
				if v.Hi.Op == term.Constant && quotientOf(term.Difference(g.Args[0], g.Args[1]), v) != nil && exceeds(v.Hi, hi, 0) {
					w.Hi = hi
				}
			}
			m, replaced := map[*term.Variable]*term.Term{v: w.Term()}, []*term.Variable{v}
			vars, guards := slices.Clone(s.vars), slices.Delete(slices.Clone(s.guards), j, j+1)
			vars[i] = w
			for k := i + 1; k < len(vars); k++ {
				if u := vars[k]; u.Lo.UsesAny(replaced) || u.Hi.UsesAny(replaced) {
					x := &term.Variable{Name: u.Name, Lo: u.Lo.Substitute(m), Hi: u.Hi.Substitute(m)}
					vars[k], m[u], replaced = x, x.Term(), append(replaced, u)
				}
			}
			for k := range guards {
				guards[k] = guards[k].Substitute(m)
			}
			s.vars, s.guards, s.body = vars, guards, s.body.Substitute(m)
			return true
		}
	}
	return false
}

// bound solves the inequality g for v, and returns the bound that it sets: lo <= v or v < hi. Both are nil
// if g does not bound v.
func bound(g *term.Term, v *term.Variable) (lo, hi *term.Term) {
	if g.Op != term.Less && g.Op != term.AtMost || g.Args[0].Kind != term.Integer || g.Args[1].Kind != term.Integer || g.Reads() {
		return nil, nil
	}
	a, b, one := g.Args[0], g.Args[1], term.Number(1)
	if a.Uses(v) == b.Uses(v) {
		return nil, nil
	}
	difference := term.Difference(b, a) // is >= 0
	if g.Op == term.Less {
		difference = term.Difference(difference, one)
	}
	x := quotientOf(difference, v)
	if x == nil {
		return solved(difference, v)
	}
	q := x.Args[1]
	c, rest, ok := term.Linear(x.Args[0], v)
	if q.Uses(v) || !ok || !positive(q) || !positive(c) {
		return nil, nil
	}
	u := &term.Variable{Name: v.Name}
	lo, hi = solved(replacing(difference, x, u.Term()), u)
	end := func(n *term.Term) *term.Term { // x / q < n iff x < q * n
		if n == nil || n.Uses(v) {
			return nil
		}
		most := term.Difference(term.Difference(term.Product(q, n), one), rest)
		return term.Norm(term.Sum(term.Arithmetic(term.Quotient, term.Norm(most), c), one))
	}
	return end(lo), end(hi)
}

// solved solves difference >= 0 for v, in which it is linear.
func solved(difference *term.Term, v *term.Variable) (lo, hi *term.Term) {
	one := term.Number(1)
	c, rest, ok := term.Linear(difference, v)
	switch {
	case !ok:
		return nil, nil
	case positive(c):
		return term.Norm(term.Sum(floored(term.Norm(term.Difference(term.Opposite(rest), one)), c), one)), nil
	case positive(term.Opposite(c)):
		return nil, term.Norm(term.Sum(floored(rest, term.Norm(term.Opposite(c))), one))
	}
	return nil, nil
}

// quotientOf returns the quotient in n that uses v, if there is only one, and v is nowhere else.
func quotientOf(n *term.Term, v *term.Variable) (q *term.Term) {
	alone := true
	n.WalkInto(func(x *term.Term) bool {
		switch {
		case x.Op == term.Quotient && x.Uses(v):
			alone = alone && (q == nil || term.Identical(q, x))
			q = x
			return false
		case x.Op == term.Index && x.Var == v:
			alone = false
		}
		return true
	})
	if !alone {
		return nil
	}
	return q
}

// replacing returns n with another term in place of x.
func replacing(n, x, by *term.Term) *term.Term {
	if term.Identical(n, x) {
		return by
	}
	return n.Map(func(m *term.Term) *term.Term { return replacing(m, x, by) })
}

// floored returns the quotient of x and a positive constant: multiples of the constant are whole.
func floored(x, by *term.Term) *term.Term {
	n, known := by.Known()
	if !known || n == 1 {
		return term.Arithmetic(term.Quotient, x, by)
	}
	whole, rest := parts(x, n)
	if rest.Is(0) {
		return whole
	}
	return term.Sum(whole, term.Arithmetic(term.Quotient, rest, by))
}

// parts returns w and r with x = n * w + r, where r has no terms with multiples of n.
func parts(x *term.Term, n int) (w, r *term.Term) {
	w, r = term.Number(0), term.Number(0)
	for _, m := range term.Monomials(x) {
		part := term.Number(m.Coefficient)
		if m.Coefficient%n == 0 {
			part = term.Number(m.Coefficient / n)
		}
		for _, f := range m.Factors {
			part = term.Product(part, f)
		}
		if m.Coefficient%n == 0 {
			w = term.Sum(w, part)
		} else {
			r = term.Sum(r, part)
		}
	}
	return term.Norm(w), term.Norm(r)
}

// factors is a product of numerators divided by denominators, with a sign.
type factors struct {
	negative                 bool
	numerators, denominators []*term.Term
	// ratios pairs a numerator with a denominator for each factor that was written as a quotient x / y. The
	// quotient may be a normal number although x and y overflow or underflow, so the pair stays together,
	// unless only the denominator is hoisted out of a sum.
	ratios  []ratio
	dropped bool // whether a power of 2 was canceled
}

type ratio struct {
	above, below *term.Term
	whole        bool // see term.Term
}

func factorsOf(n *term.Term) *factors {
	f := &factors{}
	f.add(n, false)
	f.cancel()
	return f
}

// cancel removes powers of 2 that are both a numerator and a denominator, as the scale of a norm is. Its
// square may underflow or overflow.
func (f *factors) cancel() {
	f.numerators = slices.DeleteFunc(f.numerators, func(x *term.Term) bool {
		if !x.IsBinade() {
			return false
		}
		at := slices.IndexFunc(f.denominators, func(y *term.Term) bool { return term.Identical(x, y) })
		if at >= 0 {
			f.shorten(x)
			f.dropped = true
			f.denominators = slices.Delete(f.denominators, at, at+1)
		}
		return at >= 0
	})
}

// shorten replaces the ratios x / by and by / y by the ratio x / y.
func (f *factors) shorten(by *term.Term) {
	i := slices.IndexFunc(f.ratios, func(r ratio) bool { return term.Identical(r.below, by) })
	j := slices.IndexFunc(f.ratios, func(r ratio) bool { return term.Identical(r.above, by) })
	if i >= 0 && j >= 0 {
		f.ratios[i].below = f.ratios[j].below
		f.ratios = slices.Delete(f.ratios, j, j+1)
	}
}

func (f *factors) add(n *term.Term, below bool) {
	switch {
	case n.Op == term.Negate:
		f.negative = !f.negative
		f.add(n.Args[0], below)
	case n.Op == term.Multiply && n.Kind == term.Real:
		f.add(n.Args[0], below)
		f.add(n.Args[1], below)
	case n.Op == term.Divide:
		i, j := len(f.numerators), len(f.denominators)
		x, negative := n.Args[0], false
		if n.Whole && !below {
			x, negative = withoutSign(x)
			f.negative = f.negative != negative
			f.numerators = append(f.numerators, x)
		} else {
			f.add(x, below)
		}
		f.add(n.Args[1], !below)
		if !below && len(f.numerators) == i+1 && len(f.denominators) == j+1 && (n.Whole || f.numerators[i].Reads() && f.denominators[j].Reads()) {
			f.ratios = append(f.ratios, ratio{f.numerators[i], f.denominators[j], n.Whole})
		}
	case below:
		f.denominators = append(f.denominators, n)
	default:
		f.numerators = append(f.numerators, n)
	}
}

// withoutSign returns n without its leading negations, and whether their number is odd.
func withoutSign(n *term.Term) (x *term.Term, negative bool) {
	for x = n; x.Op == term.Negate; x = x.Args[0] {
		negative = !negative
	}
	return x, negative
}

// split partitions the factors by predicate in, whose argument below is true for a denominator. The sign goes
// to outside.
func (f *factors) split(in func(x *term.Term, below bool) bool) (inside, outside *factors) {
	inside, outside = &factors{ratios: f.ratios}, &factors{negative: f.negative, ratios: f.ratios}
	for _, x := range f.numerators {
		if in(x, false) {
			inside.numerators = append(inside.numerators, x)
		} else {
			outside.numerators = append(outside.numerators, x)
		}
	}
	for _, x := range f.denominators {
		if in(x, true) {
			inside.denominators = append(inside.denominators, x)
		} else {
			outside.denominators = append(outside.denominators, x)
		}
	}
	return inside, outside
}

// repeatedLast moves the factors that occur several times to the end of list, and returns their number.
func repeatedLast(list []*term.Term) (out []*term.Term, repeated int) {
	var last []*term.Term
	for i, x := range list {
		if slices.ContainsFunc(list[:i], func(y *term.Term) bool { return term.Identical(x, y) }) ||
			slices.ContainsFunc(list[i+1:], func(y *term.Term) bool { return term.Identical(x, y) }) {
			last = append(last, x)
		} else {
			out = append(out, x)
		}
	}
	return append(out, last...), len(last)
}

// term returns the product, with its constants folded into one factor. It does not multiply denominators,
// since their product may overflow: g*x/(y*y) becomes g*(x/y)/y. It does not square a numerator that it can
// divide first: g*x*x/y becomes g*x*(x/y).
func (f *factors) term() *term.Term {
	scale, out := 1.0, term.Number(1)
	var above, below []*term.Term
	for _, x := range f.numerators {
		if x.Op == term.Constant {
			scale *= x.Value()
		} else {
			above = append(above, x)
		}
	}
	for _, x := range f.denominators {
		if x.Op == term.Constant && x.Value() == 2 { // halving is exact; other divisors may round
			scale /= 2
		} else if !x.IsOne() {
			below = append(below, x)
		}
	}
	if f.negative {
		scale = -scale
	}
	below = slices.DeleteFunc(below, func(x *term.Term) bool { // the scale of a norm, which upstream gradients contain
		if len(above) == 0 || !x.IsBinade() {
			return false
		}
		above[0] = term.Ratio(above[0], x)
		return true
	})
	for _, r := range f.ratios {
		i, j := slices.Index(above, r.above), slices.Index(below, r.below)
		if i >= 0 && j >= 0 {
			if r.whole {
				above[i] = term.WholeRatio(above[i], below[j])
			} else {
				above[i] = term.Ratio(above[i], below[j])
			}
			below = slices.Delete(below, j, j+1)
		}
	}
	repeated := 0
	if slices.ContainsFunc(below, (*term.Term).Reads) { // the number of elements is no such divisor
		above, repeated = repeatedLast(above)
	}
	paired := repeated
	if paired == 0 && len(below) > 1 {
		paired = min(1, len(above))
	}
	for i := len(above) - 1; i >= len(above)-paired && len(below) > 0; i-- {
		above[i] = term.Ratio(above[i], below[0])
		below = below[1:]
	}
	for _, x := range above {
		out = term.Product(out, x)
	}
	out = term.Product(constant(math.Abs(scale)), out)
	for _, x := range below {
		out = term.Ratio(out, x)
	}
	if scale < 0 {
		out = term.Opposite(out)
	}
	return out
}

// constant returns v as an integer constant if v is whole, else as a real constant.
func constant(v float64) *term.Term {
	if v == math.Trunc(v) && v < 1<<31 {
		return term.Number(int(v))
	}
	return term.RealNumber(v)
}

// trim drops conditions, quotients and remainders that follow from the ranges of indices.
func trim(n *term.Term) *term.Term {
	n = n.Derived(trim)
	switch {
	case n.Op == term.Reduce && n.Reduction.Guard != nil:
		r := *n.Reduction
		r.Guard = implied(r.Guard)
		return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
	case n.Op == term.Choose:
		if g := implied(n.Args[0]); g == nil {
			return n.Args[1]
		} else if n.Args[2].IsZero() {
			return term.Chosen(g, n.Args[1], n.Args[2])
		}
	case n.Op == term.Quotient && withinOne(n):
		return term.Number(0)
	case n.Op == term.Modulo && withinOne(n):
		return n.Args[0]
	}
	return n
}

// withinOne reports whether n divides an index by the extent of its range.
func withinOne(n *term.Term) bool {
	v := n.Args[0]
	return v.Op == term.Index && v.Var.Lo.Is(0) && term.SameInteger(v.Var.Hi, n.Args[1])
}

// implied returns g without the conjuncts that the ranges of indices imply, or nil if none is left.
func implied(g *term.Term) *term.Term {
	var out []*term.Term
	for _, c := range term.Conjuncts(g) {
		if holds, known := c.Truth(); known && holds {
			continue
		}
		if c.Op == term.AtMost && c.Args[0].Is(0) && term.NonNegative(c.Args[1]) && c.Args[1].Kind == term.Integer {
			continue
		}
		if c.Op == term.Less && c.Args[0].Op == term.Index && c.Args[1].Kind == term.Integer && term.SameInteger(c.Args[0].Var.Hi, c.Args[1]) {
			continue
		}
		out = append(out, c)
	}
	return term.All(out...)
}

// Narrowed moves conditions on the indices of reductions in n into the ranges of these indices, where that is
// possible: sum(i if i <= k: x[i]) is sum(i in 0 .. k + 1: x[i]). A sum over an index whose value a condition
// tells is what it adds there, or 0. A reduction becomes a scan only if scans is set, and outside of other
// reductions, of branches and of conditions.
func Narrowed(n *term.Term, scans bool) *term.Term {
	within := scans && n.Op != term.Reduce && n.Op != term.Choose && n.Op != term.And && n.Op != term.Or
	n = n.Map(func(x *term.Term) *term.Term { return Narrowed(x, within) })
	if n.Op != term.Reduce || n.Kind != term.Real || n.Reduction.Body.Reduces() || n.Reduction.Guard.Reduces() { // temporaries hold what constant ranges go over
		return n
	}
	if scans && n.Reduction.Kind.Is(reduction.Extreme) && !n.Reduction.Relative() {
		if x := runningParts(n); x != nil {
			return x
		}
	}
	out := narrowed(n)
	if out.Op == term.Reduce && n.Reduction.Scan() == nil {
		if t := out.Reduction.Scan(); t != nil && (!scans || t.Guard != nil) {
			return n
		}
	}
	return out
}

// narrowed is Narrowed for reduction n itself.
func narrowed(n *term.Term) *term.Term {
	r := n.Reduction
	s := &sum{vars: slices.Clone(r.Vars), guards: term.Conjuncts(r.Guard), body: r.Body}
	rewritten := false
	switch r.Kind {
	case reduction.Sum:
		for s.body.Op == term.Choose && s.body.Args[2].IsZero() {
			s.guards, s.body = append(slices.Clone(s.guards), term.Conjuncts(s.body.Args[0])...), s.body.Args[1]
		}
		for range 50 { // a bound, since rewriting may loop
			if !s.replace() && !s.cut() {
				break
			}
			rewritten = true
		}
	case reduction.Mean, reduction.Max, reduction.Min, reduction.Prod:
		if r.Relative() || r.Chain() != nil {
			return n
		}
		for range 50 {
			if !s.cut() {
				break
			}
			rewritten = true
		}
	}
	if !rewritten {
		return n
	}
	if r.Kind == reduction.Sum && slices.ContainsFunc(s.vars, func(v *term.Variable) bool { return exceeds(v.Lo, v.Hi, 0) }) {
		return term.RealNumber(0)
	}
	guard := term.All(s.guards...)
	switch {
	case len(s.vars) > 0:
	case guard == nil:
		return s.body
	default:
		return term.Chosen(guard, s.body, term.RealNumber(0))
	}
	to := *r
	to.Vars, to.Guard, to.Body = s.vars, guard, s.body
	return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &to}
}
