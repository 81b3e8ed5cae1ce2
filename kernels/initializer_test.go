package kernels_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/constant"
	"github.com/opgen/opgen/generated/fan"
	"github.com/opgen/opgen/generated/glorotnormal"
	"github.com/opgen/opgen/generated/glorotuniform"
	"github.com/opgen/opgen/generated/kaimingnormal"
	"github.com/opgen/opgen/generated/kaiminguniform"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/normal"
	"github.com/opgen/opgen/generated/truncatednormal"
	"github.com/opgen/opgen/generated/uniform"
	"github.com/opgen/opgen/generated/zero"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// TestInitializers checks the range and the distribution of the values of each initializer.
func TestInitializers(t *testing.T) {
	dims := []int{50, 20, 3, 4} // the fan in is 20*3*4 = 240, the fan out is 50*3*4 = 600
	uniformly := func(bound float64) distribution { return evenly(-bound, bound) }
	tests := []struct {
		op    *graph.Operator
		attrs string
		want  distribution
	}{
		{zero.Operator, `{}`, always(0)},
		{constant.Operator, `{"value": 0.25}`, always(0.25)},
		{uniform.Operator, `{"seed": 3, "min": -0.5, "max": 2}`, evenly(-0.5, 2)},
		{normal.Operator, `{"seed": 3}`, normally(0, 1)},
		{normal.Operator, `{"seed": 3, "mean": -4, "stddev": 0.5}`, normally(-4, 0.5)},
		{truncatednormal.Operator, `{"seed": 3}`, normally(0, 1).between(-2, 2)},
		{truncatednormal.Operator, `{"seed": 3, "mean": 1, "stddev": 2, "min_cutoff": 5, "max_cutoff": 9}`, normally(1, 2).between(5, 9)},
		{truncatednormal.Operator, `{"seed": 3, "stddev": 0.1, "min_cutoff": -1, "max_cutoff": -0.3}`, normally(0, 0.1).between(-1, -0.3)},
		{glorotuniform.Operator, `{"seed": 3}`, uniformly(math.Sqrt(6.0 / 840))},
		{glorotnormal.Operator, `{"seed": 3}`, normally(0, math.Sqrt(2.0/840))},
		{kaiminguniform.Operator, `{"seed": 3}`, uniformly(1 / math.Sqrt(240))},
		{kaiminguniform.Operator, `{"seed": 3, "a": 0}`, uniformly(math.Sqrt(6.0 / 240))},
		{kaiminguniform.Operator, `{"seed": 3, "nonlinearity": "LINEAR", "mode": "FAN_OUT"}`, uniformly(math.Sqrt(3.0 / 600))},
		{kaimingnormal.Operator, `{"seed": 3, "a": 1}`, normally(0, math.Sqrt(1.0/240))},
		{kaimingnormal.Operator, `{"seed": 3, "nonlinearity": "RELU", "mode": "FAN_OUT"}`, normally(0, math.Sqrt(2.0/600))},
		{kaimingnormal.Operator, `{"seed": 3, "nonlinearity": "TANH"}`, normally(0, 5.0/3/math.Sqrt(240))},
		{kaimingnormal.Operator, `{"seed": 3, "nonlinearity": "SELU"}`, normally(0, 0.75/math.Sqrt(240))},
		{kaimingnormal.Operator, `{"seed": 3, "nonlinearity": "SIGMOID"}`, normally(0, 1/math.Sqrt(240))},
	}
	tested := map[*graph.Operator]bool{}
	for _, tt := range tests {
		tested[tt.op] = true
		attrs, err := tt.op.DecodeAttrs([]byte(tt.attrs))
		if err != nil {
			t.Fatal(err)
		}
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			t.Run(fmt.Sprintf("%s/%s/%v", tt.op.Name, tt.attrs, typ), func(t *testing.T) {
				tt.want.check(t, initialized(t, tt.op, attrs, typ, 1, dims...))
			})
		}
	}
	for _, op := range catalogue.Operators() {
		if initializer(op) >= 0 && !tested[op] {
			t.Errorf("initializer %s: want a case that tests its values, got none", op.Name)
		}
	}
}

