package workspace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// expression collects the names of an expression, or of a formula, in a string.
type expression struct {
	*collector
	node   *source.Scalar
	lead   int // bytes of the string in front of the text that was parsed
	values map[string]bool
	own    map[string]bool // functions
	params []string        // of the function whose body it is
	inside string          // that function
	bound  map[string]bool // indices of an expression that is no formula
}

// formula adds the names in a formula.
func (c *collector) formula(n *source.Scalar, text string) {
	f, _ := expr.ParseFormula(text)
	x := &expression{collector: c, node: n, values: map[string]bool{}, own: map[string]bool{}}
	for _, fn := range f.Functions {
		x.own[fn.Name] = true
	}
	for _, s := range f.Statements {
		for _, t := range s.Targets {
			name, _, _ := target(t)
			if _, declared := c.declared[name]; !declared && !strings.Contains(name, ".") {
				x.values[name] = true
			}
		}
	}
	for _, fn := range f.Functions {
		x.function(fn)
	}
	seen := map[string]bool{}
	for _, s := range f.Statements {
		for _, t := range s.Targets {
			name, at, end := target(t)
			if x.values[name] {
				x.put(at, end, Name{Text: name, Kind: Value, Spec: c.name, Declares: !seen[name]})
			} else {
				x.dotted(at, name)
			}
			seen[name] = true
			if r, ok := t.(*expr.Read); ok {
				for _, g := range r.Groups {
					x.all(g)
				}
			}
		}
		x.walk(s.X, nil)
		for _, b := range s.For {
			x.walk(b, nil)
		}
		x.walk(s.When, nil)
	}
}

// target returns the name of what a statement gives, and its place.
func target(n expr.Node) (name string, at, end int) {
	switch n := n.(type) {
	case *expr.Read:
		return n.Name, n.NameEnd - len(n.Name), n.NameEnd
	case *expr.Ident:
		return n.Name, n.Pos(), n.End()
	}
	return "", n.Pos(), n.Pos()
}

