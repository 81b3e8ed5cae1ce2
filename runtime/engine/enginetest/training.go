package enginetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// training is a training step of a small classifier in an engine, and what it should compute.
type training struct {
	program     *graph.Program
	engine      *engine.Engine
	in          *engine.Instance
	start       map[string][]float32 // variables before the step
	want        map[string][]float32 // and after its first run, with the loss
	undisturbed *training            // runs as many steps on one worker; nil for itself
}

// faultBatch is the number of images of a step.
const faultBatch = 2

// begin loads and runs the initialization, and loads the step.
func (x *training) begin(e *engine.Engine) error {
	init, err := graph.Initialization(x.program)
	if err != nil {
		return err
	}
	for _, p := range []*graph.Program{init, x.program} {
		pl, err := planner.Build(p, e.Options()...)
		if err != nil {
			return err
		}
		in, err := e.Load(pl)
		if err != nil {
			return err
		}
		x.in = in
		if p == init {
			if err := in.Run(context.Background()); err != nil {
				return err
			}
			if err := in.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// step sets all variables as they were at first, feeds the inputs and runs.
func (x *training) step(ctx context.Context) error {
	for name, v := range x.start {
		if err := engine.Feed(x.in, name, v); err != nil {
			return err
		}
	}
	images, labels := make([]float32, faultBatch*64), make([]int32, faultBatch)
	for i := range images {
		images[i] = float32(i*7%17) / 16
		labels[i/64] = int32(i / 64 % 10)
	}
	if err := errors.Join(engine.Feed(x.in, "image", images), engine.Feed(x.in, "label", labels)); err != nil {
		return err
	}
	return x.in.Run(ctx)
}

// read returns the variables, and the loss if a step has run.
func (x *training) read(t *testing.T, loss bool) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	for _, v := range x.program.Variables {
		if v.Type() != dtype.F32 {
			t.Fatalf("variable %v", v)
		}
		out[v.Name()] = fetch[float32](t, x.in, v.Name())
	}
	if loss {
		out[last(x.program)] = fetch[float32](t, x.in, last(x.program))
	}
	return out
}

// check runs a step, which must compute what it should.
func (x *training) check(t *testing.T, what string) {
	t.Helper()
	if err := x.step(t.Context()); err != nil {
		t.Fatalf("%s: the next step: %v", what, err)
	}
	x.compare(t, what)
}

// compare compares what a step computed with what it should have, which depends on how many went before:
// random numbers and the optimizer's rate do.
func (x *training) compare(t *testing.T, what string) {
	t.Helper()
	if x.undisturbed != nil {
		if err := x.undisturbed.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.want = x.undisturbed.read(t, true)
	}
	got := x.read(t, true)
	for _, name := range slices.Sorted(maps.Keys(x.want)) {
		if !slices.Equal(got[name], x.want[name]) {
			t.Fatalf("%s: %s becomes\n%v\nwant\n%v", what, name, got[name], x.want[name])
		}
	}
}

// reference runs the step once, undisturbed and on one worker.
func (s *suite) reference(t *testing.T, r *task.Registry) *training {
	t.Helper()
	x := &training{program: classifier(t, faultBatch), engine: s.engine(t, r, 1, engine.Config{})}
	if err := x.begin(x.engine); err != nil {
		t.Fatal(err)
	}
	x.start = x.read(t, false)
	if err := x.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.want = x.read(t, true)
	return x
}

// beside returns a training that runs in another engine. Each step is compared with that of a reference of
// its own, which runs the kernels of the catalogue.
func (s *suite) beside(t *testing.T, e *engine.Engine) *training {
	t.Helper()
	return s.besideOf(t, s.catalogue(t), e)
}

// besideOf does so with a reference that runs other kernels.
func (s *suite) besideOf(t *testing.T, r *task.Registry, e *engine.Engine) *training {
	t.Helper()
	ref := s.reference(t, r)
	if err := ref.begin(ref.engine); err != nil { // from the first step on
		t.Fatal(err)
	}
	x := &training{program: ref.program, start: ref.start, undisturbed: ref}
	if err := x.begin(e); err != nil {
		t.Fatal(err)
	}
	return x
}

// classifier returns a training step of a small convolutional classifier of 8 x 8 images.
func classifier(t *testing.T, batch int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	image, label := g.Input("image", dtype.F32, batch, 1, 8, 8), g.Input("label", dtype.I32, batch, 1)
	conv := conv2d.Defaults(4, 3, 3)
	conv.PaddingH, conv.PaddingW = 1, 1
	conv.Activation = activation.Relu
	x := conv2d.Apply(g, conv, image, graph.Named("conv1"))
	conv.OutChannels = 8
	x = conv2d.Apply(g, conv, x, graph.Named("conv2"))
	pool := pool2d.Defaults(2, 2)
	pool.StrideH, pool.StrideW = 2, 2
	x = pool2d.Apply(g, pool, x)
	join := flat.Defaults()
	join.StartDim = 1
	x = flat.Apply(g, join, x)
	hidden := linear.Defaults(16)
	hidden.Activation = activation.Relu
	x = linear.Apply(g, hidden, x, graph.Named("hidden"))
	drop := dropout.Defaults(0.3)
	x = dropout.Apply(g, drop, x)
	out := linear.Defaults(10)
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(linear.Apply(g, out, x, graph.Named("out"))), scce.Label(label))
	p, err := graph.Training(g, loss, adam.Optimizer(adam.Defaults()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
