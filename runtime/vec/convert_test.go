package vec

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

func convert[D, S dtype.Element](src ...S) []D {
	dst := make([]D, len(src))
	shape := []int{len(src)}
	Convert(tensor.MakeWO(unlock.Key{}, dst, shape).Lane(0), tensor.MakeRO(unlock.Key{}, src, shape).Lane(0))
	return dst
}

func converts[D, S dtype.Element](t *testing.T, from []S, want ...D) {
	t.Helper()
	if got := convert[D](from...); !slices.Equal(got, want) {
		t.Errorf("%v to %T: got %v, want %v", from, want, got, want)
	}
}

func TestConvert(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	floats := []float64{0, -0.9, 1.9, -1.9, 127.9, 128, -128.9, 256, 1e10, -1e10, 1e30, inf, -inf, nan}
	converts[int8](t, floats, 0, 0, 1, -1, 127, 127, -128, 127, 127, -128, 127, 127, -128, 0)
	converts[int16](t, floats, 0, 0, 1, -1, 127, 128, -128, 256, math.MaxInt16, math.MinInt16, math.MaxInt16, math.MaxInt16, math.MinInt16, 0)
	converts[int32](t, floats, 0, 0, 1, -1, 127, 128, -128, 256, math.MaxInt32, math.MinInt32, math.MaxInt32, math.MaxInt32, math.MinInt32, 0)
	converts[int64](t, floats, 0, 0, 1, -1, 127, 128, -128, 256, 1e10, -1e10, math.MaxInt64, math.MaxInt64, math.MinInt64, 0)
	converts[uint8](t, floats, 0, 0, 1, 0, 127, 128, 0, 255, 255, 0, 255, 255, 0, 0)
	converts[uint16](t, floats, 0, 0, 1, 0, 127, 128, 0, 256, math.MaxUint16, 0, math.MaxUint16, math.MaxUint16, 0, 0)
	converts[uint32](t, floats, 0, 0, 1, 0, 127, 128, 0, 256, math.MaxUint32, 0, math.MaxUint32, math.MaxUint32, 0, 0)
	converts[uint64](t, append(floats, 1<<63, 1<<64), 0, 0, 1, 0, 127, 128, 0, 256, 1e10, 0, math.MaxUint64, math.MaxUint64, 0, 0, 1<<63, math.MaxUint64)
	converts[int64](t, []float64{1 << 63, -1 << 63, 1<<63 - 1024}, math.MaxInt64, math.MinInt64, 1<<63-1024)
	converts[bool](t, floats, false, true, true, true, true, true, true, true, true, true, true, true, true, true)
	converts[float32](t, []float64{1 + 1.0/(1<<24), 1e300, -0.1}, 1, float32(inf), -0.1)
	converts[float64](t, []float32{0.1, float32(inf)}, float64(float32(0.1)), inf)

	wide := []int64{-1, 1 << 32, 1<<31 + 5, 300}
	converts[int8](t, wide, -1, 0, 5, 44)
	converts[uint8](t, wide, 255, 0, 5, 44)
	converts[int16](t, wide, -1, 0, 5, 300)
	converts[uint16](t, wide, math.MaxUint16, 0, 5, 300)
	converts[int32](t, wide, -1, 0, math.MinInt32+5, 300)
	converts[uint32](t, wide, math.MaxUint32, 0, 1<<31+5, 300)
	converts[uint64](t, wide, math.MaxUint64, 1<<32, 1<<31+5, 300)
	converts[bool](t, wide, true, true, true, true)
	converts[float32](t, []int32{1<<24 + 1, -7}, 1<<24, -7)
	converts[float64](t, []uint64{math.MaxUint64, 0}, 1<<64, 0)
}

// TestConvertFromEverything converts 0 and 1 between any two types.
func TestConvertFromEverything(t *testing.T) {
	from[bool](t, false, true)
	from[int8](t, 0, 1)
	from[int16](t, 0, 1)
	from[int32](t, 0, 1)
	from[int64](t, 0, 1)
	from[uint8](t, 0, 1)
	from[uint16](t, 0, 1)
	from[uint32](t, 0, 1)
	from[uint64](t, 0, 1)
	from[float32](t, 0, 1)
	from[float64](t, 0, 1)
}

func from[S dtype.Element](t *testing.T, zero, one S) {
	t.Helper()
	src := []S{one, zero}
	converts(t, src, true, false)
	converts[int8](t, src, 1, 0)
	converts[int16](t, src, 1, 0)
	converts[int32](t, src, 1, 0)
	converts[int64](t, src, 1, 0)
	converts[uint8](t, src, 1, 0)
	converts[uint16](t, src, 1, 0)
	converts[uint32](t, src, 1, 0)
	converts[uint64](t, src, 1, 0)
	converts[float32](t, src, 1, 0)
	converts[float64](t, src, 1, 0)
}
