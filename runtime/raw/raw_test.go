package raw

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

func TestSlice(t *testing.T) {
	memory := []float32{0, 1, 2, 3, 4, 5}
	in := tensor.MakeRO(unlock.Seal(memory), []int{2, 3})
	if data, stride := Slice(in.Lane(1)); stride != 1 || !slices.Equal(data, []float32{3, 4, 5}) {
		t.Errorf("lane 1 is %v, stride %d", data, stride)
	}
	if data, stride := Slice(in.Along(0).Lane(1)); stride != 3 || !slices.Equal(data, []float32{1, 2, 3, 4}) {
		t.Errorf("lane 1 along dimension 0 is %v, stride %d", data, stride)
	}
	data, _ := Writable(tensor.MakeWO(unlock.Seal(memory), []int{2, 3}).Lane(0))
	data[2] = 7
	if in.At(2) != 7 {
		t.Error("writing does not reach the tensor")
	}
}
