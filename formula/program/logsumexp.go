package program

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// A logsumexp is represented as a pair: the maximum m of the elements, and log(sum(exp(x - m))). The sum of
// both would be rounded to the precision of m. So other terms are added to m first, and the log last: x -
// logsumexp(..) is (x - m) - log, which is precise for elements of any magnitude.

// relative lowers a logsumexp to the sum of its pair: m + log(sum(exp(x - m))).
func relative(n *term.Term) *term.Term {
	if len(n.Reduction.Vars) == 0 && n.Reduction.Guard == nil { // the element is its own maximum
		return n.Reduction.Body
	}
	same := func(x *term.Term) *term.Term { return x }
	top := n.Map(same) // a copy with fresh variables
	top.Reduction.Kind, top.Reduction.Detached = reduction.Max, true
	if b := top.Reduction.Body; b.Kind == term.Integer { // in real numbers, where the maximum of none is -Inf
		top.Reduction.Body = term.Arithmetic(term.Multiply, term.RealNumber(1), b)
	}
	rest := n.Map(same)
	rest.Reduction.At = []*term.Term{top}
	return term.Arithmetic(term.Add, top, rest)
}

// apart stores the pairs within the body of a logsumexp in temporaries. The parts of a pair contain the body
// three times, so nested pairs would otherwise grow threefold with each level. Pairs under a condition stay,
// since the condition may keep their loads in bounds. around holds the enclosing indices.
func (b *builder) apart(n *term.Term, around []*term.Variable) *term.Term {
	switch n.Op {
	case term.Choose, term.And, term.Or:
		out := *n
		out.Args = slices.Clone(n.Args)
		out.Args[0] = b.apart(n.Args[0], around)
		return &out
	case term.Element:
		return n
	case term.Reduce:
		r := *n.Reduction
		if r.Relative() {
			r.At = []*term.Term{b.apart(r.At[0], around)}
		}
		if r.Relative() || r.Detached {
			out := &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
			var vars []*term.Variable
			for _, v := range around {
				if out.Uses(v) || empty(v) {
					vars = append(vars, v)
				}
			}
			return b.temporaryOnce(out, vars)
		}
		if r.Body != nil && r.Guard == nil {
			r.Body = b.apart(r.Body, append(slices.Clip(around), r.Vars...))
		}
		return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
	}
	if len(n.Args) == 0 {
		return n
	}
	out := *n
	out.Args = make([]*term.Term, len(n.Args))
	for i, x := range n.Args {
		out.Args[i] = b.apart(x, around)
	}
	return &out
}

// partOfPair returns the value for one target of a statement such as m[n], r[n] = logsumexp(k: x[n, k]). x is
// the sum of the pair. part is 0 for the maximum, and 1 for the log.
func (b *builder) partOfPair(s *expr.Statement, x *term.Term, part int, sc *scope) (*term.Term, error) {
	if x.Op != term.Add { // no reduction indices: the element is its own maximum
		if part == 0 {
			return x, nil
		}
		return term.RealNumber(0), nil
	}
	if part == 0 {
		return x.Args[0], nil
	}
	top, err := b.eval(s.Targets[0], sc, false)
	if err != nil {
		return nil, err
	}
	r := *x.Args[1].Reduction
	r.At = []*term.Term{top}
	return &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &r}, nil
}

// signed is an addend of a sum, with its sign.
type signed struct {
	of       *term.Term
	negative bool
}

// logarithms splits a sum into the logs of pairs at its end, and the rest.
func (b *builder) logarithms(n *term.Term) (rest *term.Term, logs []signed) {
	switch {
	case n.Kind != term.Real:
	case n.Op == term.Negate:
		if rest, logs = b.logarithms(n.Args[0]); len(logs) > 0 {
			for i := range logs {
				logs[i].negative = !logs[i].negative
			}
			return term.Opposite(rest), logs
		}
	case (n.Op == term.Add || n.Op == term.Subtract) && b.isLogarithm(n.Args[1]):
		rest, logs = b.logarithms(n.Args[0])
		return rest, append(logs, signed{n.Args[1], n.Op == term.Subtract})
	}
	return n, nil
}

