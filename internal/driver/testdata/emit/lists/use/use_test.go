package use

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/lists/generated/catalogue"
	"example.com/lists/generated/limit"
	"example.com/lists/generated/pick"
	"example.com/lists/generated/stack"
	"example.com/lists/generated/weigh"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// load loads a program's plan as it is read back from its bytes.
func load(t *testing.T, p *graph.Program) *engine.Instance {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	t.Cleanup(func() { e.Close() })
	pl, err := planner.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	data, err := pl.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if pl, err = plan.Decode(data); err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(pl)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func feed(t *testing.T, in *engine.Instance, to graph.Tensor, data ...float64) {
	t.Helper()
	if err := engine.Feed(in, to.Name(), data); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, in *engine.Instance, from graph.Tensor, want ...float64) {
	t.Helper()
	got, err := engine.Fetch[float64](in, from.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", from.Name(), got, want)
	}
}

// TestGradients requests the gradients of some of the tensors, with and without the weights.
func TestGradients(t *testing.T) {
	for _, constant := range []bool{false, true} {
		g := graph.New(1)
		x := []graph.Tensor{g.Input("x0", dtype.F64, 2), g.Input("x1", dtype.F64), g.Input("x2", dtype.F64, 1, 1)}
		w := []graph.Tensor{g.Input("w0", dtype.F64, 2), g.Input("w1", dtype.F64), g.Input("w2", dtype.F64, 1, 1)}
		out := weigh.Apply(g, weigh.Defaults().WithConstant(constant), x, w)
		if len(out.Product) != 3 || out.Product[2].String() != "weigh.product.2 f64[1, 1]" || out.Total.String() != "weigh.total f64[3]" {
			t.Fatal(out, g.Err())
		}
		seed := g.Input("seed", dtype.F64, 3)
		wrt := []graph.Tensor{x[1], x[2], w[0], w[2]}
		if constant {
			wrt = wrt[:2]
		}
		p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{out.Total: seed}, wrt, out.Product[0], out.Total)
		if err != nil {
			t.Fatal(err)
		}
		in := load(t, p)
		feed(t, in, x[0], 1, 2)
		feed(t, in, x[1], 3)
		feed(t, in, x[2], 4)
		feed(t, in, w[0], 5, 6)
		feed(t, in, w[1], 7)
		feed(t, in, w[2], 8)
		feed(t, in, seed, 1, 10, 100)
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		expect(t, in, out.Product[0], 5, 12)
		expect(t, in, out.Total, 17, 21, 32)
		if constant {
			expect(t, in, grads[x[1]], 10)
			expect(t, in, grads[x[2]], 100)
			continue
		}
		expect(t, in, grads[x[1]], 70)
		expect(t, in, grads[x[2]], 800)
		expect(t, in, grads[w[0]], 1, 2)
		expect(t, in, grads[w[2]], 400)
	}
}

// TestSameTensor passes one tensor several times: its gradient is the sum of all contributions.
func TestSameTensor(t *testing.T) {
	g := graph.New(1)
	x, w, seed := g.Input("x", dtype.F64), g.Input("w", dtype.F64), g.Input("seed", dtype.F64, 2)
	out := weigh.Apply(g, weigh.Defaults(), weigh.Input{x, x}, weigh.Factor{w, x})
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{out.Total: seed}, []graph.Tensor{x, w})
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, p)
	feed(t, in, x, 3)
	feed(t, in, w, 5)
	feed(t, in, seed, 1, 1)
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	expect(t, in, grads[x], 5+2*3)
	expect(t, in, grads[w], 3)
}

// TestStack computes with lists of several kinds.
func TestStack(t *testing.T) {
	g := graph.New(1)
	input := stack.Input{g.Input("a", dtype.F64, 2, 2), g.Input("b", dtype.F64, 2, 1)}
	grid, scale := g.Input("grid", dtype.F64, 4, 7, 3), g.Input("scale", dtype.F64, 2)
	out := stack.Apply(g, stack.Defaults().WithAxis(1).WithCopies(2), nil, input, stack.Scale{scale}, stack.Grid{grid, grid})
	p, err := graph.Inference(g, out...)
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, p)
	feed(t, in, input[0], 1, 2, 3, 4)
	feed(t, in, input[1], 5, 6)
	feed(t, in, scale, 10, 0)
	feed(t, in, grid, make([]float64, 84)...)
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		expect(t, in, o, 10, 20, 5, 30, 40, 6)
	}
}

