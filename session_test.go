package opgen_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/movingaverage"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %v, want one with %q", err, part)
		}
	}
}

// TestVariables trains 3 steps, saves, and trains 3 more, and loads the file into a new session that trains
// on: the weights are equal bit for bit, so the file holds what the optimizer keeps and the number of steps.
// A session for inference answers with the weights of the file.
func TestVariables(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "variables")
	run := func(b *opgen.Batches[network], from int) (last *opgen.Batch[network]) {
		for i := from; i < from+3; i++ {
			last = step(t, b, 5, 5*i, 5*i+5, true)
		}
		return last
	}
	first := open(t)
	b := opgen.NewBatches(first, 0, training(0.4))
	middle := weights(t, run(b, 0))
	if err := first.SaveVariables(path); err != nil {
		t.Fatal(err)
	}
	last := weights(t, run(b, 3))
	for _, early := range []bool{true, false} {
		s := open(t)
		b := opgen.NewBatches(s, 0, training(0.4))
		if early {
			run(b, 0) // what the session has learned so far is replaced
		} else if _, err := b.For(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		if err := s.LoadVariables(path); err != nil {
			t.Fatal(err)
		}
		if got := weights(t, run(b, 3)); !slices.Equal(got, last) {
			t.Errorf("a session that goes on learns %v, want %v", got, last)
		}
	}
	s := open(t)
	p, err := opgen.NewBatches(s, 0, inference(0.4)).For(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.LoadVariables(path); err != nil {
		t.Fatal(err)
	}
	if got := weights(t, p); !slices.Equal(got, middle) {
		t.Errorf("inference has the weights %v, want %v", got, middle)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("saving left %v, %v", files, err)
	}
}

// affine returns a graph of one linear operator for the given element type.
func affine(typ dtype.Type, channels int) (g *graph.Graph, x, y graph.Tensor) {
	g = graph.New(1)
	x = g.Input("x", typ, 2, 3)
	return g, x, linear.Apply(g, linear.Defaults(channels), x, graph.Named("affine"))
}

// TestVariableTypes saves and loads variables of every type that operators have weights of.
func TestVariableTypes(t *testing.T) {
	t.Parallel()
	for _, typ := range []dtype.Type{dtype.F16, dtype.BF16, dtype.F32, dtype.F64} {
		path := filepath.Join(t.TempDir(), "variables")
		s := open(t)
		g, _, y := affine(typ, 4)
		if _, err := s.Inference(t.Context(), g, y); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveVariables(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Decode(before)
		if err != nil {
			t.Fatal(err)
		}
		if w := f.Tensors["affine.weight"]; w.Type != typ || !slices.Equal(w.Shape, []int{4, 3}) || len(f.Tensors) != 2 {
			t.Errorf("%v: the file holds %v", typ, f.Tensors)
		}
		if err := errors.Join(s.LoadVariables(path), s.SaveVariables(path)); err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(path); err != nil || !slices.Equal(after, before) {
			t.Errorf("%v: the variables change when they are loaded and saved: %v", typ, err)
		}
	}
}

// TestVariableErrors loads files that do not fit: the error lists all that is wrong, and no variable changes.
func TestVariableErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "variables")
	s := open(t)
	wantError(t, s.LoadVariables(path), path, "no such file")
	g, _, y := affine(dtype.F32, 4)
	p, err := s.Inference(t.Context(), g, y)
	if err != nil {
		t.Fatal(err)
	}
	weight := y.Node().Tensor(int(linear.SlotWeight))
	before := fetch(t, p, weight)
	write := func(f safetensors.File) {
		t.Helper()
		data, err := f.Encode()
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	of := func(dims ...int) safetensors.Tensor {
		n := 1
		for _, d := range dims {
			n *= d
		}
		out, err := safetensors.Of(dims, make([]float32, n))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	write(safetensors.File{Tensors: map[string]safetensors.Tensor{"affine.weight": of(3, 4)}})
	wantError(t, s.LoadVariables(path), "variable affine.weight: want f32[4, 3], got f32[3 4]", "variable affine.bias: want f32[4], got none")
	double, err := safetensors.Of([]int{4}, make([]float64, 4))
	if err != nil {
		t.Fatal(err)
	}
	write(safetensors.File{Tensors: map[string]safetensors.Tensor{"affine.weight": of(4, 3), "affine.bias": double}})
	wantError(t, s.LoadVariables(path), "variable affine.bias: want f32[4], got f64[4]")
	write(safetensors.File{Metadata: map[string]string{"steps of inference 1": "-1"}, Tensors: map[string]safetensors.Tensor{"affine.weight": of(4, 3), "affine.bias": of(4)}})
	wantError(t, s.LoadVariables(path), "steps of inference 1", "invalid syntax")
	if got := fetch(t, p, weight); !slices.Equal(got, before) {
		t.Errorf("files that do not fit change the weights to %v, from %v", got, before)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.LoadVariables(path), path, "want at least 8 bytes, got 2")
	wantError(t, open(t).LoadVariables(path), "want at least 8 bytes, got 2")
	write(safetensors.File{})
	wantError(t, open(t).LoadVariables(path), "load a program first")
	wantError(t, s.SaveVariables(filepath.Join(dir, "no", "variables")), "no such file")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.SaveVariables(filepath.Join(dir, "folder")), "folder")
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("a save that failed left %v, %v", files, err)
	}
}

