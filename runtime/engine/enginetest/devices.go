package enginetest

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/linear"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
)

// replicas is a network that trains on several devices.
type replicas struct {
	program       *graph.Program
	inputs        []graph.Tensor // of each replica
	labels        []graph.Tensor
	losses        []graph.Tensor
	shares        []float64
	first, latter []int // of each replica, the part of the batch
}

// batch is the number of samples, and features that of what each has.
const batch, features = 7, 5

// parallel returns a training step on devices, among which the batch is divided as evenly as it can be.
func parallel(t *testing.T, devices int) *replicas {
	t.Helper()
	x := &replicas{}
	var parts []graph.Replica
	for d := range devices {
		first, latter := d*batch/devices, (d+1)*batch/devices
		n := latter - first
		g := graph.OnDevice(1, d)
		in, label := g.Input("x", dtype.F32, n, features), g.Input("label", dtype.I32, n, 1)
		at := linear.Defaults(3)
		loss := scce.Apply(g, scce.Defaults(), scce.Logit(linear.Apply(g, at, in, graph.Named("fc"))), scce.Label(label), graph.Named("loss"))
		share := float64(n) / batch
		parts = append(parts, graph.Replica{Loss: loss, Share: graph.Share{Loss: share, Aux: share}})
		x.inputs, x.labels, x.losses = append(x.inputs, in), append(x.labels, label), append(x.losses, loss)
		x.shares, x.first, x.latter = append(x.shares, share), append(x.first, first), append(x.latter, latter)
	}
	var err error
	if x.program, err = graph.DataParallel(parts, adam.Optimizer(adam.Defaults())); err != nil {
		t.Fatal(err)
	}
	return x
}

// train takes steps and returns the losses and, of each device, the weights.
func (x *replicas) train(t *testing.T, s *suite, e *engine.Engine, steps int) (losses []float64, weights [][]float32) {
	t.Helper()
	init, err := graph.Initialization(x.program)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.load(t, e, init))
	in := s.load(t, e, x.program)
	for step := range steps {
		data, labels := make([]float32, batch*features), make([]int32, batch)
		for i := range data {
			data[i] = float32((i*7+step*3)%11)/11 - 0.5
			labels[i/features] = int32((i/features + step) % 3)
		}
		for d := range x.inputs {
			feed(t, in, x.inputs[d].Name(), data[x.first[d]*features:x.latter[d]*features]...)
			feed(t, in, x.labels[d].Name(), labels[x.first[d]:x.latter[d]]...)
		}
		run(t, in)
		var loss float64
		for d, l := range x.losses {
			loss += x.shares[d] * float64(fetch[float32](t, in, l.Name())[0])
		}
		losses = append(losses, loss)
	}
	weights = make([][]float32, len(x.inputs))
	for _, v := range x.program.Variables {
		weights[v.Device()] = append(weights[v.Device()], fetch[float32](t, in, v.Name())...)
	}
	return losses, weights
}

// testDevices trains on two devices. After some steps, the variables of both are equal, bit for bit, and so
// are those of another engine with other workers. The losses are those of one device, but for rounding.
func (s *suite) testDevices(t *testing.T) {
	const steps = 8
	one, want := parallel(t, 1).train(t, s, s.engine(t, s.catalogue(t), 1, engine.Config{}), steps)
	if one[steps-1] >= one[0] {
		t.Errorf("training does not lower the loss: %v", one)
	}
	var before []float32
	for _, workers := range []int{1, 3} {
		losses, weights := parallel(t, 2).train(t, s, s.engine(t, s.catalogue(t), workers, engine.Config{}), steps)
		if !slices.Equal(weights[0], weights[1]) {
			t.Errorf("%d workers: the devices have the variables\n%v\n%v", workers, weights[0], weights[1])
		}
		if before != nil && !slices.Equal(weights[0], before) {
			t.Errorf("%d workers: the variables are\n%v, with one worker\n%v", workers, weights[0], before)
		}
		before = weights[0]
		for i, l := range losses {
			if d := math.Abs(l - one[i]); !(d <= 1e-6) {
				t.Errorf("%d workers: loss %d is %g, on one device %g", workers, i, l, one[i])
			}
		}
		for i, w := range weights[0] {
			if d := math.Abs(float64(w - want[0][i])); !(d <= 1e-5) {
				t.Errorf("%d workers: element %d of the variables is %g, on one device %g", workers, i, w, want[0][i])
			}
		}
	}
}

// testAllReduce adds tensors whose sum depends on the order of additions: it is that of the tensors. Then all
// have the same elements.
func (s *suite) testAllReduce(t *testing.T) {
	const n = 20000 // more than one range
	for _, workers := range []int{1, 3} {
		e := s.engine(t, s.catalogue(t), workers, engine.Config{})
		for terms, want := range map[[3]float32]float32{{1, 0x1p-24, 0x1p-24}: 1, {0x1p-24, 0x1p-24, 1}: 1 + 0x1p-23} {
			here, there := graph.OnDevice(1, 0), graph.OnDevice(1, 1)
			ts := []graph.Tensor{here.Input("a", dtype.F32, n), there.Input("b", dtype.F32, n), here.Input("c", dtype.F32, n)}
			p := &graph.Program{Name: "sum", Fed: ts, Fetched: ts, Steps: []graph.Step{{AllReduce: &graph.AllReduce{Tensors: ts}}}}
			in := s.load(t, e, p)
			for i, v := range terms {
				feed(t, in, ts[i].Name(), slices.Repeat([]float32{v}, n)...)
			}
			run(t, in)
			for _, x := range ts {
				if got := fetch[float32](t, in, x.Name()); slices.Min(got) != want || slices.Max(got) != want {
					t.Errorf("%d workers: %v begins with %v, want %v", workers, x, got[0], want)
				}
			}
		}
	}
}

// testTooManyDevices loads a plan for more devices than there are, and one that wants a variable elsewhere.
func (s *suite) testTooManyDevices(t *testing.T) {
	e := s.engine(t, s.catalogue(t), 1, engine.Config{})
	_, err := e.Load(s.build(t, parallel(t, 3).program))
	wantError(t, "three devices", err, "engine: plan training: want a backend with 3 devices, got one with 2")
	p := s.build(t, parallel(t, 2).program)
	in, err := e.Load(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	moved := s.build(t, elsewhere(t))
	_, err = e.Load(moved)
	wantError(t, "another device", err, "engine: variable fc@1.weight: plan inference wants it on device 0, the engine holds it on device 1")
}

// elsewhere returns a program with a variable of the second replica on the first device.
func elsewhere(t *testing.T) *graph.Program {
	t.Helper()
	g := graph.New(1)
	at := linear.Defaults(3)
	return inference(t, g, linear.Apply(g, at, g.Input("x", dtype.F32, 1, features), graph.Named("fc@1")))
}
