package cpu_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/engine/enginetest"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// nothing and nothingBackward are kernels of flat that do nothing, so that only the way to them takes time.
type (
	nothing[T dtype.Float | dtype.Index | bool] struct{}
	nothingBackward[T dtype.Float]              struct{}
)

func (nothing[T]) Forward(*op.Ctx, *flat.Forward[T], op.Range) error           { return nil }
func (nothingBackward[T]) Backward(*op.Ctx, *flat.Backward[T], op.Range) error { return nil }

// BenchmarkTask measures what it costs to run a task, without the work of its kernel.
func BenchmarkTask(b *testing.B) {
	ctx, r := &op.Ctx{}, op.Range{Lo: 0, Hi: 6}
	b.Run("generated", func(b *testing.B) {
		body := flatBody(b)
		b.ReportAllocs()
		for b.Loop() {
			if err := body.Run(ctx, r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("interface", func(b *testing.B) {
		k, a := flatKernel(), &flat.Forward[float32]{}
		b.ReportAllocs()
		for b.Loop() {
			if err := k.Forward(ctx, a, r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// nothings holds the kernels of flat.
type nothings struct{}

func (nothings) F32() flat.Kernel[float32]                 { return nothing[float32]{} }
func (nothings) F64() flat.Kernel[float64]                 { return nothing[float64]{} }
func (nothings) I32() flat.Kernel[int32]                   { return nothing[int32]{} }
func (nothings) I64() flat.Kernel[int64]                   { return nothing[int64]{} }
func (nothings) Bool() flat.Kernel[bool]                   { return nothing[bool]{} }
func (nothings) F32Backward() flat.BackwardKernel[float32] { return nothingBackward[float32]{} }
func (nothings) F64Backward() flat.BackwardKernel[float64] { return nothingBackward[float64]{} }

// flatKernel hides from the compiler which kernel it returns.
//
//go:noinline
func flatKernel() flat.Kernel[float32] { return nothing[float32]{} }

// flatBody binds flat's forward task, as engines do.
func flatBody(tb testing.TB) op.Body {
	tb.Helper()
	var r task.Registry
	if err := flat.Register(&r, op.CPU, nothings{}); err != nil {
		tb.Fatal(err)
	}
	operator := &flat.Operator.Operator
	x := task.Operand{Type: dtype.F32, Shape: []int{2, 3}}
	given := task.NoneGiven(operator)
	given.Operands[flat.SlotInput] = []task.Operand{x}
	res, err := task.Resolve(operator, flat.Defaults(), given)
	if err != nil {
		tb.Fatal(err)
	}
	variant, err := r.Task(flat.ForwardTask).Variant(op.CPU, res.Types)
	if err != nil {
		tb.Fatal(err)
	}
	bodies, err := variant.Bind(&task.Accessor{
		Signature: operator.Signature(task.KindForward),
		Attrs:     flat.Defaults(),
		Resolved:  res,
		Memory: func(slot int, _ bool) []task.Buffer {
			o := res.Operands(slot)[0]
			return []task.Buffer{{Operand: o, Bytes: make([]byte, o.Bytes())}}
		},
	})
	if err != nil || len(bodies) != 1 {
		tb.Fatalf("%d bodies, %v", len(bodies), err)
	}
	return bodies[0]
}

// TestTaskAllocatesNothing checks that running a task, and a whole plan, allocates no memory.
func TestTaskAllocatesNothing(t *testing.T) {
	body, ctx := flatBody(t), &op.Ctx{}
	if n := testing.AllocsPerRun(100, func() { _ = body.Run(ctx, op.Range{Lo: 0, Hi: 6}) }); n != 0 {
		t.Errorf("a task allocates %v times", n)
	}
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 50)
	y := x
	for range 20 {
		y = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), y)
	}
	program, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, newEngine(t, 2), program, planner.Plain())
	data := make([]float32, 50)
	if n := testing.AllocsPerRun(100, func() {
		if engine.Feed(in, "x", data) != nil || in.Run(t.Context()) != nil {
			t.Error("a run failed")
		}
	}); n != 0 {
		t.Errorf("a run allocates %v times", n)
	}
}

// BenchmarkRun measures an engine's part in a task.
func BenchmarkRun(b *testing.B) { enginetest.Benchmark(b, open, catalogue.Register) }

// digits returns a training step of a small convolutional classifier of 8 x 8 images.
func digits(tb testing.TB, batch int) *graph.Program {
	tb.Helper()
	g := graph.New(1)
	image, label := g.Input("image", dtype.F32, batch, 1, 8, 8), g.Input("label", dtype.I32, batch, 1)
	conv := conv2d.Defaults(16, 3, 3)
	conv.PaddingH, conv.PaddingW = 1, 1
	conv.Activation = activation.Relu
	x := conv2d.Apply(g, conv, image, graph.Named("conv1"))
	conv.OutChannels = 32
	x = conv2d.Apply(g, conv, x, graph.Named("conv2"))
	pool := pool2d.Defaults(2, 2)
	pool.StrideH, pool.StrideW = 2, 2
	x = pool2d.Apply(g, pool, x)
	join := flat.Defaults()
	join.StartDim = 1
	x = flat.Apply(g, join, x)
	hidden := linear.Defaults(64)
	hidden.Activation = activation.Relu
	x = linear.Apply(g, hidden, x, graph.Named("hidden"))
	drop := dropout.Defaults(0.3)
	x = dropout.Apply(g, drop, x)
	out := linear.Defaults(10)
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(linear.Apply(g, out, x, graph.Named("out"))), scce.Label(label))
	p, err := graph.Training(g, loss, adam.Optimizer(adam.Defaults()))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkDigitsStep measures a training step on 32 images.
func BenchmarkDigitsStep(b *testing.B) {
	const batch = 32
	p := digits(b, batch)
	init, err := graph.Initialization(p)
	if err != nil {
		b.Fatal(err)
	}
	images, labels := make([]float32, batch*64), make([]int32, batch)
	for i := range images {
		images[i] = float32(i*7%17) / 16
		labels[i/64] = int32(i / 64 % 10)
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			e := newEngine(b, workers)
			if err := load(b, e, init).Run(b.Context()); err != nil {
				b.Fatal(err)
			}
			in := load(b, e, p)
			b.ReportAllocs()
			for b.Loop() {
				if err := errors.Join(engine.Feed(in, "image", images), engine.Feed(in, "label", labels), in.Run(b.Context())); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

// BenchmarkPlanStep measures how long it takes to plan a training step, and to load the plan.
func BenchmarkPlanStep(b *testing.B) {
	p := digits(b, 32)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			if _, err := planner.Build(p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		e := newEngine(b, 1)
		pl, err := planner.Build(p)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			in, err := e.Load(pl)
			if err != nil {
				b.Fatal(err)
			}
			in.Close()
		}
	})
}
