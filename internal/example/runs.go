package example

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
)

// Runs returns, by example and task, the compiled formula of an operator: in f32 if the operator and the
// example allow it. It is nil for a task that graphs do not invoke, and for an example that does not fit or
// whose formula cannot be lowered.
func Runs(o *model.Operator) [][]*formula.Run {
	parsed, err := program.Parse(o.Operator.Formula)
	if err != nil {
		return nil
	}
	choices := Choices(o)
	slices.SortStableFunc(choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.others(), b.others()), cmp.Compare(a.beside(dtype.F32), b.beside(dtype.F32)))
	})
	out := make([][]*formula.Run, len(o.Operator.Examples))
	for i := range out {
		for _, c := range choices {
			if u := newUse(o, &o.Operator.Examples[i], c); u.err == nil {
				u.parsed = parsed
				out[i] = u.runs()
				break
			}
		}
	}
	return out
}

// runs returns the compiled formula of each task, or nil if one cannot be compiled.
func (u *use) runs() []*formula.Run {
	out := make([]*formula.Run, len(u.op.Tasks))
	r := u.resolution()
	for i, t := range u.op.Tasks {
		if !t.Invoked() {
			continue
		}
		var err error
		if out[i], err = formula.RunOf(t.Signature, u.result(), r); err != nil || u.err != nil {
			return nil
		}
	}
	return out
}

// beside counts the element types of a choice that are not t.
func (c Choice) beside(t dtype.Type) int {
	n := 0
	for _, u := range c.Types {
		if u != t {
			n++
		}
	}
	return n
}
