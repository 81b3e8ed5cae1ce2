package mapping

import (
	"errors"
	"fmt"
	"slices"
)

// Goal is an expression, and the value that it must have.
type Goal struct {
	Text string
	Want any
}

// Search finds values of names for which expressions have wanted values: it inverts an entry, by
// backtracking.
type Search struct {
	// Known holds the values of names that are not searched; nil stands for a name without a value.
	Known map[string]any
	Let   []Attr // expressions that have names
	// About computes functions of tensors, such as shape(x).
	About func(function, name string) (any, error)
	// Accept reports whether values that were found are acceptable. Names without a value may be absent from
	// the map.
	Accept func(found map[string]any) bool
}

// maxSteps bounds the terms that a search tries.
const maxSteps = 20_000

// Solve reports whether values were found that Accept accepts.
func (s *Search) Solve(goals []Goal) (bool, error) {
	x := &solver{Search: s, found: map[string]any{}, steps: maxSteps}
	terms := make([]*term, len(goals))
	for i, g := range goals {
		e, err := Parse(g.Text)
		if err != nil {
			return false, err
		}
		terms[i] = e.term
	}
	x.let = map[string]*term{}
	for _, a := range s.Let {
		e, err := Parse(a.Value)
		if err != nil {
			return false, fmt.Errorf("%s: %w", a.Name, err)
		}
		x.let[a.Name] = e.term
	}
	var next func(i int) bool
	next = func(i int) bool {
		if i == len(goals) {
			return s.Accept(x.found)
		}
		return x.solve(terms[i], goals[i].Want, func() bool { return next(i + 1) })
	}
	return next(0), nil
}

type solver struct {
	*Search
	let   map[string]*term
	found map[string]any
	steps int
}

// errOpen is the error of a term that reads a name without a value.
var errOpen = errors.New("a name has no value yet")

// eval computes a term. Names without a value are absent, or else the term has no value, and ok is false.
func (x *solver) eval(t *term, absent bool) (v any, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(failure); !is {
				panic(r)
			}
			v, ok = nil, false
		}
	}()
	s := &scope{call: x.About}
	s.lookup = func(name string) any {
		if v, ok := x.Known[name]; ok {
			return v
		}
		if v, ok := x.found[name]; ok {
			return v
		}
		if t := x.let[name]; t != nil {
			return t.eval(s)
		}
		if !absent {
			panic(failure{errOpen})
		}
		return nil
	}
	return t.eval(s), true
}

// is reports whether a term has a value, with absent names where no value was found.
func (x *solver) is(t *term, want any) bool {
	v, ok := x.eval(t, true)
	return ok && Alike(v, want)
}

// solve looks for values with which a term has the wanted one, and goes on with then.
func (x *solver) solve(t *term, want any, then func() bool) bool {
	if x.steps--; x.steps < 0 {
		return false
	}
	if v, ok := x.eval(t, false); ok {
		return Alike(v, want) && then()
	}
	return t.solve != nil && t.solve(x, want, then)
}

// solveName gives a name the wanted value.
func solveName(name string) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		if t := x.let[name]; t != nil {
			return t.solve != nil && t.solve(x, want, then)
		}
		if b, ok := want.(bool); ok {
			want = map[bool]int{true: 1}[b]
		}
		x.found[name] = want
		if then() {
			return true
		}
		delete(x.found, name)
		return false
	}
}

// solveOr leaves the first term absent if the second one has the wanted value.
func solveOr(first, second *term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		if x.is(second, want) && x.solve(first, nil, then) {
			return true
		}
		return want != nil && x.solve(first, want, then)
	}
}

func solveHas(t *term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool { return want == false && x.solve(t, nil, then) }
}

func solveNot(t *term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		b, ok := want.(bool)
		return ok && x.solve(t, !b, then)
	}
}

// solveLogical solves x || y if or is set, x && y otherwise.
func solveLogical(left, right *term, or bool) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		b, ok := want.(bool)
		if !ok {
			return false
		}
		if b != or { // both sides decide
			return x.solve(left, want, func() bool { return x.solve(right, want, then) })
		}
		return x.solve(left, want, then) || x.solve(right, want, then)
	}
}

