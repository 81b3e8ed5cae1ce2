package enginetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// affine returns a program with the variables fc.weight and fc.bias, for batches of a size.
func affine(t *testing.T, batch, in, out int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	at := linear.Defaults(out)
	return inference(t, g, linear.Apply(g, at, g.Input("x", dtype.F32, batch, in), graph.Named("fc")))
}

func (s *suite) testFeedAndFetchErrors(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 1, engine.Config{})
	in := s.load(t, e, chain(t, 3, 4))
	wantError(t, "unknown name", engine.Feed(in, "y", make([]float32, 4)), "engine: plan inference has no tensor y")
	wantError(t, "wrong type", engine.Feed(in, "x", make([]float64, 4)), "engine: tensor x holds f32, not f64")
	wantError(t, "too short", engine.Feed(in, "x", make([]float32, 3)), "engine: tensor x: want 4 elements, got 3")
	wantError(t, "too long", engine.Feed(in, "x", make([]float32, 5)), "engine: tensor x: want 4 elements, got 5")
	for _, name := range []string{"p0.output", "p2.output"} {
		wantError(t, "computed", engine.Feed(in, name, make([]float32, 4)), "engine: plan inference: want an input or a variable to feed, got "+name+", which the plan computes")
	}
	for name, want := range map[string]string{
		"y":         "engine: plan inference has no tensor y",
		"p0.output": "engine: plan inference: want a fetched tensor or a variable, got p0.output, whose memory is reused",
		"x":         "engine: plan inference: want a fetched tensor or a variable, got x, whose memory is reused",
	} {
		_, err := engine.Fetch[float32](in, name)
		wantError(t, "fetching "+name, err, want)
	}
	_, err := engine.Fetch[int32](in, "p2.output")
	wantError(t, "fetching another type", err, "engine: tensor p2.output holds f32, not i32")
	_, _, err = engine.Variable[float32](e, "w")
	wantError(t, "unknown variable", err, "engine: no variable w")
	// What is fed and fetched is copied.
	data := []float32{1, 2, 3, 4}
	feed(t, in, "x", data...)
	data[0] = 9
	run(t, in)
	got := fetch[float32](t, in, "p2.output")
	got[0] = 9
	if got := fetch[float32](t, in, "p2.output"); !slices.Equal(got, []float32{4, 5, 6, 7}) {
		t.Errorf("the plan computes %v", got)
	}
}

// testInputsMustBeFed runs a plan whose inputs were not fed, never or not again.
func (s *suite) testInputsMustBeFed(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 1, engine.Config{})
	in := s.load(t, e, chain(t, 3, 4))
	const want = "engine: plan inference reads input x, which has not been fed since the last run"
	wantError(t, "never", in.Run(t.Context()), want)
	feed(t, in, "x", 1, 2, 3, float32(4))
	run(t, in)
	wantError(t, "not again", in.Run(t.Context()), want)
	if got := fetch[float32](t, in, "p2.output"); got[0] != 4 {
		t.Errorf("the refused run changed the result to %v", got)
	}
	feed(t, in, "x", 5, 6, 7, float32(8))
	run(t, in)
	if got := fetch[float32](t, in, "p2.output"); got[0] != 8 {
		t.Errorf("the plan computes %v", got)
	}
	// An input without elements needs none.
	run(t, s.load(t, e, chain(t, 1, 0)))
}

// testFeedBeforeFetch feeds the next run before the results of the last are fetched, in a plan whose
// input and output do not live at the same time.
func (s *suite) testFeedBeforeFetch(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 1, engine.Config{})
	in := s.load(t, e, chain(t, 4, 1000))
	feed(t, in, "x", make([]float32, 1000)...)
	run(t, in)
	feed(t, in, "x", slices.Repeat([]float32{7}, 1000)...)
	if got := fetch[float32](t, in, "p3.output"); got[0] != 4 || got[999] != 4 {
		t.Errorf("feeding changed the result to %v", got[0])
	}
	run(t, in)
	if got := fetch[float32](t, in, "p3.output"); got[0] != 11 || got[999] != 11 {
		t.Errorf("the next run computes %v", got[0])
	}
}

