package cpu_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/apart"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// layers returns the training of linear layers with what stands between them: an activation, a normalization
// and a residual.
func layers(t *testing.T) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 6, 20, 48)
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), linear.Apply(g, linear.Defaults(64), x))
	y = linear.Apply(g, linear.Defaults(48), y)
	y = layernorm.Apply(g, layernorm.Defaults(attr.ListOf(2)), elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(y)))
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(16), y)), mse.Label(g.Input("label", dtype.F32, 6, 20, 16)))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRows runs a training whose steps are cut into rows that follow from formulas, and compares it with
// whole steps: the variables have the same bits.
func TestRows(t *testing.T) {
	p := layers(t)
	whole, err := planner.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	want := after(t, p, whole, 1)
	p = apart.Program(p)
	for _, workers := range []int{1, 2, 5} {
		tiled, err := planner.Build(p, planner.Tiled(), planner.Workers(workers))
		if err != nil {
			t.Fatal(err)
		}
		tiles := map[string]int{}
		for i := range tiled.Tasks {
			if task := &tiled.Tasks[i]; task.Tile > 0 {
				c := &tiled.Calls[task.Call]
				tiles[c.Operator+"."+c.Task]++
			}
		}
		for _, name := range []string{"linear.forward", "element_unary.forward", "element_binary.forward", "layer_norm.forward", "linear.backward", "element_unary.backward", "sgd.update"} {
			if tiles[name] < 2 {
				t.Errorf("%s has %d tiles; there are %v", name, tiles[name], tiles)
			}
		}
		if err := errors.Join(verify.Plan(tiled), validate.Plan(tiled, p)); err != nil {
			t.Error(err)
		}
		for name, data := range after(t, p, again(t, tiled), workers) {
			if !bytes.Equal(data, want[name]) {
				t.Errorf("%d workers: %s differs", workers, name)
			}
		}
	}
}
