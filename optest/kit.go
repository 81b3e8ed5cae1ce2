// Package optest tests operators of any module. It applies each operator as the examples of its spec say,
// with every choice of element types, and checks what must hold for all operators: gradients are those that
// differences show, results do not depend on the number of workers, every element is written, and so on. A
// test of all operators of a module is one line:
//
//	func TestOperators(t *testing.T) { optest.All(t, catalogue.Register, catalogue.Operators()) }
//
// The subtests are named after the check, the operator, the number of the example and the element types, so
// that go test -run 'TestOperators/Gradients/swish' runs one check of one operator. Run runs a program on
// given numbers.
//
// With -short, checks that run tasks on one worker apply each operator once, with the first choice of element
// types of its first example. It is for go test -race, under which tests take many times as long.
package optest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// Kit tests the operators of a catalogue. It records which checks ran which tasks.
type Kit struct {
	operators []*graph.Operator
	tasks     *task.Registry
	config    config

	registries sync.Map // of functions that return *task.Registry and an error, by name
	domains    sync.Map // of each sample, the domain from which its values are drawn
	record     record
}

// config is what options set.
type config struct {
	registers  []func(*task.Registry) error
	values     map[slotName]func(*rand.Rand, Input) []float64
	tolerances map[string]float64
	skips      map[skip]string // with the reason
	partners   []*graph.Operator
	references map[string]func(Call) map[string][]float64
	errs       []error
}

type slotName struct{ operator, slot string }

type skip struct{ check, operator string }

// Input describes a tensor whose elements the option Values provides.
type Input struct {
	Type  dtype.Type
	Shape []int
	// Below is the exclusive upper bound that the spec states for integers, or 0 if there is none.
	Below int
	// Except is a value outside of the bound that the spec allows; nil if there is none.
	Except *int
	// Shapes holds the shapes of all inputs by slot. Several tensors of a slot have the names x.0, x.1 and so
	// on.
	Shapes map[string][]int
}

// Option is an option of New and All.
//
// Options name operators as specs do. Where operators of two modules have one name, each is named with its
// module, as in example.com/nn.dense.
type Option func(*config)

// Register adds the tasks of another catalogue, such as those of initializers that operators use.
func Register(register func(*task.Registry) error) Option {
	return func(c *config) { c.registers = append(c.registers, register) }
}

// Partners names operators of other modules with which operators of the kit can be fused.
func Partners(operators ...*graph.Operator) Option {
	return func(c *config) { c.partners = append(c.partners, operators...) }
}

// Values gives the elements of the tensors of a slot, in row-major order, where random numbers are no valid
// ones: offsets that grow, for example. The slot is an input, or a weight that the operator keeps as its
// state.
//
// By default, floating-point numbers have absolute values from 0.1 to 1.7. Integers lie below the bound that
// the spec gives, else from 1 to 4.
func Values(operator, slot string, draw func(*rand.Rand, Input) []float64) Option {
	return func(c *config) { c.values[slotName{operator, slot}] = draw }
}

// Tolerance multiplies the tolerances of an operator by a factor, where its results are less exact than those
// of others: results in single precision next to those in double precision, gradients next to differences,
// and sums in another order. Checks that compare bits have no tolerance.
func Tolerance(operator string, factor float64) Option {
	return func(c *config) {
		if !(factor >= 1) {
			c.errs = append(c.errs, fmt.Errorf("Tolerance(%s): want a factor of at least 1, got %v", operator, factor))
		}
		c.tolerances[operator] = factor
	}
}

// Skip excludes an operator from a check, for a reason. New returns an error if the skip has no effect.
func Skip(check, operator, reason string) Option {
	return func(c *config) {
		key := skip{check, operator}
		if _, twice := c.skips[key]; twice || reason == "" {
			c.errs = append(c.errs, fmt.Errorf("Skip(%s, %s): want one skip with a reason, got %q and %q", check, operator, c.skips[key], reason))
		}
		c.skips[key] = reason
	}
}

// New returns a kit that tests operators with the kernels that register adds. Generated packages catalogue
// have both. The error says which option does not fit the operators.
func New(register func(*task.Registry) error, operators []*graph.Operator, opts ...Option) (*Kit, error) {
	c := config{
		registers: []func(*task.Registry) error{register}, tolerances: map[string]float64{}, skips: map[skip]string{},
		values: map[slotName]func(*rand.Rand, Input) []float64{}, references: map[string]func(Call) map[string][]float64{},
	}
	for _, o := range opts {
		o(&c)
	}
	k := &Kit{operators: operators, tasks: &task.Registry{}, config: c}
	for _, r := range c.registers {
		if err := r(k.tasks); err != nil {
			return nil, fmt.Errorf("optest: %w", err)
		}
	}
	if err := errors.Join(append(k.misfits(), c.errs...)...); err != nil {
		return nil, fmt.Errorf("optest: %w", err)
	}
	return k, nil
}

