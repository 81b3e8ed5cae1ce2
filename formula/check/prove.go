package check

import (
	"slices"
	"strings"
)

// info holds the known facts about an atom: bounds, and the operation that the atom stands for.
type info struct {
	min    int64 // the least value, if hasMin
	hasMin bool
	extent *extent // bounds that depend on other integers
	// over and by are the operands of a floor quotient over / by, if the atom is one.
	over, by poly
	// dividend is the first operand of a remainder dividend % by, if the atom is one.
	dividend poly
	// of holds the operands if the atom is a max (greatest is set) or a min.
	of       []poly
	greatest bool
	// prefix is the slice whose elements are summed, if the atom is a sum such as sum(C[:i]).
	prefix *run
	// list is the name of the list if the atom is an element of it. bounds is the name of the list if the
	// atom is the max (greatest is set) or the min of its elements.
	list, bounds string
	// free is set for elements of tensors without bounds, and for what the caller passes: these are any
	// integers of 64 bits, whose sums may wrap around.
	free bool
}

func (i *info) atLeast(n int64) {
	if !i.hasMin || n > i.min {
		i.min, i.hasMin = n, true
	}
}

func (f *formula) atomInfo(name string) *info {
	i := f.info[name]
	if i == nil {
		i = &info{}
		for _, counts := range []string{"len(", "prod(", "sum("} {
			if strings.HasPrefix(name, counts) {
				i.atLeast(0)
			}
		}
		f.info[name] = i
	}
	return i
}

// derived returns the facts about an atom that stands for an operation on integers.
func (f *formula) derived(name string, of ...poly) *info {
	i := f.atomInfo(name)
	i.free = slices.ContainsFunc(of, f.isFree)
	return i
}

// isFree reports whether p contains an integer that may be any of 64 bits.
func (f *formula) isFree(p poly) bool {
	return p != nil && slices.ContainsFunc(p.Keys(), func(a string) bool { return f.info[a] != nil && f.info[a].free })
}

// div returns the floor quotient p / q as an atom.
func (f *formula) div(p, q poly) poly {
	if p == nil || q == nil {
		return nil
	}
	if n, ok := q.Number(); ok && n == 1 {
		return p
	}
	name := "(" + operand(p, false) + " / " + operand(q, true) + ")"
	i := f.derived(name, p, q)
	i.over, i.by = p, q
	if f.obvious(p, nil) && f.obvious(q, nil) {
		i.atLeast(0)
	}
	return atom(name)
}

// mod returns the remainder p % q as an atom.
func (f *formula) mod(p, q poly) poly {
	if p == nil || q == nil {
		return nil
	}
	name := "(" + operand(p, false) + " % " + operand(q, true) + ")"
	i := f.derived(name, p, q)
	i.dividend, i.by = p, q
	return atom(name)
}

// choice returns cond ? x : y as an atom, with a lower bound if both operands have one.
func (f *formula) choice(cond string, x, y poly) poly {
	name := "(" + cond + " ? " + x.String() + " : " + y.String() + ")"
	f.derived(name, x, y)
	a, ok1 := x.Number()
	b, ok2 := y.Number()
	switch {
	case ok1 && ok2:
		f.atomInfo(name).atLeast(min(a, b))
	case f.obvious(x, nil) && f.obvious(y, nil):
		f.atomInfo(name).atLeast(0)
	}
	return atom(name)
}

// extreme returns the min or the max of integers as an atom; fn is its name.
func (f *formula) extreme(fn string, ps []poly) poly {
	text := make([]string, len(ps))
	for i, p := range ps {
		if p == nil {
			return nil
		}
		text[i] = p.String()
	}
	name := fn + "(" + strings.Join(text, ", ") + ")"
	i := f.derived(name, ps...)
	i.of, i.greatest = ps, fn == "max"
	nonnegative := func(p poly) bool { return f.obvious(p, nil) }
	if i.greatest && slices.ContainsFunc(ps, nonnegative) || every(ps, nonnegative) {
		i.atLeast(0)
	}
	return atom(name)
}

func every(ps []poly, holds func(poly) bool) bool {
	return !slices.ContainsFunc(ps, func(p poly) bool { return !holds(p) })
}

// maxProof bounds the steps of one proof, and maxProofs those of all proofs of a formula.
const (
	maxProof  = 200
	maxProofs = 10_000
)

// proof is a search for a proof of p >= 0. It is in the manner of Fourier-Motzkin elimination: it replaces
// one atom after the other by a bound, until all products are obviously not negative.
type proof struct {
	*formula
	fr    *frame
	steps int
	tried map[string]bool // polynomials for which the search failed so far
}

// nonnegative reports whether p >= 0 is provable with the ranges and conditions that hold at fr.
func (f *formula) nonnegative(p poly, fr *frame) bool {
	if p == nil {
		return false
	}
	if f.proofs <= 0 {
		f.c.giveUp()
		return true
	}
	return (&proof{f, fr, min(maxProof, f.proofs), map[string]bool{}}).holds(p)
}

