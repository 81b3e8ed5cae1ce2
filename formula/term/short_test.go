package term

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// TestShort checks that the constants that are short are those that all types of real elements represent
// exactly.
func TestShort(t *testing.T) {
	held := func(v float64) bool {
		for _, of := range []dtype.Type{dtype.F16, dtype.BF16, dtype.F32, dtype.F64} {
			b := make([]byte, of.Size())
			of.PutFloat64(b, v)
			if of.Float64(b) != v {
				return false
			}
		}
		return true
	}
	some := 0
	for _, v := range []float64{0, 1, -1, 6, 0.1, 1.0 / 3, 255, 256, 257, 258, 259, 32640, 32768, 65280, 65504, 0x1p-14, 0x1.02p-14, math.Inf(1), math.Inf(-1), 1e30} {
		if got, want := RealNumber(v).Short(), held(v); got != want {
			t.Errorf("%v: got %v, want %v", v, got, want)
		} else if got {
			some++
		}
	}
	if some < 8 || !Number(3).Short() || Number(259).Short() || (&Term{Op: Symbol}).Short() {
		t.Errorf("got %d short numbers, and 3: %v, 259: %v", some, Number(3).Short(), Number(259).Short())
	}
}