// TestPick picks along some dimensions, with tensors of a list that are absent, and compares elements and
// gradients with those of NumPy for x = arange(24).reshape(2, 3, 4).
func TestPick(t *testing.T) {
	x24 := make([]float64, 24)
	for i := range x24 {
		x24[i] = float64(i)
	}
	type given struct {
		shape  []int
		values []int64
	}
	for _, c := range []struct {
		indices []*given // nil: absent
		shape   []int
		want    []float64
	}{
		// x[:, [2, 0]]
		{[]*given{nil, {[]int{2}, []int64{2, 0}}}, []int{2, 2, 4}, []float64{8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15}},
		// x[:, [2, 0, 2], [1, 3, 1]], whose numbers belong to neighbors
		{[]*given{nil, {[]int{3}, []int64{2, 0, 2}}, {[]int{3}, []int64{1, 3, 1}}}, []int{2, 3}, []float64{9, 3, 9, 21, 15, 21}},
		// x[[1, 0], :, [3, 1]], whose dimension comes first
		{[]*given{{[]int{2}, []int64{1, 0}}, nil, {[]int{2}, []int64{3, 1}}}, []int{2, 3}, []float64{15, 19, 23, 1, 5, 9}},
		// x[[[0], [1]], :, [3, 1]]
		{[]*given{{[]int{2, 1}, []int64{0, 1}}, nil, {[]int{2}, []int64{3, 1}}}, []int{2, 2, 3}, []float64{3, 7, 11, 1, 5, 9, 15, 19, 23, 13, 17, 21}},
		// x[:, :, 2], and one more that is absent
		{[]*given{nil, nil, {nil, []int64{2}}, nil}, []int{2, 3}, []float64{2, 6, 10, 14, 18, 22}},
		// x[:, :], which is x
		{[]*given{nil, nil}, []int{2, 3, 4}, x24},
	} {
		g := graph.New(1)
		x := g.Input("x", dtype.F64, 2, 3, 4)
		var list []graph.Tensor
		for _, of := range c.indices {
			var n graph.Tensor
			if of != nil {
				n = g.Input(fmt.Sprintf("n%d", len(list)), dtype.I64, of.shape...)
			}
			list = append(list, n)
		}
		y := pick.Apply(g, pick.Defaults(), pick.Input(x), list)
		if !y.ShapeIs(c.shape) {
			t.Fatal(y, g.Err())
		}
		seed := g.Input("seed", dtype.F64, c.shape...)
		p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x}, y)
		if err != nil {
			t.Fatal(err)
		}
		in := load(t, p)
		feed(t, in, x, x24...)
		gradient, seeds := make([]float64, 24), make([]float64, len(c.want))
		for i, at := range c.want { // elements are their numbers
			seeds[i] = float64(i + 1)
			gradient[int(at)] += seeds[i]
		}
		feed(t, in, seed, seeds...)
		for i, of := range c.indices {
			if of != nil {
				if err := engine.Feed(in, list[i].Name(), of.values); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		expect(t, in, y, c.want...)
		expect(t, in, grads[x], gradient...)
	}
}

