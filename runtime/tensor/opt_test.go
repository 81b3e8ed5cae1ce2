package tensor

import (
	"testing"

	"github.com/opgen/opgen/runtime/internal/unlock"
)

func TestOptAlong(t *testing.T) {
	v := MakeRO(unlock.Seal([]int32{0, 1, 2, 3, 4, 5}), []int{2, 3})
	along, ok := Along(Some(v), 0).Get()
	if !ok {
		t.Fatal("a present view became absent")
	}
	if l := along.Lane(1); l.Len() != 2 || l.At(0) != 1 || l.At(1) != 4 {
		t.Errorf("lane 1 along dimension 0 has %d elements, the first two %d and %d", l.Len(), l.At(0), l.At(1))
	}
	if l := v.Lane(1); l.Len() != 3 {
		t.Error("the view itself changed")
	}
	if Along(Opt[RO[int32]]{}, 0).Has() {
		t.Error("an absent view became present")
	}
}
