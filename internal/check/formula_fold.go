package check

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/runtime/perm"
)

// foldedBy gives the kinds of reductions in formulas whose results an operator joins: the sum of two sums is
// a sum.
var foldedBy = map[reduction.Kind]perm.Redop{
	reduction.Sum: perm.Sum, reduction.Count: perm.Sum, reduction.Prod: perm.Prod, reduction.Min: perm.Min, reduction.Max: perm.Max,
	reduction.Any: perm.Or, reduction.All: perm.And,
}

// folds reports a slot into which values are folded with another operator than that of the reduction that
// gives it: the results of two tasks would not be joined to the result of both.
func (f *formula) folds(t *tensor) {
	for _, task := range f.s.Tasks {
		a := rules.Access(task, t.slot.Name)
		if a == nil {
			continue
		}
		name, reduce := rules.Reduction(a.Value.V)
		op, err := perm.ParseRedop(name)
		if !reduce || err != nil {
			continue
		}
		for _, s := range t.by {
			if n, ok := s.X.(*expr.Reduce); ok && foldedBy[n.Kind] != op {
				d := f.c.list.Add(diag.BadPerm, a.Value.Span(), "%s is folded with %v, and the formula gives it by %s", t.name, op, n.Kind)
				if other, ok := foldedBy[n.Kind]; ok {
					d.Hinted("fold it with reduce(%v)", other)
				}
				return
			}
		}
	}
}
