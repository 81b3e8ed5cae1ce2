package elements

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

func TestMap(t *testing.T) {
	out := make([]bool, 4)
	x := tensortest.RO([]int32{3, 4, 5, 6}, 2, 2)
	Map(tensortest.WO(out, 2, 2), x, 1, 3, func(v int32) bool { return v > 3 })
	if want := []bool{false, true, true, false}; !slices.Equal(out, want) {
		t.Errorf("got %v, want %v", out, want)
	}
}

func TestMapAt(t *testing.T) {
	out := make([]int64, 3)
	x := tensortest.RO([]int32{3, 4, 5}, 3)
	MapAt(tensortest.WO(out, 3), x, 1, 3, func(i int, v int32) int64 { return 10*int64(i) + int64(v) })
	if want := []int64{0, 14, 25}; !slices.Equal(out, want) {
		t.Errorf("got %v, want %v", out, want)
	}
}

func TestZip(t *testing.T) {
	x := tensortest.RO([]float32{1, 2, 3}, 3, 1)
	y := tensortest.RO([]int64{10, 20}, 2)
	for lo := range 6 {
		out := make([]float64, 6)
		Zip(tensortest.WO(out, 3, 2), x, y, lo, 6, func(a float32, b int64) float64 { return float64(a) + float64(b) })
		want := []float64{11, 21, 12, 22, 13, 23}
		clear(want[:lo])
		if !slices.Equal(out, want) {
			t.Errorf("from %d: got %v, want %v", lo, out, want)
		}
	}
}
