package scope

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// bindInputs reads the shape patterns of all slots whose shape the caller gives, in file order. A
// name that is not bound yet is bound by its first appearance; later ones must agree with it.
func (sc *Scope) bindInputs() {
	axes := map[string]*spec.Attr{} // dimension -> the axis attribute that binds it
	for _, a := range sc.Spec.Attrs {
		if a.Type.V == "axis" && a.Binds.Set() {
			axes[a.Binds.V] = a
		}
	}
	for _, sl := range sc.Spec.Slots {
		if !Provided(sc.Spec, sl) || !sl.HasShape {
			continue
		}
		p := &Pattern{Slot: sl}
		for _, n := range sl.Shape {
			if e, ok := sc.elem(sl, n, axes); ok {
				p.Elems = append(p.Elems, e)
			}
		}
		sc.determinate(p)
		sc.Inputs = append(sc.Inputs, p)
	}
	for _, a := range sc.Spec.Attrs {
		if a.Binds.Set() && a.Type.V == "axis" {
			if d := sc.decls[a.Binds.V]; d == nil || !d.bound {
				sc.list.Add(diag.UnboundDim, a.Binds.Span(), "no input's shape has the dimension %s, which %s binds", a.Binds.V, a.Name)
			}
		}
	}
}

// elem reads one element of an input's shape.
func (sc *Scope) elem(sl *spec.Slot, n source.Node, axes map[string]*spec.Attr) (Elem, bool) {
	s, ok := n.(*source.Scalar)
	if !ok {
		sc.badElem(n)
		return Elem{}, false
	}
	text, isString := s.Value.(string)
	if v, isInt := s.Value.(int64); isInt {
		text = fmt.Sprint(v)
	} else if !isString {
		sc.badElem(n)
		return Elem{}, false
	}
	name, rest := strings.CutSuffix(strings.TrimSpace(text), "...")
	name = strings.TrimSpace(name)
	if name == "_" {
		if rest {
			return Elem{Kind: AnyRest, Span: s.Span}, true
		}
		return Elem{Kind: Any, Span: s.Span}, true
	}
	if isDimName(name) && sc.What(name) != "dtype variable" {
		return sc.dimElem(sl, s, name, rest, axes)
	}
	// Anything else is an expression over what is bound already.
	kind, want := Match, expr.Int
	if rest {
		kind, want = MatchAll, expr.Dims
	}
	node := sc.exprAt(s, strings.TrimSuffix(text, "..."), 0, want)
	return Elem{Kind: kind, Node: node, Span: s.Span}, node != nil
}

func (sc *Scope) dimElem(sl *spec.Slot, s *source.Scalar, name string, rest bool, axes map[string]*spec.Attr) (Elem, bool) {
	d := sc.decls[name]
	if d != nil && d.bound {
		if d.symbol.Class != expr.Dim {
			sc.list.Add(diag.ExprType, s.Span, "want a dimension, got the %s %s", d.what, name)
			return Elem{}, false
		}
		if isRest := d.symbol.Type.Kind == expr.Dims; isRest != rest {
			want := name
			if isRest {
				want += "..."
			}
			sc.list.Add(diag.ExprType, s.Span, "%s was bound as %s", name, want).See(d.span, "bound here")
			return Elem{}, false
		}
		node, _ := expr.Parse(name)
		if err := expr.Check(node, sc, d.symbol.Type.Kind); err != nil {
			return Elem{}, false
		}
		if rest {
			return Elem{Kind: MatchAll, Name: name, Node: node, Span: s.Span}, true
		}
		return Elem{Kind: Match, Name: name, Node: node, Span: s.Span}, true
	}
	if d != nil && d.what == "dimension" {
		sc.list.Add(diag.Duplicate, s.Span, "dimension %s is bound by a shape and defined in [dims]", name).See(d.span, "defined here")
		return Elem{}, false
	}
	if d != nil {
		sc.list.Add(diag.Duplicate, s.Span, "dimension %s has the name of %s %s", name, article(d.what), name).See(d.span, "%s declared here", d.what)
		return Elem{}, false
	}
	if sl.Present.Set() {
		sc.list.Add(diag.UnboundDim, s.Span, "slot %s may be absent, so it cannot bind the dimension %s", sl.Name, name).
			Hinted("use a dimension that another input binds, or _")
		return Elem{}, false
	}
	kind := expr.Int
	if rest {
		kind = expr.Dims
	}
	sc.decls[name] = &decl{symbol: expr.Symbol{Class: expr.Dim, Type: expr.Type{Kind: kind}}, what: "dimension", span: s.Span, bound: true}
	sc.names = append(sc.names, name)
	if a := axes[name]; a != nil && !rest {
		return Elem{Kind: AxisDim, Name: name, Span: s.Span, Axis: a}, true
	}
	if rest {
		return Elem{Kind: BindRest, Name: name, Span: s.Span}, true
	}
	return Elem{Kind: Bind, Name: name, Span: s.Span}, true
}

