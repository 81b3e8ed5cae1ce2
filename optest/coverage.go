package optest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Check is a method of Kit that applies every operator as the examples of its spec say.
type Check struct {
	Name  string // of the method
	Short string // a word or two for tables
	Doc   string // what it checks
	// Needed reports whether the check must run a task with every choice of element types. It is nil for a
	// check of something that only some specs declare or allow.
	Needed func(*task.Registered) bool

	run     func(*Kit, *testing.T)
	applies func(*graph.Operator) bool // whether the check does anything with an operator; nil: always
}

func everyTask(*task.Registered) bool { return true }

// tensorTask leaves out tasks that make and free per-device state, which get no tensors.
func tensorTask(t *task.Registered) bool {
	return t.Signature.Kind != task.KindInit && t.Signature.Kind != task.KindCleanup
}

func backwardTask(t *task.Registered) bool { return t.Signature.Kind == task.KindBackward }

func trains(o *graph.Operator) bool { return o.Signature(task.KindBackward) != nil }

// Checks lists the checks in the order in which All runs them.
func Checks() []Check {
	return []Check{
		{"EveryElementIsWritten", "written", "results have the shapes that the spec gives, are finite unless the formula or a reference gives others, and do not depend on the bytes that were in memory before", everyTask, (*Kit).EveryElementIsWritten, nil},
		{"Permissions", "permissions", "a task does not change what it may only read, and does not read what it may only write", tensorTask, (*Kit).Permissions, nil},
		{"Determinism", "determinism", "results have the same bits on 1, 2, 3 and 5 workers, with ranges of the plan's size and of one index", everyTask, (*Kit).Determinism, nil},
		{"CutsDoNotMatter", "ranges", "results do not depend on the ranges in which a task runs, up to rounding", everyTask, (*Kit).CutsDoNotMatter, nil},
		{"RunsAreRepeatable", "runs", "a run of a plan does not depend on memory that an earlier run has left", everyTask, (*Kit).RunsAreRepeatable, nil},
		{"Costs", "cost", "the task can be measured by itself, and the cost that its spec gives is plausible", everyTask, (*Kit).Costs, nil},
		{"Gradients", "differences", "gradients equal central differences, of all outputs and of each", nil, (*Kit).Gradients, trains},
		{"GradientsInSinglePrecision", "f32 as f64", "results and gradients in f32 equal those in f64 up to rounding", nil, (*Kit).GradientsInSinglePrecision, trains},
		{"UnusedGradients", "one gradient", "a gradient has the same bits, computed alone or together with all others", nil, (*Kit).UnusedGradients, trains},
		{"TwoConsumers", "sums", "gradients of tensors with two consumers are sums", backwardTask, (*Kit).TwoConsumers, trains},
		{"SingleExtents", "size 1", "the checks of written, differences and, in f64, formula, with extents of 1 in place of one extent, of all that are equal, or of all", nil, func(k *Kit, t *testing.T) { k.SingleExtents(t) }, nil},
		{"EmptyExtents", "size 0", "the same with extents of 0", nil, func(k *Kit, t *testing.T) { k.EmptyExtents(t) }, nil},
		{"Halves", "16 bits", "tensors stored in 16 bits: results are those of f32, rounded to 16 bits", nil, (*Kit).Halves, func(o *graph.Operator) bool { return allows(o, dtype.F16) || allows(o, dtype.BF16) }},
		{"InPlace", "in place", "a task writes the same where two slots share memory, as its spec allows", nil, func(k *Kit, t *testing.T) { k.InPlace(t) }, sharesMemory},
		{"Elementwise", "elementwise", "a step that is declared elementwise reads and writes only the elements of its indices", nil, func(k *Kit, t *testing.T) { k.Elementwise(t) }, elementwise},
		{"Checked", "checked", "the task keeps to the rules of [checked mode](backend.md#checked-mode)", everyTask, (*Kit).Checked, nil},
		{"Fusions", "fused", "a fused operator computes what the pair computes that it replaces", nil, (*Kit).Fusions, func(o *graph.Operator) bool { return len(o.Fusions) > 0 }},
		{"KernelsComputeFormulas", "formula", "kernels compute the formula of the spec, and its gradient, or what the option Reference gives", nil, (*Kit).KernelsComputeFormulas, func(o *graph.Operator) bool { return len(o.Formula) > 0 }},
		{"Sharding", "divided", "parts of tensors, along the dimensions that the spec divides, give what the whole gives", nil, (*Kit).Sharding, func(o *graph.Operator) bool { return len(o.Shards) > 0 }},
		{"SameTensorTwice", "same tensor", "gradients equal differences where one tensor is bound to several inputs", nil, func(k *Kit, t *testing.T) { k.SameTensorTwice(t) }, trains},
		{"EveryGradientIsCompared", "compared", "an example compares the gradients with differences, and one in f32 with f64", nil, (*Kit).EveryGradientIsCompared, trains},
		{"Dimensions", "dimensions", "Go functions that specs name give the dimensions that examples say they do", nil, func(k *Kit, t *testing.T) { k.Dimensions(t) }, func(o *graph.Operator) bool {
			return slices.ContainsFunc(o.Examples, func(x task.Example) bool { return len(x.Dims) > 0 })
		}},
	}
}

