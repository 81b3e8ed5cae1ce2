//go:build cuda

package cuda_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	attention "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/split"
	"github.com/opgen/opgen/generated/transpose"
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// drawn returns numbers from -1 to 1 with no order.
func drawn(n int) []float32 {
	x, state := make([]float32, n), uint64(n)
	for i := range x {
		state = state*6364136223846793005 + 1442695040888963407
		x[i] = float32(int32(state>>32)) / (1 << 31)
	}
	return x
}

// TestLarge compares results of tensors so large that threads compute several elements, that tiles go through
// shared memory, that teams compute rows and that blocks share columns, with those of CPUs. Extents are no
// multiples of what they are divided by.
func TestLarge(t *testing.T) {
	type tensors = []graph.Tensor
	unary := func(g *graph.Graph, x tensors) tensors {
		return tensors{elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeGelu), x[0])}
	}
	add := func(g *graph.Graph, x tensors) tensors {
		return tensors{elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x[0]), elementbinary.RhsInput(x[1]))}
	}
	turn := func(perm ...int) func(*graph.Graph, tensors) tensors {
		return func(g *graph.Graph, x tensors) tensors {
			return tensors{transpose.Apply(g, transpose.Defaults(attr.ListOf(perm...)), x[0])}
		}
	}
	fold := func(kind reduce.OpType, axes ...int) func(*graph.Graph, tensors) tensors {
		return func(g *graph.Graph, x tensors) tensors {
			return tensors{reduce.Apply(g, reduce.Defaults(kind, attr.ListOf(axes...)), x[0])}
		}
	}
	for _, tt := range []struct {
		name   string
		typ    dtype.Type
		shapes [][]int
		build  func(*graph.Graph, tensors) tensors
		most   float64
	}{
		{"four at a time", dtype.F32, [][]int{{300, 1024}}, unary, 2e-6},
		{"two at a time", dtype.F64, [][]int{{300, 1024}}, unary, 1e-12},
		{"eight at a time", dtype.BF16, [][]int{{300, 1024}}, unary, 1e-2},
		{"one at a time", dtype.F32, [][]int{{301, 1023}}, unary, 2e-6},
		{"two tensors", dtype.F32, [][]int{{300, 1024}, {300, 1024}}, add, 0},
		{"a row for all", dtype.F32, [][]int{{300, 1024}, {1, 1024}}, add, 0},
		{"a number for each row", dtype.F32, [][]int{{300, 1024}, {300, 1}}, add, 0},
		{"parts that begin anywhere", dtype.F32, [][]int{{600, 1022}}, func(g *graph.Graph, x tensors) tensors {
			parts := split.Apply(g, split.Defaults(1, attr.ListOf(511, 511)), x[0])
			return add(g, parts)
		}, 0},
		{"transpose", dtype.F32, [][]int{{301, 530}}, turn(1, 0), 0},
		{"transpose of bf16", dtype.BF16, [][]int{{301, 530}}, turn(1, 0), 0},
		{"last index first", dtype.F32, [][]int{{9, 70, 260}}, turn(2, 0, 1), 0},
		{"rows exchanged", dtype.F32, [][]int{{9, 70, 260}}, turn(1, 0, 2), 0},
		{"all reversed", dtype.F64, [][]int{{40, 70, 60}}, turn(2, 1, 0), 0},
		{"sums of columns", dtype.F32, [][]int{{3001, 130}}, fold(reduce.OpTypeReduceSum, 0), 1e-5},
		{"means in the middle", dtype.F32, [][]int{{5, 701, 70}}, fold(reduce.OpTypeReduceMean, 1), 1e-5},
		{"maxima of columns", dtype.F32, [][]int{{2000, 33}}, fold(reduce.OpTypeReduceMax, 0), 0},
		{"sums of rows", dtype.F32, [][]int{{1000, 517}}, fold(reduce.OpTypeReduceSum, 1), 1e-5},
		{"softmax", dtype.F32, [][]int{{700, 517}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{softmax.Apply(g, softmax.Defaults().WithDim(1), x[0])}
		}, 1e-6},
		{"softmax of one group of elements a thread", dtype.F32, [][]int{{300, 516}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{softmax.Apply(g, softmax.Defaults().WithDim(1), x[0])}
		}, 1e-6},
		{"softmax of two groups", dtype.BF16, [][]int{{130, 1804}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{softmax.Apply(g, softmax.Defaults().WithDim(1), x[0])}
		}, 1e-4},
		{"softmax of columns", dtype.F64, [][]int{{7, 512, 40}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{softmax.Apply(g, softmax.Defaults().WithDim(1), x[0])}
		}, 1e-12},
		{"softmax of long rows", dtype.F32, [][]int{{3, 9000}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{softmax.Apply(g, softmax.Defaults().WithDim(1), x[0])}
		}, 1e-6},
		{"norm of rows", dtype.F32, [][]int{{700, 516}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{layernorm.Apply(g, layernorm.Defaults(attr.ListOf(1)), x[0])}
		}, 1e-5},
		{"norm of few long rows", dtype.F32, [][]int{{130, 5000}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{layernorm.Apply(g, layernorm.Defaults(attr.ListOf(1)), x[0])}
		}, 1e-5},
		{"norm of rows of two indices", dtype.F32, [][]int{{5, 150, 7, 90}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{layernorm.Apply(g, layernorm.Defaults(attr.ListOf(2, 3)), x[0])}
		}, 1e-5},
		{"attention", dtype.F32, [][]int{{3, 70, 96}}, func(g *graph.Graph, x tensors) tensors {
			return tensors{attention.Apply(g, attention.Defaults(96, 4), attention.Query(x[0]), attention.Key(x[0]), attention.Value(x[0]))}
		}, 1e-5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(register func(*task.Registry) error, opts ...opgen.Option) (out []float64) {
				err := opgen.Do(register, func(s *opgen.Session) error {
					g := graph.New(1)
					var inputs tensors
					var values []opgen.Value
					for i, shape := range tt.shapes {
						n := 1
						for _, d := range shape {
							n *= d
						}
						x := g.Input(fmt.Sprint("x", i), tt.typ, shape...)
						data := drawn(n)
						inputs = append(inputs, x)
						if tt.typ == dtype.F64 {
							wide := make([]float64, n)
							for i, v := range data {
								wide[i] = float64(v)
							}
							values = append(values, opgen.With(x, wide))
						} else {
							values = append(values, opgen.With(x, data))
						}
					}
					z := tt.build(g, inputs)
					p, err := s.Inference(t.Context(), g, z...)
					if err != nil {
						return err
					}
					if err := p.Run(t.Context(), values...); err != nil {
						return err
					}
					if tt.typ == dtype.F64 {
						out, err = opgen.Fetch[float64](p, z[0])
						return err
					}
					some, err := opgen.Fetch[float32](p, z[0])
					for _, v := range some {
						out = append(out, float64(v))
					}
					return err
				}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			want := run(catalogue.Register)
			got := run(catalogue.RegisterCUDA, opgen.Backend(open(t)(1)))
			if again := run(catalogue.RegisterCUDA, opgen.Backend(open(t)(1))); !slices.Equal(got, again) {
				t.Error("a second run gives other bits")
			}
			near(t, got, want, tt.most)
		})
	}
}

