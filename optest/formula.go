package optest

import (
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// KernelsComputeFormulas compares results and gradients of kernels with the formulas of their specs, at every
// example and for every choice of element types. Outputs for which the option Reference returns elements are
// compared with those instead.
func (k *Kit) KernelsComputeFormulas(t *testing.T) {
	k.forEachSample(t, "KernelsComputeFormulas", func(t *testing.T, s sample) {
		if len(s.op.Formula) == 0 && k.config.references[s.title()] == nil {
			return
		}
		f := s.fixture(t)
		checkFormula(t, f, f.run(t, f.everything(t), f.values, Execution{}))
	})
}

// checkFormula compares results and gradients with what the reference gives or, without one, the formula, if
// there is any. The option Skip leaves it out in all checks.
func checkFormula(t *testing.T, f *fixture, got values) {
	t.Helper()
	if _, ok := f.kit.config.skips[skip{"KernelsComputeFormulas", f.title()}]; ok {
		return
	}
	if reference := f.kit.config.references[f.title()]; reference != nil {
		for _, d := range f.referenceDifferences(reference, got) {
			f.errorf(t, "%s, as the reference gives", d)
		}
		return
	}
	if len(f.op.Formula) == 0 {
		return
	}
	for _, d := range formulaDifferences(t, f, f.kit.reference(t), got) {
		f.errorf(t, "%s, as the formula gives", d)
	}
	for _, d := range f.meaningDifferences(got) {
		f.errorf(t, "%s, as the formula means", d)
	}
}

// formulas returns a registry in which all tasks compute the formulas of their specs: element by element if
// register is formula.RegisterReference, in loops if it is formula.Register.
func (k *Kit) formulas(t *testing.T, register func(*task.Registry, op.Target, ...*task.Operator) error) *task.Registry {
	t.Helper()
	var r task.Registry
	for _, o := range k.tasks.Operators() {
		if len(o.Formula) == 0 {
			continue
		}
		if err := register(&r, op.CPU, o); err != nil {
			t.Fatal(err)
		}
	}
	return &r
}

// reference returns the registry that formula.RegisterReference makes, always the same.
func (k *Kit) reference(t *testing.T) *task.Registry {
	t.Helper()
	return k.registry(t, "formulas, element by element", func() (*task.Registry, error) { return k.formulas(t, formula.RegisterReference), nil })
}

// formulaDifferences compares results and gradients with those that the tasks of a registry compute, tensor
// by tensor.
func formulaDifferences(t *testing.T, f *fixture, formulas *task.Registry, got values) []string {
	t.Helper()
	p := f.everything(t)
	want := f.by(t, formulas, p, f.values)
	var out []string
	for _, x := range p.Fetched {
		rel, abs := f.closeness(x)
		if d := difference(got[x.Name()], want[x.Name()], rel, abs); d != "" {
			out = append(out, x.Name()+d)
		}
	}
	return out
}

// by returns what the tasks of another registry compute.
func (f *fixture) by(t *testing.T, tasks *task.Registry, p *graph.Program, fed values) values {
	t.Helper()
	v, err := run(p, fed, Execution{tasks: tasks, plans: f.plans})
	if err != nil {
		f.fatalf(t, "%v", err)
	}
	return v
}

// closeness returns how much a tensor may differ from what a formula or a reference gives, as a part of it
// and at least.
func (f *fixture) closeness(x graph.Tensor) (rel, abs float64) {
	switch {
	case x.Type().IsFloat() && f.double():
		rel, abs = 1e-11, 1e-13
	case x.Type().IsFloat():
		rel, abs = 1e-5, 1e-6
	}
	if f.large { // sums of many elements
		rel, abs = 100*rel, 100*abs
	}
	return rel * f.tolerance(), abs * f.tolerance()
}