func (pr *proof) holds(p poly) bool {
	pr.formula.proofs--
	if pr.steps--; pr.steps < 0 || p == nil {
		return false
	}
	p = pr.normal(p)
	if p == nil {
		return false
	}
	if pr.obvious(p, pr.fr) || pr.implied(p) {
		return true
	}
	text := p.String()
	if pr.tried[text] {
		return false
	}
	pr.tried[text] = true
	if name := pr.extremeIn(p); name != "" {
		return pr.oneOrAll(p, name)
	}
	name, x := pr.bounded(p)
	if name == "" {
		return pr.quotient(p) || pr.listed(p) || slices.ContainsFunc(p.Keys(), func(a string) bool { return pr.replaced(p, a, pr.tested(a, extent{})) })
	}
	return pr.replaced(p, name, x)
}

// implied reports whether p >= 0 follows from one comparison that holds: p exceeds the difference of its
// sides, or equals it. What the sides contain lies within 2^61, so no sum of it wraps around.
func (pr *proof) implied(p poly) bool {
	for fr := pr.fr; fr != nil; fr = fr.outer {
		for _, t := range fr.tests {
			d := t.y.Sub(t.x)
			if !t.equal {
				d = d.Sub(constant(1))
			}
			if !pr.isFree(d) && pr.obvious(p.Sub(pr.normal(d)), pr.fr) {
				return true
			}
		}
	}
	return false
}

// extremeIn returns an atom of p that is a min or a max, or "".
func (pr *proof) extremeIn(p poly) string {
	for _, a := range p.Keys() {
		if i := pr.info[a]; i != nil && i.of != nil {
			return a
		}
	}
	return ""
}

// oneOrAll proves p >= 0 by substitution of the operands for the min or max name. A proof with one operand is
// enough where the extreme is at least as favorable: a max with a positive factor, or a min with a negative
// one. Otherwise it needs a proof for each operand.
func (pr *proof) oneOrAll(p poly, name string) bool {
	factor, rest, ok := p.Linear(name)
	i := pr.info[name]
	with := func(q poly) bool { return pr.holds(rest.Add(factor.Mul(q))) }
	switch {
	case !ok:
		return false
	case pr.obvious(factor, pr.fr) && i.greatest, pr.obvious(constant(0).Sub(factor), pr.fr) && !i.greatest:
		return slices.ContainsFunc(i.of, with)
	}
	return every(i.of, with)
}

// replaced proves p >= 0 by substitution of a bound for the atom name, whose range is x: a lower bound if the
// factor of the atom is positive, and an upper bound if it is negative.
func (pr *proof) replaced(p poly, name string, x extent) bool {
	factor, rest, ok := p.Linear(name)
	if !ok {
		return false
	}
	var with []poly
	switch {
	case pr.obvious(factor, pr.fr):
		for _, lo := range x.los {
			with = append(with, pr.normal(rest.Add(factor.Mul(lo))))
		}
	case pr.obvious(constant(0).Sub(factor), pr.fr):
		for _, hi := range x.his {
			with = append(with, pr.normal(rest.Add(factor.Mul(hi.Sub(constant(1))))))
		}
	}
	return slices.ContainsFunc(with, func(q poly) bool { return pr.obvious(q, pr.fr) }) || slices.ContainsFunc(with, pr.holds)
}

// bounded returns an atom of p with a range, and the range: a lookup with declared bounds, a remainder, a
// prefix sum, or else the innermost index. The order matters, since the range of an index may depend on outer
// indices.
func (pr *proof) bounded(p poly) (string, extent) {
	all := p.Keys()
	for _, a := range all {
		i := pr.info[a]
		switch {
		case i != nil && i.extent != nil:
			return a, pr.tested(a, *i.extent)
		case i != nil && i.dividend != nil:
			return a, pr.tested(a, *below(i.by))
		case i != nil && i.prefix != nil:
			if x := pr.prefix(i.prefix); x != nil {
				return a, *x
			}
		}
	}
	for fr := pr.fr; fr != nil; fr = fr.outer {
		for _, b := range slices.Backward(fr.bound) {
			if name := indexMark + b.name; b.run == nil && slices.Contains(all, name) {
				return name, pr.tested(name, b.extent)
			}
		}
	}
	return "", extent{}
}

// listed proves p >= 0 where p contains both an element of a list and the min or max of the list: min(list)
// <= list[i] <= max(list).
func (pr *proof) listed(p poly) bool {
	all := p.Keys()
	for _, a := range all {
		i := pr.info[a]
		if i == nil || i.bounds == "" {
			continue
		}
		for _, b := range all {
			if e := pr.info[b]; e == nil || e.list != i.bounds {
				continue
			}
			x := extent{his: []poly{atom(b).Add(constant(1))}}
			if i.greatest {
				x = extent{los: []poly{atom(b)}}
			}
			if pr.replaced(p, a, x) {
				return true
			}
		}
	}
	return false
}