// near compares numbers. Those above 1 may differ by more.
func near(t *testing.T, got, want []float64, most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d elements, want %d", len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= most*max(1, math.Abs(want[i]))) {
			t.Fatalf("element %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

// training is a training step.
type training struct {
	program     *opgen.Program
	loss        graph.Tensor
	first, each []opgen.Value // what the first step and all of them are given
}

// sameLosses compares the losses of a training with those on CPUs, which must fall.
func sameLosses(t *testing.T, steps int, build func(s *opgen.Session) (training, error)) {
	t.Helper()
	run := func(register func(*task.Registry) error, opts ...opgen.Option) (losses []float64) {
		err := opgen.Do(register, func(s *opgen.Session) error {
			x, err := build(s)
			if err != nil {
				return err
			}
			given := slices.Concat(x.first, x.each)
			for range steps {
				if err := x.program.Run(t.Context(), given...); err != nil {
					return err
				}
				given = x.each
				l, err := opgen.Fetch[float32](x.program, x.loss)
				if err != nil {
					return err
				}
				losses = append(losses, float64(l[0]))
			}
			return nil
		}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return losses
	}
	want := run(catalogue.Register)
	if !(want[steps-1] < want[0]-0.01) {
		t.Errorf("the loss falls from %v to %v only", want[0], want[steps-1])
	}
	near(t, run(catalogue.RegisterCUDA, opgen.Backend(open(t)(1))), want, 1e-5)
}

// TestLargeUpdates compares the losses of a training whose gradients are sums, and whose updates read and
// write a weight in place, several elements at a time.
func TestLargeUpdates(t *testing.T) {
	const side = 512
	sameLosses(t, 5, func(s *opgen.Session) (x training, err error) {
		g := graph.New(1)
		w, label := weight.Apply(g, weight.Defaults(attr.ListOf(side, side))), g.Input("label", dtype.F32, side, side)
		y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), w)
		y = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(w), elementbinary.RhsInput(y))
		x.loss = mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(label))
		x.first = []opgen.Value{opgen.With(w.Node().Tensor(int(weight.SlotWeight)), drawn(side*side))}
		x.each = []opgen.Value{opgen.With(label, drawn(side*side))}
		x.program, err = s.Training(t.Context(), g, x.loss, sgd.Optimizer(sgd.Defaults(5000).WithMomentum(0.5).WithWeightDecay(1e-6)))
		return x, err
	})
}

