package program

import (
	"fmt"

	"github.com/opgen/opgen/formula/term"
)

// A function that uses an argument twice duplicates it, and a gradient has a factor for each operation on
// the way. So a value of more than maxWhole terms is split: its parts of more than maxPart terms are stored
// in temporaries. A value that cannot be split, such as the body of a reduction, has at most maxTerms.
const (
	maxWhole = 1 << 7
	maxPart  = 1 << 5
	maxTerms = 1 << 10
)

// errTooLarge is the error for a value that cannot be split.
var errTooLarge = fmt.Errorf("the value consists of more than %d parts once functions are applied, within a reduction or a condition: "+
	"give parts of it names, by statements of their own", maxTerms)

// splitter splits a value. The maps memoize by term, so that a shared part is stored once.
type splitter struct {
	*builder
	vars  []*term.Variable
	parts map[*term.Term]*term.Term // parts that are evaluated unconditionally
	lazy  map[*term.Term]*term.Term // parts that are evaluated conditionally
}

// split returns n with large parts stored in temporaries over vars.
func (b *builder) split(n *term.Term, vars []*term.Variable) (*term.Term, error) {
	if !n.Larger(maxWhole) {
		return n, nil
	}
	s := &splitter{b, vars, map[*term.Term]*term.Term{}, map[*term.Term]*term.Term{}}
	n = s.always(n, true)
	if n.Larger(maxTerms) {
		return nil, errTooLarge
	}
	return n, nil
}

// always splits a part that is evaluated unconditionally. whole says that n is the whole value, which is not
// stored itself.
func (s *splitter) always(n *term.Term, whole bool) *term.Term {
	if x := s.parts[n]; x != nil {
		return x
	}
	var out term.Term
	switch n.Op {
	case term.Constant, term.Symbol, term.Index, term.Step:
		return n
	case term.Element, term.Reduce:
		return s.maybe(n)
	case term.Choose, term.And, term.Or: // only the first operand is evaluated unconditionally
		out = *n
		out.Args = []*term.Term{s.always(n.Args[0], false)}
		for _, a := range n.Args[1:] {
			out.Args = append(out.Args, s.maybe(a))
		}
	default:
		out = *n
		out.Args = nil
		for _, a := range n.Args {
			out.Args = append(out.Args, s.always(a, false))
		}
	}
	x := &out
	if !whole && x.Kind == term.Real && x.Larger(maxPart) && !x.Larger(maxTerms) {
		var own []*term.Variable
		for _, v := range s.vars {
			if x.Uses(v) || empty(v) { // an empty range: the part must not be evaluated
				own = append(own, v)
			}
		}
		x = s.temporary(x, own)
	}
	s.parts[n] = x
	return x
}

// maybe substitutes existing temporaries in a part that is evaluated conditionally. It stores no new ones,
// since the condition may keep loads in bounds.
func (s *splitter) maybe(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	if x := s.parts[n]; x != nil {
		return x
	}
	if x := s.lazy[n]; x != nil {
		return x
	}
	out := *n
	out.Args = nil
	for _, a := range n.Args {
		out.Args = append(out.Args, s.maybe(a))
	}
	if n.Read != nil {
		r := *n.Read
		r.Which, r.Else, r.Idx = s.maybe(r.Which), s.maybe(r.Else), nil
		for _, i := range n.Read.Idx {
			r.Idx = append(r.Idx, s.maybe(i))
		}
		out.Read = &r
	}
	if n.Reduction != nil {
		r := *n.Reduction
		r.Guard, r.Body, r.At = s.maybe(r.Guard), s.maybe(r.Body), nil
		for _, i := range n.Reduction.At {
			r.At = append(r.At, s.maybe(i))
		}
		out.Reduction = &r
	}
	s.lazy[n] = &out
	return &out
}