func (s *suite) testUnsetVariables(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 1, engine.Config{})
	p := affine(t, 1, 2, 1)
	in := s.load(t, e, p)
	feed(t, in, "x", 10, float32(100))
	const want = "engine: plan inference reads variable %s, which nothing has written yet"
	wantError(t, "no variable is set", in.Run(t.Context()), fmt.Sprintf(want, "fc.weight"))
	feed(t, in, "fc.weight", 1, float32(2))
	wantError(t, "one variable is set", in.Run(t.Context()), fmt.Sprintf(want, "fc.bias"))
	feed(t, in, "fc.bias", float32(3))
	run(t, in)
	if got := fetch[float32](t, in, last(p)); got[0] != 213 {
		t.Errorf("the plan computes %v", got)
	}
	// An initialization sets them as well, and Load of another plan does not.
	e = s.engine(t, s.registry(t, increment), 1, engine.Config{})
	init, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	start := s.load(t, e, init)
	in = s.load(t, e, p)
	feed(t, in, "x", 10, float32(100))
	wantError(t, "loaded, but not run", in.Run(t.Context()), fmt.Sprintf(want, "fc.weight"))
	run(t, start)
	run(t, in)
}

// testEmptyVariables runs a plan with a variable that has no elements, so nothing can write it.
func (s *suite) testEmptyVariables(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 1, engine.Config{})
	in := s.load(t, e, affine(t, 1, 0, 1))
	feed(t, in, "fc.bias", float32(2))
	feed[float32](t, in, "x")
	run(t, in)
}

// testVariableWrittenFirst runs a plan that reads a variable only after it has written it.
func (s *suite) testVariableWrittenFirst(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 1, engine.Config{})
	v := region.Access{Region: region.Whole(0, []int{2}), Perm: perm.Write}
	sum := region.Access{Region: region.Whole(1, []int{2}), Perm: perm.Write}
	read, change := v, sum
	read.Perm, change.Perm = perm.Read, perm.ReadWrite
	fill := func(value float64, to region.Access) plan.Task {
		return plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "fill", Value: value}, Over: 2, Grain: 2, Access: []region.Access{to}}
	}
	in, err := e.Load(s.schedule(t, &plan.Plan{Format: plan.Format, Name: "by hand", Target: s.target.Name, ArenaBytes: 64, Roots: []plan.Root{
		{Name: "v", Type: dtype.F32, Shape: []int{2}, Use: plan.Variable, Place: region.Place{Space: region.Variable, Bytes: 8}, Last: 2},
		{Name: "sum", Type: dtype.F32, Shape: []int{2}, Use: plan.Fetched, Place: region.Place{Bytes: 8}, First: 1, Last: 3},
	}, Tasks: []plan.Task{fill(3, v), fill(4, sum), {Call: -1, Builtin: &plan.Builtin{Op: "add"}, Over: 2, Grain: 2, Access: []region.Access{change, read}}}}))
	if err != nil {
		t.Fatal(err)
	}
	run(t, in)
	if got := fetch[float32](t, in, "sum"); !slices.Equal(got, []float32{7, 7}) {
		t.Errorf("the plan computes %v", got)
	}
}

// testSharedVariables lets two plans for different batches work on the same weights.
func (s *suite) testSharedVariables(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 2, engine.Config{})
	small, large := affine(t, 1, 2, 1), affine(t, 3, 2, 1)
	one := s.load(t, e, small)
	used := e.Memory().Used
	three := s.load(t, e, large)
	if got, want := e.Memory().Used-used, s.build(t, large).ArenaBytes; got != want {
		t.Errorf("the second plan takes %d bytes, want its arena of %d", got, want)
	}
	feed(t, one, "fc.weight", 1, float32(2))
	feed(t, three, "fc.bias", float32(3))
	feed(t, one, "x", 10, float32(100))
	feed(t, three, "x", 1, 1, 2, 2, 3, float32(3))
	run(t, one)
	run(t, three)
	if got := fetch[float32](t, one, last(small)); !slices.Equal(got, []float32{213}) {
		t.Errorf("one computes %v", got)
	}
	if got := fetch[float32](t, three, last(large)); !slices.Equal(got, []float32{6, 9, 12}) {
		t.Errorf("three computes %v", got)
	}
	one.Close()
	if got := fetch[float32](t, three, "fc.weight"); !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("fc.weight = %v", got)
	}
	w, shape, err := engine.Variable[float32](e, "fc.weight")
	if err != nil || !slices.Equal(w, []float32{1, 2}) || !slices.Equal(shape, []int{1, 2}) {
		t.Errorf("fc.weight = %v of shape %v, %v", w, shape, err)
	}
	_, _, err = engine.Variable[float64](e, "fc.weight")
	wantError(t, "another type", err, "engine: variable fc.weight holds f32, not f64")
	// A plan that wants another shape is refused, and leaves no trace.
	used = e.Memory().Used
	_, err = e.Load(s.build(t, affine(t, 1, 5, 1)))
	wantError(t, "another shape", err, "engine: variable fc.weight: plan inference wants f32[1, 5], the engine holds f32[1, 2]")
	if got := e.Memory().Used; got != used {
		t.Errorf("%d bytes are in use, want %d", got, used)
	}
}

