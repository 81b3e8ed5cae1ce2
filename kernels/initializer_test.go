package kernels_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/constant"
	"github.com/opgen/opgen/generated/glorotuniform"
	"github.com/opgen/opgen/generated/kaiminguniform"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/uniform"
	"github.com/opgen/opgen/generated/zero"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/local"
	"github.com/opgen/opgen/runtime/task"
)

// TestInitializers checks the range in which the values of each initialiser lie, their mean, and that
// they come near the ends.
func TestInitializers(t *testing.T) {
	shape := []int{50, 20, 3, 4} // 50 outputs of 20*3*4 = 240 inputs; 50*3*4 = 600 outputs of an input
	tests := []struct {
		op     *graph.Operator
		attrs  task.Attrs
		lo, hi float64
	}{
		{zero.Operator, zero.Attrs{}, 0, 0},
		{constant.Operator, constant.Attrs{Value: 0.25}, 0.25, 0.25},
		{uniform.Operator, uniform.Attrs{Seed: 3, Min: -0.5, Max: 2}, -0.5, 2},
		{glorotuniform.Operator, glorotuniform.Attrs{Seed: 3}, -math.Sqrt(6.0 / 840), math.Sqrt(6.0 / 840)},
		{kaiminguniform.Operator, kaiminguniform.Attrs{Seed: 3, A: math.Sqrt(5)}, -1 / math.Sqrt(240), 1 / math.Sqrt(240)},
		{kaiminguniform.Operator, kaiminguniform.Attrs{Seed: 3}, -math.Sqrt(6.0 / 240), math.Sqrt(6.0 / 240)},
	}
	tested := map[*graph.Operator]bool{}
	for _, tt := range tests {
		tested[tt.op] = true
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			t.Run(fmt.Sprintf("%s/%v", tt.op.Name, typ), func(t *testing.T) {
				v := initialized(t, tt.op, tt.attrs, typ, 1, shape...)
				var sum float64
				for i, x := range v {
					if !(float64(float32(tt.lo)) <= x && x <= float64(float32(tt.hi))) {
						t.Fatalf("element %d = %v is outside [%v, %v]", i, x, tt.lo, tt.hi)
					}
					sum += x
				}
				width := tt.hi - tt.lo
				if mean := sum / float64(len(v)); math.Abs(mean-(tt.lo+tt.hi)/2) > 0.02*width {
					t.Errorf("mean %v of values in [%v, %v]", mean, tt.lo, tt.hi)
				}
				if slices.Min(v) > tt.lo+0.01*width || slices.Max(v) < tt.hi-0.01*width {
					t.Errorf("values from %v to %v, want from %v to %v", slices.Min(v), slices.Max(v), tt.lo, tt.hi)
				}
			})
		}
	}
	for _, op := range catalogue.Operators() {
		if initializer(op) >= 0 && !tested[op] {
			t.Errorf("the range of %s is not tested", op.Name)
		}
	}
}

// initializer returns the slot that an initialiser fills, or -1.
func initializer(op *graph.Operator) int {
	return slices.IndexFunc(op.Slots, func(s task.Slot) bool { return s.Provided })
}

// initialized returns the values that an initialiser gives a tensor.
func initialized(t *testing.T, op *graph.Operator, attrs task.Attrs, typ dtype.Type, workers int, dims ...int) []float64 {
	t.Helper()
	slot := initializer(op)
	s := sample{op: op, attrs: attrs, types: []dtype.Type{typ}, shapes: map[string][]int{op.Slots[slot].Name: dims}}
	f, err := newFixture(s, domains[0])
	if err != nil {
		t.Fatal(err)
	}
	v := mustRun(t, f.forward(t), f.values, execution{workers: workers, garbage: manyNaNs})
	return v[f.node.Tensor(slot).Name()]
}

// TestSeeds checks every initialiser that has a seed: the same seed gives the same values whatever the
// number of workers, another seed others.
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
			return initialized(t, op, attrs, dtype.F32, workers, 100, 101) // several ranges
		}
		first := draw(5, 1)
		for _, workers := range []int{1, 2, 3, 5} {
			sameBits(t, fmt.Sprintf("%s, %d workers", op.Name, workers), values{"": draw(5, workers)}, values{"": first})
		}
		same := 0
		for i, x := range draw(6, 1) {
			if x == first[i] {
				same++
			}
		}
		if same > len(first)/100 {
			t.Errorf("%s: %d of %d values are the same with another seed", op.Name, same, len(first))
		}
	}
	if tested == 0 {
		t.Error("no initialiser has a seed")
	}
}

// TestWeightSeeds checks what the weights of a graph begin with: it depends on the graph's seed and on
// their names, and on nothing else.
func TestWeightSeeds(t *testing.T) {
	weights := func(seed uint64, names ...string) values {
		g := graph.New(seed)
		x := g.Input("x", dtype.F32, 2, 30)
		at := linear.Defaults()
		at.OutChannels = 30
		for _, name := range names {
			x = linear.Apply(g, at, x, graph.Named(name))
		}
		p, err := graph.Inference(g, x)
		if err != nil {
			t.Fatal(err)
		}
		init, err := graph.Initialization(p)
		if err != nil {
			t.Fatal(err)
		}
		e := local.New(registry(), local.Config{Workers: 2})
		defer e.Close()
		if _, err := runIn(e, init, nil, execution{}); err != nil {
			t.Fatal(err)
		}
		out := values{}
		for _, name := range names {
			w, shape, err := local.Variable[float32](e, name+".weight")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(shape, []int{30, 30}) {
				t.Fatalf("%s.weight has shape %v", name, shape)
			}
			for _, x := range w {
				out[name] = append(out[name], float64(x))
			}
		}
		return out
	}
	alike := func(a, b []float64) bool {
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
		t.Error("two weights of a graph begin alike")
	}
	sameBits(t, "the same graph", weights(1, "a", "b"), w)
	other := weights(1, "c", "b", "d")
	sameBits(t, "a weight among others", values{"b": other["b"]}, values{"b": w["b"]})
	if alike(weights(2, "a")["a"], w["a"]) {
		t.Error("a weight begins alike with another seed")
	}
}