// TestLargeSoftmax compares the losses of a training with those on CPUs. Threads keep groups of elements, and
// the gradient of softmax is added to what another use of the same tensor gave.
func TestLargeSoftmax(t *testing.T) {
	const rows, length = 40, 1028
	sameLosses(t, 4, func(s *opgen.Session) (x training, err error) {
		g := graph.New(1)
		w, label := weight.Apply(g, weight.Defaults(attr.ListOf(rows, length))), g.Input("label", dtype.F32, rows, length)
		y := softmax.Apply(g, softmax.Defaults().WithDim(1), w)
		y = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeScalarMultiply).WithScalar(length), y)
		y = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(w), elementbinary.RhsInput(y))
		x.loss = mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(label))
		x.first = []opgen.Value{opgen.With(w.Node().Tensor(int(weight.SlotWeight)), drawn(rows*length))}
		x.each = []opgen.Value{opgen.With(label, drawn(2 * rows * length)[rows*length:])}
		x.program, err = s.Training(t.Context(), g, x.loss, sgd.Optimizer(sgd.Defaults(5000)))
		return x, err
	})
}

// TestLargeTraining compares the losses of a training with those on CPUs. Gradients are added to what others
// gave, norms have gradients of rows and of columns, and heads are parts of an index.
func TestLargeTraining(t *testing.T) {
	const batch, length, width = 6, 50, 96
	sameLosses(t, 6, func(s *opgen.Session) (out training, err error) {
		g := graph.New(1)
		x, label := g.Input("x", dtype.F32, batch, length, width), g.Input("label", dtype.F32, batch*length, width)
		y := attention.Apply(g, attention.Defaults(width, 6), attention.Query(x), attention.Key(x), attention.Value(x))
		y = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(y))
		y = layernorm.Apply(g, layernorm.Defaults(attr.ListOf(2)), y)
		z := linear.Apply(g, linear.Defaults(2*width).WithActivation(activation.Gelu), y)
		z = linear.Apply(g, linear.Defaults(width), z)
		y = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(y), elementbinary.RhsInput(z))
		y = reshape.Apply(g, reshape.Defaults(attr.ListOf(batch*length, width)), y)
		out.loss = mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(label))
		out.each = []opgen.Value{opgen.With(x, drawn(batch*length*width)), opgen.With(label, drawn(batch*length*width))}
		out.program, err = s.Training(t.Context(), g, out.loss, sgd.Optimizer(sgd.Defaults(0.5)))
		return out, err
	})
}
