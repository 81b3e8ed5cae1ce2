package fourier_test

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/fourier"
)

// heap allocates tables, and counts those in use.
type heap struct{ used, limit int }

func (h *heap) alloc(n int) ([]float64, error) {
	if h.used++; h.used > h.limit {
		return nil, errors.New("no memory")
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = math.NaN() // what was not set counts for nothing
	}
	return x, nil
}

func (h *heap) free([]float64) error {
	h.used--
	return nil
}

// TestRun compares transforms of all small lengths, and of some others, with sums.
func TestRun(t *testing.T) {
	t.Parallel()
	lengths := []int{127, 128, 169, 210, 251, 256, 360, 509, 529, 1009, 1024, 1155}
	for n := 1; n <= 100; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		h := &heap{limit: 1}
		f, err := fourier.New(n, 0, h.alloc)
		if err != nil {
			t.Fatal(err)
		}
		if room := f.Room(); room < n || room >= 4*n {
			t.Errorf("length %d: want room for %d to %d numbers, got %d", n, n, 4*n-1, room)
		}
		r := rand.New(rand.NewPCG(1, uint64(n)))
		places := make([][]float64, 4)
		for i := range places {
			places[i] = make([]float64, f.Room())
			for k := range places[i] {
				places[i][k] = math.NaN() // what is not set before counts for nothing
			}
		}
		x := make([]complex128, n)
		for k := range x {
			x[k] = complex(r.NormFloat64(), r.NormFloat64())
			places[0][k], places[1][k] = real(x[k]), imag(x[k])
		}
		f.Run(places[0], places[1], places[2], places[3])
		for k := range n {
			var want complex128
			for i, v := range x {
				want += v * cmplx.Rect(1, -2*math.Pi*float64(i*k%n)/float64(n))
			}
			if got := complex(places[0][k], places[1][k]); cmplx.Abs(got-want) > 1e-13*float64(n+1) {
				t.Errorf("length %d, frequency %d: got %v, want %v", n, k, got, want)
			}
		}
		if err := f.Free(h.free); err != nil || h.used != 0 {
			t.Errorf("length %d: %v, and %d tables were not freed", n, err, h.used)
		}
	}
}

// TestMemory checks that an allocation that fails is an error.
func TestMemory(t *testing.T) {
	t.Parallel()
	for _, n := range []int{16, 17} {
		if f, err := fourier.New(n, 0, (&heap{}).alloc); f != nil || err == nil || err.Error() != "no memory" {
			t.Errorf("length %d: want an error, got %v, %v", n, f, err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1024, 1000, 1009} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, err := fourier.New(n, 0, (&heap{limit: 1}).alloc)
			if err != nil {
				b.Fatal(err)
			}
			p := make([]float64, 4*f.Room())
			m := f.Room()
			for b.Loop() {
				f.Run(p[:m], p[m:2*m], p[2*m:3*m], p[3*m:])
				clear(p)
			}
		})
	}
}