// prefix returns the range of a prefix sum sum(C[:i]) with i < len(C): at most sum(C) - C[i].
func (pr *proof) prefix(r *run) *extent {
	begin, ok := r.lo.Number()
	if !ok || begin != 0 || r.whole.whole != nil || !pr.holds(r.whole.rank.Sub(constant(1)).Sub(r.hi)) || !pr.holds(r.hi) {
		return nil
	}
	next := pr.at(r.whole, r.hi)
	return below(pr.sum(r.whole).Sub(next).Add(constant(1)))
}

// tested adds the bounds on the atom name that the conditions at fr imply to range x.
func (pr *proof) tested(name string, x extent) extent {
	x.los, x.his = slices.Clone(x.los), slices.Clone(x.his)
	for fr := pr.fr; fr != nil; fr = fr.outer {
		for _, t := range fr.tests {
			more := constant(1)
			if t.equal {
				more = constant(0)
			}
			if t.x.Single() == name && !pr.wraps(t.y) { // x < y
				x.his = append(x.his, t.y.Add(constant(1)).Sub(more))
			}
			if t.y.Single() == name && !pr.wraps(t.x) {
				x.los = append(x.los, t.x.Add(more))
			}
		}
	}
	return x
}

// wraps reports whether p may be a sum that wraps around, so that what holds for p holds for no part of it.
func (pr *proof) wraps(p poly) bool { return p.Single() == "" && pr.isFree(p) }

// quotient proves p >= 0 where p contains a floor quotient a / b with factor 1 or -1, or with a multiple of
// b. For the former it multiplies by b: a / b <= c if a < (c + 1) * b, and a / b >= c if a >= c * b. For the
// latter, a / b * b lies from a - b + 1 to a, and is at least 0 if a is.
func (pr *proof) quotient(p poly) bool {
	for _, a := range p.Keys() {
		i := pr.info[a]
		if i == nil || i.over == nil {
			continue
		}
		factor, rest, ok := p.Linear(a)
		if !ok || !pr.obvious(i.by.Sub(constant(1)), pr.fr) {
			continue
		}
		if times := factor.Over(i.by); times != nil && !pr.isFree(p) {
			switch {
			case pr.obvious(constant(0).Sub(times), pr.fr):
				return pr.holds(rest.Add(times.Mul(i.over)))
			case pr.obvious(times, pr.fr):
				return pr.holds(rest.Add(times.Mul(i.over.Sub(i.by).Add(constant(1))))) || pr.holds(i.over) && pr.holds(rest)
			}
		}
		n, isNumber := factor.Number()
		if !isNumber {
			continue
		}
		switch n {
		case 1:
			return pr.holds(i.over.Add(rest.Mul(i.by)))
		case -1:
			return pr.holds(rest.Add(constant(1)).Mul(i.by).Sub(constant(1)).Sub(i.over))
		}
	}
	return false
}

// obvious reports whether p >= 0 follows from the lower bounds of its atoms alone: after a shift of each atom
// by its lower bound, no coefficient is negative. The extent of an index that is bound at fr is at least 1.
func (f *formula) obvious(p poly, fr *frame) bool {
	if p == nil {
		return false
	}
	shifted := p
	for _, a := range p.Keys() {
		i := f.atomInfo(a)
		if !i.hasMin {
			if !strings.HasPrefix(a, indexMark) || !fr.startsAtZero(a) {
				return false
			}
			continue
		}
		least := i.min
		if fr.nonempty(a) {
			least = max(least, 1)
		}
		if least < 0 {
			return false
		}
		shifted = f.shift(shifted, a, least)
	}
	return shifted.NoneNegative()
}

// shift substitutes name + by for the atom name in p.
func (f *formula) shift(p poly, name string, by int64) poly {
	if by == 0 || p == nil {
		return p
	}
	factor, rest, ok := p.Linear(name)
	if !ok {
		return p
	}
	return rest.Add(factor.Mul(atom(name).Add(constant(by))))
}

// startsAtZero reports whether the range of an index begins at 0 or above.
func (fr *frame) startsAtZero(name string) bool {
	return slices.ContainsFunc(fr.indices(strings.TrimPrefix(name, indexMark)), func(b *binding) bool { return b.notNegative() })
}

// nonempty reports whether an index at fr ranges below the atom name, which is therefore at least 1.
func (fr *frame) nonempty(name string) bool {
	for ; fr != nil; fr = fr.outer {
		for _, b := range fr.bound {
			if b.notNegative() && slices.ContainsFunc(b.his, func(hi poly) bool { return hi.Single() == name }) {
				return true
			}
		}
	}
	return false
}

// notNegative reports whether all integers in x are at least 0, by a constant lower bound.
func (x *extent) notNegative() bool {
	return slices.ContainsFunc(x.los, func(lo poly) bool {
		n, ok := lo.Number()
		return ok && n >= 0
	})
}
