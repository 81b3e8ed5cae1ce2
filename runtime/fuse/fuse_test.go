package fuse_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/fuse"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

var (
	relu = elementunary.Defaults(elementunary.OpTypeRelu)
	tanh = elementunary.Defaults(elementunary.OpTypeTanh)
	sine = elementunary.Defaults(elementunary.OpTypeSin)
)

func dense(n int, bias bool) linear.Attrs { return linear.Defaults(n).WithUseBias(bias) }

func add(g *graph.Graph, x, y graph.Tensor, name string) graph.Tensor {
	return elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd),
		elementbinary.LhsInput(x), elementbinary.RhsInput(y), graph.Named(name))
}

// TestProgram checks what is fused in small graphs, and what must not be. Each is trained towards the
// sum of what it returns, with those tensors fetched that are named.
func TestProgram(t *testing.T) {
	t.Parallel()
	label := func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return scce.Apply(g, scce.Defaults(), scce.Logit(x), scce.Label(g.Input("label", dtype.I32, x.Shape()[0], 1)), graph.Named("loss"))
	}
	for _, c := range []struct {
		name  string
		build func(g *graph.Graph, x graph.Tensor) (loss graph.Tensor, fetch []graph.Tensor)
		want  string
	}{
		{"activation", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := elementunary.Apply(g, relu, linear.Apply(g, dense(6, true), x, graph.Named("fc")), graph.Named("act"))
			return label(g, y), nil
		}, "[fc + act (relu)]"},
		{"bias, then activation", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := linear.Apply(g, dense(6, false), x, graph.Named("fc"))
			y = add(g, y, g.Input("b", dtype.F32, 6), "plus")
			return label(g, elementunary.Apply(g, tanh, y, graph.Named("act"))), nil
		}, "[fc + plus (bias) fc + act (smooth)]"},
		{"bias after activation", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := elementunary.Apply(g, relu, linear.Apply(g, dense(6, false), x, graph.Named("fc")), graph.Named("act"))
			return label(g, add(g, y, g.Input("b", dtype.F32, 6), "plus")), nil
		}, "[fc + act (relu)]"},
		{"a bias that is no row", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := linear.Apply(g, dense(6, false), x, graph.Named("fc"))
			return label(g, add(g, y, g.Input("b", dtype.F32, 4, 6), "plus")), nil
		}, "[]"},
		{"another function", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			return label(g, elementunary.Apply(g, sine, linear.Apply(g, dense(6, true), x), graph.Named("act"))), nil
		}, "[]"},
		{"an activation that is there already", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			at := dense(6, true)
			at.Activation = activation.Sigmoid
			return label(g, elementunary.Apply(g, relu, linear.Apply(g, at, x), graph.Named("act"))), nil
		}, "[]"},
		{"what lies between is fetched", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := linear.Apply(g, dense(6, true), x)
			return label(g, elementunary.Apply(g, relu, y)), []graph.Tensor{y}
		}, "[]"},
		{"what lies between is read again", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := linear.Apply(g, dense(6, true), x)
			return label(g, add(g, elementunary.Apply(g, relu, y), y, "plus")), nil
		}, "[]"},
		{"loss and probabilities that are fetched", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := linear.Apply(g, dense(6, true), x, graph.Named("fc"))
			p := softmax.Apply(g, softmax.Defaults(), y, graph.Named("p"))
			return label(g, y), []graph.Tensor{p}
		}, "[loss + p (softmax)]"},
		{"probabilities along another dimension", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			y := linear.Apply(g, dense(6, true), x, graph.Named("fc"))
			return label(g, y), []graph.Tensor{softmax.Apply(g, softmax.Defaults().WithDim(0), y)}
		}, "[]"},
		{"a regularizer's loss stays", func(g *graph.Graph, x graph.Tensor) (graph.Tensor, []graph.Tensor) {
			at := dense(6, true)
			at.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.1))
			y := linear.Apply(g, at, x, graph.Named("fc"))
			return label(g, elementunary.Apply(g, relu, y, graph.Named("act"))), []graph.Tensor{y.Node().Tensor(int(linear.SlotRegularization))}
		}, "[fc + act (relu)]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := graph.New(1)
			loss, fetch := c.build(g, g.Input("x", dtype.F32, 4, 5))
			p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)), fetch...)
			if err != nil {
				t.Fatal(err)
			}
			steps := slices.Clone(p.Steps)
			q, done, err := fuse.Program(p)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(done); got != c.want {
				t.Errorf("fused %s, want %s", got, c.want)
			}
			if !slices.Equal(p.Steps, steps) {
				t.Error("the given program has changed")
			}
			compare(t, p, q)
		})
	}
}

