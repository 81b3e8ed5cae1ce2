package simd

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"
)

// Few stores the product of m rows of x and a matrix y in z, or adds it: element (p, q) at z[p*ld+q] is the
// sum of x[p*row+l*col] * y[l*next+q*across] over l from 0 to k-1, in this order, with one rounding for each
// product, as in Tile. next or across is 1. It reads each element of y once, and does nothing and returns
// false where tiles or Dots take less time. n and k are at least 1.
func Few[T Float](z []T, ld int, x []T, row, col int, y []T, next, across, m, n, k int, more bool) bool {
	t := functions[T]()
	if m < 1 || m > t.few.rows || n < fewest && m > 1 {
		return false
	}
	if min(ld, row, col, next, across) < 0 || min(n, k, next*across) < 1 || len(z) < (m-1)*ld+n ||
		len(x) < (m-1)*row+(k-1)*col+1 || len(y) < (k-1)*next+(n-1)*across+1 {
		panic(fmt.Sprintf("simd: %d rows of %d sums of %d products: %d, %d and %d elements at distances %d, %d, %d, %d and %d do not suffice",
			m, n, k, len(z), len(x), len(y), ld, row, col, next, across))
	}
	t.few.multiply(z, ld, x, row, col, y, next, across, m, n, k, more)
	return true
}

const (
	strip  = 1024 // of how many columns Few keeps sums
	kept   = 4096 // how many sums it keeps at a time, unless rows are many
	steps  = 4    // how many products it adds to a sum at once
	fewest = 8    // below how many columns tiles take less time
	direct = 3    // up to how many rows of x take elements of y as they are
)

// few is Few for up to a number of rows.
type few[T Float] struct {
	rows     int
	multiply func(z []T, ld int, x []T, row, col int, y []T, next, across, m, n, k int, more bool)
}

// fewFactors is memory for the factors of a product of few rows.
type fewFactors[T, B Float] struct {
	factors[T, B]
	sums []B
	each int // elements of a row of x, with -0 at the end: products of -0 and 0 change no sum, not even one of -0
}

// portableFew returns Few in Go, of micro tiles as portableTiles takes them.
func portableFew[T, B Float](rows int, fast, careful micro[B, B], near micro[T, B]) few[T] {
	pool := &sync.Pool{New: func() any {
		return &fewFactors[T, B]{factors: factors[T, B]{fast: &fast, careful: &careful, near: &near}}
	}}
	return few[T]{rows, func(z []T, ld int, x []T, row, col int, y []T, next, across, m, n, k int, more bool) {
		f := pool.Get().(*fewFactors[T, B])
		f.takeAll(x, row, col, m, k)
		most := min(n, strip, max(kept/m, 64))
		f.sums = sized(f.sums, m*most)
		for q := 0; q < n; q += most {
			width := min(most, n-q)
			clear(f.sums)
			for l := 0; l < k; l += steps {
				f.add(m, l, y[l*next+q*across:], width, next, across, min(steps, k-l))
			}
			for p := range m {
				to, from := z[p*ld+q:][:width], f.sums[p*width:][:width]
				if more {
					for j, v := range from {
						to[j] += T(v)
					}
				} else {
					for j, v := range from {
						to[j] = T(v)
					}
				}
			}
		}
		pool.Put(f)
	}}
}

// takeAll copies m rows of x.
func (f *fewFactors[T, B]) takeAll(x []T, row, col, m, k int) {
	f.each = (k + steps - 1) / steps * steps
	f.x = sized(f.x, m*f.each)
	for p := range m {
		to, from := f.x[p*f.each:(p+1)*f.each], x[p*row:]
		for l := range k {
			to[l] = B(from[l*col])
		}
		for l := range to[k:] {
			to[k+l] = B(math.Copysign(0, -1))
		}
	}
	f.small[0] = f.anySmall(f.x)
}

// add adds products of columns of x from l on and as many rows of y as left says. Few says where elements of
// y are.
func (f *fewFactors[T, B]) add(m, l int, y []T, width, next, across, left int) {
	same := unsafe.Sizeof(T(0)) == unsafe.Sizeof(B(0))
	if across == 1 && left == steps && (same || m <= direct && !f.small[0] && !smallIn[T, B](y, width, next, steps)) {
		y0, y1, y2, y3 := y[:width], y[next:][:width], y[2*next:][:width], y[3*next:][:width]
		for p := range m {
			f.near.four(f.sums[p*width:][:width], (*[steps]B)(f.x[p*f.each+l:]), y0, y1, y2, y3)
		}
		return
	}
	f.y = sized(f.y, steps*width)
	y0, y1, y2, y3 := f.y[:width], f.y[width:2*width], f.y[2*width:3*width], f.y[3*width:]
	switch {
	case across == 1:
		for i := range left {
			copyAll(f.y[i*width:(i+1)*width], y[i*next:])
		}
	case left == steps:
		for q := range y0 {
			v := (*[steps]T)(y[q*across:])
			y0[q], y1[q], y2[q], y3[q] = B(v[0]), B(v[1]), B(v[2]), B(v[3])
		}
	default:
		for i := range left {
			for q := range width {
				f.y[i*width+q] = B(y[i+q*across])
			}
		}
	}
	clear(f.y[left*width:])
	if across == 1 {
		f.small[1] = smallIn[T, B](y, width, next, left)
	} else {
		f.small[1] = f.anySmall(f.y)
	}
	micro := f.fast
	if (f.small[0] || f.small[1]) && least(f.x)*least(f.y) < 0x1p-126 {
		micro = f.careful
	}
	for p := range m {
		micro.four(f.sums[p*width:][:width], (*[steps]B)(f.x[p*f.each+l:]), y0, y1, y2, y3)
	}
}

// copyAll copies as many elements as there is room for.
func copyAll[T, B Float](to []B, from []T) {
	for ; len(to) >= 4; to, from = to[4:], from[4:] {
		copyFour((*[4]B)(to), (*[4]T)(from))
	}
	for i := range to {
		to[i] = B(from[i])
	}
}

// smallIn is anySmall for rows of y, of which each has width elements.
func smallIn[T, B Float](y []T, width, next, rows int) bool {
	if smallRows[T, B](y, width&^3, next, rows) {
		return true
	}
	for i := 0; i < rows && width%4 > 0 && unsafe.Sizeof(T(0)) != unsafe.Sizeof(B(0)); i++ {
		if slices.ContainsFunc(y[i*next+width&^3:i*next+width], isSmall) {
			return true
		}
	}
	return false
}

func few32() few[float32] {
	if fuses {
		return portableFew(goRows, plain[float32](), plain[float32](), plain[float32]())
	}
	return portableFew(math.MaxInt, twice32[float64](), called(rounded32), twice32[float32]())
}

func few64() few[float64] {
	switch {
	case fuses:
		return portableFew(goRows, plain[float64](), plain[float64](), plain[float64]())
	case hasFMA:
		return portableFew(goRows, inline64, inline64, inline64)
	}
	return portableFew(goRows, called(sumFMA64), called(sumFMA64), called(sumFMA64))
}
