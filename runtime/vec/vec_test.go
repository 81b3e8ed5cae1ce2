package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

// both returns values as a lane of neighboring elements, and as one of elements that lie apart, among
// others that must not be touched.
func both[T dtype.Float](values []float64) map[string]tensor.RWLane[T] {
	dense, sparse := make([]T, len(values)), make([]T, 3*len(values))
	for i, v := range values {
		dense[i] = T(v)
		sparse[3*i], sparse[3*i+1], sparse[3*i+2] = T(inf), T(v), T(nan)
	}
	return map[string]tensor.RWLane[T]{
		"dense":   tensor.MakeRW(unlock.Seal(dense), []int{len(values)}).Lane(0),
		"strided": tensor.MakeRW(unlock.Seal(sparse), []int{len(values), 3}).Along(0).Lane(1),
	}
}

func same(a, b float64) bool { return a == b || a != a && b != b }

func TestReductions(t *testing.T) {
	tests := []struct {
		values       []float64
		sum, max     float64
		sumOfSquares float64
	}{
		{values: nil, sum: 0, max: -inf},
		{values: []float64{2}, sum: 2, max: 2, sumOfSquares: 4},
		{values: []float64{1, 3, 2, 3}, sum: 9, max: 3, sumOfSquares: 23},
		{values: []float64{-5, -7}, sum: -12, max: -5, sumOfSquares: 74},
		{values: []float64{1000, 1000}, sum: 2000, max: 1000, sumOfSquares: 2e6},
		{values: []float64{-1000, -1000}, sum: -2000, max: -1000, sumOfSquares: 2e6},
		{values: []float64{-inf, -inf}, sum: -inf, max: -inf, sumOfSquares: inf},
		{values: []float64{-inf, 4}, sum: -inf, max: 4, sumOfSquares: inf},
		{values: []float64{inf, 4}, sum: inf, max: inf, sumOfSquares: inf},
		{values: []float64{4, nan, 5, nan}, sum: nan, max: nan, sumOfSquares: nan},
		{values: []float64{inf, nan}, sum: nan, max: nan, sumOfSquares: nan},
	}
	for _, tt := range tests {
		for kind, l := range both[float32](tt.values) {
			a := l.RO()
			if got := float64(Sum(a)); !same(got, tt.sum) {
				t.Errorf("%s Sum(%v) = %v, want %v", kind, tt.values, got, tt.sum)
			}
			if got := float64(Max(a)); !same(got, tt.max) {
				t.Errorf("%s Max(%v) = %v, want %v", kind, tt.values, got, tt.max)
			}
			if got := float64(Dot(a, a)); !same(got, tt.sumOfSquares) {
				t.Errorf("%s Dot(%v) = %v, want %v", kind, tt.values, got, tt.sumOfSquares)
			}
		}
	}
}

// TestPrecision checks that sums of float32 are carried in float64.
func TestPrecision(t *testing.T) {
	values := make([]float64, 1<<16)
	for i := range values {
		values[i] = 1
	}
	values[0] = 1 << 24 // adding 1 to it changes nothing in float32
	want := float32(1<<24 + 1<<16)
	for kind, l := range both[float32](values) {
		if got := Sum(l.RO()); got != want {
			t.Errorf("%s: Sum = %v, want %v", kind, got, want)
		}
	}
	ones := both[float32](slices.Repeat([]float64{1}, len(values)))
	if got := Dot(both[float32](values)["dense"].RO(), ones["strided"].RO()); got != want {
		t.Errorf("Dot = %v, want %v", got, want)
	}
}

func TestExpNorm(t *testing.T) {
	tests := []struct{ values, want []float64 }{
		{nil, nil},
		{[]float64{5}, []float64{1}},
		{[]float64{0, math.Log(3)}, []float64{0.25, 0.75}},
		{[]float64{1000, 1000, 1000, 1000}, []float64{0.25, 0.25, 0.25, 0.25}},
		{[]float64{-1000, 0}, []float64{0, 1}},
		{[]float64{-inf, 2, 2}, []float64{0, 0.5, 0.5}},
		{[]float64{-inf, -inf}, []float64{nan, nan}},
		{[]float64{1, nan}, []float64{nan, nan}},
	}
	for _, tt := range tests {
		for from, src := range both[float64](tt.values) {
			for to, dst := range both[float64](make([]float64, len(tt.values))) {
				ExpNorm(dst.WO(), src.RO())
				for i, want := range tt.want {
					if got := dst.At(i); !same(got, want) && !(math.Abs(got-want) <= 1e-15) {
						t.Errorf("ExpNorm(%v) from %s to %s: element %d = %v, want %v", tt.values, from, to, i, got, want)
					}
				}
			}
		}
	}
}

func TestCopyFill(t *testing.T) {
	for from, src := range both[float64]([]float64{1, 2, 3}) {
		for to, dst := range both[float64]([]float64{9, 9, 9}) {
			Copy(dst.WO(), src.RO())
			if got := elements(dst); got != "[1 2 3]" {
				t.Errorf("Copy from %s to %s: %s", from, to, got)
			}
			Fill(dst.WO(), -1)
			if got := elements(dst); got != "[-1 -1 -1]" {
				t.Errorf("Fill of %s: %s", to, got)
			}
		}
	}
	for _, dst := range both[float64](nil) {
		Copy(dst.WO(), dst.RO())
		Fill(dst.WO(), 1)
	}
	for _, n := range []int{1, 15, 16, 17, 33, 100} {
		for to, dst := range both[float64](make([]float64, n)) {
			Fill(dst.WO(), math.Copysign(0, -1))
			for i := range n {
				if x := dst.RO().At(i); x != 0 || !math.Signbit(x) {
					t.Errorf("Fill of %d elements, %s: element %d is %v, want -0", n, to, i, x)
				}
			}
		}
	}
}