func sharesMemory(o *graph.Operator) bool {
	return slices.ContainsFunc(o.Signatures, func(s *task.Signature) bool { return len(s.InPlace) > 0 })
}

func elementwise(o *graph.Operator) bool {
	return slices.ContainsFunc(o.Signatures, func(s *task.Signature) bool {
		return slices.ContainsFunc(s.Steps, func(s task.Step) bool { return s.Elementwise })
	})
}

// allows reports whether a type variable of an operator may stand for typ.
func allows(o *graph.Operator, typ dtype.Type) bool {
	return slices.ContainsFunc(o.Types, func(v task.TypeVar) bool { return dtype.Contains(v.Types, typ) })
}

// checkNamed returns a check, or nil.
func checkNamed(name string) *Check {
	for _, c := range Checks() {
		if c.Name == name {
			return &c
		}
	}
	return nil
}

func checkNames() []string {
	var out []string
	for _, c := range Checks() {
		out = append(out, c.Name)
	}
	return out
}

// record says which tasks ran with which element types, by check.
type record struct {
	mu    sync.Mutex
	types map[string]map[task.ID]map[string]bool // by check, task and element types
	whole map[skip]bool                          // checks of which all samples of an operator ran
}

func (r *record) complete(check, operator string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole == nil {
		r.whole = map[skip]bool{}
	}
	r.whole[skip{check, operator}] = true
}

func (r *record) note(check string, a *task.Accessor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.types == nil {
		r.types = map[string]map[task.ID]map[string]bool{}
	}
	if r.types[check] == nil {
		r.types[check] = map[task.ID]map[string]bool{}
	}
	tasks := r.types[check]
	if tasks[a.Signature.ID] == nil {
		tasks[a.Signature.ID] = map[string]bool{}
	}
	tasks[a.Signature.ID][dtype.Format(a.Resolved.Types)] = true
}

// Ran returns the choices of element types with which a check ran a task, in order.
func (k *Kit) Ran(check string, id task.ID) []string {
	k.record.mu.Lock()
	defer k.record.mu.Unlock()
	return slices.Sorted(maps.Keys(k.record.types[check][id]))
}

// Tasks lists the tasks of the kit's operators.
func (k *Kit) Tasks() []*task.Registered {
	var out []*task.Registered
	for _, o := range k.operators {
		for _, sig := range o.Signatures {
			out = append(out, k.tasks.Task(sig.ID))
		}
	}
	return out
}

