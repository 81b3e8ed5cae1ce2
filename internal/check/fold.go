package check

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/runtime/perm"
)

// foldedBy holds the kinds of reductions in formulas whose results an operator joins: the sum of two sums is
// a sum.
var foldedBy = map[reduction.Kind]perm.Redop{
	reduction.Sum: perm.Sum, reduction.Count: perm.Sum, reduction.Prod: perm.Prod, reduction.Min: perm.Min, reduction.Max: perm.Max,
	reduction.Any: perm.Or, reduction.All: perm.And,
}

// folds reports slots into which values are folded with another operator than that of the reduction that
// computes them: the results of two tasks would not be joined to the result of both.
func (o *operator) folds(statements []*expr.Statement) {
	for _, sl := range o.s.Slots {
		o.fold(sl.Name, statements)
	}
}

func (o *operator) fold(slot string, statements []*expr.Statement) {
	for _, task := range o.s.Tasks {
		a := rules.Access(task, slot)
		if a == nil {
			continue
		}
		name, reduce := rules.Reduction(a.Value.V)
		op, err := perm.ParseRedop(name)
		if !reduce || err != nil {
			continue
		}
		for _, s := range statements {
			n, ok := s.X.(*expr.Reduce)
			if !ok || foldedBy[n.Kind] == op || !slices.ContainsFunc(s.Targets, func(t expr.Node) bool { return named(t) == slot }) {
				continue
			}
			d := o.list.Add(diag.BadPerm, a.Value.Span(), "%s is folded with %v, and the formula gives it by %s", slot, op, n.Kind)
			if other, ok := foldedBy[n.Kind]; ok {
				d.Hinted("fold it with reduce(%v)", other)
			}
			return
		}
	}
}

// named returns the name of a target of a statement.
func named(target expr.Node) string {
	switch t := target.(type) {
	case *expr.Ident:
		return t.Name
	case *expr.Read:
		return t.Name
	}
	return ""
}
