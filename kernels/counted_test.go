package kernels_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/nonzero"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/unique"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// fetched returns the elements and the shape that a session fetches.
func fetched[T dtype.Element](t *testing.T, p *opgen.Program, x graph.Tensor) ([]T, []int) {
	t.Helper()
	got, err := opgen.Fetch[T](p, x)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Shape(x)
	if err != nil {
		t.Fatal(err)
	}
	return got, s
}

// infer loads a program that computes tensors of g and runs it.
func infer(t *testing.T, g *graph.Graph, fetch []graph.Tensor, feed ...opgen.Value) *opgen.Program {
	t.Helper()
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	s, err := opgen.Open(catalogue.Register)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p, err := s.Inference(context.Background(), g, fetch...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(context.Background(), feed...); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNonzero compares nonzero with results that were worked out by hand, for several types and shapes, one
// of which has no element and one no dimension.
func TestNonzero(t *testing.T) {
	t.Run("f32", func(t *testing.T) {
		nonzeros(t, []float32{0, 3, float32(nan), 0, 0, -1}, d(2, 3), []int64{0, 1, 0, 2, 1, 2}, d(3, 2))
	})
	t.Run("i64", func(t *testing.T) { nonzeros(t, []int64{0, 1 << 40, 0}, d(3), []int64{1}, d(1, 1)) })
	t.Run("bool", func(t *testing.T) { nonzeros(t, []bool{true, true}, d(1, 2, 1), []int64{0, 0, 0, 0, 1, 0}, d(2, 3)) })
	t.Run("none", func(t *testing.T) { nonzeros(t, []bool{false, false}, d(2), nil, d(0, 1)) })
	t.Run("empty", func(t *testing.T) { nonzeros(t, []float64{}, d(2, 0), nil, d(0, 2)) })
	t.Run("scalar", func(t *testing.T) { nonzeros(t, []int32{7}, d(), nil, d(1, 0)) })
}

func nonzeros[T dtype.Element](t *testing.T, in []T, dims []int, want []int64, shape []int) {
	g := graph.New(1)
	x := g.Input("x", dtype.Of[T](), dims...)
	y := nonzero.Apply(g, nonzero.Defaults(), x)
	p := infer(t, g, []graph.Tensor{y.Output, y.Number}, opgen.With(x, in))
	if got, s := fetched[int64](t, p, y.Output); !slices.Equal(got, want) || !slices.Equal(s, shape) {
		t.Errorf("got %v of shape %v, want %v of shape %v", got, s, want, shape)
	}
	if n, s := fetched[int64](t, p, y.Number); len(s) != 0 || int(n[0]) != shape[0] {
		t.Errorf("got the number %v of shape %v, want %d", n, s, shape[0])
	}
}

// TestUnique compares unique with results that were worked out by hand.
func TestUnique(t *testing.T) {
	t.Run("f32", func(t *testing.T) {
		uniques(t, []float32{3, 1, 3, -2, 1, 3}, []float32{-2, 1, 3}, []int64{2, 1, 2, 0, 1, 2}, []int64{1, 2, 3})
	})
	t.Run("i64", func(t *testing.T) {
		uniques(t, []int64{1<<53 + 1, 1 << 53, 1<<53 + 1}, []int64{1 << 53, 1<<53 + 1}, []int64{1, 0, 1}, []int64{1, 2})
	})
	t.Run("i32", func(t *testing.T) { uniques(t, []int32{5}, []int32{5}, []int64{0}, []int64{1}) })
	t.Run("bool", func(t *testing.T) {
		uniques(t, []bool{true, false, true}, []bool{false, true}, []int64{1, 0, 1}, []int64{1, 2})
	})
	t.Run("empty", func(t *testing.T) { uniques(t, []float64{}, nil, nil, nil) })
}

func uniques[T dtype.Element](t *testing.T, in, want []T, inverse, counts []int64) {
	g := graph.New(1)
	x := g.Input("x", dtype.Of[T](), len(in))
	y := unique.Apply(g, unique.Defaults(), x, graph.Request(unique.SlotInverse), graph.Request(unique.SlotCounts), graph.Request(unique.SlotFirst))
	of := func(s unique.Slot) graph.Tensor { return y.Output.Node().Tensor(int(s)) }
	p := infer(t, g, []graph.Tensor{y.Output, of(unique.SlotInverse), of(unique.SlotCounts), of(unique.SlotFirst)}, opgen.With(x, in))
	if got, s := fetched[T](t, p, y.Output); !slices.Equal(got, want) || !slices.Equal(s, d(len(want))) {
		t.Errorf("got %v of shape %v, want %v", got, s, want)
	}
	firsts, _ := fetched[int64](t, p, of(unique.SlotFirst))
	if len(firsts) != len(want) {
		t.Errorf("first: got %v for %v", firsts, want)
	}
	for i, n := range firsts {
		if slices.Index(in, want[i]) != int(n) {
			t.Errorf("first: got %v for %v of %v", firsts, want, in)
		}
	}
	if got, s := fetched[int64](t, p, of(unique.SlotInverse)); !slices.Equal(got, inverse) || !slices.Equal(s, d(len(in))) {
		t.Errorf("inverse: got %v of shape %v, want %v", got, s, inverse)
	}
	if got, s := fetched[int64](t, p, of(unique.SlotCounts)); !slices.Equal(got, counts) || !slices.Equal(s, d(len(counts))) {
		t.Errorf("counts: got %v of shape %v, want %v", got, s, counts)
	}
}

// TestUniqueNaN checks that each NaN counts as a value of its own, behind all numbers.
func TestUniqueNaN(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 5)
	y := unique.Apply(g, unique.Defaults(), x)
	p := infer(t, g, []graph.Tensor{y.Output}, opgen.With(x, []float64{nan, 2, inf, nan, 2}))
	got, _ := fetched[float64](t, p, y.Output)
	if len(got) != 4 || got[0] != 2 || got[1] != inf || got[2] == got[2] || got[3] == got[3] {
		t.Errorf("got %v, want 2, +Inf, NaN, NaN", got)
	}
}

// TestCountedDownstream reads the rows that nonzero gives by another operator, which sees as many rows as
// there can be.
func TestCountedDownstream(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 4)
	y := nonzero.Apply(g, nonzero.Defaults(), x)
	if !slices.Equal(y.Output.Shape(), d(4, 1)) {
		t.Fatalf("got the shape %v, want that of the most rows that there can be", y.Output.Shape())
	}
	sum := reduce.Apply(g, reduce.Defaults(reduce.OpTypeReduceSum, attr.ListOf(0, 1)), y.Output)
	p := infer(t, g, []graph.Tensor{sum, y.Output}, opgen.With(x, []float64{0, 5, 0, 7}))
	if got, _ := fetched[int64](t, p, sum); got[0] != 4 {
		t.Errorf("got the sum %v of the indices, want 1 + 3", got)
	}
	if got, s := fetched[int64](t, p, y.Output); !slices.Equal(got, []int64{1, 3}) || !slices.Equal(s, d(2, 1)) {
		t.Errorf("got %v of shape %v", got, s)
	}
}

