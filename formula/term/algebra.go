package term

import (
	"maps"
	"math"
	"slices"
)

// The constructors below simplify as derivatives need it: they fold operations on 0 and 1, and move signs
// outward. The results are equal in exact arithmetic.

// IsZero reports whether n is the number 0.
func (n *Term) IsZero() bool { return n.Op == Constant && n.Kind != Boolean && n.Value() == 0 }

// IsOne reports whether n is the number 1.
func (n *Term) IsOne() bool { return n.Op == Constant && n.Kind != Boolean && n.Value() == 1 }

// negative reports whether n is -x and n + beside may be rewritten as beside - x. It may not if x may be the
// least integer and the sum is real: -x overflows to x as an integer, but not as a real number.
func negative(n, beside *Term) bool {
	return n.Op == Negate && (n.Kind == Real || beside.Kind != Real || !mayBeLeast(n.Args[0]))
}

// mayBeLeast reports whether an integer depends on elements or reductions, so that it may be the least
// integer.
func mayBeLeast(n *Term) bool {
	found := false
	n.Walk(func(m *Term) { found = found || m.Kind == Integer && (m.Op == Element || m.Op == Reduce) })
	return found
}

// Sum returns x + y.
func Sum(x, y *Term) *Term {
	switch {
	case x.IsZero():
		return y
	case y.IsZero():
		return x
	case negative(y, x):
		return Difference(x, y.Args[0])
	case negative(x, y):
		return Difference(y, x.Args[0])
	}
	return Arithmetic(Add, x, y)
}

// Difference returns x - y.
func Difference(x, y *Term) *Term {
	switch {
	case y.IsZero():
		return x
	case x.IsZero():
		return Opposite(y)
	case negative(y, x):
		return Sum(x, y.Args[0])
	}
	return Arithmetic(Subtract, x, y)
}

// Opposite returns -x.
func Opposite(x *Term) *Term {
	switch {
	case x.Op == Constant:
		return Arithmetic(Multiply, Number(-1), x)
	case x.Op == Negate:
		return x.Args[0]
	case x.Op == Subtract:
		return Arithmetic(Subtract, x.Args[1], x.Args[0])
	}
	k := x.Kind
	if k == Boolean { // a condition counts as 1 or 0
		k = Integer
	}
	return &Term{Op: Negate, Kind: k, Args: []*Term{x}}
}

// Product returns x * y. It multiplies (c ? a : 0) * y inside of the conditional, so that 0 is not
// multiplied by an infinite y.
func Product(x, y *Term) *Term {
	switch {
	case x.IsZero() || y.IsZero():
		return Number(0)
	case x.IsOne():
		return y
	case y.IsOne():
		return x
	case negative(x, y):
		return Opposite(Product(x.Args[0], y))
	case negative(y, x):
		return Opposite(Product(x, y.Args[0]))
	case guarded(x):
		return Chosen(x.Args[0], Product(x.Args[1], y), Product(x.Args[2], y))
	case guarded(y):
		return Chosen(y.Args[0], Product(x, y.Args[1]), Product(x, y.Args[2]))
	case x.Op == Divide && x.Args[0].IsOne():
		return Ratio(y, x.Args[1])
	case y.Op == Divide && y.Args[0].IsOne():
		return Ratio(x, y.Args[1])
	}
	return Arithmetic(Multiply, x, y)
}

// guarded reports whether n is c ? x : 0 or c ? 0 : x.
func guarded(n *Term) bool {
	return n.Op == Choose && n.Kind != Boolean && (n.Args[1].IsZero() || n.Args[2].IsZero())
}

// Ratio returns the real number x / y.
func Ratio(x, y *Term) *Term {
	switch {
	case x.IsZero():
		return x
	case y.IsOne():
		return x
	case x.Op == Negate && (x.Kind == Real || !mayBeLeast(x.Args[0])):
		return Opposite(Ratio(x.Args[0], y))
	case guarded(x):
		return Chosen(x.Args[0], Ratio(x.Args[1], y), Ratio(x.Args[2], y))
	}
	return Arithmetic(Divide, x, y)
}

// WholeRatio returns x / y as a quotient that rewrites must keep: they do not split the product x into
// factors.
func WholeRatio(x, y *Term) *Term {
	switch {
	case x.Op == Negate:
		return Opposite(WholeRatio(x.Args[0], y))
	case guarded(x):
		return Chosen(x.Args[0], WholeRatio(x.Args[1], y), WholeRatio(x.Args[2], y))
	}
	out := Ratio(x, y)
	if out != x && out.Op == Divide && x.Op != Element {
		out.Whole = true
	}
	return out
}

