package opgen_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/clip"
	"github.com/opgen/opgen/generated/weightedsum"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
)

type shiftAttrs struct{}

// shift is an operator with a value that the caller passes: output = input + by.
var shift = opimpl.New(graph.Operator{Operator: task.Operator{
	Name: "shift",
	Slots: []task.Slot{
		{Name: "input", Role: task.RoleInput, Type: "f32", Shape: "[N]"},
		{Name: "output", Role: task.RoleOutput, Type: "f32", Shape: "[N]"},
		{Name: "by", Role: task.RoleArgument},
	},
	Signatures: []*task.Signature{{Task: "forward", ID: task.IDOf("shift", "forward"), Kind: task.KindForward,
		Params: []task.Param{{Slot: 0, Perm: perm.Read}, {Slot: 1, Perm: perm.Write}},
		Args:   []task.Arg{{Slot: 2, Type: reflect.TypeFor[float64](), From: task.FromCall}}}},
	DecodeAttrs: func([]byte) (task.Attrs, error) { return shiftAttrs{}, nil },
	Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ shiftAttrs, _ *struct{}) {
		x, _ := r.Tensor(0).RankAtLeast(0)
		r.Set(1, dtype.F32, x...)
		r.WorkBy(task.IDOf("shift", "forward"), 4, shape.Prod(x))
	}),
}})

type shiftBody struct {
	by   float64
	x, y func(i int, v float32) float32
}

func (b *shiftBody) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		b.y(i, b.x(i, 0)+float32(b.by))
	}
	return nil
}

// registerShift registers the operator with its kernel.
func registerShift(r *task.Registry) error {
	sig := shift.Signatures[0]
	return r.RegisterTask(sig.ID, sig.Name(), sig, task.Variant{Target: target.CPU.Name, Kernel: 0, Bind: func(a *task.Accessor) ([]op.Body, error) {
		b := opimpl.NewBinder[int](a)
		x, y := opimpl.ReadOnly[float32](b, 0), opimpl.WriteOnly[float32](b, 1)
		body := &shiftBody{
			x: func(i int, _ float32) float32 { return x.At(i) },
			y: func(i int, v float32) float32 { y.Set(i, v); return v },
		}
		opimpl.Follow(b, 2, &body.by)
		return []op.Body{body}, b.Err()
	}})
}

// shifted returns a graph with the operator.
func shifted(by float64) (g *graph.Graph, x graph.Tensor, n *graph.Node) {
	g = graph.New(1)
	x = g.Input("x", dtype.F32, 2)
	return g, x, graph.Insert[int](g, 0, shift, shiftAttrs{}).Bind(0, x).BindArg(2, by).Node()
}

// TestSet gives an argument that the caller passes another value, which holds from that run on.
func TestSet(t *testing.T) {
	t.Parallel()
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g, x, n := shifted(1)
		p, err := s.Inference(t.Context(), g, n.Tensor(1))
		if err != nil {
			return err
		}
		check := func(want float32, values ...opgen.Value) {
			t.Helper()
			if err := p.Run(t.Context(), append(values, opgen.With(x, []float32{10, 20}))...); err != nil {
				t.Error(err)
				return
			}
			if got, err := opgen.Fetch[float32](p, n.Tensor(1)); err != nil || got[1] != want {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}
		check(21)
		check(25, opgen.Set(n, 2, 5.0))
		check(25)
		_, _, foreign := shifted(1)
		wantError(t, p.Run(t.Context(), opgen.Set(foreign, 2, 5.0)), "opgen: program inference: want a node that it runs, got node shift")
		wantError(t, p.Run(t.Context(), opgen.Set(nil, clip.SlotLow, 5.0)), "opgen: program inference: want a node for Set of low, got nil")
		wantError(t, p.Run(t.Context(), opgen.Set(n, weightedsum.SlotOutput, 5.0)), "node shift: operator shift, slot output: want an argument that the caller passes, got a slot of role output")
		wantError(t, p.Run(t.Context(), opgen.Set(n, weightedsum.SlotFactor, 5.0)), "node shift: operator shift, slot factor: want an argument that the caller passes, got none of this name")
		wantError(t, p.Run(t.Context(), opgen.Set(n, 2, 5)), "node shift: operator shift, task forward, slot by: want a value of type float64, got int")
		return nil
	}, opgen.Register(registerShift))
	if err != nil {
		t.Error(err)
	}
}

// TestCostOfPassedValues measures an operator with the values that its caller passes. Other values are
// another use.
func TestCostOfPassedValues(t *testing.T) {
	t.Parallel()
	var r task.Registry
	if err := registerShift(&r); err != nil {
		t.Fatal(err)
	}
	meter := cost.NewMeter(&r, cost.Config{Workers: 1, Runs: 1})
	for _, by := range []float64{1, 2} {
		_, _, n := shifted(by)
		if got, err := meter.MeasureCost(t.Context(), n); err != nil || got.Forward.Time.Runs != 1 {
			t.Errorf("measured %+v, %v", got.Forward, err)
		}
	}
}

// TestSetFormula changes values that formulas use, on the backend for programs and on the one that checks
// kernels. A chain of operators has the present values, too.
func TestSetFormula(t *testing.T) {
	t.Parallel()
	for _, options := range [][]opgen.Option{nil, {opgen.Checked()}} {
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			g := graph.New(1)
			x := g.Input("x", dtype.F32, 4)
			sum := weightedsum.Apply(g, weightedsum.Defaults(), []graph.Tensor{x, x}, weightedsum.Factor{1, 0.5})
			y := clip.Apply(g, clip.Defaults(), sum, -1, 2)
			p, err := s.Inference(t.Context(), g, y)
			if err != nil {
				return err
			}
			check := func(want []float32, values ...opgen.Value) {
				t.Helper()
				if err := p.Run(t.Context(), append(values, opgen.With(x, []float32{-4, -2, 1, 3}))...); err != nil {
					t.Error(err)
					return
				}
				if got, err := opgen.Fetch[float32](p, y); err != nil || !slices.Equal(got, want) {
					t.Errorf("got %v, %v, want %v", got, err, want)
				}
			}
			check([]float32{-1, -1, 1.5, 2})
			check([]float32{-5, -3, 1.5, 2}, opgen.Set(y.Node(), clip.SlotLow, -5.0))
			check([]float32{-5, -3, 1.5, 4.5}, opgen.Set(y.Node(), clip.SlotHigh, math.Inf(1)))
			check([]float32{-4, -2, 1, 3}, opgen.Set(sum.Node(), weightedsum.SlotFactor, 0.25, 0.75))
			check([]float32{-4, -2, 1, 3})
			wantError(t, p.Run(t.Context(), opgen.Set(sum.Node(), weightedsum.SlotFactor, 1.0)), "slot factor: want 2 values, as in the plan, got 1")
			return nil
		}, options...)
		if err != nil {
			t.Error(err)
		}
	}
	g := graph.New(1)
	weightedsum.Apply(g, weightedsum.Defaults(), []graph.Tensor{g.Input("x", dtype.F32, 4)}, weightedsum.Factor{1, 2})
	wantError(t, g.Err(), "node weighted_sum: operator weighted_sum: want as many factors as inputs")
}
