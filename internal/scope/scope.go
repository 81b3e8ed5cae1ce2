// Package scope resolves the names of a spec: the meaning of attributes, dimensions, dtype variables and
// slots in expressions, and the dimensions that the shapes of inputs bind.
package scope

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// Scope is the name space of a spec.
type Scope struct {
	Spec *spec.Spec
	// Inputs holds the shape pattern of every slot whose shape the caller gives, in file order.
	Inputs []*Pattern
	// Lets holds the dimensions of [dims], in file order, with their expressions.
	Lets []Let

	list  *diag.List
	names []string
	// typed holds the trees of typed expressions by the node of their text. shapes holds the shapes of slots
	// whose shape follows from others.
	typed  map[*source.Scalar]expr.Node
	shapes map[*spec.Slot][]ShapeExpr
	decls  map[string]*decl
	// lenient says that a binding of dimensions has an error, which is reported. Unbound dimensions are then
	// not reported, since the error may cause them.
	lenient bool
	each    bool // whether the shape of a variadic slot is read, in which i numbers its tensors
}

type decl struct {
	symbol expr.Symbol
	what   string // "slot", "attribute", ...
	span   source.Span
	bound  bool // whether something determines the dimension
}

// Let is a dimension that [dims] defines.
type Let struct {
	Name string
	Node expr.Node // nil if the expression is wrong
	Rest bool      // a run of dimensions rather than one
}

// ElemKind is the kind of an element of a shape pattern.
type ElemKind uint8

const (
	Bind         ElemKind = iota // K: binds one dimension
	BindRest                     // N...: binds a run of dimensions
	BindEach                     // C[i]: binds a list with an extent for each tensor
	BindEachRest                 // X[i]...: binds a list with a run for each tensor
	Match                        // an expression: the dimension must equal it
	MatchAll                     // X... that is bound: the run must equal it
	Any                          // _
	AnyRest                      // _...
	AxisDim                      // a dimension that an axis attribute binds
)

// Elem is an element of a shape pattern.
type Elem struct {
	Kind ElemKind
	Name string
	Node expr.Node // of Match and MatchAll
	Span source.Span
	Axis *spec.Attr // of AxisDim
	// Each says that each tensor of a variadic slot has its own extent, or run, here.
	Each bool
}

// Pattern is the shape of an input.
type Pattern struct {
	Slot  *spec.Slot
	Elems []Elem
}

// Provided reports whether the caller gives the shape of a slot. It does for inputs and for the output of an
// initializer.
func Provided(s *spec.Spec, slot *spec.Slot) bool {
	return slot.Role.V == "input" || s.Kind == spec.Initializer && slot.Role.V == "output"
}

// New builds the scope of a spec. Findings go to list.
func New(s *spec.Spec, list *diag.List) *Scope {
	sc := &Scope{Spec: s, list: list, decls: map[string]*decl{}, typed: map[*source.Scalar]expr.Node{}, shapes: map[*spec.Slot][]ShapeExpr{}}
	for _, v := range s.Types {
		sc.declare(v.Name, "dtype variable", v.Key, expr.Symbol{Class: expr.TypeVar, Type: expr.Type{Kind: expr.DType}})
	}
	for _, a := range s.Attrs {
		sym := AttrSymbol(a)
		sc.declare(a.Name, "attribute", a.Key, sym)
	}
	for _, sl := range s.Slots {
		sym := expr.Symbol{Class: expr.SlotName, Type: expr.Type{Kind: expr.Slot}}
		if sl.Variadic != nil && !sl.Variadic.Count.Set() {
			sym.HasMin, sym.Min = true, sl.Variadic.Min.V // of count(slot)
			sym.Gaps = sl.Variadic.Optional.V && sl.Role.V == "input"
		}
		sc.declare(sl.Name, "slot", sl.Key, sym)
	}
	for _, a := range s.Args {
		kind := expr.Argument
		if a.Variadic != nil {
			kind = expr.Slot // which can be counted
		}
		sc.declare(a.Name, "argument", a.Key, expr.Symbol{Class: expr.SlotName, Type: expr.Type{Kind: kind}})
	}
	for _, d := range s.Dims {
		sc.declare(d.Name, "dimension", d.Key, expr.Symbol{Class: expr.Dim, Type: expr.Type{Kind: expr.Int}})
	}
	sc.lenient = s.Unread["slots"] || s.Unread["dims"] || s.Unread["dtypes"]
	sc.bindInputs()
	sc.lets()
	return sc
}

