package oracle

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/runtime/dtype"
)

// kindOf returns what an expression gives, without computing it. It is asked for where there is nothing to
// compute.
func (e *evaluation) kindOf(n expr.Node, s *scope, index bool) kind {
	switch n := n.(type) {
	case *expr.Lit:
		return e.value(n, s, index).kind
	case *expr.Ident:
		if a := s.params[n.Name]; a != nil {
			return e.kindOf(a.node, a.scope, a.index)
		}
		if v, ok := e.attrs[n.Name]; ok {
			return v.kind
		}
		if a := e.arrays[n.Name]; len(a) > 0 {
			return a[0].kind
		}
		if s.bound(n.Name, -1) != nil || e.hasRange(n.Name) {
			return integer
		}
		if v, ok := e.values[n.Name]; ok {
			return v.kind
		}
		return integer // an index of a reduction that goes over nothing
	case *expr.Select:
		return e.field(n, s).kind
	case *expr.Unary:
		if n.Op == "!" {
			return boolean
		}
		return e.kindOf(n.X, s, index)
	case *expr.Binary:
		switch n.Op {
		case "==", "!=", "<", "<=", ">", ">=", "&&", "||":
			return boolean
		case "/":
			if !index {
				return real
			}
			return integer
		}
		if n.Op == "^" && !wholeExponent(n.Y) {
			return real
		}
		return either(e.kindOf(n.X, s, index), e.kindOf(n.Y, s, index))
	case *expr.Cond:
		if holds, known := e.settledCondition(n.If, s); known {
			if holds {
				return e.kindOf(n.Then, s, index)
			}
			return e.kindOf(n.Else, s, index)
		}
		return either(e.kindOf(n.Then, s, index), e.kindOf(n.Else, s, index))
	case *expr.In:
		return boolean
	case *expr.Number:
		return integer
	case *expr.Read:
		if a := e.arrays[n.Name]; len(a) > 0 && s.params[n.Name] == nil {
			return a[0].kind
		}
		if sl := e.slots[n.Name]; sl != nil { // a list without tensors
			name := sl.Type
			if v, ok := e.values[name]; ok && v.kind == text {
				name = v.x.text
			}
			if t, err := dtype.Parse(name); err == nil {
				return kindOf(t)
			}
		}
		if v, ok := e.attribute(n.Name); ok && v.kind == list && len(v.x.items) > 0 {
			return v.x.items[0].kind
		}
		return integer
	case *expr.Reduce:
		switch n.Kind {
		case reduction.Count, reduction.ArgMax, reduction.ArgMin, reduction.ArgSort, reduction.Rank:
			return integer
		case reduction.Any, reduction.All:
			return boolean
		case reduction.Mean, reduction.Variance, reduction.Norm, reduction.LogSumExp:
			return real
		}
		return e.kindOf(n.X, s, false)
	case *expr.Call:
		return e.kindOfCall(n, s, index)
	case *expr.Inline:
		return e.inlineArray(n, s).kind
	}
	return real
}

// wholeExponent reports whether an exponent is an integer from 0 on, so that a power of an integer is one.
func wholeExponent(n expr.Node) bool {
	lit, ok := n.(*expr.Lit)
	if !ok {
		return false
	}
	i, ok := lit.Value.(int64)
	return ok && i >= 0
}

func either(x, y kind) kind {
	switch {
	case x == real || y == real:
		return real
	case x == boolean && y == boolean:
		return boolean
	}
	return integer
}

func (e *evaluation) kindOfCall(n *expr.Call, s *scope, index bool) kind {
	f := e.functions[n.Func]
	if v, ok := e.attribute(n.Func); f == nil && ok {
		if v.kind != text {
			return e.kindOf(n.Args[0], s, index)
		}
		f = e.functions[n.Func+"."+v.x.text]
	}
	if f != nil && len(f.Params) == len(n.Args) {
		params := map[string]*argument{}
		for i, p := range f.Params {
			params[p.Name] = &argument{node: n.Args[i], scope: s, index: index}
		}
		return e.kindOf(f.X, &scope{s.frames, params}, index)
	}
	switch n.Func {
	case "has", "present", "isnan":
		return boolean
	case "len", "count", "quotient", "ceildiv", "prod", "sum":
		return integer
	case "or":
		return e.value(n, s, index).kind
	case "convert":
		t, err := dtype.Parse(e.value(n.Args[1], s, index).name())
		if err != nil {
			fail("%v", err)
		}
		return kindOf(t)
	case "max", "min", "abs", "pow":
		if len(n.Args) == 1 && n.Func != "abs" {
			return integer
		}
		out := e.kindOf(n.Args[0], s, index)
		for _, a := range n.Args[1:] {
			out = either(out, e.kindOf(a, s, index))
		}
		return out
	}
	return real
}

