package kernels_test

import (
	"math"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/cast"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// TestCastToIntegers casts numbers at the bounds of integers and beyond, by the kernel and by the interpreter
// of formulas.
func TestCastToIntegers(t *testing.T) {
	interpreted := func(r *task.Registry) error { return formula.RegisterReference(r, op.CPU, &cast.Operator.Operator) }
	inf, nan := math.Inf(1), math.NaN()
	for name, register := range map[string]func(*task.Registry) error{"kernel": catalogue.Register, "interpreter": interpreted} {
		t.Run(name, func(t *testing.T) {
			casts(t, register, []float64{0, 2.5, -2.5, 1<<31 - 0.5, 1 << 31, -1<<31 - 0.5, -1<<31 - 1, 3e9, -3e9, 1e30, -1e30, inf, -inf, nan},
				[]int32{0, 2, -2, math.MaxInt32, math.MaxInt32, math.MinInt32, math.MinInt32, math.MaxInt32, math.MinInt32, math.MaxInt32, math.MinInt32, math.MaxInt32, math.MinInt32, 0})
			casts(t, register, []float64{2.5, -2.5, 3e9, 1<<53 + 2, 1<<63 - 1024, 1 << 63, -1 << 63, 1e30, -1e30, inf, -inf, nan},
				[]int64{2, -2, 3e9, 1<<53 + 2, 1<<63 - 1024, math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64, 0})
			casts(t, register, []float32{2.5, 1<<31 - 128, 1 << 31, -1 << 31, -3e9, 1e30, float32(inf), float32(-inf), float32(nan)},
				[]int32{2, 1<<31 - 128, math.MaxInt32, math.MinInt32, math.MinInt32, math.MaxInt32, math.MaxInt32, math.MinInt32, 0})
			casts(t, register, []float32{-2.5, 1<<63 - 1<<39, 1 << 63, -1 << 63, 1e30, -1e30, float32(inf), float32(nan)},
				[]int64{-2, 1<<63 - 1<<39, math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64, 0})
		})
	}
}

// casts casts numbers, many times side by side, and compares the results.
func casts[T float32 | float64, U int32 | int64](t *testing.T, register func(*task.Registry) error, in []T, want []U) {
	t.Helper()
	const times = 30
	var all []T
	for range times {
		all = append(all, in...)
	}
	err := opgen.Do(register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", dtype.Of[T](), len(all))
		y := cast.Apply(g, cast.Defaults(dtype.Of[U]()), x)
		p, err := s.Inference(t.Context(), g, y)
		if err != nil {
			return err
		}
		if err := p.Run(t.Context(), opgen.With(x, all)); err != nil {
			return err
		}
		got, err := opgen.Fetch[U](p, y)
		for i, v := range got {
			if w := want[i%len(want)]; v != w {
				t.Errorf("%v to %v: want %d, got %d", all[i], dtype.Of[U](), w, v)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