// function adds the names of a function.
func (x *expression) function(fn *expr.Function) {
	at, name := fn.Pos, fn.Name
	attr, value, ofAttr := cutLast(name)
	switch {
	case x.spec.Kind == spec.Enum:
		x.put(at, at+len(name), Name{Text: name, Kind: EnumValue, Spec: x.name})
	case ofAttr:
		x.dotted(at, attr)
		x.enumValue(x.span(at+len(attr)+1, at+len(name)), value, x.attr(strings.Split(attr, ".")))
	default:
		x.put(at, at+len(name), Name{Text: name, Kind: Function, Spec: x.name, Declares: true})
	}
	x.inside = name
	for _, p := range fn.Params {
		x.params = append(x.params, p.Name)
		x.put(p.Pos(), p.End(), Name{Text: p.Name, Kind: Index, Spec: x.name, Of: name, Declares: true})
	}
	x.walk(fn.X, nil)
	x.params, x.inside = nil, ""
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

func (x *expression) span(at, end int) source.Span { return x.node.Within(at+x.lead, end+x.lead) }

func (x *expression) put(at, end int, n Name) {
	n.Span = x.span(at, end)
	x.add(n)
}

// dotted adds a name, or those of an attribute and of a field: regularizer.type. A gradient such as
// grad.input has the name of a slot behind it.
func (x *expression) dotted(at int, name string) bool {
	first, rest, found := strings.Cut(name, ".")
	switch {
	case !found:
		return x.reference(x.span(at, at+len(name)), name)
	case first == "grad" || first == "old":
		return x.named(at+len(first)+1, rest)
	case !x.reference(x.span(at, at+len(first)), first):
		return false
	}
	if a := x.attr([]string{first, rest}); a != nil {
		x.put(at+len(first)+1, at+len(name), Name{Text: rest, Kind: Attribute, Spec: x.name, Of: first})
	}
	return true
}

// named adds a name of the spec, or one of the formula's own. It reports whether there is one.
func (x *expression) named(at int, name string) bool {
	if x.values[name] {
		x.put(at, at+len(name), Name{Text: name, Kind: Value, Spec: x.name})
		return true
	}
	return x.dotted(at, name)
}

func (x *expression) all(nodes []expr.Node) {
	for _, n := range nodes {
		x.walk(n, nil)
	}
}

// walk adds the names of an expression. Strings in it are values of the enum attribute of, if there is one.
func (x *expression) walk(n expr.Node, of *owned) {
	switch n := n.(type) {
	case nil:
	case *expr.Lit:
		if text, ok := n.Value.(string); ok && n.End()-n.Pos() >= len(text)+2 {
			x.enumValue(x.span(n.Pos()+1, n.End()-1), text, of)
		}
	case *expr.Ident:
		x.ident(n)
	case *expr.Select:
		if id, ok := n.X.(*expr.Ident); ok && id.Name == "grad" {
			x.named(n.FieldPos, n.Field)
			return
		}
		x.walk(n.X, nil)
		if id, ok := n.X.(*expr.Ident); ok && x.attr([]string{id.Name, n.Field}) != nil {
			x.put(n.FieldPos, n.FieldPos+len(n.Field), Name{Text: n.Field, Kind: Attribute, Spec: x.name, Of: id.Name})
		}
	case *expr.Unary:
		x.walk(n.X, nil)
	case *expr.Binary:
		x.walk(n.X, x.enumOf(n.Y))
		x.walk(n.Y, x.enumOf(n.X))
	case *expr.Cond:
		x.all([]expr.Node{n.If, n.Then, n.Else})
	case *expr.In:
		x.walk(n.X, nil)
		if n.Word != "" {
			x.put(n.At, n.At+len(n.Word), Name{Text: n.Word, Kind: ElementType})
			return
		}
		for _, e := range n.List {
			x.walk(e, x.enumOf(n.X))
		}
	case *expr.Call:
		x.call(n, false)
	case *expr.Inline:
		x.call(n.Call, true)
		if n.Output != "" {
			x.member(x.span(n.Call.End()+1, n.Call.End()+1+len(n.Output)), n.Output, n.Call.Func)
		}
		x.all(n.At)
	case *expr.Read:
		start := n.NameEnd - len(n.Name)
		switch {
		case slices.Contains(x.params, n.Name):
			x.put(start, n.NameEnd, Name{Text: n.Name, Kind: Index, Spec: x.name, Of: x.inside})
		case !x.named(start, n.Name) && x.isIndex(n.Name):
			x.index(start, n.Name)
		}
		for _, g := range n.Groups {
			x.all(g)
		}
		x.walk(n.Else, nil)
	case *expr.Index:
		x.all([]expr.Node{n.X, n.I})
	case *expr.Slice:
		x.all([]expr.Node{n.X, n.Lo, n.Hi})
	case *expr.Number:
		x.all(n.Items)
	case *expr.List:
		x.all(n.Elems)
	case *expr.Reduce:
		name := n.Kind.String()
		x.put(n.Pos(), n.Pos()+len(name), Name{Text: name, Kind: Builtin})
		for _, b := range n.Binders {
			if id, ok := b.X.(*expr.Ident); ok && x.values == nil {
				x.bound = map[string]bool{id.Name: true}
			}
			x.walk(b, nil)
		}
		x.all([]expr.Node{n.If, n.X})
		x.all(n.At)
	case *expr.Binder:
		x.all([]expr.Node{n.X, n.Lo, n.Hi})
	}
}

// ident adds a name that stands by itself.
func (x *expression) ident(n *expr.Ident) {
	name := strings.TrimRight(n.Name, "'")
	switch {
	case slices.Contains(x.params, n.Name):
		x.put(n.Pos(), n.End(), Name{Text: n.Name, Kind: Index, Spec: x.name, Of: x.inside})
	case x.named(n.Pos(), name):
	case isElementType(name):
		x.put(n.Pos(), n.End(), Name{Text: name, Kind: ElementType})
	case x.isIndex(name):
		x.index(n.Pos(), n.Name)
	}
}

// isIndex reports whether a name that nothing declares is one of an index.
func (x *expression) isIndex(name string) bool {
	if x.values == nil && !x.bound[name] {
		return false
	}
	return name != "" && name != "_" && !expr.IsConstant(name) && name != "seed" && !expr.IsDimName(name)
}

// index adds an index with its primes.
func (x *expression) index(at int, name string) {
	x.put(at, at+len(name), Name{Text: strings.TrimRight(name, "'"), Kind: Index, Spec: x.name})
}

// call adds the names of a call. applies says that it is one of an operator, which computes a tensor.
func (x *expression) call(n *expr.Call, applies bool) {
	at := n.Pos()
	_, isAttr := x.declared[firstOf(n.Func)]
	switch {
	case applies || len(n.Named) > 0:
		x.put(at, at+len(n.Func), Name{Text: n.Func, Kind: Spec, Spec: n.Func})
	case x.own[n.Func]:
		x.put(at, at+len(n.Func), Name{Text: n.Func, Kind: Function, Spec: x.name})
	case isAttr:
		x.dotted(at, n.Func)
	default:
		x.put(at, at+len(n.Func), Name{Text: n.Func, Kind: Builtin})
	}
	for _, a := range n.Args {
		if c, ok := a.(*expr.Call); ok && applies {
			x.call(c, true)
		} else {
			x.walk(a, nil)
		}
	}
	for _, a := range n.Named {
		x.member(x.span(a.Pos(), a.Pos()+len(a.Name)), a.Name, n.Func)
		var of *owned
		if other := x.snapshot.named[n.Func]; other != nil {
			of = attrOf(other, []string{a.Name})
		}
		x.walk(a.X, of)
	}
}

func firstOf(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// enumOf returns the enum attribute that an expression is; nil if it is none.
func (x *expression) enumOf(n expr.Node) *owned {
	var path []string
	switch n := n.(type) {
	case *expr.Ident:
		path = []string{n.Name}
	case *expr.Select:
		if id, ok := n.X.(*expr.Ident); ok {
			path = []string{id.Name, n.Field}
		}
	case *expr.Call:
		if n.Func == "or" && len(n.Args) == 2 {
			return x.enumOf(n.Args[0])
		}
	}
	if a := x.attr(path); a != nil && a.Type.V == "enum" {
		return a
	}
	return nil
}

// declaration returns where a name is declared: the spec's path, and the name there; nil if nothing declares
// it.
func (s *Snapshot) declaration(n *Name) (string, *Name) {
	path := s.pathOf(n.Spec)
	if path == "" {
		return "", nil
	}
	if n.Kind == Spec {
		f := s.files[path]
		at := source.Span{File: &source.File{Path: path, Text: f.in.Text}}
		if f.spec.Name.Set() && f.spec.Name.Span().End > f.spec.Name.Span().Start {
			at = f.spec.Name.Node.Within(0, len(f.spec.Name.V))
		}
		return path, &Name{Span: at, Text: n.Text, Kind: Spec, Spec: n.Spec, Declares: true}
	}
	names := s.namesOf(path)
	for i := range names {
		if x := &names[i]; same(x, n) && (x.Declares || n.Kind == Index) { // where an index stands first
			return path, x
		}
	}
	return "", nil
}

// pathOf returns the path of the spec of a name; "" if there is none.
func (s *Snapshot) pathOf(name string) string {
	for _, p := range s.paths {
		if f := s.files[p]; f.counts && cmp.Or(f.spec.Name.V, f.spec.Base) == name {
			return p
		}
	}
	return ""
}

// same reports whether two names mean the same.
func same(a, b *Name) bool {
	return a.Kind == b.Kind && a.Text == b.Text && a.Spec == b.Spec && a.Of == b.Of && a.Kind != Key
}