// TestValues gives a program values that do not fit, and fetches what it does not have.
func TestValues(t *testing.T) {
	t.Parallel()
	s := open(t)
	g, x, y := affine(dtype.F32, 1)
	p, err := s.Inference(t.Context(), g, y)
	if err != nil {
		t.Fatal(err)
	}
	_, other, otherY := affine(dtype.F32, 1)
	six := make([]float32, 6)
	wantError(t, p.Run(t.Context()), "input x, which has not been fed")
	wantError(t, p.Run(t.Context(), opgen.With(other, six)), "program inference", "an input or a variable of its graph, got x f32[2, 3]")
	wantError(t, p.Run(t.Context(), opgen.With(y, six)), "an input or a variable of its graph, got affine.output")
	wantError(t, p.Run(t.Context(), opgen.With(x, six[1:])), "want 6 elements, got 5")
	wantError(t, p.Run(t.Context(), opgen.With(x, make([]int32, 6))), "f32, not i32")
	weight := y.Node().Tensor(int(linear.SlotWeight))
	values := []opgen.Value{opgen.With(x, []float32{1, 2, 3, 4, 5, 6}), opgen.With(weight, []float32{1, 10, 100})}
	if err := p.Run(t.Context(), values...); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, p, y); !slices.Equal(got, []float32{321, 654}) {
		t.Errorf("got %v", got)
	}
	_, err = opgen.Fetch[float32](p, x)
	wantError(t, err, "a fetched tensor or a variable of its graph, got x f32[2, 3]")
	_, err = opgen.Fetch[float32](p, otherY)
	wantError(t, err, "of its graph")
	_, err = opgen.Fetch[float64](p, y)
	wantError(t, err, "f32, not f64")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, p.Run(t.Context(), values...), "closed")
	_, err = opgen.Fetch[float32](p, y)
	wantError(t, err, "closed")
}

// TestOpenErrors checks that what a session needs and does not have is an error.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	if _, err := opgen.Open(func(*task.Registry) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of register", err)
	}
	g, _, y := affine(dtype.F32, 4)
	s, err := opgen.Open(func(*task.Registry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Inference(t.Context(), g, y)
	wantError(t, err, "want a registered task")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, err = s.Inference(t.Context(), g, y)
	wantError(t, err, "closed")
	_, err = open(t, opgen.MemoryLimit(32)).Inference(t.Context(), g, y)
	wantError(t, err, "32")
	_, err = open(t).Training(t.Context(), g, y, nil)
	wantError(t, err, "want a floating-point scalar as loss")
	bad := graph.New(1)
	linear.Apply(bad, linear.Defaults(0), bad.Input("x", dtype.F32, 2, 3))
	_, err = open(t).Inference(t.Context(), bad, y)
	wantError(t, err, "out_channels")
}

// TestFuse runs an affine map and a function of its output with and without fusion: one task does both, and
// the results are nearly equal.
func TestFuse(t *testing.T) {
	t.Parallel()
	run := func(opts ...opgen.Option) ([]float32, int) {
		g, x, y := affine(dtype.F32, 4)
		z := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), y)
		s := open(t, append(opts, opgen.Profile())...)
		p, err := s.Inference(t.Context(), g, z)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), opgen.With(x, []float32{1, 2, 3, 4, 5, 6})); err != nil {
			t.Fatal(err)
		}
		if n := len(p.Plan().Calls); n != len(p.Timings()) {
			t.Errorf("%d calls, but the times of %d tasks", n, len(p.Timings()))
		}
		return fetch(t, p, z), len(p.Plan().Calls)
	}
	plain, two := run()
	fused, one := run(opgen.Fuse())
	if two != 2 || one != 1 {
		t.Errorf("%d calls, and %d with fusion; want 2 and 1", two, one)
	}
	for i, x := range fused {
		if !(math.Abs(float64(x-plain[i])) <= 1e-5) {
			t.Errorf("element %d is %v with fusion, %v without", i, x, plain[i])
		}
	}
}

