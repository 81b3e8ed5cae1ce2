package vec

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

func TestDistances(t *testing.T) {
	a, b := both[float32]([]float64{1, 5, -2}), both[float32]([]float64{4, 5, -3})
	for _, x := range []string{"dense", "strided"} {
		if got := SquareTotal(a[x].RO()); got != 30 {
			t.Errorf("%s: SquareTotal = %v, want 30", x, got)
		}
		if got := AbsTotal(a[x].RO()); got != 8 {
			t.Errorf("%s: AbsTotal = %v, want 8", x, got)
		}
		for _, y := range []string{"dense", "strided"} {
			if got := SquaredDistance(a[x].RO(), b[y].RO()); got != 10 {
				t.Errorf("%s, %s: SquaredDistance = %v, want 10", x, y, got)
			}
			if got := AbsDistance(a[x].RO(), b[y].RO()); got != 4 {
				t.Errorf("%s, %s: AbsDistance = %v, want 4", x, y, got)
			}
		}
	}
}

func TestCrossEntropy(t *testing.T) {
	label := both[float64]([]float64{0.5, 0, 2})
	p := both[float64]([]float64{0.25, 0, 0.75})
	logits := both[float64]([]float64{3, -inf, 3 + math.Log(3)})
	want := 0.5*math.Log(4) - 2*math.Log(0.75)
	for _, kind := range []string{"dense", "strided"} {
		if got := CrossEntropy(label[kind].RO(), p["dense"].RO()); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: CrossEntropy = %v, want %v", kind, got, want)
		}
		x := logits[kind].RO()
		if got := CrossEntropyOfLogits(label["dense"].RO(), x, LogSumExp(x)); math.Abs(got-want) > 1e-14 {
			t.Errorf("%s: CrossEntropyOfLogits = %v, want %v", kind, got, want)
		}
	}
}

func TestLogarithms(t *testing.T) {
	for kind, src := range both[float64]([]float64{1, 3}) {
		dst := both[float64]([]float64{0, 0})[kind]
		Log(dst.WO(), src.RO())
		if dst.At(0) != 0 || dst.At(1) != math.Log(3) {
			t.Errorf("%s: Log = %v, %v", kind, dst.At(0), dst.At(1))
		}
		LogNorm(dst.WO(), src.RO(), 0.5)
		if dst.At(0) != 0.5 || dst.At(1) != 2.5 {
			t.Errorf("%s: LogNorm = %v, %v", kind, dst.At(0), dst.At(1))
		}
	}
}

// TestPutNormGrad compares with differences of <a, p> + <b, log(p)>.
func TestPutNormGrad(t *testing.T) {
	x, a, b := []float64{0.3, -1, 2}, []float64{1, -2, 0.5}, []float64{0.25, 3, -1}
	f := func() float64 {
		l := both[float64](x)["dense"].RO()
		lse := LogSumExp(l)
		var sum float64
		for i := range x {
			sum += a[i]*math.Exp(x[i]-lse) + b[i]*(x[i]-lse)
		}
		return sum
	}
	at := func(v []float64) func(int) float64 { return func(i int) float64 { return v[i] } }
	for kind, l := range both[float64](x) {
		got := make([]float64, len(x))
		to := tensor.MakeGrad(unlock.Key{}, got, []int{len(x)}, len(x), tensor.Store).Lane(0)
		PutNormGrad(to, l.RO(), LogSumExp(l.RO()), at(a), at(b))
		for i := range x {
			const h = 1e-5
			old := x[i]
			x[i] = old + h
			above := f()
			x[i] = old - h
			below := f()
			x[i] = old
			if want := (above - below) / (2 * h); math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%s: element %d = %v, want %v", kind, i, got[i], want)
			}
		}
	}
}
