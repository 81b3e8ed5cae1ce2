package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSquares compares functions of squares with what they mean, on numbers of which many are equal, zeros of
// both signs, infinities and NaN.
func TestSquares(t *testing.T) {
	each(func(name string) { squares[float32](t, name); squares[float64](t, name) })
}

func squares[T Float](t *testing.T, name string) {
	r := rand.New(rand.NewPCG(5, 6))
	values := []T{0, T(math.Copysign(0, -1)), 1, 1, 2, 2, -1, T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN())}
	draw := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = values[r.IntN(len(values)-r.IntN(2))]
		}
		return x
	}
	for n := range 41 {
		s := Squares{Width: 2*n + n%3, Cols: n, Rows: 1 + n%4}
		all, count := 2*s.Rows*s.Width, s.Rows*s.Cols
		x, g := draw(all), draw(count)
		most, mean, to := make([]T, count+1), make([]T, count+1), draw(all)
		want := slices.Clone(to)
		MaxSquares(most[:count], x, s)
		MeanSquares(mean[:count], x, s)
		MaxSquaresGrad(to, x, g, s)
		for i := range count {
			first := 2*(i/n)*s.Width + 2*(i%n)
			at := [4]int{first, first + 1, first + s.Width, first + s.Width + 1}
			best, sum := first, 0.0
			for _, j := range at {
				if x[best] == x[best] && (x[j] > x[best] || x[j] != x[j]) {
					best = j
				}
				sum += float64(x[j])
			}
			want[best] += g[i]
			greatest := x[best]
			for _, j := range at { // of zeros, the positive one
				if x[best] == 0 && x[j] == 0 && !math.Signbit(float64(x[j])) {
					greatest = 0
				}
			}
			if !same(most[i], greatest) {
				t.Fatalf("%s, %+v of %T: the greatest element of square %d: want %v, got %v", name, s, x, i, greatest, most[i])
			}
			if v := T(sum / 4); !same(mean[i], v) {
				t.Fatalf("%s, %+v of %T: the mean of square %d: want %v, got %v", name, s, x, i, v, mean[i])
			}
		}
		for i := range to {
			if to[i] != want[i] && !same(to[i], want[i]) { // zeros may get the other sign
				t.Fatalf("%s, %+v of %T: gradient %d: want %v, got %v", name, s, x, i, want[i], to[i])
			}
		}
		if most[count] != 0 || mean[count] != 0 {
			t.Fatalf("%s, %+v of %T: an element beyond the result was written", name, s, x)
		}
	}
	for _, s := range []Squares{{Width: 2, Cols: 2, Rows: 1}, {Width: 4, Cols: 2, Rows: 2}, {Width: 4, Cols: 2, Rows: -1}, {Width: 3, Cols: 1, Rows: 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v in eight elements: no panic", s)
				}
			}()
			MaxSquares(make([]T, 2), make([]T, 8), s)
		}()
	}
}

func BenchmarkSquares(b *testing.B) {
	for _, s := range []Squares{{Width: 8, Cols: 4, Rows: 128}, {Width: 1024, Cols: 512, Rows: 1}} {
		x, y, z := make([]float32, 2*s.Rows*s.Width), make([]float32, 2*s.Rows*s.Width), make([]float32, s.Rows*s.Cols)
		b.Run(fmt.Sprintf("greatest/%d", s.Cols), func(b *testing.B) {
			for b.Loop() {
				MaxSquares(z, x, s)
			}
		})
		b.Run(fmt.Sprintf("gradient/%d", s.Cols), func(b *testing.B) {
			for b.Loop() {
				MaxSquaresGrad(y, x, z, s)
			}
		})
	}
}