// TestChecked trains in checked mode. Weights have the bits of those of a session without it. A label out of
// bounds is an error that says where it stands.
func TestChecked(t *testing.T) {
	t.Parallel()
	var trained [2][]float32
	for i, opts := range [][]opgen.Option{nil, {opgen.Checked()}} {
		b := opgen.NewBatches(open(t, opts...), 0, training(0.4))
		for k := range 2 {
			p := step(t, b, 5, 5*k, 5*k+5, true)
			trained[i] = weights(t, p)
		}
	}
	if !slices.Equal(trained[0], trained[1]) {
		t.Errorf("checked, the weights are %v, want %v", trained[1], trained[0])
	}
	p, err := opgen.NewBatches(open(t, opgen.Checked()), 0, training(0)).For(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	x, label := samples(0, 5)
	label[3] = classes
	err = p.Run(t.Context(), opgen.With(p.Net.x, x), opgen.With(p.Net.label, label))
	var e *checked.Error
	if !errors.As(err, &e) || e.Rule != checked.Below || e.Slot != "label" || !slices.Equal(e.Index, []int{3, 0}) {
		t.Errorf("got %v, want that label [3, 0] is out of bounds", err)
	}
}

// TestSharedState lets two nodes update one weight, in the order of the nodes: an average to which each run
// adds two inputs.
func TestSharedState(t *testing.T) {
	t.Parallel()
	for _, options := range [][]opgen.Option{nil, {opgen.Plain(), opgen.Workers(3)}, {opgen.Tiled(), opgen.Workers(2)}, {opgen.Checked()}} {
		s := open(t, options...)
		g := graph.New(1)
		x, y := g.Input("x", dtype.F32, 2), g.Input("y", dtype.F32, 2)
		half := movingaverage.Defaults().WithDecay(0.5).WithWarmup(false)
		first := movingaverage.Apply(g, half, x)
		average := first.Node().Tensor(int(movingaverage.SlotAverage))
		second := movingaverage.Apply(g, half, y, graph.Weight(movingaverage.SlotAverage, average))
		p, err := s.Inference(t.Context(), g, first, second)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first run takes the inputs as averages
			if err := p.Run(t.Context(), opgen.With(x, []float32{8, 16}), opgen.With(y, []float32{4, 40})); err != nil {
				t.Fatal(err)
			}
		}
		for of, want := range map[graph.Tensor][]float32{first: {6, 28}, second: {5, 34}, average: {5, 34}} {
			if got := fetch(t, p, of); !slices.Equal(got, want) {
				t.Errorf("%v is %v, want %v", of, got, want)
			}
		}
	}
}

// TestSharedWeight trains a weight of two nodes, each with its own rows, and a weight of one node with all
// rows: the gradient of the shared weight is the sum of those of both nodes, so the weights are equal.
func TestSharedWeight(t *testing.T) {
	t.Parallel()
	rows, labels := []float32{1, 2, -1, 0.5, 3, 1, -2, 1}, []float32{1, -1, 2, 0.5}
	train := func(shared bool) []float32 {
		s := open(t)
		g := graph.New(1)
		sum := meansquarederror.Defaults()
		sum.LossType = meansquarederror.LossTypeMeanSquaredErrorSumReduce
		loss := func(y graph.Tensor, label graph.Tensor) graph.Tensor {
			return meansquarederror.Apply(g, sum, meansquarederror.Logit(y), meansquarederror.Label(label))
		}
		var of, weight graph.Tensor
		var feeds []opgen.Value
		if shared {
			x0, x1 := g.Input("x0", dtype.F32, 2, 2), g.Input("x1", dtype.F32, 2, 2)
			l0, l1 := g.Input("l0", dtype.F32, 2, 1), g.Input("l1", dtype.F32, 2, 1)
			y0 := linear.Apply(g, noBias(1), x0, graph.Named("fc"))
			weight = y0.Node().Tensor(int(linear.SlotWeight))
			y1 := linear.Apply(g, noBias(1), x1, graph.Named("twin"), graph.Weight(linear.SlotWeight, weight))
			of = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(loss(y0, l0)), elementbinary.RhsInput(loss(y1, l1)))
			feeds = []opgen.Value{opgen.With(x0, rows[:4]), opgen.With(x1, rows[4:]), opgen.With(l0, labels[:2]), opgen.With(l1, labels[2:])}
		} else {
			x, l := g.Input("x", dtype.F32, 4, 2), g.Input("l", dtype.F32, 4, 1)
			y := linear.Apply(g, noBias(1), x, graph.Named("fc"))
			weight = y.Node().Tensor(int(linear.SlotWeight))
			of = loss(y, l)
			feeds = []opgen.Value{opgen.With(x, rows), opgen.With(l, labels)}
		}
		p, err := s.Training(t.Context(), g, of, sgd.Optimizer(sgd.Defaults(0.01)), weight)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := p.Run(t.Context(), feeds...); err != nil {
				t.Fatal(err)
			}
		}
		return fetch(t, p, weight)
	}
	one, two := train(false), train(true)
	for i := range one {
		if !(math.Abs(float64(one[i]-two[i])) <= 1e-5) {
			t.Errorf("a shared weight becomes %v, want %v", two, one)
		}
	}
}

// noBias returns the attributes of a linear layer without a bias.
func noBias(channels int) linear.Attrs {
	a := linear.Defaults(channels)
	a.UseBias = false
	return a
}
