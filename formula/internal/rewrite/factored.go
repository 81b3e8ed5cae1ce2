package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// factored takes a sum of products over several indices apart, if a sum over one of them takes less time by
// itself: in sum(i, j: x[b, i] * w[i, j] * z[b, j]), the sum of w[i, j] * z[b, j] over j is a product of
// matrices, and sum(i, j: x[b, i] * z[a, j]) goes over j once for each a. A temporary holds the inner sums,
// unless it is large, and larger than all tensors that the sum reads. A guard that does not use the index
// stays outside. factored returns n if no part takes less time.
func (z *normalizer) factored(n *term.Term, around []*term.Variable, lenient bool) *term.Term {
	r := n.Reduction
	if z.whole || z.ordered || n.Kind != term.Real || r.Kind != reduction.Sum || len(r.Vars) < 2 || r.Scan() != nil || r.Chain() != nil {
		return n
	}
	total, known := knownBox(slices.Concat(around, r.Vars))
	factors := factorsOf(r.Body)
	if !known || total < leastProducts || len(factors) < 2 {
		return n
	}
	largest := mostHeld
	Reads(r.Body, func(x *term.Read) { largest = max(largest, Elements(z.p.Tensors[x.Tensor])) })
	var best *term.Term // the sum over the index by itself
	var over *term.Variable
	var outer []*term.Variable
	least := total + 1
	for _, v := range slices.Backward(r.Vars) {
		inner := slices.DeleteFunc(slices.Clone(factors), func(x *term.Term) bool { return !x.Uses(v) })
		if len(inner) == 0 || len(inner) == len(factors) || Reaches(r, v) || r.Guard.Uses(v) {
			continue
		}
		part := &term.Reduction{Kind: reduction.Sum, Vars: []*term.Variable{v}, Body: productOf(inner), Part: -1}
		sum := (&term.Term{Op: term.Reduce, Kind: term.Real, Reduction: part}).Map(func(x *term.Term) *term.Term { return x })
		vars := slices.DeleteFunc(slices.Concat(around, r.Vars), func(w *term.Variable) bool { return !sum.Uses(w) })
		if size := Box(vars); size > largest || len(vars) != len(sum.Free()) || size*Extent(v) >= least ||
			size*Extent(v)*leastSaved > total && !(len(inner) == 2 && crosses(inner[0], inner[1], v) && multiplies(part)) {
			continue
		}
		best, over, outer, least = sum, v, vars, Box(vars)*Extent(v)
	}
	if best == nil {
		return n
	}
	lenient = lenient || r.Guard != nil // the temporary has sums where the guard does not hold
	held := z.known(best, lenient)
	if held == nil {
		held = z.temporary(best, outer, lenient)
	}
	rest := slices.DeleteFunc(factors, func(x *term.Term) bool { return x.Uses(over) })
	to := *r
	to.Vars = slices.DeleteFunc(slices.Clone(r.Vars), func(v *term.Variable) bool { return v == over })
	to.Body = productOf(append(rest, held))
	return z.factored(&term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &to}, around, lenient)
}

// crosses reports whether a sum of products of x and y over v is a product of matrices: each of them has an
// index that the other one lacks.
func crosses(x, y *term.Term, v *term.Variable) bool {
	lacks := func(a, b *term.Term) bool {
		return slices.ContainsFunc(a.Free(), func(w *term.Variable) bool { return w != v && !b.Uses(w) })
	}
	return lacks(x, y) && lacks(y, x)
}

// factorsOf returns the factors of a product of real numbers.
func factorsOf(n *term.Term) []*term.Term {
	if n.Op != term.Multiply || n.Kind != term.Real {
		return []*term.Term{n}
	}
	return append(factorsOf(n.Args[0]), factorsOf(n.Args[1])...)
}

// productOf returns the product of real numbers, in their order.
func productOf(factors []*term.Term) *term.Term {
	out := factors[0]
	for _, x := range factors[1:] {
		out = &term.Term{Op: term.Multiply, Kind: term.Real, Args: []*term.Term{out, x}}
	}
	return out
}
