package optest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/formula"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// KernelsComputeFormulas compares what kernels compute, gradients included, with the formulas of their specs: at
// every example, for every choice of element types. In double precision it also does so with extents of 1 and 0. The outputs of
// operators for which the option Reference gives them are compared with these instead.
func (k *Kit) KernelsComputeFormulas(t *testing.T) {
	formulas := k.formulas(t, formula.RegisterReference)
	k.forEachSample(t, "KernelsComputeFormulas", func(t *testing.T, s sample) {
		reference := k.config.references[s.title()]
		if len(s.op.Formula) == 0 && reference == nil {
			return
		}
		compare := func(t *testing.T, f *fixture) {
			if reference != nil {
				for _, d := range f.referenceDifferences(t, reference) {
					f.errorf(t, "%s, as the reference gives", d)
				}
				return
			}
			for _, d := range formulaDifferences(t, f, formulas, nil) {
				f.errorf(t, "%s, as the formula gives", d)
			}
		}
		compare(t, s.fixture(t))
		if !s.double() {
			return
		}
		for _, shapes := range slices.Concat(resized(s.shapes, 1), resized(s.shapes, 0)) {
			s := s.with(shapes)
			f, err := newFixture(s, domains[len(domains)-1])
			if s.excludes(t, err) || f.impossible() {
				continue
			}
			t.Run(fmt.Sprint(shapes), func(t *testing.T) { compare(t, f) })
		}
	})
}

// formulas returns a registry in which all tasks compute the formulas of their specs: element by element if register is
// formula.RegisterReference, in loops if it is formula.Register.
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

// formulaDifferences compares what kernels compute, those of the kit if tasks is nil, with what the tasks of another
// registry compute, tensor by tensor.
func formulaDifferences(t *testing.T, f *fixture, formulas, tasks *task.Registry) []string {
	t.Helper()
	p := f.everything(t)
	want, err := run(p, f.values, Execution{tasks: formulas})
	if err != nil {
		f.fatalf(t, "%v", err)
	}
	got := f.run(t, p, f.values, Execution{tasks: tasks})
	var out []string
	for _, x := range p.Fetched {
		rel, abs := f.closeness(x)
		if d := difference(got[x.Name()], want[x.Name()], rel, abs); d != "" {
			out = append(out, x.Name()+d)
		}
	}
	return out
}

// closeness returns how much a tensor may differ from what a formula or a reference gives, as a part of it and at least.
func (f *fixture) closeness(x graph.Tensor) (rel, abs float64) {
	switch {
	case x.Type().IsFloat() && f.double():
		rel, abs = 1e-11, 1e-13
	case x.Type().IsFloat():
		rel, abs = 1e-5, 1e-6
	}
	return rel * f.tolerance(), abs * f.tolerance()
}