// ratio returns x / y in place of quotient n: like n, it may be one that rewrites must keep.
func (n *Term) ratio(x, y *Term) *Term {
	if n.Whole {
		return WholeRatio(x, y)
	}
	return Ratio(x, y)
}

// Chosen returns c ? x : y, folded if c is constant or x is y.
func Chosen(c, x, y *Term) *Term {
	if holds, known := c.Truth(); known {
		if !holds {
			x, y = y, x
		}
		if y.Kind == Real { // so is the choice: sums with it do not wrap
			return inReals(x)
		}
		return x
	}
	if Identical(x, y) {
		return x
	}
	return Conditional(c, x, y)
}

// inReals returns a choice among integer constants as one among real numbers. It returns other terms as they
// are.
func inReals(n *Term) *Term {
	switch {
	case n.Kind != Integer:
	case n.Op == Constant:
		return RealNumber(n.Value())
	case n.Op == Choose:
		return Conditional(n.Args[0], inReals(n.Args[1]), inReals(n.Args[2]))
	}
	return n
}

// Applied returns the call of the function with this name on args.
func Applied(name string, args ...*Term) *Term {
	f := Functions[name]
	return &Term{Op: Apply, Kind: f.Result, Func: f, Args: args}
}

// Conjuncts returns the operands of the conjunction c: none if c is nil.
func Conjuncts(c *Term) []*Term {
	switch {
	case c == nil:
		return nil
	case c.Op == And:
		return append(Conjuncts(c.Args[0]), Conjuncts(c.Args[1])...)
	}
	return []*Term{c}
}

// All returns the conjunction of distinct conditions, or nil if there are none. It skips nil.
func All(conditions ...*Term) *Term {
	var out *Term
	var seen []*Term
next:
	for _, c := range conditions {
		if c == nil {
			continue
		}
		for _, s := range seen {
			if Identical(s, c) {
				continue next
			}
		}
		seen = append(seen, c)
		if out == nil {
			out = c
		} else {
			out = Both(out, c)
		}
	}
	return out
}

// Map rebuilds n with f applied to its operands, and folds the result. Folding preserves the value: a real
// product or quotient with a factor 0 (or c ? x : 0) is folded only if the other factor is finite, since
// Inf*0 is NaN. A reduction gets fresh variables. An element and a function application are n itself if f
// returns their operands as they are.
func (n *Term) Map(f func(*Term) *Term) *Term {
	if n == nil {
		return nil
	}
	var few [4]*Term // most terms have few operands, which then take no memory here
	args := few[:0]
	same := true
	for _, a := range n.Args {
		x := f(a)
		args, same = append(args, x), same && x == a
	}
	switch n.Op {
	case Add:
		return Sum(args[0], args[1])
	case Subtract:
		return Difference(args[0], args[1])
	case Multiply:
		if n.Kind == Real && (vanishes(args[0]) && !args[1].finite() || vanishes(args[1]) && !args[0].finite()) {
			return Arithmetic(Multiply, args[0], args[1])
		}
		return Product(args[0], args[1])
	case Divide:
		if vanishes(args[0]) && (args[1].IsZero() || !args[1].finite()) {
			return Arithmetic(Divide, args[0], args[1])
		}
		return n.ratio(args[0], args[1])
	case Quotient, Modulo, Truncate:
		return Arithmetic(n.Op, args[0], args[1])
	case Negate:
		return Opposite(args[0])
	case And:
		return Both(args[0], args[1])
	case Or:
		return Either(args[0], args[1])
	case Not:
		return Negated(args[0])
	case Choose:
		return Chosen(args[0], args[1], args[2])
	case Element:
		r := *n.Read
		for k, i := range n.Read.Idx {
			x := f(i)
			if same && x != i {
				r.Idx, same = slices.Clone(n.Read.Idx), false
			}
			if !same {
				r.Idx[k] = x
			}
		}
		if r.Which != nil {
			r.Which = f(r.Which)
		}
		if r.Else != nil {
			r.Else = f(r.Else)
		}
		if same && r.Which == n.Read.Which && r.Else == n.Read.Else {
			return n
		}
		return &Term{Op: Element, Kind: n.Kind, Read: &r}
	case Reduce:
		r := *n.Reduction
		r.Vars = nil
		fresh := map[*Variable]*Term{}
		for _, v := range n.Reduction.Vars {
			w := &Variable{Name: v.Name, Lo: f(v.Lo).Substitute(fresh), Hi: f(v.Hi).Substitute(fresh)}
			fresh[v] = w.Term()
			r.Vars = append(r.Vars, w)
		}
		if r.Guard != nil {
			r.Guard = f(r.Guard).Substitute(fresh)
		}
		if r.Body != nil {
			r.Body = f(r.Body).Substitute(fresh)
		}
		if r.Number != nil {
			r.Number = f(r.Number).Substitute(fresh)
		}
		r.At = nil
		for _, i := range n.Reduction.At {
			r.At = append(r.At, f(i))
		}
		return &Term{Op: Reduce, Kind: n.Kind, Reduction: &r}
	}
	if same {
		return n
	}
	out := *n
	out.Args = slices.Clone(args)
	return &out
}