// solveBinary solves comparisons and sums of which one side is known.
func solveBinary(operator string, left, right *term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		open := left
		side, ok := x.eval(right, false)
		if !ok {
			if side, ok = x.eval(left, false); !ok {
				return false
			}
			open = right
		}
		switch {
		case operator == "!=" && want == false, operator == "==" && want == true:
			return x.solve(open, side, then)
		case operator == "!=" && want == true, operator == "==" && want == false:
			return x.differs(open, side, then)
		case operator == "in" && want == true && open == left:
			return isValues(side) && slices.ContainsFunc(elements(side), func(v any) bool { return x.solve(open, v, then) })
		}
		n, isInt := want.(int)
		k, known := side.(int)
		switch {
		case !isInt || !known:
			return false
		case operator == "+":
			return x.solve(open, n-k, then)
		case operator == "-" && open == left:
			return x.solve(open, n+k, then)
		case operator == "-":
			return x.solve(open, k-n, then)
		}
		return false
	}
}

// differs solves an inequality: what is absent differs, or else an integer that is 0 or 1.
func (x *solver) differs(t *term, from any, then func() bool) bool {
	values := []any{nil}
	if n, ok := from.(int); ok && n == 0 {
		values = append(values, 1)
	} else if ok {
		values = append(values, 0)
	}
	for _, v := range values {
		if t.solve == nil {
			return false
		}
		if v == nil && x.is(t, from) {
			continue // its default is what it must not be
		}
		if v == nil && then() || v != nil && x.solve(t, v, then) {
			return true
		}
	}
	return false
}

// solveChoice solves c ? t : f, where c is known, or follows from a value, or can be made true or false.
func solveChoice(c, t, f *term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		if v, ok := x.eval(c, false); ok {
			b, isBool := v.(bool)
			if !isBool {
				b = v != 0
			}
			if b {
				return x.solve(t, want, then)
			}
			return x.solve(f, want, then)
		}
		for _, side := range []struct {
			term *term
			cond bool
		}{{t, true}, {f, false}} {
			if x.solve(c, side.cond, func() bool { return x.solve(side.term, want, then) }) {
				return true
			}
			if x.solve(side.term, want, func() bool { return x.is(c, side.cond) && then() }) {
				return true
			}
		}
		return false
	}
}

func solveList(list []*term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		if !isValues(want) || length(want) != len(list) {
			return false
		}
		all := elements(want)
		var next func(i int) bool
		next = func(i int) bool {
			return i == len(list) && then() || i < len(list) && x.solve(list[i], all[i], func() bool { return next(i + 1) })
		}
		return next(0)
	}
}

// solvePart solves list[lo:], where the list is known.
func solvePart(list, lo, hi *term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		whole, ok := x.eval(list, false)
		if !ok || hi != nil || lo == nil || !isValues(whole) || !isValues(want) || length(want) > length(whole) {
			return false
		}
		at := length(whole) - length(want)
		return Alike(part(whole, at, nil), want) && (x.solve(lo, at-length(whole), then) || x.solve(lo, at, then))
	}
}

// through lists functions that return an argument as it is if it has the form that they give it.
var through = map[string]int{"float": 0, "int": 0, "sorted": 0, "axes": 0, "reshaped": 1, "broadcast": 1, "window_pads": 4}

func solveFunction(name string, args []*term) func(*solver, any, func() bool) bool {
	return func(x *solver, want any, then func() bool) bool {
		if name == "element_type" {
			n := slices.Index(elementTypes, fmt.Sprint(want))
			return n > 0 && x.solve(args[0], n, then)
		}
		i, ok := through[name]
		if !ok || want == nil {
			return false
		}
		return x.solve(args[i], want, then)
	}
}

func isValues(v any) bool {
	switch v.(type) {
	case []int, []float64, []string:
		return true
	}
	return false
}

// Alike reports whether values are equal, floats as files of ONNX hold them.
func Alike(x, y any) bool {
	switch {
	case x == nil || y == nil:
		return x == nil && y == nil
	case isValues(x) && isValues(y):
		return slices.EqualFunc(elements(x), elements(y), Alike)
	case isValues(x) || isValues(y):
		return false
	}
	a, isX := number(x)
	b, isY := number(y)
	if isX && isY {
		return float32(a) == float32(b) || a != a && b != b
	}
	return !isX && !isY && x == y
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