// TestRandomPrograms fuses random graphs, whose tensors have several readers and of which some are
// fetched.
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
	fused := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		g := graph.New(seed)
		at := conv2d.Defaults(3, 2, 2)
		image := conv2d.Apply(g, at, g.Input("image", dtype.F32, 4, 1, 3, 3))
		if r.IntN(2) == 0 {
			image = elementunary.Apply(g, relu, image)
		}
		pool := []graph.Tensor{g.Input("x", dtype.F32, 4, 6)}
		fetch := []graph.Tensor{image}
		for range 3 + r.IntN(10) {
			x := pool[max(len(pool)-1-r.IntN(2)*r.IntN(len(pool)), 0)]
			var y graph.Tensor
			switch r.IntN(6) {
			case 0, 1:
				y = linear.Apply(g, dense(6, r.IntN(2) == 0), x)
			case 2, 3:
				y = elementunary.Apply(g, []elementunary.Attrs{relu, tanh, sine}[r.IntN(3)], x)
			case 4:
				y = add(g, x, pool[r.IntN(len(pool))], fmt.Sprint("sum", len(pool)))
			case 5:
				y = softmax.Apply(g, softmax.Defaults(), x)
			}
			pool = append(pool, y)
			if r.IntN(8) == 0 {
				fetch = append(fetch, y)
			}
		}
		last := linear.Apply(g, dense(6, true), pool[len(pool)-1])
		if r.IntN(2) == 0 {
			fetch = append(fetch, softmax.Apply(g, softmax.Defaults(), last))
		}
		loss := scce.Apply(g, scce.Defaults(), scce.Logit(last), scce.Label(g.Input("label", dtype.I32, 4, 1)))
		p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)), fetch...)
		if err != nil {
			t.Fatal(err)
		}
		q, done, err := fuse.Program(p)
		if err != nil {
			t.Fatal(err)
		}
		fused += len(done)
		compare(t, p, q)
	}
	if fused < 40 {
		t.Errorf("only %d fusions in all graphs", fused)
	}
}

// compare runs two steps of both programs. Fetched tensors and variables are equal but for rounding.
func compare(t *testing.T, p, q *graph.Program) {
	t.Helper()
	want, got := run(t, p), run(t, q)
	for name, w := range want {
		var largest float64
		for _, v := range w {
			largest = max(largest, math.Abs(float64(v)))
		}
		for i := range w {
			if d := math.Abs(float64(got[name][i] - w[i])); !(d <= 1e-4*largest) {
				t.Fatalf("element %d of %s is %v after fusion, %v before", i, name, got[name][i], w[i])
			}
		}
	}
}

func run(t *testing.T, p *graph.Program) map[string][]float32 {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	defer e.Close()
	init, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	var in *engine.Instance
	for _, prog := range []*graph.Program{init, p, p} {
		pl, err := planner.Build(prog)
		if err != nil {
			t.Fatal(err)
		}
		if in, err = e.Load(pl); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 3))
		for _, x := range prog.Fed {
			n := shape.Prod(x.Shape())
			if x.Type() == dtype.I32 {
				err = engine.Feed(in, x.Name(), make([]int32, n))
			} else {
				data := make([]float32, n)
				for i := range data {
					data[i] = float32(r.NormFloat64())
				}
				err = engine.Feed(in, x.Name(), data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string][]float32{}
	for _, x := range slices.Concat(p.Fetched, p.Variables) {
		if out[x.Name()], err = engine.Fetch[float32](in, x.Name()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
