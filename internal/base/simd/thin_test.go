package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestThin compares products with few columns, of all sets that have functions for them, with sums that are
// rounded once for each product.
func TestThin(t *testing.T) {
	others(t, func(name string) {
		t.Run(name, func(t *testing.T) {
			thins(t, fma32)
			thins(t, math.FMA)
		})
	})
}

func thins[T Float](t *testing.T, fma func(x, y, z T) T) {
	if functions[T]().thin[0].add == nil {
		t.Skip("tiles compute these products")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for variant := range 200 {
		n, k, more := 1+variant%4, 1+r.IntN(21), variant&4 != 0
		m := functions[T]().thin[n-1].rows + r.IntN(40)
		ld, row, col := k+r.IntN(3), n+r.IntN(3), 1
		zrow, zcol := n+r.IntN(2), 1
		if variant&8 != 0 {
			row, col = 1, k+r.IntN(3)
		}
		if variant&16 != 0 {
			zrow, zcol = 1, m+r.IntN(3)
		}
		x, y, z := operand[T](r, (m-1)*ld+k), operand[T](r, (k-1)*row+(n-1)*col+1), operand[T](r, (m-1)*zrow+(n-1)*zcol+1)
		if variant&32 != 0 { // products are rounded to -0, and so are their sums
			small := T(math.SmallestNonzeroFloat32)
			if wide := math.SmallestNonzeroFloat64; T(wide) != 0 {
				small = T(wide)
			}
			for i := range x {
				x[i] = small
			}
			for i := range y {
				y[i] = -0.25
			}
		}
		want := slices.Clone(z)
		for i := range m {
			for j := range n {
				var s T
				for l := range k {
					s = fma(x[i*ld+l], y[l*row+j*col], s)
				}
				if at := i*zrow + j*zcol; more {
					want[at] += s
				} else {
					want[at] = s
				}
			}
		}
		if !Thin(z, zrow, zcol, x, ld, y, row, col, m, n, k, more) {
			t.Fatalf("%d x %d of %T: want a product", m, n, z[0])
		}
		if at := first(want, z); at >= 0 {
			t.Fatalf("%d x %d of %T, %d products, variant %d, element %d: want %v, got %v", m, n, z[0], k, variant, at, want[at], z[at])
		}
	}
}

// TestThinChecks gives operands that are one element too short, negative distances, and sizes that are left
// to tiles.
func TestThinChecks(t *testing.T) {
	if functions[float32]().thin[0].add == nil {
		t.Skip("tiles compute these products")
	}
	const m, n, k = 40, 2, 5
	for fault := range 8 {
		x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
		ld, rows, products := k, m, k
		switch fault {
		case 1:
			x = x[1:]
		case 2:
			y = y[1:]
		case 3:
			z = z[1:]
		case 4:
			ld = -1
		case 5:
			rows = functions[float32]().thin[n-1].rows - 1
		case 6:
			products = 0
		case 7:
			ld = 0
		}
		func() {
			defer func() {
				if r := recover(); (r != nil) != (fault >= 1 && fault <= 4) {
					t.Errorf("fault %d: got panic %v", fault, r)
				}
			}()
			if got := Thin(z, n, 1, x, ld, y, n, 1, rows, n, products, false); got != (fault == 0 || fault == 7) {
				t.Errorf("fault %d: got %v", fault, got)
			}
		}()
	}
}