// Gaps lists the tasks and the element types that a check needs and did not run, since no example of the spec
// leads there. Checks that did not run as a whole have no gaps.
func (k *Kit) Gaps() []string {
	var out []string
	for _, t := range k.Tasks() {
		for _, v := range t.Variants {
			if v.Target == op.CPU {
				out = append(out, k.gapsOf(t, dtype.Format(v.Types))...)
			}
		}
	}
	for _, t := range k.Tasks() {
		for _, half := range []dtype.Type{dtype.F16, dtype.BF16} {
			o := t.Signature.Operator
			allowed := slices.ContainsFunc(o.Types, func(v task.TypeVar) bool { return dtype.Contains(v.Types, half) })
			did := slices.ContainsFunc(k.Ran("Halves", t.ID), func(types string) bool { return slices.Contains(strings.Split(types, ", "), half.String()) })
			if k.ranAll("Halves", k.title(o)) && allowed && !did {
				out = append(out, gap("Halves", t, half.String()))
			}
		}
	}
	return out
}

// gapsOf lists the checks that did not run a task with a choice of element types. Either check of gradients
// suffices: differences need f64, and the comparison with f64 needs f32.
func (k *Kit) gapsOf(t *task.Registered, types string) []string {
	var out []string
	name := k.title(t.Signature.Operator)
	for _, c := range Checks() {
		if c.Needed != nil && c.Needed(t) && k.ranAll(c.Name, name) && !slices.Contains(k.Ran(c.Name, t.ID), types) {
			out = append(out, gap(c.Name, t, types))
		}
	}
	const either, or = "Gradients", "GradientsInSinglePrecision"
	if backwardTask(t) && k.ranAll(either, name) && k.ranAll(or, name) && !slices.Contains(append(k.Ran(either, t.ID), k.Ran(or, t.ID)...), types) {
		out = append(out, gap(either+" or "+or, t, types))
	}
	return out
}

func gap(check string, t *task.Registered, types string) string {
	return fmt.Sprintf("operator %s, task %s (%s): want an example of the spec with which %s runs it, got none",
		t.Signature.Operator.FullName(), t.Signature.Task, types, check)
}

// ranAll reports whether a check ran all samples of an operator.
func (k *Kit) ranAll(check, operator string) bool {
	k.record.mu.Lock()
	defer k.record.mu.Unlock()
	return k.record.whole[skip{check, operator}]
}

// observed returns a registry of the kit's tasks. Binding such a task records that the check ran it.
func (k *Kit) observed(t *testing.T, check string) *task.Registry {
	t.Helper()
	return k.rewired(t, check, func(a *task.Accessor, bodies []op.Body) []op.Body {
		k.record.note(check, a)
		return bodies
	})
}

func (s sample) observed(t *testing.T) *task.Registry {
	t.Helper()
	return s.kit.observed(t, s.check)
}

// rewired returns a registry of the kit's tasks in which the bodies that bound returns replace the bodies of
// the tasks. It is always the same one for a name.
func (k *Kit) rewired(t *testing.T, name string, bound func(*task.Accessor, []op.Body) []op.Body) *task.Registry {
	t.Helper()
	return k.registry(t, name, func() (*task.Registry, error) { return rewire(k.tasks, bound) })
}

// registry returns what build builds, once for each name.
func (k *Kit) registry(t *testing.T, name string, build func() (*task.Registry, error)) *task.Registry {
	t.Helper()
	once, _ := k.registries.LoadOrStore(name, sync.OnceValues(build))
	r, err := once.(func() (*task.Registry, error))()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rewire(tasks *task.Registry, bound func(*task.Accessor, []op.Body) []op.Body) (*task.Registry, error) {
	var r task.Registry
	wrap := func(v task.Variant) task.Variant {
		bind := v.Bind
		v.Bind = func(a *task.Accessor) ([]op.Body, error) {
			bodies, err := bind(a)
			if err != nil {
				return nil, err
			}
			return bound(a, bodies), nil
		}
		return v
	}
	if err := r.RegisterCompilersOf(tasks, wrap); err != nil {
		return nil, err
	}
	for _, o := range tasks.Operators() {
		for _, sig := range o.Signatures {
			t := tasks.Task(sig.ID)
			if t == nil {
				continue // a catalogue may leave out tasks
			}
			variants := slices.Clone(t.Variants)
			for i, v := range variants {
				variants[i] = wrap(v)
			}
			if err := r.RegisterTask(t.ID, t.Name, t.Signature, variants...); err != nil {
				return nil, err
			}
		}
	}
	return &r, nil
}
