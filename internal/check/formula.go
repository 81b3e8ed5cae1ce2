package check

import (
	"slices"

	formulas "github.com/opgen/opgen/formula/check"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// formula checks the formula of an operator, as package formula/check does, and that tasks fold what it gives
// by reductions.
func (o *operator) formula() {
	if !o.s.Formula.Set() {
		return
	}
	declared := NewDeclarations(o.specs, o.others)
	op := declared.Operator(o.s, o.sc)
	findings, facts := formulas.Formula(op, declared)
	for _, x := range findings {
		at := source.Span{}
		if i := slices.IndexFunc(o.s.Slots, func(sl *spec.Slot) bool { return sl.Name == x.About }); i >= 0 {
			at = o.s.Slots[i].Key
		}
		o.found(x, o.s.Formula, at)
	}
	if ast, errs := expr.ParseFormula(o.s.Formula.V); len(errs) == 0 && !op.Partial {
		o.folds(ast.Statements)
	}
	o.s.Own, o.s.Indices = nil, nil
	for _, x := range facts.Own {
		o.s.Own = append(o.s.Own, spec.Value{Name: x.Name, Pos: o.s.Formula.Node.Within(x.Pos, x.End), Shape: x.Shape, Kind: x.Kind})
	}
	for _, x := range facts.Indices {
		o.s.Indices = append(o.s.Indices, spec.Index{Name: x.Name, Pos: o.s.Formula.Node.Within(x.Pos, x.End), Range: x.Range})
	}
}

// enumFormula checks the formula of an enum.
func (c *checker) enumFormula(s *spec.Spec) {
	if !s.Formula.Set() {
		return
	}
	declared := NewDeclarations(c.specs, c.others)
	for _, x := range formulas.Values(declared.Enum(s), declared) {
		at := source.Span{}
		if i := slices.IndexFunc(s.Values, func(v *spec.EnumValue) bool { return v.Name.V == x.About }); i >= 0 {
			at = s.Values[i].Name.Span()
		}
		c.found(x, s.Formula, at)
	}
}

// codes holds the code of a finding for each kind of error in expressions.
var codes = map[expr.Code]diag.Code{expr.BadSyntax: diag.BadExpr, expr.BadType: diag.ExprType, expr.UnknownName: diag.Undefined,
	expr.ZeroDivisor: diag.ZeroDivisor, expr.BadFormula: diag.BadFormula, expr.Ambiguous: diag.SeveralModules,
	expr.Duplicate: diag.Duplicate, expr.Unused: diag.Unused}

// found adds a finding in the text of a formula or, about a declaration, at the place of that.
func (c *checker) found(x formulas.Finding, text spec.Str, declared source.Span) {
	code, message := codes[x.Code], x.Message
	if expr.IsDimName(x.Name) {
		code, message = diag.UnboundDim, "no input's shape binds the dimension "+x.Name
	}
	at := declared
	if x.About == "" {
		at = text.Node.Within(x.Pos, x.End)
	}
	list := c.list
	if len(x.Operators) > 0 {
		list = &diag.List{}
		c.following = append(c.following, following{list, x.Operators})
	}
	d := list.Add(code, at, "%s", message)
	switch {
	case x.Hint != "":
		d.Hinted("%s", x.Hint)
	case x.New != "":
		d.Meant(x.Old, x.New)
	}
}