// TestNeighbors checks that what lies between the elements of a lane is left alone.
func TestNeighbors(t *testing.T) {
	data := []float64{-7, 1, -8, -7, 2, -8}
	l := tensor.MakeRW(unlock.Seal(data), []int{2, 3}).Along(0).Lane(1)
	Fill(l.WO(), 0)
	Copy(l.WO(), both[float64]([]float64{3, 4})["dense"].RO())
	ExpNorm(l.WO(), both[float64]([]float64{1, 1})["dense"].RO())
	if fmt.Sprint(data) != "[-7 0.5 -8 -7 0.5 -8]" {
		t.Errorf("%v", data)
	}
}

func elements(l tensor.RWLane[float64]) string {
	var out []float64
	for i := range l.Len() {
		out = append(out, l.At(i))
	}
	return fmt.Sprint(out)
}

func TestLargest(t *testing.T) {
	tests := []struct {
		values           []float64
		n                int
		sorted, unsorted []int64
	}{
		{[]float64{1, 3, 2, 3, -inf}, 3, []int64{1, 3, 2}, []int64{1, 2, 3}},
		{[]float64{1, nan, inf, nan}, 3, []int64{1, 3, 2}, []int64{1, 2, 3}},
		{[]float64{5, 7}, 2, []int64{1, 0}, []int64{0, 1}},
		{[]float64{4}, 0, nil, nil},
	}
	for _, tt := range tests {
		for kind, l := range both[float32](tt.values) {
			for sorted, want := range map[bool][]int64{true: tt.sorted, false: tt.unsorted} {
				order := make([]int64, len(tt.values))
				Largest(tensor.MakeRW(unlock.Seal(order), []int{len(order)}).Lane(0), l.RO(), tt.n, sorted)
				if !slices.Equal(order[:tt.n], want) {
					t.Errorf("%s, sorted %v: %d largest of %v: got %v, want %v", kind, sorted, tt.n, tt.values, order[:tt.n], want)
				}
			}
		}
	}
}

// TestArithmetic checks functions that change lanes.
func TestArithmetic(t *testing.T) {
	x := tensor.MakeRO(unlock.Seal([]float64{1, 10, 100, 1000, 10000, nan}), []int{6}).Lane(0)
	shifts := tensor.MakeRO(unlock.Seal([]float64{0.5, 3}), []int{2}).Lane(0) // of three rows
	for kind, l := range both[float64]([]float64{1, 2, -inf, 4, 5, 6}) {
		Add(l, x)
		ShiftRows(l, shifts, 2)
		AtLeast(l, 3)
		for i, want := range []float64{3, 12.5, 3, 1007, 10005.5, nan} {
			if !same(l.At(i), want) {
				t.Errorf("%s: element %d: want %v, got %v", kind, i, want, l.At(i))
			}
		}
		stored, added := []float64{1, 2, 3, 4, 5, 6}, []float64{1, 2, 3, 4, 5, 6}
		Put(tensor.MakeGrad(unlock.Seal(stored), []int{6}, 6, tensor.Store).Span(0, 6), l.RO())
		Put(tensor.MakeGrad(unlock.Seal(added), []int{6}, 6, tensor.Accumulate).Span(0, 6), l.RO())
		Put(tensor.MakeGrad(unlock.Seal[float64](nil), []int{6}, 6, tensor.Discard).Span(0, 6), l.RO())
		for i := range stored {
			if !same(stored[i], l.At(i)) || !same(added[i], float64(i+1)+l.At(i)) {
				t.Errorf("%s: element %d: want %v stored and %v added, got %v and %v", kind, i, l.At(i), float64(i+1)+l.At(i), stored[i], added[i])
			}
		}
	}
	for kind, l := range both[float64]([]float64{1e17, 1, 1, 1, -1e17, 1, 1}) { // 0+4 first
		if got := Total(l.RO()); got != 5 {
			t.Errorf("%s: want the sum 5 of parts that are added apart, got %v", kind, got)
		}
	}
	columns := make([]float64, 6)
	grad := tensor.MakeGrad(unlock.Seal(columns), []int{3, 2}, 6, tensor.Accumulate).Along(0).Lane(1)
	grad.PutAll(1, []float64{7, 8})
	if want := []float64{0, 0, 0, 7, 0, 8}; !slices.Equal(columns, want) {
		t.Errorf("elements apart: want %v, got %v", want, columns)
	}
}

// TestGate checks lanes of which elements are left out, longer than the lists that Gate goes by.
func TestGate(t *testing.T) {
	values, open := make([]float64, 601), make([]float64, 601)
	for i := range values {
		values[i] = []float64{1, nan, -inf, 4, 5}[i%5] + float64(i)
		open[i] = []float64{0.5, 0, -1, nan, inf, -inf, math.Copysign(0, -1), 1e-300}[i%8]
	}
	for kind, l := range both[float64](values) {
		for gate, y := range both[float64](open) {
			for to, d := range both[float64](open) {
				Gate(d.WO(), l.RO(), y.RO())
				for i, v := range values {
					want := v
					if open[i] <= 0 {
						want = 0
					}
					if !same(d.At(i), want) {
						t.Fatalf("%s by %s to %s: element %d: want %v, got %v", kind, gate, to, i, want, d.At(i))
					}
				}
			}
		}
	}
}