// Derived is Map for derivatives, where it folds 0*x to 0 for every x: a gradient of 0 means that nothing
// depends on the element.
func (n *Term) Derived(f func(*Term) *Term) *Term {
	if n != nil && n.Kind == Real && (n.Op == Multiply || n.Op == Divide) && !vanishes(n.Args[0]) && !vanishes(n.Args[1]) {
		if x, y := f(n.Args[0]), f(n.Args[1]); n.Op == Multiply {
			return Product(x, y)
		} else {
			return n.ratio(x, y)
		}
	}
	return n.Map(f)
}

// vanishes reports whether n is 0, c ? x : 0 or c ? 0 : x.
func vanishes(n *Term) bool { return n.IsZero() || guarded(n) }

// finite reports whether n is known to be finite: an integer or a finite constant.
func (n *Term) finite() bool {
	return n.Kind != Real || n.Op == Constant && !math.IsInf(n.Value(), 0) && !math.IsNaN(n.Value())
}

// Term returns a term whose value is that of the index variable.
func (v *Variable) Term() *Term { return &Term{Op: Index, Kind: Integer, Var: v} }

// Elsewhere returns n with each tensor t that it reads renumbered to to(t). It does not rewrite the ranges of
// indices.
func (n *Term) Elsewhere(to func(tensor int) int) *Term {
	if n == nil {
		return nil
	}
	list := func(terms []*Term) []*Term {
		out := make([]*Term, len(terms))
		for i, x := range terms {
			out[i] = x.Elsewhere(to)
		}
		return out
	}
	out := *n
	out.Args = list(n.Args)
	if n.Read != nil {
		r := *n.Read
		r.Tensor, r.Idx, r.Which, r.Else = to(r.Tensor), list(r.Idx), r.Which.Elsewhere(to), r.Else.Elsewhere(to)
		out.Read = &r
	}
	if n.Reduction != nil {
		r := *n.Reduction
		r.Guard, r.Body, r.Number, r.At = r.Guard.Elsewhere(to), r.Body.Elsewhere(to), r.Number.Elsewhere(to), list(r.At)
		out.Reduction = &r
	}
	return &out
}

// Substitute returns n with values in place of variables.
func (n *Term) Substitute(values map[*Variable]*Term) *Term {
	if n == nil || len(values) == 0 {
		return n
	}
	if n.Op == Index {
		if x := values[n.Var]; x != nil {
			return x
		}
		return n
	}
	if n.Op == Reduce {
		return n.substituteInside(values)
	}
	return n.Map(func(x *Term) *Term { return x.Substitute(values) })
}

// substituteInside is Substitute for a reduction. It renames the reduction's variables in the same pass: a
// pass for each reduction would take time exponential in the depth of nesting.
func (n *Term) substituteInside(values map[*Variable]*Term) *Term {
	r := *n.Reduction
	inner := maps.Clone(values)
	r.Vars = nil
	for _, v := range n.Reduction.Vars {
		w := &Variable{Name: v.Name, Lo: v.Lo.Substitute(inner), Hi: v.Hi.Substitute(inner)}
		r.Vars = append(r.Vars, w)
		if values[v] == nil {
			inner[v] = w.Term()
		}
	}
	r.Guard, r.Body, r.Number, r.At = r.Guard.Substitute(inner), r.Body.Substitute(inner), r.Number.Substitute(inner), nil
	for _, i := range n.Reduction.At {
		r.At = append(r.At, i.Substitute(values))
	}
	return &Term{Op: Reduce, Kind: n.Kind, Reduction: &r}
}

// Uses reports whether v occurs in n.
func (n *Term) Uses(v *Variable) bool {
	found := false
	n.Walk(func(m *Term) { found = found || m.Op == Index && m.Var == v })
	return found
}

// UsesAny reports whether one of vars occurs in n.
func (n *Term) UsesAny(vars []*Variable) bool {
	for _, v := range vars {
		if n.Uses(v) {
			return true
		}
	}
	return false
}

// Reduces reports whether n contains a reduction.
func (n *Term) Reduces() bool {
	found := false
	n.Walk(func(m *Term) { found = found || m.Op == Reduce })
	return found
}

// Reads reports whether n reads an element of a tensor.
func (n *Term) Reads() bool {
	found := false
	n.Walk(func(m *Term) { found = found || m.Op == Element })
	return found
}
