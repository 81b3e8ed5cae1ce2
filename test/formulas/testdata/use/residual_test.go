package use

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	own "example.com/formulas/generated/catalogue"
	"example.com/formulas/generated/residual"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestAbsent runs an operator on lists in which single tensors are absent, forward and backward, on several
// executors, and as a call of slices.
func TestAbsent(t *testing.T) {
	t.Run("kit", func(t *testing.T) {
		optest.All(t, own.Register, slices.DeleteFunc(own.Operators(), func(o *graph.Operator) bool { return o != residual.Operator }), optest.Register(catalogue.Register))
	})
	for name, opts := range map[string][]opgen.Option{
		"one worker": {opgen.Workers(1)}, "three workers": {opgen.Workers(3)}, "tiles": {opgen.Workers(2), opgen.Tiled()},
		"checked": {opgen.Backend(checked.New(cpu.Config{Workers: 1}))},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := opgen.Open(catalogue.Register, append(opts, opgen.Register(own.Register))...)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, there := range [][]bool{{}, {false}, {true}, {false, true, false, true}, {true, false, false}} {
				g := graph.New(1)
				x, seed := g.Input("x", dtype.F64, 5), g.Input("seed", dtype.F64, 5)
				values := []opgen.Value{opgen.With(x, []float64{1, 2, 3, 4, 5}), opgen.With(seed, []float64{1, -1, 2, -2, 3})}
				wrt, list := []graph.Tensor{x}, make(residual.Branch, len(there))
				want := []float64{1, 2, 3, 4, 5}
				for i, is := range there {
					if !is {
						continue
					}
					list[i] = g.Input(fmt.Sprint("branch", i), dtype.F64, 5)
					n := float64(len(wrt))
					values = append(values, opgen.With(list[i], []float64{10 * n, 20, 30, 40, 50}))
					for k, v := range []float64{10 * n, 20, 30, 40, 50} {
						want[k] += n * v
					}
					wrt = append(wrt, list[i])
				}
				y := residual.Apply(g, residual.Defaults(), residual.Input(x), list)
				nodes := g.GradientsFrom(map[graph.Tensor]graph.Tensor{y: seed}, wrt...)
				program, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, wrt, append(nodes, y)...)
				if err != nil {
					t.Fatal(err)
				}
				p, err := s.Load(t.Context(), program)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(t.Context(), values...); err != nil {
					t.Fatal(err)
				}
				check := func(x graph.Tensor, want []float64) {
					t.Helper()
					got, err := opgen.Fetch[float64](p, x)
					if err != nil {
						t.Fatal(err)
					}
					for k := range want {
						if math.Abs(got[k]-want[k]) > 1e-12 {
							t.Errorf("%v, %v: want %v, got %v", there, x, want, got)
							break
						}
					}
				}
				check(y, want)
				for i, x := range wrt {
					f := float64(max(i, 1))
					check(grads[x], []float64{f, -f, 2 * f, -2 * f, 3 * f})
					check(nodes[i], []float64{f, -f, 2 * f, -2 * f, 3 * f})
				}
			}
		})
	}
	s := open(t)
	out := make([]float32, 2)
	on := opgen.On[residual.Slot, float32]
	c, err := opgen.NewCall(s, residual.Operator, residual.Defaults(), on(residual.SlotInput, []float32{1, 2}, 2), on(residual.SlotBranch, nil),
		on(residual.SlotBranch, []float32{10, 20}, 2), on(residual.SlotOutput, out, 2))
	if err == nil {
		err = c.Run()
	}
	if err != nil || out[0] != 11 || out[1] != 22 {
		t.Errorf("a call gives %v, %v", out, err)
	}
	_, err = opgen.NewCall(s, residual.Operator, residual.Defaults(), on(residual.SlotInput, nil), on(residual.SlotOutput, out, 2))
	if err == nil || !strings.Contains(err.Error(), "slot input: want as many elements as shape [] has, got 0") {
		t.Errorf("a call without its input: %v", err)
	}
}
