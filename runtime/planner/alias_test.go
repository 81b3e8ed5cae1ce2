package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/buffer"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/movingaverage"
	"github.com/opgen/opgen/generated/softmax"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

var unaries = []elementunary.OpType{elementunary.OpTypeRelu, elementunary.OpTypeTanh, elementunary.OpTypeGelu, elementunary.OpTypeSin, elementunary.OpTypeIdentity}

// randomReuse returns a training step of a random graph of operators that may work in place, of views
// and of others. Tensors have several consumers, and some are fetched.
func randomReuse(t testing.TB, seed uint64) *graph.Program {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	g := graph.New(seed)
	batch, width := 1+r.IntN(4), 2*(1+r.IntN(12))
	pool := []graph.Tensor{g.Input("x", dtype.F32, batch, width), linear.Apply(g, linear.Defaults(width), g.Input("z", dtype.F32, batch, 3))}
	var fetch []graph.Tensor
	pick := func() graph.Tensor { // the latest more often than others
		return pool[max(len(pool)-1-r.IntN(3)*r.IntN(len(pool)), 0)]
	}
	for range 4 + r.IntN(14) {
		x, y := pick(), graph.Tensor{}
		switch r.IntN(7) {
		case 0:
			y = linear.Apply(g, linear.Defaults(x.Shape()[len(x.Shape())-1]).WithUseBias(r.IntN(2) == 0), x)
		case 1, 2:
			y = elementunary.Apply(g, elementunary.Defaults(unaries[r.IntN(len(unaries))]), x)
		case 3:
			y = dropout.Apply(g, dropout.Defaults(0.25), x)
		case 4:
			y = softmax.Apply(g, softmax.Defaults(), x)
		case 5:
			z := pick()
			if !slices.Equal(x.Shape(), z.Shape()) {
				continue
			}
			types := []elementbinary.Type{elementbinary.TypeEwAdd, elementbinary.TypeEwMul, elementbinary.TypeEwSub}
			y = elementbinary.Apply(g, elementbinary.Defaults(types[r.IntN(3)]), elementbinary.LhsInput(x), elementbinary.RhsInput(z))
		case 6: // a variable as an input, which a step changes or not
			shape := attr.ListOf(x.Shape()...)
			z := weight.Apply(g, weight.Defaults(shape))
			if r.IntN(2) == 0 {
				z = buffer.Apply(g, buffer.Defaults(shape))
			}
			y = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(z))
		}
		if r.IntN(4) == 0 { // split the last dimension by a view, and join it again
			at := flat.Defaults()
			at.StartDim = 1
			y = flat.Apply(g, at, y)
		}
		pool = append(pool, y)
		if r.IntN(6) == 0 {
			fetch = append(fetch, y)
		}
	}
	label := g.Input("label", dtype.I32, batch, 1)
	last := linear.Apply(g, linear.Defaults(5), pool[len(pool)-1])
	l := scce.Apply(g, scce.Defaults(), scce.Logit(last), scce.Label(label))
	p, err := graph.Training(g, l, adam.Optimizer(adam.Defaults()), fetch...)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return p
}

