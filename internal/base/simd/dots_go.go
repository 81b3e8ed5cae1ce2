package simd

import (
	"fmt"
	"sync"
)

// Dots stores products of a row and others in z, or adds them: element q is the sum of x[l] * y[q*ld+l] over
// l from 0 to len(x)-1, in this order, with one rounding for each product, as in Tile. It does nothing and
// returns false where tiles take less time, which copy y, or where z has fewer than eight elements.
func Dots[T Float](z, x, y []T, ld int, more bool) bool {
	t := functions[T]()
	if t.dots == nil || len(z) < 8 || len(x) == 0 {
		return false
	}
	if ld < 0 || len(y) < (len(z)-1)*ld+len(x) {
		panic(fmt.Sprintf("simd: %d elements do not suffice for %d rows of %d elements at distance %d", len(y), len(z), len(x), ld))
	}
	t.dots(z, x, y, ld, more)
	return true
}

// portableDots returns Dots in Go, of micro tiles as portableTiles takes them. The last eight elements are
// computed together, and only those stored that are new.
func portableDots[T, B Float](careful micro[B, B], near micro[T, B]) func(z, x, y []T, ld int, more bool) {
	pool := &sync.Pool{New: func() any { return new(factors[T, B]) }}
	return func(z, x, y []T, ld int, more bool) {
		f, k := pool.Get().(*factors[T, B]), len(x)
		f.x = sized(f.x, k)
		for i, v := range x {
			f.x[i] = B(v)
		}
		small := f.anySmall(f.x)
		for q := 0; q < len(z); q += 8 {
			first := min(q, len(z)-8)
			rows := y[first*ld:]
			var sums [8]B
			if small || smallIn[T, B](rows, k, ld, 8) {
				f.y = sized(f.y, 8*k)
				for i := range 8 {
					for l, v := range rows[i*ld : i*ld+k] {
						f.y[i*k+l] = B(v)
					}
				}
				careful.dots(&sums, f.x, f.y, k, k)
			} else {
				near.dots(&sums, f.x, rows, ld, k)
			}
			for i := q; i < first+8; i++ {
				if v := T(sums[i-first]); more {
					z[i] += v
				} else {
					z[i] = v
				}
			}
		}
		pool.Put(f)
	}
}

func dots32() func(z, x, y []float32, ld int, more bool) {
	if fuses {
		return portableDots(plain[float32](), plain[float32]())
	}
	return portableDots(called(rounded32), twice32[float32]())
}

func dots64() func(z, x, y []float64, ld int, more bool) {
	switch {
	case fuses:
		return portableDots(plain[float64](), plain[float64]())
	case hasFMA:
		return portableDots(inline64, inline64)
	}
	return portableDots(called(sumFMA64), called(sumFMA64))
}