// TestPlaces changes the places of tensors in a plan: the verifier or the engine refuses what does not fit,
// and a plan with other places is that of another program.
func TestPlaces(t *testing.T) {
	program := func(indices ...bool) *graph.Program {
		g := graph.New(1)
		x, n := g.Input("x", dtype.F64, 2, 2), g.Input("n", dtype.I64, 2)
		list := make([]graph.Tensor, len(indices))
		for i := range indices {
			if indices[i] {
				list[i] = n
			}
		}
		p, err := graph.Inference(g, pick.Apply(g, pick.Defaults(), pick.Input(x), list))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	t.Cleanup(func() { e.Close() })
	p := program(false, true)
	for _, c := range []struct {
		places map[string][]int
		want   string // of the engine's error
	}{
		{map[string][]int{"indices": {1}}, ""},
		{map[string][]int{"indices": {2}}, "want numbers along 2 dimensions at most, got some along dimension 2"},
		{map[string][]int{"indices": {8}}, "want a list of at most 8 tensors, got 9"},
		{map[string][]int{"indices": {-1}}, "want places that ascend from 0 or more, got [-1]"},
		{map[string][]int{"indices": {0}}, "want the places of 1 tensors in a list in which others are absent, got [0]"},
		{map[string][]int{"indices": {1, 3}}, "want the places of 1 tensors in a list in which others are absent, got [1 3]"},
		{map[string][]int{"indices": {}}, "want the places of tensors, got none"},
		{map[string][]int{"input": {1}}, "want a list of tensors of which none is absent, got tensors at the places [1]"},
		{map[string][]int{"other": {1}}, "slot other"},
		{nil, ""}, // along the first dimension, whose shapes fit
	} {
		pl, err := planner.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		if places := pl.Calls[0].Places; len(places) != 1 || !slices.Equal(places["indices"], []int{1}) {
			t.Fatal(places)
		}
		pl.Calls[0].Places = c.places
		in, err := e.Load(pl)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, want %q", c.places, err, c.want)
		}
		if err == nil {
			in.Close()
		}
		if same := c.places != nil && slices.Equal(c.places["indices"], []int{1}); (validate.Plan(pl, p) == nil) != same {
			t.Errorf("%v: validate gives %v", c.places, validate.Plan(pl, p))
		}
	}
	first, err := planner.Build(program(true, false))
	if err != nil {
		t.Fatal(err)
	}
	if first.Calls[0].Places != nil {
		t.Errorf("a list that ends with absent tensors has places %v", first.Calls[0].Places)
	}
}