// settledCondition returns a condition that does not depend on indices or elements.
func (e *evaluation) settledCondition(n expr.Node, s *scope) (holds, known bool) {
	open := false
	expr.Walk(n, func(m expr.Node) {
		switch m := m.(type) {
		case *expr.Ident:
			open = open || s.params[m.Name] != nil || s.bound(m.Name, -1) != nil || e.hasRange(m.Name) || e.arrays[m.Name] != nil && e.slots[m.Name] == nil
			if _, ok := e.values[m.Name]; !ok && e.attrs[m.Name].kind == absent && e.slots[m.Name] == nil {
				open = true
			}
		case *expr.Read, *expr.Reduce, *expr.Inline:
			open = true
		}
	})
	if open {
		return false, false
	}
	c := e.value(n, s, false)
	return c.i != 0, true
}

// constants are the functions that are constant between their jumps, or give no number.
var constants = []string{"ceil", "floor", "round", "sign", "isnan", "quotient", "ceildiv", "uniform", "normal", "len", "has", "present"}

// differing says whether an expression has a gradient.
type differing uint8

const (
	never  differing = iota // it reads nothing that has one
	maybe                   // only what decides, or what is rounded away, has one
	surely                  // it has one
)

// differs tells whether expressions have gradients.
func (e *evaluation) differs(nodes []expr.Node, s *scope) differing {
	out := never
	var visit func(n expr.Node, as differing, depth int)
	visit = func(n expr.Node, as differing, depth int) {
		switch n := n.(type) {
		case nil:
		case *expr.Read:
			if a := e.arrays[n.Name]; len(a) > 0 && a[0].kind == real && a[0].varies {
				out = max(out, as)
			}
			for _, g := range n.Groups {
				for _, x := range g {
					visit(x, maybe, depth)
				}
			}
			visit(n.Else, as, depth)
		case *expr.Ident:
			if a := s.params[n.Name]; a != nil {
				out = max(out, min(as, e.differs([]expr.Node{a.node}, a.scope)))
			} else if a := e.arrays[n.Name]; len(a) > 0 && a[0].kind == real && a[0].varies {
				out = max(out, as)
			}
		case *expr.Cond:
			visit(n.If, maybe, depth)
			then, other := as, as
			if holds, known := e.settledCondition(n.If, s); known && depth == 0 {
				// The value is that of one branch, for all indices. Whether the other one counts is not said.
				then, other = min(as, maybe), min(as, maybe)
				if holds {
					then = as
				} else {
					other = as
				}
			}
			visit(n.Then, then, depth)
			visit(n.Else, other, depth)
		case *expr.Reduce:
			if !slices.Contains([]reduction.Kind{reduction.Sum, reduction.Prod, reduction.Max, reduction.Min, reduction.Mean, reduction.Variance, reduction.Norm, reduction.LogSumExp}, n.Kind) {
				as = maybe
			}
			visit(n.If, maybe, depth)
			visit(n.X, as, depth)
		case *expr.Call:
			if slices.Contains(constants, n.Func) {
				as = min(as, maybe)
			}
			for _, a := range n.Args {
				visit(a, as, depth)
			}
			if f := e.called(n.Func); f != nil && depth < maxDepth {
				visit(f.X, as, depth+1)
			}
		case *expr.Unary:
			visit(n.X, as, depth)
		case *expr.Binary:
			if strings.ContainsAny(n.Op, "<>=!&|") {
				as = maybe
			}
			visit(n.X, as, depth)
			visit(n.Y, as, depth)
		case *expr.Inline:
			out = max(out, maybe)
		}
	}
	for _, n := range nodes {
		visit(n, surely, 0)
	}
	return out
}

// called returns the function that a call of a name applies.
func (e *evaluation) called(name string) *expr.Function {
	if f := e.functions[name]; f != nil {
		return f
	}
	if v, ok := e.attribute(name); ok && v.kind == text {
		return e.functions[name+"."+v.x.text]
	}
	return nil
}