func (sc *Scope) badElem(n source.Node) {
	sc.list.Add(diag.WrongKind, source.SpanOf(n), "a dimension is a name, an expression in a string, or an integer, not %s", article(source.Kind(n)))
}

// determinate checks that a pattern says which dimension is which: at most one run of unknown length,
// or two around the dimension of an axis attribute.
func (sc *Scope) determinate(p *Pattern) {
	var runs []Elem
	axis := -1
	for i, e := range p.Elems {
		switch e.Kind {
		case BindRest, AnyRest:
			runs = append(runs, e)
		case AxisDim:
			axis = i
		}
	}
	if axis >= 0 {
		if len(p.Elems) != 3 || axis != 1 || len(runs) != 2 {
			sc.list.Add(diag.Ambiguous, p.Elems[axis].Span, "the dimension %s, which an axis attribute binds, stands between two runs and nothing else: [\"A...\", %q, \"B...\"]", p.Elems[axis].Name, p.Elems[axis].Name)
		}
		return
	}
	if len(runs) > 1 {
		sc.list.Add(diag.Ambiguous, runs[1].Span, "the shape has two runs of unknown length, so where one ends is not determined").
			See(runs[0].Span, "the first one").Hinted("bind the whole shape as X... and cut it with X[:axis]... and X[axis:]..., or separate the runs by a dimension that an axis attribute binds")
	}
}

// ShapeExpr is an element of the shape of an output, weight, saved or scratch slot: an expression for
// one dimension, or for a run of them.
type ShapeExpr struct {
	Node expr.Node
	Rest bool
}

// Shape reads the shape of a slot whose shape follows from others.
func (sc *Scope) Shape(sl *spec.Slot) []ShapeExpr {
	var out []ShapeExpr
	for _, n := range sl.Shape {
		s, ok := n.(*source.Scalar)
		if !ok {
			sc.badElem(n)
			continue
		}
		text, isString := s.Value.(string)
		if v, isInt := s.Value.(int64); isInt {
			text = fmt.Sprint(v)
			if v < 0 {
				sc.list.Add(diag.BadValue, s.Span, "a dimension has an extent of 0 or more, not %d", v)
				continue
			}
		} else if !isString {
			sc.badElem(n)
			continue
		}
		inner, rest := strings.CutSuffix(strings.TrimRight(text, " "), "...")
		want := expr.Int
		if rest {
			want = expr.Dims
		} else if sc.IsRest(strings.TrimSpace(inner)) {
			sc.list.Add(diag.ExprType, s.Span, "%s stands for a run of dimensions", inner).Hinted("write %s...", inner)
			continue
		}
		if node := sc.exprAt(s, inner, 0, want); node != nil {
			out = append(out, ShapeExpr{node, rest})
		}
	}
	return out
}

// LaneDim returns the number of the dimension of a slot's shape along which kernels get lanes: the
// one that an axis attribute binds. ok is false if there is none; then lanes run along the last.
func LaneDim(elems []Elem) (int, bool) {
	i := slices.IndexFunc(elems, func(e Elem) bool { return e.Kind == AxisDim })
	return i, i >= 0
}
