package formula

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// bucket is code for a segment reduction: a reduction whose guard equates an index of the statement with a
// value, such as the histogram total[e] = sum(b if expert[b] == e: x[b]). One pass over the elements
// scatters each into its segment. A naive loop would scan all elements for each segment.
type bucket struct {
	target []int              // frame slots of the indices that the guard determines
	value  []func(*frame) int // values to which the guard equates these indices
	lo, hi []func(*frame) int
	each   func(f *frame, visit func(*frame)) // runs the loops over the other indices, and over the reduced ones
	guard  func(*frame) bool                  // the remaining conjuncts of the guard; nil if none
}

// bucketOf returns the code of a segment reduction, or nil if s is not one.
func (c *code) bucketOf(s *program.Statement) *bucket {
	n := s.Value
	if n.Op != term.Reduce || !plainLoops(s) || !n.Reduction.Kind.Is(reduction.Fold) {
		return nil
	}
	r := n.Reduction
	out := &bucket{}
	var given []*term.Variable
	var values, rest []*term.Term
	for _, g := range term.Conjuncts(r.Guard) {
		v, x := assigned(g, s.Vars)
		if v == nil || slices.Contains(given, v) || x.UsesAny(given) || slices.ContainsFunc(values, func(x *term.Term) bool { return x.Uses(v) }) {
			rest = append(rest, g)
			continue
		}
		given, values = append(given, v), append(values, x)
		out.target, out.value = append(out.target, c.slots[v]), append(out.value, c.integer(x))
		out.lo, out.hi = append(out.lo, c.integer(v.Lo)), append(out.hi, c.integer(v.Hi))
	}
	if len(given) == 0 || slices.ContainsFunc(r.Vars, func(v *term.Variable) bool { return v.Lo.UsesAny(given) || v.Hi.UsesAny(given) }) {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return slices.Contains(given, v) })
	out.each = c.loop(append(others, r.Vars...), nil)
	if g := term.All(rest...); g != nil {
		out.guard = c.boolean(g)
	}
	return out
}

// assigned matches a guard v == x for an index v in vars, and returns v and x. It returns nil for a guard of
// another form.
func assigned(g *term.Term, vars []*term.Variable) (*term.Variable, *term.Term) {
	if g.Op != term.Equal {
		return nil, nil
	}
	for i, a := range g.Args {
		x := g.Args[1-i]
		if a.Op == term.Index && slices.Contains(vars, a.Var) && x.Kind == term.Integer && !x.Uses(a.Var) {
			return a.Var, x
		}
	}
	return nil, nil
}

// run visits each element that passes the guard, with the indices of its segment set in the frame.
func (b *bucket) run(f *frame, visit func(*frame)) {
	b.each(f, func(f *frame) {
		for i, value := range b.value {
			lo, hi := b.lo[i](f), b.hi[i](f)
			if lo >= hi { // the value may be in bounds only where there is a segment
				return
			}
			v := value(f)
			if v < lo || v >= hi {
				return
			}
			f.vars[b.target[i]] = v
		}
		if b.guard == nil || b.guard(f) {
			visit(f)
		}
	})
}

// buckets compiles the forward pass of a segment reduction. It returns nil if s is not one.
func (c *code) buckets(s *program.Statement) func(*frame) {
	b := c.bucketOf(s)
	if b == nil || c.p.Unsigned(s.Value.Reduction.Body) {
		return nil
	}
	place, id, all, r := c.place(s.Left), s.Target, c.loop(s.Vars, nil), s.Value.Reduction
	at := func(f *frame) int { _, i, _ := place(f); return i }
	kind := r.Kind
	if kind == reduction.Count {
		kind = reduction.Sum // of ones
	}
	first := newAccumulator(kind)
	if s.Value.Kind == term.Real {
		x := c.real(countOr(r))
		return func(f *frame) {
			to := f.m.tensors[id].real
			all(f, func(f *frame) { to[at(f)] = first.v })
			b.run(f, func(f *frame) {
				a := accumulator{kind: kind, v: to[at(f)]}
				a.add(counted{x: x(f)})
				to[at(f)] = a.v
			})
		}
	}
	x, isReal := c.integer(countOr(r)), c.p.Tensors[id].Kind == term.Real
	return func(f *frame) {
		to, into := f.m.tensors[id].integer, f.m.tensors[id].real
		if isReal { // a float64 does not represent every partial integer result
			to = make([]int64, len(into))
		}
		all(f, func(f *frame) { to[at(f)] = int64(first.w) })
		b.run(f, func(f *frame) {
			a := accumulator{kind: kind, w: int(to[at(f)])}
			a.add(counted{i: x(f)})
			to[at(f)] = int64(a.w)
		})
		if isReal {
			all(f, func(f *frame) { into[at(f)] = float64(to[at(f)]) })
		}
	}
}

// countOr returns the summand of a sum, which is the constant 1 for a count.
func countOr(r *term.Reduction) *term.Term {
	if r.Body == nil {
		return term.Number(1)
	}
	return r.Body
}

// backBuckets compiles the backward pass of a segment sum. It returns nil if s is not one.
func (c *code) backBuckets(s *program.Statement) func(*frame) {
	b := c.bucketOf(s)
	if b == nil || s.Value.Kind != term.Real || s.Value.Reduction.Kind != reduction.Sum {
		return nil
	}
	place, id, body := c.place(s.Left), s.Target, c.back(s.Value.Reduction.Body, nil)
	return func(f *frame) {
		b.run(f, func(f *frame) {
			_, at, _ := place(f)
			if g := f.m.grads[id][at]; g != 0 {
				body.add(f, g)
			}
		})
	}
}