// TestLimit computes with numbers of any type, of which an integer keeps its 64 bits.
func TestLimit(t *testing.T) {
	const large = 1<<60 + 1
	g := graph.New(1)
	x, y := g.Input("x", dtype.I64, 2), g.Input("y", dtype.F64, 2)
	of := limit.Apply(g, limit.Defaults().WithValue(attr.Int(large)), x)
	real := limit.Defaults().WithValue(attr.Real(0.5)).WithOther(attr.Real(-2.0)).WithRange(limit.NewRange().WithHigh(attr.Int(2)))
	half := limit.Apply(g, real, y)
	if of.Chosen.Type() != dtype.I64 || of.Extra.Valid() || half.Chosen.Type() != dtype.F32 || half.Extra.Type() != dtype.F32 {
		t.Fatal(of, half, g.Err())
	}
	if want := attr.ListOf(attr.Int(1), attr.Real(2.0), attr.Real(math.Inf(-1))); real.Several != want {
		t.Errorf("several = %v, want %v", real.Several, want)
	}
	p, err := graph.Inference(g, of.Output, of.Chosen, half.Output, half.Chosen, half.Extra)
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, p)
	if err := engine.Feed(in, x.Name(), []int64{1, -1}); err != nil {
		t.Fatal(err)
	}
	feed(t, in, y, 1, 4)
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]int64{of.Output.Name(): {large + 1, large - 1}, of.Chosen.Name(): {large}} {
		if got, err := engine.Fetch[int64](in, name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s = %v, %v, want %v", name, got, err, want)
		}
	}
	expect(t, in, half.Output, 1.5, 2)
	for name, want := range map[string]float32{half.Chosen.Name(): 0.5, half.Extra.Name(): -2} {
		if got, err := engine.Fetch[float32](in, name); err != nil || !slices.Equal(got, []float32{want}) {
			t.Errorf("%s = %v, %v, want %v", name, got, err, want)
		}
	}
	limit.Apply(g, limit.Defaults().WithValue(attr.Int(-9)), x)
	if err := g.Err(); err == nil || !strings.HasSuffix(err.Error(), "attribute value: want at least -8, got -9") {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	f64 := func(shapes ...[]int) (ts []graph.Tensor) {
		return tensors(dtype.F64, shapes)
	}
	for _, c := range []struct {
		apply func(g *graph.Graph)
		want  string
	}{
		{func(g *graph.Graph) { weigh.Apply(g, weigh.Defaults(), nil, f64()) }, "operator example.com/lists.weigh, slot input: want 1 to 3 tensors, got 0"},
		{func(g *graph.Graph) {
			weigh.Apply(g, weigh.Defaults(), f64([]int{2}, []int{3}), f64([]int{2}, []int{4}))
		},
			"operator example.com/lists.weigh, slot factor[1]: want X[i]... = [3] in [X[i]...], got [4]"},
		{func(g *graph.Graph) { weigh.Apply(g, weigh.Defaults(), f64([]int{2}), f64([]int{2}, []int{4})) },
			"operator example.com/lists.weigh: want a tensor's number below 1, got 1"},
		{func(g *graph.Graph) {
			weigh.Apply(g, weigh.Defaults(), f64(nil, nil, []int{0}), f64(nil, nil, []int{0}))
		},
			"operator example.com/lists.weigh: the third tensor is empty"},
		{func(g *graph.Graph) { weigh.Apply(g, weigh.Defaults(), tensors(dtype.I32, [][]int{{}}), f64(nil)) },
			"operator example.com/lists.weigh, slot input[0]: want element type T in f32, f64, got i32"},
		{func(g *graph.Graph) {
			weigh.Apply(g, weigh.Defaults(), append(f64(nil), tensors(dtype.F32, [][]int{{}})...), f64(nil))
		},
			"operator example.com/lists.weigh, slot input[1]: want element type T = f64, got f32"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults(), nil, f64([]int{2, 3}, []int{4, 5}), nil, f64([]int{1, 3}))
		},
			"operator example.com/lists.stack, slot input[1]: want A... = [2] in [A..., W[i], B...], got [4, 5]"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults().WithAxis(1), nil, f64([]int{2, 3}, []int{2}), nil, f64([]int{1, 3}))
		},
			"operator example.com/lists.stack, slot input[1]: want attribute axis between -1 and 0 for [2], got 1"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults(), nil, f64([]int{2}, []int{3}), nil, f64([]int{1, 3}, []int{1, 2}))
		},
			"operator example.com/lists.stack, slot grid[1]: want 3 = 3 in [H, M..., 3], got 2 in [1, 2]"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults(), nil, f64([]int{2}, []int{3}), nil, f64([]int{1, 3}, []int{2, 3}))
		},
			"operator example.com/lists.stack, slot grid[1]: want H = 1 in [H, M..., 3], got 2 in [2, 3]"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults(), nil, f64([]int{2}, []int{3}), nil, f64([]int{1, 3}, []int{3}))
		},
			"operator example.com/lists.stack, slot grid[1]: want at least 2 dimensions [H, M..., 3], got [3]"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults(), f64([]int{1, 2}), f64([]int{2}, []int{3}), nil, f64([]int{1, 3}))
		},
			"operator example.com/lists.stack, slot labels[0]: want element type i64, got f64"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults().WithAxis(0).WithCopies(-1), nil, f64([]int{2}, []int{3}), nil, f64([]int{1, 3}))
		},
			"operator example.com/lists.stack, slot output: want 0 to 65536 tensors, got -1"},
		{func(g *graph.Graph) {
			stack.Apply(g, stack.Defaults(), nil, f64([]int{2}, []int{3}), stack.Scale{{}}, f64([]int{1, 3}))
		},
			"operator example.com/lists.stack: want a tensor, got none"},
	} {
		made = graph.New(1)
		c.apply(made)
		if err := made.Err(); err == nil {
			t.Errorf("no error, want %s", c.want)
		} else if !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// made is the graph of the case under test, and inputs counts inputs.
var (
	made   *graph.Graph
	inputs int
)

func tensors(typ dtype.Type, shapes [][]int) (ts []graph.Tensor) {
	for _, s := range shapes {
		inputs++
		ts = append(ts, made.Input(fmt.Sprint("in", inputs), typ, s...))
	}
	return ts
}
