package program

import (
	"fmt"

	"github.com/opgen/opgen/formula/term"
)

// A function that uses an argument twice doubles what is computed, and a gradient has a factor for each
// operation on the way. So a value of more than maxWhole terms is taken apart: parts of more than maxPart
// terms get tensors of their own. maxTerms bounds what cannot be taken apart, such as what a reduction goes
// over.
const (
	maxWhole = 1 << 7
	maxPart  = 1 << 5
	maxTerms = 1 << 10
)

// errTooLarge says that a value cannot be taken apart.
var errTooLarge = fmt.Errorf("the value consists of more than %d parts once functions are applied, within a reduction or a condition: "+
	"give parts of it names, by statements of their own", maxTerms)

// splitter takes a value apart. Its tables are by term, so the same part is computed once.
type splitter struct {
	*builder
	vars  []*term.Variable
	parts map[*term.Term]*term.Term // what is computed whatever conditions hold
	lazy  map[*term.Term]*term.Term // what a condition may keep from being computed
}

// split returns a value in which long parts have tensors of their own.
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

// always takes apart what is computed whatever conditions hold. The whole value stays.
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
	case term.Choose, term.And, term.Or: // of which only the first part is computed in any case
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
			if x.Uses(v) || empty(v) { // within an empty range, nothing is computed
				own = append(own, v)
			}
		}
		x = s.temporary(x, own)
	}
	s.parts[n] = x
	return x
}

// maybe puts tensors in the place of the parts that have some.
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
