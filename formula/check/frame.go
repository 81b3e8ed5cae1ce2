package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// extent is the range of an index: max(los) <= index < min(his), or the dimensions of a run, if the index is
// a run of indices.
type extent struct {
	run      *run
	los, his []poly
}

// below returns the range 0 .. n.
func below(n poly) *extent { return &extent{los: []poly{constant(0)}, his: []poly{n}} }

// binding is an index that a left side, a reduction or a for clause binds. A binding of a run of indices may
// be of a part of the run only, such as x[1:].
type binding struct {
	name string // including primes
	part part
	extent
}

// part selects dimensions of a run: keep(x, axes), drop(x, axes), or a slice x[lo:hi]. The zero part selects
// all of them.
type part struct {
	fn   string // "keep", "drop" or "["
	axes string // of keep and drop
	lo   string // of a slice; "" from the beginning
	hi   string // of a slice; "" to the end
}

// completes reports whether parts p and q of a run are disjoint and together are the whole run, as x[:n] and
// x[n:] are.
func (p part) completes(q part) bool {
	switch {
	case p.fn == "keep" && q.fn == "drop", p.fn == "drop" && q.fn == "keep":
		return p.axes == q.axes
	case p.fn == "[" && q.fn == "[":
		return p.lo == "" && q.hi == "" && p.hi == q.lo || q.lo == "" && p.hi == "" && q.hi == p.lo
	}
	return false
}

// frame is a lexical scope: the indices, the parameters and the conditions that hold at a place of a formula.
// outer is the enclosing scope.
type frame struct {
	outer  *frame
	bound  []*binding
	params map[string]value
	args   map[string]*argument // what stands for the parameters; none while a function is defined
	// closed marks the scope of a function body: names of enclosing scopes are not visible in it.
	closed bool
	// spec marks an expression of the spec outside of the formula. Other checks report its errors.
	spec bool
	// facts holds the conditions that hold here, as normalized texts. tests holds the comparisons of integers
	// among them.
	facts []string
	tests []test
	// unequal holds pairs of integers that are known to be different here.
	unequal [][2]poly
}

// argument is what stands for a parameter of a function: an expression, the scope of the call, and the text
// of the expression, in which no parameters are left.
type argument struct {
	x     expr.Node
	fr    *frame
	text  string
	index bool // whether it is part of a subscript, where / rounds down
}

// test is a comparison that holds: X < Y, or X <= Y if equal is set.
type test struct {
	x, y  poly
	equal bool
}

// ofSpec reports whether fr is the scope of an expression of the spec, such as a shape or a dimension, and
// not of the formula.
func (fr *frame) ofSpec() bool {
	for ; fr != nil; fr = fr.outer {
		if fr.spec {
			return true
		}
	}
	return false
}

// visible calls see for fr and its enclosing scopes, from the inside to the outside, up to the body of a
// function. It stops when see returns false.
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

// argument returns what stands for a name that is a parameter at fr, or nil.
func (fr *frame) argument(name string) (a *argument) {
	fr.visible(func(fr *frame) bool {
		a = fr.args[name]
		_, isParam := fr.params[name]
		return !isParam
	})
	return a
}

// written returns the argument of the outermost call that n stands for, where n is a parameter at fr, or n.
func (fr *frame) written(n expr.Node) expr.Node {
	for {
		id, ok := n.(*expr.Ident)
		if !ok {
			return n
		}
		a := fr.argument(id.Name)
		if a == nil {
			return n
		}
		n, fr = a.x, a.fr
	}
}

// indices returns the visible bindings of an index name, the innermost first. A run of indices may have one
// for each of its parts.
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

// inUse returns the binding of an index with which a binding of part p of the same index would overlap, or
// nil. It also looks outside of the function that fr belongs to.
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

// names lists the visible indices and parameters, sorted.
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

// knows reports whether a condition, as a normalized text, holds in fr.
func (fr *frame) knows(fact string) bool {
	for ; fr != nil; fr = fr.outer {
		if slices.Contains(fr.facts, fact) {
			return true
		}
	}
	return false
}

// apart reports whether the atom name is known to differ from p, as after the test id[n] != -1.
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

// assuming returns an inner scope in which the value of cond is known: true if holds is set, else false.
func (f *formula) assuming(cond expr.Node, holds bool, fr *frame, index bool) *frame {
	in := &frame{outer: fr}
	f.assume(cond, holds, in, in, index)
	return in
}

// assume adds to fr what follows from the value of cond, whose names have the meaning that they have at at:
// the body of a function if fr tests a call of it.
func (f *formula) assume(cond expr.Node, holds bool, fr, at *frame, index bool) {
	if f.steps--; f.steps < 0 {
		return // eval reports it
	}
	switch n := cond.(type) {
	case *expr.Unary:
		if n.Op == "!" {
			f.assume(n.X, !holds, fr, at, index)
			return
		}
	case *expr.Binary:
		if n.Op == "&&" && holds || n.Op == "||" && !holds {
			f.assume(n.X, holds, fr, at, index)
			f.assume(n.Y, holds, fr, at, index)
			return
		}
		f.compare(n, holds, fr, at, index)
	case *expr.Ident:
		if a := at.argument(n.Name); a != nil {
			f.assume(a.x, holds, fr, a.fr, a.index)
			return
		}
	case *expr.Call:
		f.assumeCall(n, holds, fr, at, index)
	}
	switch t := text(cond, at); {
	case t == "":
	case holds:
		fr.facts = append(fr.facts, t)
	default:
		fr.facts = append(fr.facts, "!"+t)
	}
}

// assumeCall adds to fr what follows from the value of a call: what the body of the function says.
func (f *formula) assumeCall(n *expr.Call, holds bool, fr, at *frame, index bool) {
	fn := f.functions[n.Func]
	if fn == nil || len(fn.Params) != len(n.Args) || slices.Contains(f.active, fn.Name) || f.broken[fn.Name] {
		return
	}
	args, err := f.evalAll(n.Args, at, index)
	if err != nil {
		return
	}
	f.active = append(f.active, fn.Name)
	defer func() { f.active = f.active[:len(f.active)-1] }()
	f.assume(fn.X, holds, fr, f.body(fn, n.Args, args, at, index), index)
}

// compare adds the comparison n of integers at at, or its negation if holds is false, to the known tests of
// fr.
func (f *formula) compare(n *expr.Binary, holds bool, fr, at *frame, index bool) {
	if !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, n.Op) {
		return
	}
	x, err1 := f.eval(n.X, at, index)
	y, err2 := f.eval(n.Y, at, index)
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
