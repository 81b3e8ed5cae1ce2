package tensor

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/perm"
)

// sealed returns the memory of int32 elements of a shape, with lanes along a dimension.
func sealed(data []int32, lanes int, shape ...int) Memory {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), 4*len(data))
	return Memory{Data: unlock.Seal(bytes), Shape: shape, Size: len(data), Lanes: lanes, Mode: Accumulate, Redop: perm.Sum}
}

// TestBind makes each view of memory of 2 x 3 elements, with lanes along the first dimension.
func TestBind(t *testing.T) {
	type lane struct{ n, first, last int }
	data := []int32{0, 1, 2, 3, 4, 5}
	m := sealed(data, 0, 2, 3)
	var (
		ro  RO[int32]
		wo  WO[int32]
		rw  RW[int32]
		g   Grad[int32]
		s   Scatter[int32]
		r   Reduction[int32]
		own PerWorker[int32]
		opt Opt[RO[int32]]
	)
	for _, v := range []View{&ro, &wo, &rw, &g, &s, &r, &own, Present(&opt)} {
		if typ, _ := Describe(v); typ != dtype.I32 || !Bind(v, m) {
			t.Errorf("%T: elements of type %v", v, typ)
		}
	}
	present, ok := opt.Get()
	if !ok {
		t.Fatal("the optional view is absent")
	}
	for name, l := range map[string]ROLane[int32]{"RO": ro.Lane(1), "RW": rw.Lane(1).RO(), "PerWorker": own.Of(0).Lane(1).RO(), "Opt": present.Lane(1)} {
		if got := (lane{l.Len(), int(l.At(0)), int(l.At(1))}); got != (lane{2, 1, 4}) {
			t.Errorf("%s: lane 1 is %v", name, got)
		}
	}
	wo.Lane(1).Set(1, 40)
	g.Lane(1).Put(1, 2)
	s.Lane(1).Add(1, 3)
	r.Fold(4, 5)
	if want := []int32{0, 1, 2, 3, 50, 5}; !slices.Equal(data, want) {
		t.Errorf("got %v, want %v", data, want)
	}
}

// TestBindFold binds reductions by an operator that is not known, and by a function.
func TestBindFold(t *testing.T) {
	data := []int32{7}
	var r Reduction[int32]
	m := sealed(data, 0)
	m.Redop = "example.com/nn.Halve, 0"
	if Bind(&r, m) {
		t.Error("an operator that is not known folds")
	}
	m.Fold = func(x, y int32) int32 { return x/2 + y }
	if !Bind(&r, m) {
		t.Fatal("a function does not fold")
	}
	if r.Fold(0, 10); data[0] != 13 {
		t.Errorf("folded to %d, want 13", data[0])
	}
}

// TestBindNothing binds gradients that are not used, and memory without elements.
func TestBindNothing(t *testing.T) {
	var g Grad[float32]
	var s Scatter[float32]
	unused := Memory{Shape: []int{2, 3}, Size: 6, Lanes: 1, Mode: Discard}
	Bind(&g, unused)
	Bind(&s, unused)
	if g.Wanted() || g.Len() != 6 || s.Wanted() || s.Len() != 6 {
		t.Errorf("gradients: wanted %v and %v, of %d and %d elements", g.Wanted(), s.Wanted(), g.Len(), s.Len())
	}
	var ro RO[float32]
	empty := Memory{Data: unlock.Seal([]byte{}), Shape: []int{0, 3}, Lanes: 1}
	Bind(&ro, empty)
	Bind(&s, empty)
	if ro.Len() != 0 || !s.Wanted() {
		t.Errorf("an empty tensor has %d elements, and its gradient is wanted: %v", ro.Len(), s.Wanted())
	}
}
