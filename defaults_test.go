package opgen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/polynomial"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// TestDefaultArgument applies an operator whose argument has a default: without it, with another value, with
// one that changes from run to run, in invocations by hand, and without a graph.
func TestDefaultArgument(t *testing.T) {
	t.Parallel()
	elements := []float32{-1, 0.5, 2, 3}
	square := func(center float32) (out []float32) {
		for _, x := range elements {
			out = append(out, (x-center)*(x-center))
		}
		return out
	}
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		for center, opts := range map[float32][]graph.Option{0: nil, 2: {polynomial.WithCenter(2)}, -0.5: {polynomial.WithCenter(-0.5)}} {
			g := graph.New(1)
			x := g.Input("x", dtype.F32, 4)
			y := polynomial.Apply(g, polynomial.Defaults(), x, []float64{0, 0, 1}, opts...)
			p, err := s.Inference(t.Context(), g, y)
			if err != nil {
				return err
			}
			for _, c := range []float32{center, 1.5} {
				values := []opgen.Value{opgen.With(x, elements)}
				if c != center {
					values = append(values, opgen.Set(y.Node(), polynomial.SlotCenter, float64(c)))
				}
				if err := p.Run(t.Context(), values...); err != nil {
					return err
				}
				got, err := opgen.Fetch[float32](p, y)
				if err != nil || !slices.Equal(got, square(c)) {
					t.Errorf("center %v: got %v, %v, want %v", c, got, err, square(c))
				}
			}
			// Invocations by hand have what the node has, unless they say otherwise.
			inv, err := polynomial.ForwardTensors{Input: x, Output: y, Coefficient: []float64{1}}.Invoke(y.Node())
			if err != nil {
				return err
			}
			if got := inv.Passed[int(polynomial.SlotCenter)]; len(got) != 1 || got[0] != float64(center) {
				t.Errorf("an invocation passes %v, want %v", got, center)
			}
			by, err := graph.NewBinding[polynomial.Slot](y.Node(), task.KindForward).Bind(polynomial.SlotInput, x).Bind(polynomial.SlotOutput, y).
				BindArg(polynomial.SlotCoefficient, 1.0).BindArg(polynomial.SlotCenter, 7.0).Invocation()
			if err != nil || by.Passed[int(polynomial.SlotCenter)][0] != 7.0 {
				t.Errorf("an invocation with a value: %v, %v", by, err)
			}
		}
		for _, operands := range [][]opgen.Operand[polynomial.Slot]{nil, {opgen.Argument(polynomial.SlotCenter, 2.0)}} {
			out := make([]float32, 4)
			c, err := opgen.NewCall(s, polynomial.Operator, polynomial.Defaults(), append(operands, opgen.On(polynomial.SlotInput, elements, 4),
				opgen.On(polynomial.SlotOutput, out, 4), opgen.Argument(polynomial.SlotCoefficient, 0.0, 0.0, 1.0))...)
			if err != nil {
				return err
			}
			if err := c.Run(); err != nil || !slices.Equal(out, square(float32(2*len(operands)))) {
				t.Errorf("a call gives %v, %v", out, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDefaultArgumentErrors passes what an argument with a default cannot be.
func TestDefaultArgumentErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opt  graph.Option
		want string
	}{
		"another type":         {graph.Pass(polynomial.SlotCenter, "1"), "operator polynomial, task forward, slot center: want a value of type float64, got string"},
		"a tensor":             {graph.Pass(polynomial.SlotInput, 1.0), "want an argument, got input"},
		"another operator":     {graph.Pass(linear.SlotWeight, 1.0), "Pass"},
		"no slot":              {graph.Pass(99, 1.0), "want an argument"},
		"one that Apply takes": {graph.Pass(polynomial.SlotCoefficient, "x"), "slot coefficient: want a value of type float64, got string"},
	} {
		g := graph.New(1)
		polynomial.Apply(g, polynomial.Defaults(), g.Input("x", dtype.F32, 4), []float64{1}, tt.opt)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}
