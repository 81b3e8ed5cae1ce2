package formula

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestElements loads and stores elements of all storage types.
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

// TestBoundsOfExtremes checks that max and min over an empty range are the bounds of the integer type.
func TestBoundsOfExtremes(t *testing.T) {
	for typ, want := range map[dtype.Type][2]int64{dtype.I8: {-128, 127}, dtype.I32: {math.MinInt32, math.MaxInt32}, dtype.U16: {0, math.MaxUint16},
		dtype.I64: {math.MinInt64, math.MaxInt64}, dtype.U64: {0, -1}} {
		if got := bounded([]int64{math.MinInt64, math.MaxInt64, -3, 1<<40 + 5}, typ, program.Ends{Least: true, Most: true}); !slices.Equal(got, []int64{want[0], want[1], -3, 1<<40 + 5}) {
			t.Errorf("%v: got %v, want %v", typ, got, want)
		}
	}
}

// TestNarrowIntegers checks that integers wrap around when they are stored in narrower types, also the least
// and the greatest int64, unless they are results of a max or min over an empty range.
func TestNarrowIntegers(t *testing.T) {
	tensor := &compiled{Program: &program.Program{Tensors: []*program.Local{{Kind: term.Integer}}, Statements: []*program.Statement{{Value: term.Number(math.MinInt)}}}}
	m := &memory{program: tensor, tensors: []elements{{integer: []int64{math.MinInt64, math.MaxInt64}}}}
	data := make([]byte, 8)
	if err := m.get(0, 0, dtype.I32, data); err != nil || !slices.Equal(as[int32](data), []int32{0, -1}) {
		t.Errorf("got %v, %v, want 0 and -1", as[int32](data), err)
	}
}