// miscounting is a kernel of nonzero that gives a wrong number of rows.
type miscounting[T dtype.Float | dtype.Index | bool] struct{ number int64 }

func (k miscounting[T]) Forward(_ *op.Ctx, a *nonzero.Forward[T], _ op.Range) error {
	for i := range a.Output.Len() {
		a.Output.Set(i, 0)
	}
	a.Number.Set(0, k.number)
	return nil
}

// miscounters gives nonzero its wrong kernels.
type miscounters struct{ number int64 }

func (m miscounters) F32() nonzero.Kernel[float32] { return miscounting[float32](m) }
func (m miscounters) F64() nonzero.Kernel[float64] { return miscounting[float64](m) }
func (m miscounters) I32() nonzero.Kernel[int32]   { return miscounting[int32](m) }
func (m miscounters) I64() nonzero.Kernel[int64]   { return miscounting[int64](m) }
func (m miscounters) Bool() nonzero.Kernel[bool]   { return miscounting[bool](m) }

// TestCountOutOfBounds runs kernels that give a number of rows that there cannot be.
func TestCountOutOfBounds(t *testing.T) {
	for _, number := range []int64{-1, 4} {
		register := func(r *task.Registry) error { return nonzero.Register(r, op.CPU, miscounters{number}) }
		g := graph.New(1)
		y := nonzero.Apply(g, nonzero.Defaults(), g.Input("x", dtype.F64, 3))
		p, err := graph.Whole(g, y.Output)
		if err != nil {
			t.Fatal(err)
		}
		_, err = optest.Run(register, p, values{"x": {1, 2, 3}}, optest.Execution{})
		want := fmt.Sprintf("plan whole graph, nonzero: operator nonzero, task forward, slot number: want a number of rows of output from 0 to 3, got %d", number)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
