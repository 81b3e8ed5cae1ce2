package example

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/runtime/shape"
)

// fold evaluates a reduction over an index, such as sum(i: prod(X[i])).
func (e *evaluator) fold(n *expr.Reduce) any {
	name := n.Binders[0].X.(*expr.Ident).Name
	extent := e.extent(n)
	if extent > maxSteps {
		e.fail("want at most %d operations in an expression, got a range of %d", maxSteps, extent)
		return nil
	}
	if e.indices == nil {
		e.indices = map[string]int{}
	}
	defer delete(e.indices, name)
	if n.Kind.Is(reduction.Truth) {
		return e.holds(n, name, extent)
	}
	return e.combine(n.Kind, shape.Each(extent, func(i int) int {
		e.indices[name] = i
		return e.integer(n.X)
	}))
}

// holds evaluates all or any over an index.
func (e *evaluator) holds(n *expr.Reduce, name string, extent int) bool {
	truth := func(i int) bool {
		e.indices[name] = i
		return e.truth(n.X)
	}
	if n.Kind == reduction.All {
		return shape.All(extent, truth)
	}
	return shape.Any(extent, truth)
}

// extent returns the length of the range of a reduction's index.
func (e *evaluator) extent(n *expr.Reduce) int {
	if hi := n.Binders[0].Hi; hi != nil {
		return e.integer(hi)
	}
	length := -1
	for _, list := range n.Over {
		l := 0
		switch v := e.eval(list).(type) {
		case []int:
			l = len(v)
		case [][]int:
			l = len(v)
		}
		if length >= 0 && l != length {
			e.fail("want lists of the same length, got %d and %d elements", length, l)
			return 0
		}
		length = l
	}
	return length
}

// combine reduces a list of integers.
func (e *evaluator) combine(kind reduction.Kind, list []int) any {
	switch {
	case kind == reduction.Sum:
		return e.sum(list)
	case kind == reduction.Prod:
		return e.fit(shape.Mul(list...))
	case len(list) == 0:
		e.fail("want a list with an element, whose %s is asked for, got an empty one", kind)
		return 0
	}
	out := list[0]
	for _, v := range list[1:] {
		out = kind.IntegerJoin()(out, v)
	}
	return out
}