// misfits lists the operators without kernels, initializers that nothing registers, and the options that do
// not fit the operators.
func (k *Kit) misfits() []error {
	var out []error
	for _, o := range k.operators {
		for _, sig := range o.Signatures {
			if k.tasks.Task(sig.ID) == nil {
				out = append(out, fmt.Errorf("operator %s, task %s: want a task that Register registers, got none", k.title(&o.Operator), sig.Task))
			}
		}
		for slot, by := range o.Initializers {
			if !slices.ContainsFunc(by.Signatures, func(s *task.Signature) bool { return k.tasks.Task(s.ID) != nil }) {
				out = append(out, fmt.Errorf("operator %s, slot %s: want the initializer %s, got no kernels of it; the option optest.Register takes the "+
					"function Register of the catalogue that opgen generates with %s", k.title(&o.Operator), o.Slots[slot].Name, by.FullName(), by.FullName()))
			}
		}
	}
	for s := range k.config.values {
		if o := k.operator(s.operator); o == nil || o.SlotNamed(s.slot) < 0 {
			out = append(out, fmt.Errorf("Values(%s, %s): want an operator of the kit and one of its slots", s.operator, s.slot))
		} else if r := o.Slots[o.SlotNamed(s.slot)].Role; r != task.RoleInput && r != task.RoleWeight {
			out = append(out, fmt.Errorf("Values(%s, %s): want an input or a weight, got a slot with the role %v", s.operator, s.slot, r))
		}
	}
	for name := range k.config.tolerances {
		if k.operator(name) == nil {
			out = append(out, fmt.Errorf("Tolerance(%s): want an operator of the kit", name))
		}
	}
	for name := range k.config.references {
		if o := k.operator(name); o == nil || len(o.Formula) > 0 {
			out = append(out, fmt.Errorf("Reference(%s): want an operator of the kit without a formula", name))
		}
	}
	for s := range k.config.skips {
		c, o := checkNamed(s.check), k.operator(s.operator)
		switch {
		case c == nil:
			out = append(out, fmt.Errorf("Skip(%s, %s): want the name of a check: one of %s", s.check, s.operator, strings.Join(checkNames(), ", ")))
		case o == nil:
			out = append(out, fmt.Errorf("Skip(%s, %s): want an operator of the kit", s.check, s.operator))
		case c.applies != nil && !c.applies(o):
			out = append(out, fmt.Errorf("Skip(%s, %s): want a skip with a use, but the check does nothing with the operator", s.check, s.operator))
		}
	}
	slices.SortFunc(out, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return out
}

// operator returns an operator of the kit, or nil.
func (k *Kit) operator(name string) *graph.Operator {
	if i := slices.IndexFunc(k.operators, func(o *graph.Operator) bool { return k.title(&o.Operator) == name }); i >= 0 {
		return k.operators[i]
	}
	return nil
}

// title returns the name of an operator in tests and options, which no other operator of the kit has.
func (k *Kit) title(o *task.Operator) string {
	for _, other := range k.operators {
		if other.Name == o.Name && other.Module != o.Module {
			return o.FullName()
		}
	}
	return o.Name
}

// title returns the name of the sample's operator.
func (s sample) title() string { return s.kit.title(&s.op.Operator) }

// All runs every check as a subtest. It fails if the examples leave a task or a choice of element types
// without a check.
func All(t *testing.T, register func(*task.Registry) error, operators []*graph.Operator, opts ...Option) {
	t.Helper()
	k, err := New(register, operators, opts...)
	if err != nil {
		t.Fatal(err)
	}
	checkFresh(t)
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) { c.run(k, t) })
	}
	for _, gap := range k.Gaps() {
		t.Error(gap)
	}
}

// inShort lists the checks that get all samples also from go test -short, which is for the race detector,
// under which tests take many times as long. They run tasks on several workers, so that the detector finds
// something in them alone; and SecondDerivatives chooses its samples. The others get one sample of each
// operator.
var inShort = []string{"Determinism", "RunsAreRepeatable", "Costs", "TwoConsumers", "Halves", "Fusions", "SecondDerivatives"}

// forEachSample runs f for every operator, example and choice of element types. Where outputs are made on
// request, it runs f both with and without them. It returns the operators of which all samples ran: go
// test -run leaves out others, and so do the option Skip and go test -short.
func (k *Kit) forEachSample(t *testing.T, check string, f func(t *testing.T, s sample)) (whole map[*graph.Operator]bool) {
	whole = map[*graph.Operator]bool{}
	for _, o := range k.operators {
		if len(o.Examples) == 0 {
			t.Errorf("operator %s: want an example in its spec, as checks apply operators to their examples, got none", k.title(&o.Operator))
		}
		if reason, ok := k.config.skips[skip{check, k.title(&o.Operator)}]; ok {
			t.Run(k.title(&o.Operator), func(t *testing.T) { t.Skip(reason) })
			continue
		}
		samples, all := k.samples(t, o), true
		if testing.Short() && len(samples) > 1 && !slices.Contains(inShort, check) {
			samples, all = samples[:1], false
		}
		for _, s := range samples {
			s.check = check
			ran := false
			t.Run(s.name(), func(t *testing.T) {
				ran = true
				f(t, s)
			})
			all = all && ran
		}
		if all {
			whole[o] = true
			k.record.complete(check, k.title(&o.Operator))
		}
	}
	return whole
}

// samples lists the samples of all examples of an operator.
func (k *Kit) samples(t *testing.T, o *graph.Operator) []sample {
	t.Helper()
	var out []sample
	for i := range o.Examples {
		samples, err := k.samplesOf(o, i)
		if err != nil {
			t.Errorf("operator %s, example %d: %v", k.title(&o.Operator), i, err)
		}
		out = append(out, samples...)
	}
	return out
}

// name returns the name of the sample's subtests.
func (s sample) name() string {
	name := fmt.Sprintf("%s/%d/%s", s.title(), s.example, dtype.Format(s.types))
	if s.all {
		name += "/requested"
	}
	return name
}
