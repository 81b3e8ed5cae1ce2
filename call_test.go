package opgen_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/clip"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/fft"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/generated/uniform"
	"github.com/opgen/opgen/generated/weightedsum"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// session opens a session for the catalogue, and closes it at the end of a test.
func session(t testing.TB) *opgen.Session {
	t.Helper()
	s, err := opgen.Open(catalogue.Register, opgen.Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// called makes a call and runs it.
func called(t testing.TB, c *opgen.Call, err error) *opgen.Call {
	t.Helper()
	if err == nil {
		err = c.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func equal[T dtype.Element](t testing.TB, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: want %v, got %v", what, want, got)
	}
}

// TestCall calls operators with all that an operator may have, and changes what slices hold between runs.
func TestCall(t *testing.T) {
	t.Parallel()
	s := session(t)

	x, y := []float32{-1, 2, -3}, make([]float32, 3)
	c, err := opgen.NewCall(s, elementunary.Operator, elementunary.Defaults(elementunary.OpTypeRelu), opgen.On(elementunary.SlotInput, x, 3), opgen.On(elementunary.SlotOutput, y, 3))
	called(t, c, err)
	equal(t, "relu", y, 0, 2, 0)
	copy(x, []float32{4, -5, 6})
	called(t, c, nil)
	equal(t, "relu again", y, 4, 0, 6)
	c, err = opgen.NewCall(s, elementunary.Operator, elementunary.Defaults(elementunary.OpTypeRelu), opgen.On(elementunary.SlotInput, x, 3), opgen.On(elementunary.SlotOutput, x, 3))
	called(t, c, err)
	equal(t, "relu in place", x, 4, 0, 6)

	w, b, z := []float64{1, 2, 3, 4, 5, 6}, []float64{10, 20}, make([]float64, 2)
	c, err = opgen.NewCall(s, linear.Operator, linear.Defaults(2).WithActivation(activation.Relu), opgen.On(linear.SlotOutput, z, 1, 2), opgen.On(linear.SlotBias, b, 2),
		opgen.On(linear.SlotWeight, w, 2, 3), opgen.On(linear.SlotInput, []float64{1, 0, -1}, 1, 3))
	called(t, c, err)
	equal(t, "linear", z, 8, 18)

	best, at := make([]float32, 2), make([]int64, 2)
	c, err = opgen.NewCall(s, topk.Operator, topk.Defaults(2), opgen.On(topk.SlotInput, []float32{3, 1, 4, 1, 5}, 5), opgen.On(topk.SlotOutput, best, 2), opgen.On(topk.SlotIndices, at, 2))
	called(t, c, err)
	equal(t, "topk", best, 5, 4)
	equal(t, "places of topk", at, 4, 2)

	sum := make([]float32, 2)
	c, err = opgen.NewCall(s, weightedsum.Operator, weightedsum.Defaults(), opgen.On(weightedsum.SlotInput, []float32{1, 2}, 2), opgen.On(weightedsum.SlotInput, []float32{3, 4}, 2),
		opgen.On(weightedsum.SlotOutput, sum, 2), opgen.Argument(weightedsum.SlotFactor, 10.0, 1.0))
	called(t, c, err)
	equal(t, "weighted_sum", sum, 13, 24)

	bounded := make([]float32, 3)
	c, err = opgen.NewCall(s, clip.Operator, clip.Defaults(), opgen.On(clip.SlotInput, []float32{-9, 0.5, 9}, 3), opgen.On(clip.SlotOutput, bounded, 3),
		opgen.Argument(clip.SlotLow, -1.0), opgen.Argument(clip.SlotHigh, 2.0))
	called(t, c, err)
	equal(t, "clip", bounded, -1, 0.5, 2)

	rows, mean := make([]float32, 2), make([]float32, 1)
	c, err = opgen.NewCall(s, layernorm.Operator, layernorm.Defaults(attr.ListOf(1)).WithElementwiseAffine(false).WithEps(0), opgen.On(layernorm.SlotInput, []float32{1, 3}, 1, 2),
		opgen.On(layernorm.SlotOutput, rows, 1, 2), opgen.On(layernorm.SlotMean, mean, 1, 1))
	called(t, c, err)
	equal(t, "layer_norm", rows, -1, 1)
	equal(t, "mean on request", mean, 2)

	drawn, again := make([]float32, 8), make([]float32, 8)
	for _, to := range [][]float32{drawn, again} {
		c, err = opgen.NewCall(s, uniform.Operator, uniform.Defaults(), opgen.On(uniform.SlotTensor, to, 8))
		called(t, c, err)
	}
	equal(t, "numbers of a second call", again, drawn...)
	if drawn[0] == drawn[1] {
		t.Errorf("want random numbers, got %v", drawn)
	}
	ones, kept := slices.Repeat([]float32{1}, 64), make([]float32, 64)
	c, err = opgen.NewCall(s, dropout.Operator, dropout.Defaults(0.5), opgen.On(dropout.SlotInput, ones, 64), opgen.On(dropout.SlotOutput, kept, 64))
	called(t, c, err)
	first := slices.Clone(kept)
	if called(t, c, nil); slices.Equal(first, kept) {
		t.Error("dropout drops the same elements in two steps")
	}
}

// TestCallUpdates compares steps of an optimizer that is called with those that its formula gives.
func TestCallUpdates(t *testing.T) {
	t.Parallel()
	w, g, m, v := []float64{1}, []float64{0.5}, []float64{0}, []float64{0}
	c, err := opgen.NewCall(session(t), adam.Operator, adam.Defaults(), opgen.On(adam.SlotWeight, w, 1), opgen.On(adam.SlotGrad, g, 1),
		opgen.On(adam.SlotAdamM, m, 1), opgen.On(adam.SlotAdamV, v, 1))
	want, meanG, meanSquare := 1.0, 0.0, 0.0
	for step := 1.0; step <= 3; step++ {
		called(t, c, err)
		meanG, meanSquare = 0.9*meanG+0.1*0.5, 0.999*meanSquare+0.001*0.25
		want -= 0.001 / (1 - math.Pow(0.9, step)) * meanG / (math.Sqrt(meanSquare/(1-math.Pow(0.999, step))) + 1e-8)
		if !(math.Abs(w[0]-want) <= 1e-12) {
			t.Errorf("step %v: want %v, got %v", step, want, w[0])
		}
	}
}

// TestCallMistakes gives calls what does not fit.
func TestCallMistakes(t *testing.T) {
	t.Parallel()
	s := session(t)
	x, y := make([]float32, 6), make([]float32, 6)
	relu := elementunary.Defaults(elementunary.OpTypeRelu)
	in, out := opgen.On(elementunary.SlotInput, x, 6), opgen.On(elementunary.SlotOutput, y, 6)
	call := func(operands ...opgen.Operand[elementunary.Slot]) error {
		_, err := opgen.NewCall(s, elementunary.Operator, relu, operands...)
		return err
	}
	none, err := opgen.Open(opgen.Formulas(softmax.Operator))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := none.Close(); err != nil {
			t.Error(err)
		}
	}()
	of := func(_ *opgen.Call, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no output":      {call(in), "operator element_unary, task forward, slot output: want 1 tensors, got 0"},
		"two inputs":     {call(in, in, out), "slot input"},
		"shape":          {call(in, opgen.On(elementunary.SlotOutput, y, 2, 3)), "slot output: want a tensor of f32 of shape [6], got one of f32 of shape [2 3]"},
		"type":           {call(in, opgen.On(elementunary.SlotOutput, make([]float64, 6), 6)), "slot output: want a tensor of"},
		"elements":       {call(opgen.On(elementunary.SlotInput, x, 5), out), "slot input: want as many elements as shape [5] has, got 6"},
		"negative":       {call(opgen.On(elementunary.SlotInput, x, -2, -3), out), "slot input"},
		"overlap":        {call(opgen.On(elementunary.SlotInput, x[:4], 4), opgen.On(elementunary.SlotOutput, x[1:5], 4)), "slot output: want memory of its own, got memory of input"},
		"argument":       {call(in, out, opgen.Argument(elementunary.SlotInput, 1)), "values for an argument"},
		"slot":           {call(in, out, opgen.On(elementunary.Slot(99), x, 6)), "slots of the operator"},
		"attributes":     {of(opgen.NewCall(s, elementunary.Operator, softmax.Defaults(), in, out)), "attributes of type"},
		"not made":       {of(opgen.NewCall(s, elementunary.Operator, elementunary.Attrs{}, in, out)), "Defaults"},
		"no attributes":  {of(opgen.NewCall(s, elementunary.Operator, nil, in, out)), "element_unary"},
		"no operator":    {of(opgen.NewCall(s, nil, relu, in, out)), "want an operator, got nil"},
		"no session":     {of(opgen.NewCall(nil, elementunary.Operator, relu, in, out)), "want a session"},
		"not registered": {of(opgen.NewCall(none, elementunary.Operator, relu, in, out)), "an operator that the session has"},
		"slots of another operator": {of(opgen.NewCall(s, elementunary.Operator, relu, opgen.On(linear.SlotInput, x, 6), opgen.On(linear.SlotWeight, y, 6))),
			"slots of the operator"},
		"state":     {of(opgen.NewCall(s, fft.Operator, fft.Defaults(), opgen.On(fft.SlotInput, x, 6), opgen.On(fft.SlotReal, y[:4], 4), opgen.On(fft.SlotImag, make([]float32, 4), 4))), "a graph"},
		"no values": {of(opgen.NewCall(s, clip.Operator, clip.Defaults(), opgen.On(clip.SlotInput, x, 6), opgen.On(clip.SlotOutput, y, 6), opgen.Argument(clip.SlotLow, 1.0))), "slot high: want 1 values, got 0"},
		"type of values": {of(opgen.NewCall(s, clip.Operator, clip.Defaults(), opgen.On(clip.SlotInput, x, 6), opgen.On(clip.SlotOutput, y, 6), opgen.Argument(clip.SlotLow, 1.0),
			opgen.Argument(clip.SlotHigh, 2))), "slot high: want a value of type float64, got int"},
		"values twice": {of(opgen.NewCall(s, clip.Operator, clip.Defaults(), opgen.On(clip.SlotInput, x, 6), opgen.On(clip.SlotOutput, y, 6), opgen.Argument(clip.SlotLow, 1.0),
			opgen.Argument(clip.SlotLow, 1.0))), "slot low: want the values of an argument once"},
		"values of no caller": {of(opgen.NewCall(s, adam.Operator, adam.Defaults(), opgen.Argument(adam.SlotIteration, 1))), "slot iteration: want an argument that the caller passes"},
		"nil call":            {(*opgen.Call)(nil).Run(), "want a call"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", name, c.want, c.err)
		}
	}
}

// TestCallFails runs kernels that fail and that panic.
func TestCallFails(t *testing.T) {
	t.Parallel()
	c, err := opgen.NewCall(session(t), embedding.Operator, embedding.Defaults(2, 1), opgen.On(embedding.SlotInput, []int64{2}, 1), opgen.On(embedding.SlotWeight, make([]float32, 2), 2, 1),
		opgen.On(embedding.SlotOutput, make([]float32, 1), 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(); err == nil || err.Error() != "embedding.forward: slot input, element [0]: want an index from 0 to 1, got 2" {
		t.Errorf("want an error about an element of the input, got %v", err)
	}
	s, err := opgen.Open(registerPanicking)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err = opgen.NewCall(s, shift, shiftAttrs{}, opgen.On(0, make([]float32, 1), 1), opgen.On(1, make([]float32, 1), 1), opgen.Argument(2, 1.0))
	if err != nil {
		t.Fatal(err)
	}
	var panicked *engine.PanicError
	if err := c.Run(); !errors.As(err, &panicked) || panicked.Value != "as asked" {
		t.Errorf("want a panic error, got %v", err)
	}
}

// panicking is a kernel that panics.
type panicking struct{}

func (panicking) Run(*op.Ctx, op.Range) error { panic("as asked") }

// registerPanicking registers shift with a kernel that panics.
func registerPanicking(r *task.Registry) error {
	sig := shift.Signatures[0]
	return r.RegisterTask(sig.ID, sig.Name(), sig, task.Variant{Target: op.CPU, Kernel: 0,
		Bind: func(*task.Accessor) ([]op.Body, error) { return []op.Body{panicking{}}, nil }})
}
