package formula

import (
	"math"
	"testing"

	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestElements reads and writes elements of all types that engines store.
func TestElements(t *testing.T) {
	for _, typ := range dtype.Stored() {
		k := term.Real
		switch {
		case typ == dtype.Bool:
			k = term.Boolean
		case typ.IsInteger():
			k = term.Integer
		}
		data := make([]byte, 3*typ.Size())
		for i, v := range []float64{1, 0, 100} {
			typ.PutFloat64(data[i*typ.Size():], v)
		}
		e := newElements(k, 3)
		e.load(typ, data)
		if typ != dtype.Bool && (e.at(0) != 1 || e.at(1) != 0 || e.at(2) != 100) {
			t.Errorf("%v: read %v, %v, %v, want 1, 0, 100", typ, e.at(0), e.at(1), e.at(2))
		}
		out := make([]byte, len(data))
		e.store(typ, out)
		if string(out) != string(data) {
			t.Errorf("%v: wrote % x, want % x", typ, out, data)
		}
	}
}

// TestNarrow checks that the extremes of nothing are those of the type, and that other numbers keep their low bits.
func TestNarrow(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	if a, b, c := narrow[int8](least), narrow[int8](most), narrow[int8](-3); a != -128 || b != 127 || c != -3 {
		t.Errorf("int8: got %d, %d, %d", a, b, c)
	}
	if a, b := narrow[int32](least), narrow[int32](most); a != math.MinInt32 || b != math.MaxInt32 {
		t.Errorf("int32: got %d, %d", a, b)
	}
	if a, b, c := narrow[uint16](least), narrow[uint16](most), narrow[uint16](1<<16+5); a != 0 || b != math.MaxUint16 || c != 5 {
		t.Errorf("uint16: got %d, %d, %d", a, b, c)
	}
	if a, b := narrow[int64](least), narrow[uint64](most); a != least || b != most {
		t.Errorf("64 bits: got %d, %d", a, b)
	}
}