// AttrSymbol returns the symbol of an attribute in expressions.
func AttrSymbol(a *spec.Attr) expr.Symbol {
	s := expr.Symbol{Class: expr.Attr, Type: expr.Type{Optional: a.Optional.V}}
	switch a.Type.V {
	case "int", "axis":
		s.Type.Kind = expr.Int
		s.Axis = a.Type.V == "axis"
		if m, ok := a.Min.(*source.Scalar); ok {
			s.Min, s.HasMin = m.Value.(int64)
		}
	case "float", "number":
		s.Type.Kind = expr.Float
	case "bool":
		s.Type.Kind = expr.Bool
	case "string":
		s.Type.Kind = expr.String
	case "enum":
		s.Type.Kind, s.Type.Name = expr.Enum, a.Name
		for _, v := range a.Values {
			s.Type.Values = append(s.Type.Values, v.V)
		}
		if e := a.Shared; e != nil {
			s.Type.Name = a.Enum.V // two modules may have enums of one name
			for _, v := range e.Values {
				s.Type.Values = append(s.Type.Values, v.Name.V)
			}
		}
		if len(s.Type.Values) == 0 {
			s.Type = expr.Type{Kind: expr.Unknown}
		}
	case "dtype":
		s.Type.Kind = expr.DType
	case "dims", "axes":
		s.Type.Kind = expr.Dims
	case "record":
		s.Type.Kind, s.Type.Name = expr.Record, a.Name
		for _, f := range a.Fields {
			field := AttrSymbol(f)
			if field.Type.Kind == expr.Enum && !f.Enum.Set() {
				field.Type.Name = a.Name + "_" + f.Name
			}
			s.Type.Fields = append(s.Type.Fields, expr.Field{Name: f.Name, Symbol: field})
		}
	}
	if a.List.V && s.Type.Kind != expr.Unknown {
		if s.Type.Kind == expr.Int {
			s.Type.Kind = expr.Dims
		} else {
			s.Type.Elem, s.Type.Kind = s.Type.Kind, expr.OtherList
		}
		s.HasMin = false
	}
	if m, ok := a.Min.(*source.Scalar); ok && s.Type.Kind == expr.Dims {
		s.Least, _ = m.Value.(int64)
	}
	s.Len = a.Len.V
	if s.Type.Optional {
		s.HasMin = false
	}
	return s
}

func (sc *Scope) declare(name, what string, span source.Span, sym expr.Symbol) {
	if d, ok := sc.decls[name]; ok {
		sc.list.Add(diag.Duplicate, span, "%s %s has the name of the %s %s", what, name, d.what, name).See(d.span, "%s declared here", d.what)
		return
	}
	sc.decls[name] = &decl{symbol: sym, what: what, span: span}
	sc.names = append(sc.names, name)
}

// Lookup implements expr.Env. A dimension that nothing binds yet is unknown.
func (sc *Scope) Lookup(name string) (expr.Symbol, bool) {
	if sc.each && name == "i" {
		return expr.Symbol{Class: expr.Position, Type: expr.Type{Kind: expr.Int}}, true
	}
	d, ok := sc.decls[name]
	if !ok {
		// The name may be one of those that could not be read.
		if expr.IsDimName(name) {
			return expr.Symbol{Class: expr.Dim}, sc.lenient
		}
		return expr.Symbol{}, sc.Spec.Unread["attrs"] || sc.Spec.Unread["slots"]
	}
	if d.symbol.Class == expr.Dim && !d.bound {
		return expr.Symbol{}, false
	}
	return d.symbol, true
}

// Names implements expr.Env.
func (sc *Scope) Names() []string {
	var names []string
	for _, n := range sc.names {
		if d := sc.decls[n]; d.symbol.Class != expr.Dim || d.bound {
			names = append(names, n)
		}
	}
	return names
}

// What returns the kind of declaration that has a name, such as "slot", or "" if none has.
func (sc *Scope) What(name string) string {
	if d := sc.decls[name]; d != nil {
		return d.what
	}
	return ""
}

// Where returns where a name is declared.
func (sc *Scope) Where(name string) source.Span { return sc.decls[name].span }

// isRest reports whether a dimension is a run of dimensions.
func (sc *Scope) isRest(name string) bool {
	d := sc.decls[name]
	return d != nil && d.symbol.Class == expr.Dim && d.symbol.Type.Kind == expr.Dims
}