// TestFans checks the fans of weights that have at most two dimensions.
func TestFans(t *testing.T) {
	at := kaiminguniform.Defaults()
	at.A = 0
	for _, tt := range []struct {
		dims []int
		fan  float64
	}{{nil, 1}, {d(9), 9}, {d(2, 9), 9}, {d(2, 0), 1}, {d(2000, 1), 1}} {
		for _, mode := range []fan.Fan{fan.FanIn, fan.FanOut} {
			at.Mode = mode
			bound := math.Sqrt(6 / tt.fan)
			if len(tt.dims) == 2 && mode == fan.FanOut {
				bound = math.Sqrt(6 / float64(tt.dims[0]))
			}
			v := initialized(t, kaiminguniform.Operator, at, dtype.F64, 1, tt.dims...)
			if len(v) > 1000 {
				evenly(-bound, bound).check(t, v)
			} else {
				evenly(-bound, bound).within(t, v)
			}
		}
	}
}

// TestTruncatedAway gives cutoffs that leave nothing of a normal distribution.
func TestTruncatedAway(t *testing.T) {
	at := truncatednormal.Defaults()
	at.MinCutoff, at.MaxCutoff = 8, 9
	p, _ := initialization(t, truncatednormal.Operator, at, dtype.F32, 3)
	_, err := run(p, nil, optest.Execution{})
	want := "slot tensor: want cutoffs that leave a part of the distribution, got 8 to 9, where mean 0 and standard deviation 1 leave 6.22e-16"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// distribution describes values: they lie in [lo, hi], and cdf gives the share of them that lies below x. If
// cdf is nil, only the range counts.
type distribution struct {
	lo, hi float64
	cdf    func(float64) float64
}

func always(x float64) distribution {
	return distribution{x, x, nil}
}

func evenly(lo, hi float64) distribution {
	return distribution{lo, hi, func(x float64) float64 { return (x - lo) / (hi - lo) }}
}

func normally(mean, stddev float64) distribution {
	return distribution{-inf, inf, func(x float64) float64 { return math.Erfc((mean-x)/stddev/math.Sqrt2) / 2 }}
}

// between returns the distribution truncated to [lo, hi].
func (d distribution) between(lo, hi float64) distribution {
	below, above := d.cdf(lo), d.cdf(hi)
	return distribution{lo, hi, func(x float64) float64 { return (d.cdf(x) - below) / (above - below) }}
}

// within checks that values lie in the range of the distribution, with bounds rounded to f32.
func (d distribution) within(t *testing.T, v []float64) {
	t.Helper()
	for i, x := range v {
		if !(float64(float32(d.lo)) <= x && x <= float64(float32(d.hi))) {
			t.Fatalf("element %d: got %v, want a value in [%v, %v]", i, x, d.lo, d.hi)
		}
	}
}

// check compares values with the distribution by the Kolmogorov-Smirnov test. A correct implementation fails
// with one seed in a thousand.
func (d distribution) check(t *testing.T, v []float64) {
	t.Helper()
	d.within(t, v)
	if d.cdf == nil {
		return
	}
	v = slices.Sorted(slices.Values(v))
	n := float64(len(v))
	for i, x := range v {
		if far := math.Abs(d.cdf(x) - (float64(i)+0.5)/n); !(far <= 1.95/math.Sqrt(n)) {
			t.Fatalf("%d of %v values are below %v, want about %.0f", i, n, x, n*d.cdf(x))
		}
	}
}

// initializer returns the index of the slot that an initializer fills, or -1 if the operator is none.
func initializer(op *graph.Operator) int {
	return slices.IndexFunc(op.Slots, func(s task.Slot) bool { return s.Provided })
}

// initialization returns a program in which an initializer fills a tensor.
func initialization(t *testing.T, o *graph.Operator, attrs task.Attrs, typ dtype.Type, dims ...int) (*graph.Program, graph.Tensor) {
	t.Helper()
	g := graph.New(1)
	tensor := graph.Insert[int](g, 0, o, attrs).Bind(initializer(o), g.Input("tensor", typ, dims...)).Node().Tensor(initializer(o))
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	p, err := graph.Whole(g, tensor)
	if err != nil {
		t.Fatal(err)
	}
	return p, tensor
}

// initialized returns the values that an initializer gives a tensor.
func initialized(t *testing.T, o *graph.Operator, attrs task.Attrs, typ dtype.Type, workers int, dims ...int) []float64 {
	t.Helper()
	p, tensor := initialization(t, o, attrs, typ, dims...)
	return mustRun(t, p, values{"tensor": make([]float64, shape.Prod(dims))}, optest.Execution{Workers: workers, Garbage: optest.NaNs})[tensor.Name()]
}

// TestSeeds checks every initializer that has a seed. The same seed gives the same values on any number of
// workers. Another seed gives other values.
func TestSeeds(t *testing.T) {
	tested := 0
	for _, op := range catalogue.Operators() {
		if initializer(op) < 0 || !slices.Contains(op.AttrNames, "seed") {
			continue
		}
		tested++
		draw := func(seed, workers int) []float64 {
			object := map[string]json.RawMessage{}
			if err := json.Unmarshal([]byte(op.Examples[0].Attrs), &object); err != nil {
				t.Fatal(err)
			}
			object["seed"] = json.RawMessage(fmt.Sprint(seed))
			data, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			attrs, err := op.DecodeAttrs(data)
			if err != nil {
				t.Fatal(err)
			}
			return initialized(t, op, attrs, dtype.F32, workers, 100, 101) // large enough for several ranges
		}
		first := draw(5, 1)
		for _, workers := range []int{1, 2, 3, 5} {
			if !slices.Equal(draw(5, workers), first) {
				t.Errorf("%s: want the same values on %d workers as on one, got others", op.Name, workers)
			}
		}
		same := 0
		for i, x := range draw(6, 1) {
			if x == first[i] {
				same++
			}
		}
		if same > len(first)/100 {
			t.Errorf("%s: %d of %d values are the same with another seed, want at most %d", op.Name, same, len(first), len(first)/100)
		}
	}
	if tested == 0 {
		t.Error("want an initializer with a seed, got none")
	}
}

// TestWeightSeeds checks the initial values of weights. They depend on the seed of the graph and on the name
// of the weight, and on nothing else.
func TestWeightSeeds(t *testing.T) {
	weights := func(seed uint64, names ...string) values {
		g := graph.New(seed)
		x := g.Input("x", dtype.F32, 2, 30)
		at := linear.Defaults(30)
		var tensors []graph.Tensor
		for _, name := range names {
			x = linear.Apply(g, at, x, graph.Named(name))
			tensors = append(tensors, x.Node().Tensor(int(linear.SlotWeight)))
		}
		p, err := graph.Whole(g, tensors...)
		if err != nil {
			t.Fatal(err)
		}
		v := mustRun(t, p, values{"x": make([]float64, 60)}, optest.Execution{Workers: 2})
		out := values{}
		for i, name := range names {
			out[name] = v[tensors[i].Name()]
		}
		return out
	}
	alike := func(a, b []float64) bool { // more than a hundredth of the elements are equal
		n := 0
		for i := range a {
			if a[i] == b[i] {
				n++
			}
		}
		return n > len(a)/100
	}
	w := weights(1, "a", "b")
	if alike(w["a"], w["b"]) {
		t.Error("want different initial values of two weights of a graph, got the same")
	}
	if again := weights(1, "a", "b"); !slices.Equal(again["a"], w["a"]) || !slices.Equal(again["b"], w["b"]) {
		t.Error("want the same initial values of the same graph, got others")
	}
	if other := weights(1, "c", "b", "d"); !slices.Equal(other["b"], w["b"]) {
		t.Error("want the same initial values of a weight among others, got others")
	}
	if alike(weights(2, "a")["a"], w["a"]) {
		t.Error("want different initial values of a weight with another seed, got the same")
	}
}
