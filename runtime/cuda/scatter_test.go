//go:build cuda

package cuda_test

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/segmentmax"
	"github.com/opgen/opgen/generated/segmentsum"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/sparsematvec"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// compare runs a function in a session on CPUs, and in two on the emulator with other orders of threads. What
// it returns is the same in any order, and as on CPUs but for 1e-6.
func compare(t *testing.T, name string, run func(s *opgen.Session) ([]float32, error)) {
	t.Helper()
	control := controls(t)
	defer control.Order.Store(0)
	in := func(register func(*task.Registry) error, opts ...opgen.Option) (out []float32) {
		err := opgen.Do(register, func(s *opgen.Session) (err error) {
			out, err = run(s)
			return err
		}, opts...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
	want := in(catalogue.Register)
	got := in(catalogue.RegisterCUDA, opgen.Backend(open(t)(1)))
	control.Order.Store(7)
	if again := in(catalogue.RegisterCUDA, opgen.Backend(open(t)(1))); !slices.Equal(got, again) {
		t.Errorf("%s: got %v, then %v", name, got, again)
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d numbers, want %d", name, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] && !(math.Abs(float64(got[i]-want[i])) <= 1e-6*max(1, math.Abs(float64(want[i])))) {
			t.Errorf("%s, element %d: got %v, want %v", name, i, got[i], want[i])
		}
	}
}

// waves returns numbers between -1 and 1.
func waves(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32((i*37)%101-50) / 50
	}
	return out
}

// TestAdds trains with gradients to whose elements many others are added. Threads share the elements: those
// of one column, and those of the rows of a sparse matrix, whose elements say how many there are.
func TestAdds(t *testing.T) {
	compare(t, "embedding", func(s *opgen.Session) ([]float32, error) {
		const indices, rows = 3000, 11
		g := graph.New(1)
		x, y := g.Input("x", dtype.I32, indices), g.Input("y", dtype.F32, indices, 1)
		z := embedding.Apply(g, embedding.Defaults(rows, 1), x)
		table := z.Node().Tensor(int(embedding.SlotWeight))
		loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(z), meansquarederror.Label(y))
		p, err := s.Training(t.Context(), g, loss, sgd.Optimizer(sgd.Defaults(5)), table)
		if err != nil {
			return nil, err
		}
		which := make([]int32, indices)
		for i := range which {
			which[i] = int32((i * i) % rows)
		}
		if err := p.Run(t.Context(), opgen.With(x, which), opgen.With(y, waves(indices))); err != nil {
			return nil, err
		}
		return opgen.Fetch[float32](p, table)
	})
	compare(t, "sparse_matvec", func(s *opgen.Session) ([]float32, error) {
		const rows, elements, columns = 5, 1000, 7
		g := graph.New(1)
		offsets, cols := g.Input("offsets", dtype.I32, rows+1), g.Input("columns", dtype.I32, elements)
		values, one, y := g.Input("values", dtype.F32, elements), g.Input("one", dtype.F32, 1, 1), g.Input("y", dtype.F32, rows)
		x := linear.Apply(g, linear.Defaults(columns), one)
		weight := x.Node().Tensor(int(linear.SlotWeight))
		flat := reshape.Apply(g, reshape.Defaults(attr.ListOf(columns)), x)
		z := sparsematvec.Apply(g, sparsematvec.Defaults(), sparsematvec.Offsets(offsets), sparsematvec.Columns(cols), sparsematvec.Values(values), sparsematvec.Input(flat))
		loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(z), meansquarederror.Label(y))
		p, err := s.Training(t.Context(), g, loss, sgd.Optimizer(sgd.Defaults(0.01)), weight)
		if err != nil {
			return nil, err
		}
		of := make([]int32, elements)
		for i := range of {
			of[i] = int32((i * i) % columns)
		}
		if err := p.Run(t.Context(), opgen.With(offsets, []int32{0, 300, 300, 310, 900, elements}), opgen.With(cols, of), opgen.With(values, waves(elements)),
			opgen.With(one, []float32{1}), opgen.With(y, waves(rows))); err != nil {
			return nil, err
		}
		return opgen.Fetch[float32](p, weight)
	})
}

// TestFolds runs tasks that fold into what tensors hold.
func TestFolds(t *testing.T) {
	const rows, width, segments = 70, 3, 9
	for _, typ := range []dtype.Type{dtype.F32, dtype.BF16} {
		for name, apply := range map[string]func(g *graph.Graph, x, of graph.Tensor) graph.Tensor{
			"segment_sum": func(g *graph.Graph, x, of graph.Tensor) graph.Tensor {
				return segmentsum.Apply(g, segmentsum.Defaults(segments), segmentsum.Data(x), segmentsum.Segment(of))
			},
			"segment_max": func(g *graph.Graph, x, of graph.Tensor) graph.Tensor {
				return segmentmax.Apply(g, segmentmax.Defaults(segments), segmentmax.Data(x), segmentmax.Segment(of))
			},
		} {
			compare(t, name+" of "+typ.String(), func(s *opgen.Session) ([]float32, error) {
				g := graph.New(1)
				x, of := g.Input("x", typ, rows, width), g.Input("of", dtype.I32, rows)
				z := apply(g, x, of)
				p, err := s.Inference(t.Context(), g, z)
				if err != nil {
					return nil, err
				}
				which := make([]int32, rows)
				for i := range which {
					which[i] = int32((i * i) % segments)
				}
				if err := p.Run(t.Context(), opgen.With(x, waves(rows*width)), opgen.With(of, which)); err != nil {
					return nil, err
				}
				return opgen.Fetch[float32](p, z)
			})
		}
	}
}