// TestInPlaceComputesTheSame trains random graphs with and without memory in place and fused tasks: what is
// fetched, and every variable, is equal bit for bit.
func TestInPlaceComputesTheSame(t *testing.T) {
	t.Parallel()
	shared, dropped, groups := 0, 0, 0
	var less, more int64
	for seed := range uint64(60) {
		p := randomReuse(t, seed)
		with, plain := build(t, p), build(t, p, planner.Plain())
		checkMemory(t, fmt.Sprintf("seed %d", seed), with)
		for _, p := range []*plan.Plan{with, plain, build(t, p, planner.Workers(3))} {
			if err := verify.Plan(p); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for k := range with.Calls {
			c := &with.Calls[k]
			if n := len(c.InPlace); n > 0 {
				shared += n
				undeclared := *with
				undeclared.Calls = slices.Clone(with.Calls)
				undeclared.Calls[k].InPlace = nil
				if err := verify.Plan(&undeclared); err == nil || !strings.Contains(err.Error(), "want memory of its own for what a task writes") {
					t.Errorf("seed %d: %s may work in place undeclared: %v", seed, c.Node, err)
				}
			}
		}
		dropped += len(plain.Calls) - len(with.Calls)
		// A chain is one task, so what lies between its parts lives a little longer.
		less, more = less+with.LowerBound(), more+plain.LowerBound()
		for i := range with.Tasks {
			if with.Tasks[i].Group != nil {
				groups++
			}
		}
		if got, want := train(t, p, with), train(t, p, plain); got != want {
			t.Fatalf("seed %d: in place, training gives\n%s\nrather than\n%s", seed, got, want)
		}
	}
	if shared < 50 || dropped < 20 || groups < 100 {
		t.Errorf("only %d tensors in place, %d views and %d groups in all graphs", shared, dropped, groups)
	}
	if float64(less) > 1.05*float64(more) {
		t.Errorf("in place, all plans need %d bytes rather than %d", less, more)
	}
}

// TestInPlace checks which tensors share memory in small graphs.
func TestInPlace(t *testing.T) {
	t.Parallel()
	relu := elementunary.Defaults(elementunary.OpTypeRelu)
	join := flat.Defaults()
	join.StartDim = 1
	for _, c := range []struct {
		name  string
		build func(g *graph.Graph, x graph.Tensor) []graph.Tensor // what is fetched
		want  string                                              // the roots
	}{
		{"chain", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			y := elementunary.Apply(g, relu, x, graph.Named("a")) // the input stays as it is
			y = elementunary.Apply(g, relu, y, graph.Named("b"))
			y = elementunary.Apply(g, relu, y, graph.Named("c"))
			return []graph.Tensor{elementunary.Apply(g, relu, y, graph.Named("d"))} // and so does what is fetched
		}, "x a.output d.output"},
		{"several readers", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			y := elementunary.Apply(g, relu, x, graph.Named("a"))
			z := elementunary.Apply(g, relu, y, graph.Named("b")) // y is read again
			w := elementunary.Apply(g, relu, y, graph.Named("c")) // for the last time
			s := elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(z), elementbinary.RhsInput(w), graph.Named("s"))
			return []graph.Tensor{elementunary.Apply(g, relu, s, graph.Named("d"))}
		}, "x a.output b.output d.output"},
		{"twice in one task", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			y := elementunary.Apply(g, relu, x, graph.Named("a"))
			s := elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwMul), elementbinary.LhsInput(y), elementbinary.RhsInput(y), graph.Named("s"))
			return []graph.Tensor{elementunary.Apply(g, relu, s, graph.Named("d"))}
		}, "x a.output s.output d.output"},
		{"broadcast", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			y := elementunary.Apply(g, relu, g.Input("row", dtype.F32, 6), graph.Named("a"))
			s := elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwMul), elementbinary.LhsInput(y), elementbinary.RhsInput(flat.Apply(g, join, x)), graph.Named("s"))
			return []graph.Tensor{elementunary.Apply(g, relu, s, graph.Named("d"))}
		}, "row x a.output s.output d.output"},
		{"views of an input", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			y := flat.Apply(g, join, x, graph.Named("a"))
			z := flat.Apply(g, flat.Defaults(), x, graph.Named("b"))
			return []graph.Tensor{elementunary.Apply(g, relu, y, graph.Named("c")), elementunary.Apply(g, relu, z, graph.Named("d"))}
		}, "x c.output d.output"},
		{"a view of what is written in place", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			y := elementunary.Apply(g, relu, x, graph.Named("a"))
			z := elementunary.Apply(g, relu, flat.Apply(g, join, y, graph.Named("v")), graph.Named("b")) // y is read again
			w := elementunary.Apply(g, relu, y, graph.Named("c"))
			return []graph.Tensor{elementunary.Apply(g, relu, z, graph.Named("d")), elementunary.Apply(g, relu, w, graph.Named("e"))}
		}, "x a.output b.output d.output e.output"},
		{"views of variables", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			add := elementbinary.Defaults(elementbinary.TypeEwAdd)
			w := weight.Apply(g, weight.Defaults(attr.ListOf(4, 2, 3)), graph.Named("w"))
			b := buffer.Apply(g, buffer.Defaults(attr.ListOf(4, 2, 3)), graph.Named("b"))
			y := elementbinary.Apply(g, add, elementbinary.LhsInput(x), elementbinary.RhsInput(w), graph.Named("c"))
			y = elementbinary.Apply(g, add, elementbinary.LhsInput(y), elementbinary.RhsInput(b), graph.Named("d"))
			return []graph.Tensor{y, elementunary.Apply(g, relu, w, graph.Named("e"))} // no place for what is computed
		}, "x w.weight c.output b.value d.output e.output"},
		{"a variable that a later step changes", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			before := buffer.Apply(g, buffer.Defaults(attr.ListOf(4, 2, 3)), graph.Named("b"))
			mean := movingaverage.Apply(g, movingaverage.Defaults(), x, graph.Weight(movingaverage.SlotAverage, before.Node().Tensor(int(buffer.SlotValue))), graph.Named("m"))
			add := elementbinary.Defaults(elementbinary.TypeEwAdd)
			return []graph.Tensor{mean, elementbinary.Apply(g, add, elementbinary.LhsInput(before), elementbinary.RhsInput(x), graph.Named("c"))}
		}, "x b.value b.output m.output c.output"},
		{"a variable that is fetched", func(g *graph.Graph, x graph.Tensor) []graph.Tensor {
			return []graph.Tensor{buffer.Apply(g, buffer.Defaults(attr.ListOf(3)), graph.Named("b"))}
		}, "b.value b.output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := graph.New(1)
			fetch := c.build(g, g.Input("x", dtype.F32, 4, 2, 3))
			p, err := graph.Inference(g, fetch...)
			if err != nil {
				t.Fatal(err)
			}
			var roots []string
			for _, r := range build(t, p).Roots {
				roots = append(roots, r.Name)
			}
			if got := strings.Join(roots, " "); got != c.want {
				t.Errorf("the roots are %s, want %s", got, c.want)
			}
		})
	}
}
