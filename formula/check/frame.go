package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// extent is what an index ranges over: a run of dimensions, or the integers from the greatest of los to the
// least of his, without that.
type extent struct {
	run      *run
	los, his []poly
}

// below returns the extent from 0 to n.
func below(n poly) *extent { return &extent{los: []poly{constant(0)}, his: []poly{n}} }

// binding is an index that a left side, a reduction or a for binds. Of a run it may bind a part only.
type binding struct {
	name string // with primes
	part part
	extent
}

// part says which dimensions of a run of indices are meant. The zero part is all of them.
type part struct {
	fn   string // "keep", "drop" or "["
	axes string // of keep and drop
	lo   string // of a slice; "" from the beginning
	hi   string // of a slice; "" to the end
}

// completes reports whether two parts are all of a run, each dimension once.
func (p part) completes(q part) bool {
	switch {
	case p.fn == "keep" && q.fn == "drop", p.fn == "drop" && q.fn == "keep":
		return p.axes == q.axes
	case p.fn == "[" && q.fn == "[":
		return p.lo == "" && q.hi == "" && p.hi == q.lo || q.lo == "" && p.hi == "" && q.hi == p.lo
	}
	return false
}

// frame is what holds at a place of a formula. Frames are linked from the inside to the outside.
type frame struct {
	outer  *frame
	bound  []*binding
	params map[string]value
	// closed ends what a function's body sees: its parameters are all.
	closed bool
	// spec is set outside of the formula, where other checks say what is wrong.
	spec bool
	// facts holds conditions that were tested, as text, and tests the comparisons among them.
	facts []string
	tests []test
	// unequal holds integers that were tested not to be equal.
	unequal [][2]poly
}

// test is a comparison that holds: X < Y, or X <= Y if equal is set.
type test struct {
	x, y  poly
	equal bool
}

// ofSpec reports whether fr is outside of the formula.
func (fr *frame) ofSpec() bool {
	for ; fr != nil; fr = fr.outer {
		if fr.spec {
			return true
		}
	}
	return false
}

// visible calls see for the frames that a name in fr may refer to, until see returns false.
func (fr *frame) visible(see func(*frame) bool) {
	for ; fr != nil && see(fr) && !fr.closed; fr = fr.outer {
	}
}

func (fr *frame) param(name string) (v value, ok bool) {
	fr.visible(func(fr *frame) bool {
		v, ok = fr.params[name]
		return !ok
	})
	return v, ok
}

// indices returns what binds an index of the given name.
func (fr *frame) indices(name string) []*binding {
	var out []*binding
	fr.visible(func(fr *frame) bool {
		for _, b := range fr.bound {
			if b.name == name {
				out = append(out, b)
			}
		}
		return true
	})
	return out
}

// inUse returns what binds a dimension of the part of an index already, also outside of the function that fr
// is in.
func (fr *frame) inUse(name string, p part) *binding {
	for ; fr != nil; fr = fr.outer {
		for _, b := range fr.bound {
			if b.name == name && !b.part.completes(p) {
				return b
			}
		}
	}
	return nil
}

// names lists what a name may refer to.
func (fr *frame) names() []string {
	var out []string
	fr.visible(func(fr *frame) bool {
		for _, b := range fr.bound {
			out = append(out, b.name)
		}
		for n := range fr.params {
			out = append(out, n)
		}
		return true
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// knows reports whether a condition was tested.
func (fr *frame) knows(fact string) bool {
	for ; fr != nil; fr = fr.outer {
		if slices.Contains(fr.facts, fact) {
			return true
		}
	}
	return false
}

// apart reports whether a test says that an atom is not equal to an integer.
func (fr *frame) apart(name string, p poly) bool {
	for ; fr != nil; fr = fr.outer {
		for _, t := range fr.unequal {
			for i, x := range t {
				if n, ok := t[1-i].Sub(p).Number(); ok && n == 0 && x.Single() == name {
					return true
				}
			}
		}
	}
	return false
}

// assuming returns a frame in which a condition has the given value.
func (f *formula) assuming(cond expr.Node, holds bool, fr *frame, index bool) *frame {
	in := &frame{outer: fr}
	f.assume(cond, holds, in, index)
	return in
}

func (f *formula) assume(cond expr.Node, holds bool, fr *frame, index bool) {
	switch n := cond.(type) {
	case *expr.Unary:
		if n.Op == "!" {
			f.assume(n.X, !holds, fr, index)
			return
		}
	case *expr.Binary:
		if n.Op == "&&" && holds || n.Op == "||" && !holds {
			f.assume(n.X, holds, fr, index)
			f.assume(n.Y, holds, fr, index)
			return
		}
		f.compare(n, holds, fr, index)
	}
	if holds {
		fr.facts = append(fr.facts, show(cond))
	} else {
		fr.facts = append(fr.facts, "!"+show(cond))
	}
}

// compare notes a comparison of integers.
func (f *formula) compare(n *expr.Binary, holds bool, fr *frame, index bool) {
	if !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, n.Op) {
		return
	}
	x, err1 := f.eval(n.X, fr, index)
	y, err2 := f.eval(n.Y, fr, index)
	if err1 != nil || err2 != nil || x.int == nil || y.int == nil {
		return
	}
	switch {
	case (n.Op == "==") == holds && strings.Contains("== !=", n.Op):
		fr.tests = append(fr.tests, test{x.int, y.int, true}, test{y.int, x.int, true})
		return
	case strings.Contains("== !=", n.Op): // what is at least y, and not y, is above y
		fr.unequal = append(fr.unequal, [2]poly{x.int, y.int})
		if f.nonnegative(x.int.Sub(y.int), fr) {
			fr.tests = append(fr.tests, test{x: y.int, y: x.int})
		}
		if f.nonnegative(y.int.Sub(x.int), fr) {
			fr.tests = append(fr.tests, test{x: x.int, y: y.int})
		}
		return
	}
	t := test{x.int, y.int, strings.HasSuffix(n.Op, "=")}
	if strings.HasPrefix(n.Op, ">") {
		t.x, t.y = t.y, t.x
	}
	if !holds { // not x < y is y <= x
		t.x, t.y, t.equal = t.y, t.x, !t.equal
	}
	fr.tests = append(fr.tests, t)
}
