package scope

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/spec"
)

// lets evaluates [dims]: each may use what inputs bind and the dimensions defined before it. A
// dimension whose definition has an error is bound to an unknown value.
func (sc *Scope) lets() {
	var cyclic []string
	for _, l := range sc.Spec.Dims {
		d := sc.decls[l.Name]
		if d == nil || d.span != l.Key {
			continue // the name belongs to something else; already reported
		}
		let := Let{Name: l.Name}
		if !slices.Contains(cyclic, l.Name) {
			cycle := sc.cycle(l)
			if cycle == nil {
				let.Node = sc.letExpr(l)
			} else {
				sc.list.Add(diag.Cyclic, l.Expr.Span(), "dimension %s is defined by itself: %s", l.Name, strings.Join(append(cycle, l.Name), " <- "))
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

// letExpr checks the expression of a dimension, which may be an integer or dims.
func (sc *Scope) letExpr(l *spec.Let) expr.Node {
	want := expr.Int
	if n, err := expr.Parse(l.Expr.V); err == nil && expr.Check(n, sc, expr.Dims) == nil {
		want = expr.Dims
	}
	return sc.exprAt(l.Expr.Node, l.Expr.V, 0, want)
}

// cycle returns the dimensions, beginning with l, each of which is defined by the next and the last
// by l again. It returns nil if there are none.
func (sc *Scope) cycle(l *spec.Let) []string {
	byName := map[string]*spec.Let{}
	for _, d := range sc.Spec.Dims {
		byName[d.Name] = d
	}
	seen := map[string]bool{}
	var visit func(d *spec.Let) []string
	visit = func(d *spec.Let) []string {
		n, err := expr.Parse(d.Expr.V)
		if err != nil || seen[d.Name] {
			return nil
		}
		seen[d.Name] = true
		for _, name := range expr.Names(n) {
			if name == l.Name {
				return []string{d.Name}
			}
			if next := byName[name]; next != nil {
				if rest := visit(next); rest != nil {
					return append([]string{d.Name}, rest...)
				}
			}
		}
		return nil
	}
	return visit(l)
}