// Expr parses and types an expression, which must have the type want. Then Typed returns its tree. Typed
// returns nil after a finding, and for an expression that is absent.
func (sc *Scope) Expr(s spec.Str, want expr.Kind) {
	if !s.Set() {
		return
	}
	if n := sc.exprAt(s.Node, s.V, 0, want); n != nil {
		sc.typed[s.Node] = n
	}
}

// Extent is Expr for a number of elements: an integer that is not the number of an axis.
func (sc *Scope) Extent(s spec.Str) {
	sc.Expr(s, expr.Int)
	if n := sc.Typed(s); n != nil {
		sc.notAxis(s.Node, n)
	}
}

// notAxis reports an extent that the number of an axis is part of, in a string.
func (sc *Scope) notAxis(at *source.Scalar, n expr.Node) {
	id := expr.AxisIn(n)
	if id == nil {
		return
	}
	d := sc.list.Add(diag.ExprType, at.Within(id.Pos(), id.End()), "%s is the number of a dimension, not an extent", id.Name)
	for _, a := range sc.Spec.Attrs {
		if a.Name != id.Name {
			continue
		}
		if a.Binds.Set() {
			d.Hinted("the extent of that dimension is %s", a.Binds.V)
		} else {
			d.Hinted("the extent of that dimension of X... is X[%s]", id.Name)
		}
	}
}

// Typed returns the tree of an expression, or nil if Expr has not typed it.
func (sc *Scope) Typed(s spec.Str) expr.Node { return sc.typed[s.Node] }

// exprAt is Expr for the part of a string that begins at byte offset.
func (sc *Scope) exprAt(at *source.Scalar, text string, offset int, want expr.Kind) expr.Node {
	n, err := expr.Parse(text)
	if err == nil {
		err = expr.Check(n, sc, want)
	}
	if err == nil {
		return n
	}
	sc.report(at, offset, err)
	return nil
}

// report adds a finding about an expression that begins at byte offset of a string.
func (sc *Scope) report(at *source.Scalar, offset int, err *expr.Error) {
	span := at.Span
	if _, ok := at.Value.(string); ok {
		span = at.Within(offset+err.Pos, offset+max(err.End, err.Pos))
	}
	code := diag.BadExpr
	switch err.Code {
	case expr.BadType:
		code = diag.ExprType
	case expr.ZeroDivisor:
		code = diag.ZeroDivisor
	case expr.UnknownName:
		code = diag.Undefined
	}
	message, hint := err.Message, err.Hint
	if expr.IsDimName(err.Name) {
		code, message = diag.UnboundDim, "no input's shape binds the dimension "+err.Name
		if sc.boundLater(err.Name) {
			message = "dimension " + err.Name + " is not bound yet"
			hint = "the shapes of inputs bind dimensions in the order of the file; after them, [dims] defines others"
		}
	}
	d := sc.list.Add(code, span, "%s", message)
	if code == diag.UnboundDim && hint == "" && err.New == "" {
		hint = sc.boundDims()
	}
	switch {
	case hint != "":
		d.Hinted("%s", hint)
	case err.New != "":
		d.Meant(err.Old, err.New)
	}
}

// boundDims says which dimensions are bound, or returns "" if there are none or many.
func (sc *Scope) boundDims() string {
	var dims []string
	for _, n := range sc.names {
		if d := sc.decls[n]; d.symbol.Class == expr.Dim && d.bound {
			dims = append(dims, n)
		}
	}
	switch {
	case len(dims) == 0:
		return "no input's shape binds a dimension"
	case len(dims) > 12:
		return ""
	}
	return "bound dimensions are " + strings.Join(dims, ", ")
}

// boundLater reports whether something binds a dimension that is not bound at this point of the spec.
func (sc *Scope) boundLater(name string) bool {
	if sc.What(name) == "dimension" {
		return true
	}
	for _, sl := range sc.Spec.Slots {
		for _, n := range sl.Shape {
			if s, ok := n.(*source.Scalar); ok && Provided(sc.Spec, sl) {
				text, _ := s.Value.(string)
				if strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "...")) == name {
					return true
				}
			}
		}
	}
	return false
}

// Lenient reports whether a binding of dimensions has a finding. Then unbound dimensions are not reported,
// since the finding may be their cause.
func (sc *Scope) Lenient() bool { return sc.lenient }

// Suggest adds a hint to d: the name nearest to a misspelled one, of the declarations of the kind what.
func (sc *Scope) Suggest(d *diag.Diagnostic, name, what string) {
	var candidates []string
	for _, n := range sc.names {
		if sc.decls[n].what == what {
			candidates = append(candidates, n)
		}
	}
	d.Suggest(name, what+"s", candidates)
}
