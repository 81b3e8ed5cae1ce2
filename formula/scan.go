package formula

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// scan is code for a prefix, suffix or leave-one-out reduction (a scan), in one pass over the elements of a
// row.
type scan struct {
	*term.Scan
	kind        reduction.Kind
	around      func(f *frame, visit func(*frame)) // runs the loops over batch indices
	present     int                                // frame slot of the result's index
	over        int                                // frame slot of the reduced index
	weight      int                                // number of operations per element
	first, last func(*frame) int                   // the range of the result's index
	lo, hi      func(*frame) int
	guard       func(*frame) bool    // nil if all elements count
	real        func(*frame) float64 // code of the body: real or integer; both nil for count
	integer     func(*frame) int
}

// counted is an element of a scan for which the guard holds, with its index and its value.
type counted struct {
	at int
	x  float64
	i  int
}

// scanOf compiles the scan of a statement, or returns nil if the statement is not one. If values is false,
// all elements are 0, so that the tensors in the body need not be available.
func (c *code) scanOf(s *program.Statement, values bool) *scan {
	n := s.Value
	if n.Op != term.Reduce || !plainLoops(s) {
		return nil
	}
	t := n.Reduction.Scan()
	if t == nil || c.p.Unsigned(n.Reduction.Body) {
		return nil
	}
	i := slices.Index(s.Vars, t.Present)
	if i < 0 {
		return nil
	}
	out := &scan{Scan: t, kind: n.Reduction.Kind, present: c.slots[t.Present], over: c.slots[t.Over], weight: c.weight,
		around: c.loop(slices.Delete(slices.Clone(s.Vars), i, i+1), nil),
		first:  c.integer(t.Present.Lo), last: c.integer(t.Present.Hi), lo: c.integer(t.Lo), hi: c.integer(t.Hi)}
	if t.Guard != nil {
		out.guard = c.boolean(t.Guard)
	}
	switch body := n.Reduction.Body; {
	case body == nil:
	case n.Kind == term.Integer:
		out.integer = c.integer(body)
	case !values:
		out.real = func(*frame) float64 { return 0 }
	default:
		out.real = c.real(body)
	}
	return out
}

// elements evaluates the elements of a row for which the guard holds, in scan order.
func (s *scan) elements(f *frame) (out []counted) {
	lo, hi := s.bounds(f)
	f.m.take(hi-lo, s.weight)
	for i := range hi - lo {
		at := lo + i
		if s.Where == term.After {
			at = hi - 1 - i
		}
		f.vars[s.over] = at
		if s.guard != nil && !s.guard(f) {
			continue
		}
		e := counted{at: at}
		switch {
		case s.real != nil:
			e.x = s.real(f)
		case s.integer != nil:
			e.i = s.integer(f)
		}
		out = append(out, e)
	}
	return out
}

// bounds returns the union of the ranges that the results of a row reduce.
func (s *scan) bounds(f *frame) (lo, hi int) {
	first, last := s.first(f), s.last(f)
	if first >= last {
		return 0, 0
	}
	f.vars[s.present] = first
	lo = s.lo(f)
	f.vars[s.present] = last - 1
	hi = s.hi(f)
	return lo, max(lo, hi)
}

// counts returns how many of the elements, which are in scan order, the current result reduces. The caller
// knows that it is at least from.
func (s *scan) counts(f *frame, elements []counted, from int) int {
	n := from
	if s.Where == term.Before {
		for hi := s.hi(f); n < len(elements) && elements[n].at < hi; {
			n++
		}
		return n
	}
	for lo := s.lo(f); n < len(elements) && elements[n].at >= lo; {
		n++
	}
	return n
}

// each visits the results of a row in scan order, with the number of elements that each result reduces.
func (s *scan) each(f *frame, elements []counted, visit func(f *frame, n int)) {
	first, last := s.first(f), s.last(f)
	n := 0
	for i := range last - first {
		f.vars[s.present] = first + i
		if s.Where == term.After {
			f.vars[s.present] = last - 1 - i
		}
		n = s.counts(f, elements, n)
		visit(f, n)
	}
}

// run computes the scan, and calls store for each result.
func (s *scan) run(f *frame, store func(*frame, *accumulator)) {
	s.around(f, func(f *frame) {
		elements := s.elements(f)
		if s.Where == term.Others {
			s.others(f, elements, store)
			return
		}
		a, done := newAccumulator(s.kind), 0
		s.each(f, elements, func(f *frame, n int) {
			for ; done < n; done++ {
				a.add(elements[done])
			}
			store(f, &a)
		})
	})
}

// others computes leave-one-out reductions of a row, by prefix and suffix reductions.
func (s *scan) others(f *frame, elements []counted, store func(*frame, *accumulator)) {
	behind := make([]accumulator, len(elements)+1)
	behind[len(elements)] = newAccumulator(s.kind)
	for i, e := range slices.Backward(elements) {
		behind[i] = behind[i+1]
		behind[i].add(e)
	}
	before := newAccumulator(s.kind)
	s.beside(f, elements, func(f *frame, done, n, next int) {
		for _, e := range elements[done:n] {
			before.add(e)
		}
		all := before
		all.join(behind[next])
		store(f, &all)
	})
}

// beside visits the results of a leave-one-out scan. elements[n:next] is the element that the result leaves
// out: it is empty if the guard does not hold for it. elements[:done] was the prefix of the previous result.
func (s *scan) beside(f *frame, elements []counted, visit func(f *frame, done, n, next int)) {
	n := 0
	for p, last := s.first(f), s.last(f); p < last; p++ {
		done := n
		for n < len(elements) && elements[n].at < p {
			n++
		}
		next := n
		if n < len(elements) && elements[n].at == p {
			next++
		}
		f.vars[s.present] = p
		visit(f, done, n, next)
	}
}

// scans compiles a statement whose value is a scan. It returns nil if s is another statement.
func (c *code) scans(s *program.Statement) func(*frame) {
	one := c.scanOf(s, true)
	if one == nil {
		return nil
	}
	place, t := c.place(s.Left), s.Target
	return func(f *frame) {
		to := f.m.tensors[t]
		one.run(f, func(f *frame, a *accumulator) {
			_, at, _ := place(f)
			if s.Value.Kind == term.Integer {
				to.putInteger(at, a.integer())
			} else {
				to.put(at, a.value())
			}
		})
	}
}
