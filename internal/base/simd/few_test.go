package simd

import "testing"

// microFew compares products of few rows with sums of products that are rounded once, as TestMicroTiles does:
// y by rows and by columns.
func microFew[T Float](t *testing.T, name string, few few[T], fma func(x, y, z T) T, x, y []T, k int) {
	t.Helper()
	m, n := 1+k%8, 5+k%9
	for variant := range 4 {
		across, next, more := 1, n+k%3, variant&1 != 0
		if variant&2 != 0 {
			across, next = k+k%3, 1
		}
		from, z := make([]T, k*n+k*3+n*3), make([]T, m*n)
		for l := range k {
			for q := range n {
				from[l*next+q*across] = y[l*8+q%8]
			}
		}
		for i := range z {
			z[i] = T(i)
		}
		few.multiply(z, n, x, 1, 8, from, next, across, m, n, k, more)
		for i, got := range z {
			var want T
			for l := range k {
				want = fma(x[l*8+i/n], from[l*next+i%n*across], want)
			}
			if more {
				want += T(i)
			}
			if !same(got, want) {
				t.Fatalf("%s: %d x %d, %d products, variant %d, element %d: want %g, got %g", name, m, n, k, variant, i, want, got)
			}
		}
	}
}

// TestFewChecks gives operands that are one element too short, distances that are negative or 0, and no
// products.
func TestFewChecks(t *testing.T) {
	defer chosen.use()
	sets[0].use()
	for fault := range 6 {
		m, n, k, next := 3, 9, 5, 9
		x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
		switch fault {
		case 1:
			x = x[1:]
		case 2:
			y = y[1:]
		case 3:
			z = z[1:]
		case 4:
			k = 0
		case 5:
			next = 0
		}
		func() {
			defer func() {
				if r := recover(); (r != nil) != (fault > 0) {
					t.Errorf("fault %d: got panic %v", fault, r)
				}
			}()
			if !Few(z, 9, x, 5, 1, y, next, 1, m, n, k, false) {
				t.Error("want products")
			}
		}()
	}
}
