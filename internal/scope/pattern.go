package scope

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// bindInputs reads the shape patterns of all slots whose shape the caller gives, in file order. The first
// appearance of a name binds it. Later ones must agree with it.
func (sc *Scope) bindInputs() {
	axes := map[string]*spec.Attr{} // dimension -> the axis attribute that binds it
	for _, a := range sc.Spec.Attrs {
		if a.Type.V != "axis" || !a.Binds.Set() {
			continue
		}
		if first := axes[a.Binds.V]; first != nil {
			sc.list.Add(diag.Duplicate, a.Binds.Span(), "axes %s and %s both bind the dimension %s", first.Name, a.Name, a.Binds.V).See(first.Binds.Span(), "the other one")
			continue
		}
		axes[a.Binds.V] = a
	}
	for _, sl := range sc.Spec.Slots {
		if !slices.Contains(spec.Roles, sl.Role.V) {
			sc.lenient = true // the slot may be a misspelled input
		}
		if !Provided(sc.Spec, sl) {
			continue
		}
		if !sl.HasShape {
			sc.lenient = true
			continue
		}
		p := &Pattern{Slot: sl}
		sc.each = sl.Variadic != nil
		for _, n := range sl.Shape {
			if e, ok := sc.elem(sl, n, axes); ok {
				p.Elems = append(p.Elems, e)
			}
		}
		sc.each = false
		if len(p.Elems) == len(sl.Shape) {
			sc.determinate(p)
		} else {
			sc.lenient = true
		}
		sc.Inputs = append(sc.Inputs, p)
	}
	for _, a := range sc.Spec.Attrs {
		if axes[a.Binds.V] != a || !expr.IsDimName(a.Binds.V) || sc.lenient {
			continue
		}
		if d := sc.decls[a.Binds.V]; d == nil || !d.bound {
			sc.list.Add(diag.UnboundDim, a.Binds.Span(), "no input's shape has the dimension %s, which %s binds", a.Binds.V, a.Name)
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
	text, ok := sc.elemText(s)
	if !ok {
		return Elem{}, false
	}
	inner, rest := strings.CutSuffix(strings.TrimRight(text, " "), "...")
	name := strings.TrimSpace(inner)
	if name == "_" {
		if rest {
			return Elem{Kind: AnyRest, Span: s.Span}, true
		}
		return Elem{Kind: Any, Span: s.Span}, true
	}
	if list, ok := ofEach(name); ok && sl.Variadic != nil {
		return sc.eachElem(s, list, rest, axes)
	}
	if expr.IsDimName(name) && sc.What(name) != "dtype variable" {
		return sc.dimElem(sl, s, name, rest, axes)
	}
	if _, known := sc.Lookup(name); !known && lowerName.MatchString(name) && nearest.Name(name, sc.Names()) == "" {
		sc.list.Add(diag.Undefined, s.Span, "%s is not defined", name).Hinted("names of dimensions begin with an upper-case letter")
		return Elem{}, false
	}
	// Any other element is an expression of names that are bound.
	kind, want := Match, expr.Int
	if rest {
		kind, want = MatchAll, expr.Dims
	}
	node := sc.givenAt(s, inner, 0, want)
	if node != nil && !rest {
		sc.notAxis(s, node)
	}
	return Elem{Kind: kind, Node: node, Span: s.Span}, node != nil
}

// elemText returns the text of an element of a shape, a string or an integer.
func (sc *Scope) elemText(s *source.Scalar) (string, bool) {
	switch v := s.Value.(type) {
	case string:
		t := strings.TrimRight(v, " ")
		if strings.HasSuffix(t, "..") && !strings.HasSuffix(t, "...") || strings.HasSuffix(t, "....") {
			dots := len(t) - len(strings.TrimRight(t, "."))
			sc.list.Add(diag.BadExpr, s.Within(len(t)-dots, len(t)), "a run of dimensions has three dots, not %d", dots)
			return "", false
		}
		return v, true
	case int64:
		if v < 0 {
			sc.list.Add(diag.BadValue, s.Span, "a dimension has an extent of 0 or more, not %d", v)
		}
		return fmt.Sprint(v), v >= 0
	}
	sc.badElem(s)
	return "", false
}

func (sc *Scope) dimElem(sl *spec.Slot, s *source.Scalar, name string, rest bool, axes map[string]*spec.Attr) (Elem, bool) {
	d := sc.decls[name]
	if d != nil && d.bound {
		if isRest := d.symbol.Type.Kind == expr.Dims; isRest != rest {
			want := name
			if isRest {
				want += "..."
			}
			sc.list.Add(diag.ExprType, s.Span, "%s was bound as %s", name, want).See(d.span, "bound here").Hinted("write %s", want)
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
	if sc.taken(d, name, s.Span) {
		return Elem{}, false
	}
	if sl.Present.Set() {
		sc.list.Add(diag.UnboundDim, s.Span, "slot %s may be absent, so it cannot bind the dimension %s", sl.Name, name).
			Hinted("use a dimension that an input above binds, or _")
		return Elem{}, false
	}
	if sl.MaybeEmpty() {
		sc.list.Add(diag.UnboundDim, s.Span, "slot %s may hold no tensor, so it cannot bind the dimension %s", sl.Name, name).
			Hinted("give variadic min = 1, use a dimension that an input above binds, or write %s[i] for the list of each tensor's extent", name)
		return Elem{}, false
	}
	kind := expr.Int
	if rest {
		kind = expr.Dims
	}
	sc.bind(name, kind, s.Span)
	if a := axes[name]; a != nil && rest {
		sc.list.Add(diag.ExprType, a.Binds.Span(), "%s is a run of dimensions, an axis is one", name).See(s.Span, "bound here")
	} else if a != nil {
		return Elem{Kind: AxisDim, Name: name, Span: s.Span, Axis: a}, true
	}
	if rest {
		return Elem{Kind: BindRest, Name: name, Span: s.Span}, true
	}
	return Elem{Kind: Bind, Name: name, Span: s.Span}, true
}

// ofEach returns the name in "C[i]", an element that may differ between the tensors of a variadic slot.
func ofEach(elem string) (name string, ok bool) {
	name, index, _ := strings.Cut(elem, "[")
	name = strings.TrimSpace(name)
	return name, expr.IsDimName(name) && strings.ReplaceAll(index, " ", "") == "i]"
}

// eachElem reads an element that may differ between the tensors of a variadic slot. "C[i]" binds C to a list
// with an extent for each tensor, and "X[i]..." binds X to a list with a run for each tensor.
func (sc *Scope) eachElem(s *source.Scalar, name string, rest bool, axes map[string]*spec.Attr) (Elem, bool) {
	d := sc.decls[name]
	if d != nil && d.bound {
		kind, want := Match, expr.Int
		if rest {
			kind, want = MatchAll, expr.Dims
		}
		node := sc.exprAt(s, name+"[i]", 0, want)
		return Elem{Kind: kind, Name: name, Node: node, Span: s.Span}, node != nil
	}
	if sc.taken(d, name, s.Span) {
		return Elem{}, false
	}
	if rest {
		sc.bind(name, expr.Shapes, s.Span)
		return Elem{Kind: BindEachRest, Name: name, Span: s.Span, Each: true}, true
	}
	sc.bind(name, expr.Dims, s.Span)
	if a := axes[name]; a != nil {
		return Elem{Kind: AxisDim, Name: name, Span: s.Span, Axis: a, Each: true}, true
	}
	return Elem{Kind: BindEach, Name: name, Span: s.Span, Each: true}, true
}

// taken reports a dimension that has the name of something else.
func (sc *Scope) taken(d *decl, name string, at source.Span) bool {
	switch {
	case d == nil:
		return false
	case d.what == "dimension":
		sc.list.Add(diag.Duplicate, at, "dimension %s is bound by a shape and defined in [dims]", name).See(d.span, "defined here")
	default:
		sc.list.Add(diag.Duplicate, at, "dimension %s has the name of the %s %s", name, d.what, name).See(d.span, "%s declared here", d.what)
	}
	return true
}

// bind declares a dimension that the shape of an input determines.
func (sc *Scope) bind(name string, kind expr.Kind, at source.Span) {
	sc.decls[name] = &decl{symbol: expr.Symbol{Class: expr.Dim, Type: expr.Type{Kind: kind}}, what: "dimension", span: at, bound: true}
	sc.names = append(sc.names, name)
}

func (sc *Scope) badElem(n source.Node) {
	sc.list.Add(diag.WrongKind, source.SpanOf(n), "a dimension is a name, an expression in a string, or an integer, not %s", english.Article(source.Kind(n)))
}

// determinate checks that a pattern determines its dimensions. It may have one run of unknown length, or two
// around the dimension of an axis attribute.
func (sc *Scope) determinate(p *Pattern) {
	var runs []Elem
	axis := -1
	for i, e := range p.Elems {
		switch e.Kind {
		case BindRest, BindEachRest, AnyRest:
			runs = append(runs, e)
		case AxisDim:
			axis = i
		}
	}
	if axis >= 0 {
		named := !slices.ContainsFunc(runs, func(e Elem) bool { return e.Kind == AnyRest })
		if len(p.Elems) != 3 || axis != 1 || len(runs) != 2 || !named {
			sc.list.Add(diag.Ambiguous, p.Elems[axis].Span, "the dimension %s, which an axis attribute binds, belongs between two runs and nothing else: [\"A...\", %q, \"B...\"]", p.Elems[axis].Name, p.Elems[axis].Name)
		}
		return
	}
	if len(runs) > 1 {
		sc.list.Add(diag.Ambiguous, runs[1].Span, "the shape has two runs of unknown length, so where one ends is not determined").
			See(runs[0].Span, "the first one").Hinted("bind the whole shape as X... and cut it with X[:axis]... and X[axis:]..., or separate the runs by a dimension that an axis attribute binds")
	}
}

// ShapeExpr is an element of the shape of an output, weight, saved or scratch slot: an expression for one
// dimension, or for a run if Rest is true.
type ShapeExpr struct {
	Node expr.Node
	Rest bool
}

// Shape returns the shape of a slot whose shape follows from others. Findings are reported by the first call.
func (sc *Scope) Shape(sl *spec.Slot) []ShapeExpr {
	out, read := sc.shapes[sl]
	if read {
		return out
	}
	defer func() { sc.shapes[sl] = out }()
	sc.each = sl.Variadic != nil
	defer func() { sc.each = false }()
	for _, n := range sl.Shape {
		s, ok := n.(*source.Scalar)
		if !ok {
			sc.badElem(n)
			continue
		}
		text, ok := sc.elemText(s)
		if !ok {
			continue
		}
		inner, rest := strings.CutSuffix(strings.TrimRight(text, " "), "...")
		begin := 0 // of inner
		if bound, ok := Bound(text); ok {
			inner, rest, begin = bound, false, len(text)-len(bound)
		} else if sl.Role.V == "output" && strings.TrimSpace(inner) == "_" {
			sc.list.Add(diag.NotYet, s.Span, "an extent that values decide is not supported yet without a bound").
				Hinted("write \"_ <= ...\", and name the output that holds the count: count = \"...\"")
			continue
		}
		want := expr.Int
		if rest {
			want = expr.Dims
		} else if sc.isRest(strings.TrimSpace(inner)) {
			run := strings.TrimSpace(inner)
			sc.list.Add(diag.ExprType, s.Span, "%s is a run of dimensions", run).Hinted("write %s...", run)
			continue
		}
		if dim := strings.TrimSpace(inner); rest && sc.isOne(dim) {
			sc.list.Add(diag.ExprType, s.Span, "%s is one dimension, not a run", dim).Hinted("write %s", dim)
			continue
		}
		if node := sc.givenAt(s, inner, begin, want); node != nil {
			if !rest {
				sc.notAxis(s, node)
			}
			out = append(out, ShapeExpr{node, rest})
		}
	}
	return out
}

// Bound returns the bound of an extent that values decide: x in "_ <= x".
func Bound(elem string) (bound string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(elem, " "), "_")
	if !ok {
		return "", false
	}
	return strings.CutPrefix(strings.TrimLeft(rest, " "), "<=")
}

// isOne reports whether a name is that of a single dimension.
func (sc *Scope) isOne(name string) bool {
	d := sc.decls[name]
	return d != nil && d.symbol.Class == expr.Dim && d.symbol.Type.Kind == expr.Int
}

// HasDim reports whether a slot's shape has a dimension, or a run of them, of the given name.
func HasDim(s *spec.Slot, name string) bool {
	return slices.ContainsFunc(s.Shape, func(n source.Node) bool { return DimName(n) == name })
}

// DimName returns an element of a shape that is a name, without the dots of a run. It returns "" for other
// elements.
func DimName(n source.Node) string {
	sc, ok := n.(*source.Scalar)
	if !ok {
		return ""
	}
	text, _ := sc.Value.(string)
	name := strings.TrimSpace(strings.TrimSuffix(strings.TrimRight(text, " "), "..."))
	if expr.IsDimName(name) || lowerName.MatchString(name) {
		return name
	}
	return ""
}

var lowerName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// LaneDim returns the number of the element of a shape that an axis attribute binds. Lanes of kernels run
// along it. If ok is false, there is none, and lanes run along the last dimension.
func LaneDim(elems []Elem) (int, bool) {
	i := slices.IndexFunc(elems, func(e Elem) bool { return e.Kind == AxisDim })
	return i, i >= 0
}
