package optest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// TestMisfits gives options that do not fit the operators.
func TestMisfits(t *testing.T) {
	zeros := func(_ *rand.Rand, x Input) []float64 { return make([]float64, x.Shape[0]) }
	nothing := func(Call) map[string][]float64 { return nil }
	for _, tt := range []struct {
		option Option
		want   string
	}{
		{Skip("Gradient", "softmax", "why"), "Skip(Gradient, softmax): want the name of a check: one of EveryElementIsWritten, "},
		{Skip("Gradients", "softmx", "why"), "Skip(Gradients, softmx): want an operator of the kit"},
		{Skip("Halves", "softmax", ""), `Skip(Halves, softmax): want one skip with a reason, got "" and ""`},
		{Skip("Fusions", "softmax", "why"), "Skip(Fusions, softmax): want a skip with a use, but the check does nothing with the operator"},
		{Tolerance("softmax", 0.5), "Tolerance(softmax): want a factor of at least 1, got 0.5"},
		{Tolerance("softmx", 2), "Tolerance(softmx): want an operator of the kit"},
		{Values("softmax", "inputs", zeros), "Values(softmax, inputs): want an operator of the kit and one of its slots"},
		{Values("softmax", "output", zeros), "Values(softmax, output): want an input or a weight, got a slot with the role output"},
		{Reference("softmx", nothing), "Reference(softmx): want an operator of the kit without a formula"},
		{Reference("softmax", nothing), "Reference(softmax): want an operator of the kit without a formula"},
		{Register(catalogue.Register), "operator "},
	} {
		_, err := New(catalogue.Register, []*graph.Operator{softmax.Operator}, tt.option)
		if err == nil || !strings.HasPrefix(err.Error(), "optest: "+tt.want) {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
	}
}

// TestMissingKernels gives an operator without kernels.
func TestMissingKernels(t *testing.T) {
	_, err := New(func(*task.Registry) error { return nil }, []*graph.Operator{softmax.Operator})
	want := "operator softmax, task forward: want a task that Register registers, got none"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestMissingInitializer gives an operator whose weight is filled by an initializer that is not registered.
func TestMissingInitializer(t *testing.T) {
	_, err := New(func(r *task.Registry) error { return formula.Register(r, op.CPU, &linear.Operator.Operator) }, []*graph.Operator{linear.Operator})
	var lines []string
	for _, x := range [][2]string{{"bias", "zero"}, {"weight", "kaiming_uniform"}} {
		lines = append(lines, fmt.Sprintf("operator linear, slot %s: want the initializer %s, got no kernels of it; the option optest.Register takes the "+
			"function Register of the catalogue that opgen generates with %[2]s", x[0], x[1]))
	}
	want := "optest: " + strings.Join(lines, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestWrongNumber gives a wrong number of elements.
func TestWrongNumber(t *testing.T) {
	k := newKit(t, Values("softmax", "input", func(*rand.Rand, Input) []float64 { return make([]float64, 1) }))
	_, err := k.samplesOf(k.operator("softmax"), 0)
	want := "Values(softmax, input): want "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestNoTolerance checks that an operator without the option has its tolerances as they are.
func TestNoTolerance(t *testing.T) {
	k := newKit(t, Tolerance("softmax", 3))
	for name, want := range map[string]float64{"softmax": 3, "linear": 1} {
		samples, err := k.samplesOf(k.operator(name), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := samples[0].tolerance(); got != want {
			t.Errorf("%s: got the factor %v, want %v", name, got, want)
		}
	}
}