// testTrainingChangesVariables trains with one plan and reads the weights with another.
func (s *suite) testTrainingChangesVariables(t *testing.T) {
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, 1, 1), g.Input("label", dtype.I32, 1, 1)
	at := linear.Defaults(2)
	logit := linear.Apply(g, at, x, graph.Named("fc"))
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(logit), scce.Label(label))
	sgdAttrs := sgd.Defaults(1)
	sgdAttrs.Momentum = 0.5
	step, err := graph.Training(g, loss, sgd.Optimizer(sgdAttrs))
	if err != nil {
		t.Fatal(err)
	}
	init, err := graph.Initialization(step)
	if err != nil {
		t.Fatal(err)
	}
	e := s.engine(t, s.registry(t, increment), 2, engine.Config{})
	start := s.load(t, e, init)
	run(t, start)
	start.Close()
	train, test := s.load(t, e, step), s.load(t, e, affine(t, 1, 1, 2))
	feed(t, train, "fc.weight", 0, float32(0))
	feed(t, train, "x", float32(4))
	feed(t, train, "label", int32(1))
	run(t, train)
	// Both classes have probability 1/2: the gradient of the logits is (1/2, -1/2).
	if got := fetch[float32](t, test, "fc.weight"); !slices.Equal(got, []float32{-2, 2}) {
		t.Errorf("fc.weight = %v", got)
	}
	if got := fetch[float32](t, test, "fc.bias"); !slices.Equal(got, []float32{-0.5, 0.5}) {
		t.Errorf("fc.bias = %v", got)
	}
	if got := fetch[float32](t, train, "fc.weight.sgd.sgd_v"); !slices.Equal(got, []float32{2, -2}) {
		t.Errorf("velocity %v", got)
	}
	feed(t, test, "x", float32(1))
	run(t, test)
	if got := fetch[float32](t, test, "fc.output"); !slices.Equal(got, []float32{-2.5, 2.5}) {
		t.Errorf("the other plan computes %v", got)
	}
}

// testConcurrentInstances runs, feeds and reads two instances of one engine from several goroutines.
func (s *suite) testConcurrentInstances(t *testing.T) {
	e := s.engine(t, s.registry(t, increment), 3, engine.Config{})
	p := chain(t, 5, 64)
	instances := make([]*engine.Instance, 4)
	for k := range instances {
		instances[k] = s.load(t, e, p)
	}
	var wg sync.WaitGroup
	for k, in := range instances {
		wg.Go(func() {
			data := make([]float32, 64)
			for i := range 50 {
				for j := range data {
					data[j] = float32(1000*k + i + j)
				}
				if err := engine.Feed(in, "x", data); err != nil {
					t.Error(err)
					return
				}
				if err := in.Run(t.Context()); err != nil {
					t.Error(err)
					return
				}
				got, err := engine.Fetch[float32](in, "p4.output")
				if err != nil || got[0] != data[0]+5 || got[63] != data[63]+5 {
					t.Errorf("goroutine %d, run %d: %v, %v", k, i, got, err)
					return
				}
				e.Memory()
				in.Timings()
			}
			in.Close()
		})
	}
	wg.Wait()
	if m := e.Memory(); m.Used != 0 || m.Peak != 4*s.build(t, p).ArenaBytes {
		t.Errorf("memory %+v", m)
	}
}
