package scope

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/spec"
)

// lets types the definitions in [dims]. A definition may use the dimensions that inputs bind or that precede
// it. A dimension whose definition has an error gets the type unknown, so that its uses are not reported.
func (sc *Scope) lets() {
	var cyclic []string
	names, free := sc.references(), map[string]bool{}
	for _, l := range sc.Spec.Dims {
		d := sc.decls[l.Name]
		if d == nil || d.span != l.Key {
			continue // another declaration has the name, which declare reports
		}
		let := Let{Name: l.Name}
		if !slices.Contains(cyclic, l.Name) {
			cycle := cycle(l.Name, names, free)
			if cycle == nil {
				free[l.Name] = true
				let.Node = sc.letExpr(l)
			} else {
				sc.list.Add(diag.Cyclic, definition(l).Span(), "dimension %s is defined by itself: %s", l.Name, strings.Join(append(cycle, l.Name), " <- "))
				cyclic = append(cyclic, cycle...)
			}
		}
		d.symbol.Type.Kind = expr.Unknown
		if let.Node != nil {
			d.symbol.Type.Kind = let.Node.Type().Kind
			let.Rest = d.symbol.Type.Kind == expr.Dims
		}
		d.bound = true
		sc.Lets = append(sc.Lets, let)
	}
}

// letExpr types the expression of a dimension: an integer, or dims for a run. It returns nil after a finding.
func (sc *Scope) letExpr(l *spec.Let) expr.Node {
	if l.Func.Set() {
		return sc.goCall(l.Func)
	}
	if !l.Expr.Set() {
		return nil // which reading it reported
	}
	want := expr.Int
	if n, err := expr.Parse(l.Expr.V); err == nil && expr.Check(n, sc, expr.Dims) == nil {
		want = expr.Dims
	}
	return sc.givenAt(l.Expr.Node, l.Expr.V, 0, want)
}

// definition returns the text that defines a dimension.
func definition(l *spec.Let) spec.Str {
	if l.Func.Set() {
		return l.Func
	}
	return l.Expr
}

// parsed returns what defines a dimension, without types.
func parsed(l *spec.Let) (expr.Node, *expr.Error) {
	if l.Func.Set() {
		return expr.ParseGoCall(l.Func.V)
	}
	return expr.Parse(l.Expr.V)
}

// goCall types a call of a Go function. It returns nil after a finding.
func (sc *Scope) goCall(s spec.Str) expr.Node {
	n, err := expr.ParseGoCall(s.V)
	if err == nil {
		err = expr.Check(n, sc, expr.Dims)
	}
	if err != nil {
		sc.report(s.Node, 0, err)
		return nil
	}
	return n
}

// Validate types the call of the Go function that checks attributes: its arguments are names of attributes.
// Then Typed returns its tree.
func (sc *Scope) Validate() {
	s := sc.Spec.Validate
	if !s.Set() {
		return
	}
	n, err := expr.ParseGoCall(s.V)
	if err != nil {
		sc.report(s.Node, 0, err)
		return
	}
	for _, a := range n.Args {
		id, ok := a.(*expr.Ident)
		if !ok {
			sc.list.Add(diag.BadExpr, s.Node.Within(a.Pos(), a.End()), "the arguments of a function that checks attributes are names of attributes")
			return
		}
		if sc.What(id.Name) != "attribute" {
			d := sc.list.Add(diag.Undefined, s.Node.Within(a.Pos(), a.End()), "there is no attribute %s", id.Name)
			sc.Suggest(d, id.Name, "attribute")
			return
		}
	}
	sc.typed[s.Node] = n
}

// references returns the names in the definition of each dimension.
func (sc *Scope) references() map[string][]string {
	names := map[string][]string{}
	for _, d := range sc.Spec.Dims {
		names[d.Name] = nil
		if n, err := parsed(d); err == nil {
			names[d.Name] = expr.Names(n)
		}
	}
	return names
}

// cycle returns the dimensions of a cycle that begins with one. Each is defined by the next, and the last by
// the first. It returns nil if there is no cycle. No cycle goes by way of what is free.
func cycle(first string, names map[string][]string, free map[string]bool) []string {
	seen := map[string]bool{}
	var visit func(d string) []string
	visit = func(d string) []string {
		if seen[d] || free[d] {
			return nil
		}
		seen[d] = true
		for _, name := range names[d] {
			if name == first {
				return []string{d}
			}
			if _, defined := names[name]; defined {
				if rest := visit(name); rest != nil {
					return append([]string{d}, rest...)
				}
			}
		}
		return nil
	}
	return visit(first)
}