// isLogarithm reports whether n is the log of a pair, or an element of a temporary that holds one.
func (b *builder) isLogarithm(n *term.Term) bool {
	if n.Op == term.Reduce {
		return n.Reduction.Relative()
	}
	return n.Op == term.Element && b.seconds[n.Read.Tensor]
}

// add returns x + y or x - y, with the logs of pairs as its last addends.
func (b *builder) add(op term.Op, x, y *term.Term) *term.Term {
	x, logs := b.logarithms(x)
	y, more := b.logarithms(y)
	for _, l := range more {
		logs = append(logs, signed{l.of, l.negative != (op == term.Subtract)})
	}
	out := term.Arithmetic(op, x, y)
	for _, l := range logs {
		if l.negative {
			out = term.Arithmetic(term.Subtract, out, l.of)
		} else {
			out = term.Arithmetic(term.Add, out, l.of)
		}
	}
	return out
}

// halve stores the parts of pair x in temporaries, and records that tensor id is their sum, so that readers
// of id read the parts. It returns x itself unless the statement defines a whole tensor by plain indices.
func (b *builder) halve(id int, left *term.Read, vars []*term.Variable, x *term.Term) *term.Term {
	delete(b.pairs, id)
	if x.Op != term.Add || x.Args[1].Op != term.Reduce || !x.Args[1].Reduction.Relative() || left.ByNumber || len(vars) != len(left.Idx) {
		return x
	}
	top, rest := x.Args[0], x.Args[1]
	for i, v := range vars {
		if left.Idx[i].Op != term.Index || left.Idx[i].Var != v || !v.Lo.Is(0) || !term.Identical(v.Hi, left.Ext[i]) || !top.Uses(v) {
			return x
		}
	}
	if top.Op != term.Reduce || !top.Reduction.Detached {
		return x
	}
	top = b.temporaryOnce(b.hoist(top, vars, false), vars)
	r := *rest.Reduction
	r.At = []*term.Term{top}
	rest = b.temporaryOnce(b.hoist(&term.Term{Op: term.Reduce, Kind: rest.Kind, Reduction: &r}, vars, false), vars)
	if top.Op != term.Element || rest.Op != term.Element {
		return term.Arithmetic(term.Add, top, rest)
	}
	b.seconds[rest.Read.Tensor] = true
	x = term.Arithmetic(term.Add, top, rest)
	b.pairs[id] = pairOf{vars, x}
	return x
}

// pairOf is the sum of the pair that defines an element of a tensor, as a function of the tensor's indices
// vars.
type pairOf struct {
	vars []*term.Variable
	sum  *term.Term
}

// paired returns the sum of a pair in place of element n, if that pair defines the tensor of n. It returns n
// itself otherwise.
func (b *builder) paired(n *term.Term) *term.Term {
	r := n.Read
	p, ok := b.pairs[r.Tensor]
	if !ok || r.Which != nil || r.ByNumber || r.Else != nil || len(r.Idx) != len(p.vars) {
		return n
	}
	values := map[*term.Variable]*term.Term{}
	for i, v := range p.vars {
		values[v] = r.Idx[i]
	}
	return p.sum.Substitute(values)
}

// temporaryOnce is temporary, but reuses the temporary of an equal value in the same statement.
func (b *builder) temporaryOnce(n *term.Term, vars []*term.Variable) *term.Term {
	i := slices.IndexFunc(b.hoisted, func(h hoisted) bool { return term.Identical(h.of, n) && slices.Equal(h.vars, vars) })
	if i >= 0 {
		return b.hoisted[i].element
	}
	x := b.temporary(n, vars)
	b.hoisted = append(b.hoisted, hoisted{n, vars, x})
	return x
}

// hoisted records a value of the present statement that a temporary holds, and the element of the temporary.
// The indices of the temporary are vars.
type hoisted struct {
	of      *term.Term
	vars    []*term.Variable
	element *term.Term
}
