package simd

import (
	"math"
	"slices"
	"sync"
	"unsafe"
)

// micro computes the sums of a small tile. Elements of x that belong to product l lie together, dx elements
// behind those of product l-1, and those of y dy elements. B is the type in which factors and sums are held;
// sums are always numbers of the element type. Elements of y have the type Y, and become numbers of B each
// time.
type micro[Y, B Float] struct {
	// two adds products of two elements of x and four of y each: sum 4*p+q has x[l*dx+p] * y[l*dy+q].
	two func(sums *[8]B, x []B, dx int, y []Y, dy, k int)
	// one adds products of one element of x and eight of y.
	one func(sums *[8]B, x []B, dx int, y []Y, dy, k int)
	// dots adds products of one row of x and eight of y, which lie dy elements apart: sum q has x[l] *
	// y[q*dy+l].
	dots func(sums *[8]B, x []B, y []Y, dy, k int)
	// four adds products of four elements of x and four rows of y, which are as long as sums: sum q has
	// x[0] * y0[q], then x[1] * y1[q], and so on.
	four func(sums []B, x *[4]B, y0, y1, y2, y3 []Y)
}

// factors is memory for copies of the factors of a tile.
type factors[T, B Float] struct {
	fast, careful *micro[B, B]
	near          *micro[T, B] // takes y as it is
	x, y          []B
	width         int // elements of x for each product
	small         [2]bool
}

// goRows is of how many rows tiles in Go are.
const goRows = 8

// packRows copies rows of x side by side, as Pack does.
func packRows[T Float](z, x []T, row, n int) {
	count := n * functions[T]().side
	for i := range goRows {
		at := i
		for _, v := range x[i*row:][:count] {
			z[at] = v
			at += goRows
		}
	}
}

// portableTiles returns the tiles in Go. They copy the factors, so that micro tiles find them side by side
// and in the type in which they compute. Tiles of one or two rows read each element of y once, and copy x
// alone. Micro tiles keep sums in registers.
func portableTiles[T, B Float](fast, careful micro[B, B], near micro[T, B]) (t [3][2]tile[T]) {
	pool := &sync.Pool{New: func() any { return &factors[T, B]{fast: &fast, careful: &careful, near: &near} }}
	for i, rows := range []int{goRows, 2, 1} {
		for j, cols := range []int{8, 4} {
			t[i][j] = tile[T]{rows: rows, cols: cols, compute: func(z []T, ld int, x []T, row, col int, y []T, next, k int, more bool) {
				f := pool.Get().(*factors[T, B])
				f.takeRows(x, rows, cols, row, col, k)
				if rows <= 2 && !f.small[0] && !smallRows[T, B](y, cols, next, k) {
					product(f.near, z, ld, rows, cols, f.x, f.width, y, next, k, more)
				} else {
					f.takeCols(y, cols, next, k)
					f.multiply(z, ld, rows, cols, k, more)
				}
				pool.Put(f)
			}, rowsAt: func(z []T, ld int, x []T, row, col int, y []T, at *int, k int, more bool) {
				f := pool.Get().(*factors[T, B])
				f.takeRows(x, rows, cols, row, col, k)
				f.takeColsAt(y, cols, unsafe.Slice(at, k))
				f.multiply(z, ld, rows, cols, k, more)
				pool.Put(f)
			}}
			if i > 0 {
				continue
			}
			t[i][j].column = func(z []T, ld int, x []T, apart int, y []T, next, k, n int, more bool) {
				f := pool.Get().(*factors[T, B])
				f.takeCols(y, cols, next, k)
				f.column(z, ld, x, apart, rows, cols, k, n, more)
				pool.Put(f)
			}
			t[i][j].columnAt = func(z []T, ld int, x []T, apart int, y []T, at *int, k, n int, more bool) {
				f := pool.Get().(*factors[T, B])
				f.takeColsAt(y, cols, unsafe.Slice(at, k))
				f.column(z, ld, x, apart, rows, cols, k, n, more)
				pool.Put(f)
			}
		}
	}
	return t
}

// column computes n tiles, one below the other, of elements of x that lie side by side.
func (f *factors[T, B]) column(z []T, ld int, x []T, apart, rows, cols, k, n int, more bool) {
	for p := range n {
		f.takeRows(x[p*apart:], rows, cols, 1, rows, k)
		f.multiply(z[p*rows*ld:], ld, rows, cols, k, more)
	}
}

// takeRows copies rows of x. One row has a second one of zeros, if it is multiplied by four columns.
func (f *factors[T, B]) takeRows(x []T, rows, cols, row, col, k int) {
	if f.width = max(rows, 2); rows == 1 && cols == 8 {
		f.width = 1
	}
	f.x = sized(f.x, f.width*k)
	switch {
	case row == 1 && col == rows && rows > 1:
		to, from := f.x, x
		for ; len(to) >= 4; to, from = to[4:], from[4:] {
			copyFour((*[4]B)(to), (*[4]T)(from))
		}
		for i := range to {
			to[i] = B(from[i])
		}
	default:
		if rows < f.width {
			clear(f.x)
		}
		for p := range rows {
			from, at := x[p*row:], p
			for i := 0; at < len(f.x); i += col {
				f.x[at] = B(from[i])
				at += f.width
			}
		}
	}
	f.small[0] = f.anySmall(f.x)
}

// takeCols copies rows of y that lie next elements apart.
func (f *factors[T, B]) takeCols(y []T, cols, next, k int) {
	f.y = sized(f.y, cols*k)
	for l := range k {
		copyRow(f.y[l*cols:], y[l*next:], cols)
	}
	f.small[1] = f.anySmall(f.y)
}

// takeColsAt copies rows of y that lie at given places.
func (f *factors[T, B]) takeColsAt(y []T, cols int, at []int) {
	f.y = sized(f.y, cols*len(at))
	for l, place := range at {
		copyRow(f.y[l*cols:], y[place:], cols)
	}
	f.small[1] = f.anySmall(f.y)
}

// copyRow copies four or eight elements.
func copyRow[T, B Float](to []B, from []T, cols int) {
	copyFour((*[4]B)(to), (*[4]T)(from))
	if cols == 8 {
		copyFour((*[4]B)(to[4:]), (*[4]T)(from[4:]))
	}
}

func copyFour[T, B Float](z *[4]B, x *[4]T) {
	z[0], z[1], z[2], z[3] = B(x[0]), B(x[1]), B(x[2]), B(x[3])
}

// multiply stores the products of copied rows and columns in z, or adds them.
func (f *factors[T, B]) multiply(z []T, ld, rows, cols, k int, more bool) {
	m := f.fast
	if (f.small[0] || f.small[1]) && least(f.x)*least(f.y) < 0x1p-126 {
		m = f.careful
	}
	product(m, z, ld, rows, cols, f.x, f.width, f.y, cols, k, more)
}

// product stores the products of rows of x and columns of y in z, or adds them.
func product[T, Y, B Float](m *micro[Y, B], z []T, ld, rows, cols int, x []B, width int, y []Y, next, k int, more bool) {
	if rows == 1 && cols == 8 {
		var sums [8]B
		m.one(&sums, x, width, y, next, k)
		put((*[4]T)(z), sums[:4], more)
		put((*[4]T)(z[4:]), sums[4:], more)
		return
	}
	for p := 0; p < rows; p += 2 {
		for q := 0; q < cols; q += 4 {
			var sums [8]B
			m.two(&sums, x[p:], width, y[q:], next, k)
			put((*[4]T)(z[p*ld+q:]), sums[:4], more)
			if rows > 1 {
				put((*[4]T)(z[(p+1)*ld+q:]), sums[4:], more)
			}
		}
	}
}

// put stores sums, or adds them.
func put[T, B Float](z *[4]T, sums []B, more bool) {
	s := (*[4]B)(sums)
	if more {
		z[0], z[1], z[2], z[3] = z[0]+T(s[0]), z[1]+T(s[1]), z[2]+T(s[2]), z[3]+T(s[3])
		return
	}
	z[0], z[1], z[2], z[3] = T(s[0]), T(s[1]), T(s[2]), T(s[3])
}

// anySmall reports whether products of elements of x may be so small that they take careful micro tiles. It
// is false where micro tiles compute in T.
func (f *factors[T, B]) anySmall(x []B) bool {
	if unsafe.Sizeof(T(0)) == unsafe.Sizeof(B(0)) {
		return false
	}
	for ; len(x) >= 4; x = x[4:] {
		if v := (*[4]B)(x); isSmall(v[0]) || isSmall(v[1]) || isSmall(v[2]) || isSmall(v[3]) {
			return true
		}
	}
	return slices.ContainsFunc(x, isSmall)
}

// smallRows is anySmall for rows of y that lie next elements apart. It looks at two elements at a time: those
// whose exponents are as small have no carry.
func smallRows[T, B Float](y []T, cols, next, k int) bool {
	if cols == 0 || unsafe.Sizeof(T(0)) == unsafe.Sizeof(B(0)) {
		return false
	}
	const (
		exponents = 0x7f8000007f800000
		top       = 0x8000000080000000
		carry     = top - 64<<23 - 64<<55 // 64 is the exponent of 2^-63
	)
	p, all := begin(y, (k-1)*next+cols), uint64(top)
	for l := range k {
		at, end := 4*l*next, 4*(l*next+cols) // offsets, since no pointer may lie behind the last element
		for ; end-at >= 32; at += 32 {
			v := (*[4]uint64)(unsafe.Add(p, at))
			all &= (v[0]&exponents + carry) & (v[1]&exponents + carry) & (v[2]&exponents + carry) & (v[3]&exponents + carry)
		}
		if at < end {
			v := (*[2]uint64)(unsafe.Add(p, at))
			all &= (v[0]&exponents + carry) & (v[1]&exponents + carry)
		}
	}
	if all == top {
		return false
	}
	for l := range k { // zeros are not small
		if slices.ContainsFunc(y[l*next:l*next+cols], isSmall) {
			return true
		}
	}
	return false
}

// isSmall reports whether v is neither 0 nor at least 2^-63 either way.
func isSmall[B Float](v B) bool {
	const small = (1023 - 63) << 53
	return math.Float64bits(float64(v))<<1-1 < small-1
}

func tiles32() [3][2]tile[float32] {
	if fuses {
		return portableTiles(plain[float32](), plain[float32](), plain[float32]())
	}
	return portableTiles(twice32[float64](), called(rounded32), twice32[float32]())
}

func tiles64() [3][2]tile[float64] {
	if fuses {
		return portableTiles(plain[float64](), plain[float64](), plain[float64]())
	}
	if hasFMA {
		return portableTiles(inline64, inline64, inline64)
	}
	return portableTiles(called(sumFMA64), called(sumFMA64), called(sumFMA64))
}

func sized[B Float](x []B, n int) []B {
	if cap(x) < n {
		return make([]B, n)
	}
	return x[:n]
}

// least returns the least absolute value other than 0, or infinity if there is none.
func least[B Float](x []B) float64 {
	least := uint64(math.MaxUint64)
	for _, v := range x {
		least = min(least, math.Float64bits(float64(v))<<1-1) // 0 becomes the greatest number
	}
	if least == math.MaxUint64 {
		return math.Inf(1)
	}
	return math.Float64frombits((least + 1) >> 1)
}

// plain are micro tiles whose sums of products the compiler makes instructions that round once.
func plain[B Float]() micro[B, B] {
	return micro[B, B]{
		two:  func(sums *[8]B, x []B, dx int, y []B, dy, k int) { plainTwo(sums, x, dx, y, dy, k) },
		one:  func(sums *[8]B, x []B, dx int, y []B, dy, k int) { plainOne(sums, x, dx, y, dy, k) },
		dots: func(sums *[8]B, x, y []B, dy, k int) { plainDots(sums, x, y, dy, k) },
		four: func(sums []B, x *[4]B, y0, y1, y2, y3 []B) { plainFour(sums, x, y0, y1, y2, y3) },
	}
}

func plainTwo[B Float](sums *[8]B, x []B, dx int, y []B, dy, k int) {
	p, q := begin(x, (k-1)*dx+2), begin(y, (k-1)*dy+4)
	a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for i, j := 0, 0; k > 0; i, j, k = i+dx, j+dy, k-1 {
		a, b := at[B](p, i), at[B](p, i+1)
		y0, y1, y2, y3 := at[B](q, j), at[B](q, j+1), at[B](q, j+2), at[B](q, j+3)
		a0, a1, a2, a3 = a*y0+a0, a*y1+a1, a*y2+a2, a*y3+a3
		b0, b1, b2, b3 = b*y0+b0, b*y1+b1, b*y2+b2, b*y3+b3
	}
	*sums = [8]B{a0, a1, a2, a3, b0, b1, b2, b3}
}

func plainOne[B Float](sums *[8]B, x []B, dx int, y []B, dy, k int) {
	p, q := begin(x, (k-1)*dx+1), begin(y, (k-1)*dy+8)
	a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for i, j := 0, 0; k > 0; i, j, k = i+dx, j+dy, k-1 {
		a := at[B](p, i)
		a0, a1, a2, a3 = a*at[B](q, j)+a0, a*at[B](q, j+1)+a1, a*at[B](q, j+2)+a2, a*at[B](q, j+3)+a3
		b0, b1, b2, b3 = a*at[B](q, j+4)+b0, a*at[B](q, j+5)+b1, a*at[B](q, j+6)+b2, a*at[B](q, j+7)+b3
	}
	*sums = [8]B{a0, a1, a2, a3, b0, b1, b2, b3}
}

func plainDots[B Float](sums *[8]B, x, y []B, dy, k int) {
	p, q := begin(x, k), begin(y, 7*dy+k)
	a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for l := range k {
		f := at[B](p, l)
		a0, a1, a2, a3 = f*at[B](q, l)+a0, f*at[B](q, l+dy)+a1, f*at[B](q, l+2*dy)+a2, f*at[B](q, l+3*dy)+a3
		b0, b1, b2, b3 = f*at[B](q, l+4*dy)+b0, f*at[B](q, l+5*dy)+b1, f*at[B](q, l+6*dy)+b2, f*at[B](q, l+7*dy)+b3
	}
	*sums = [8]B{a0, a1, a2, a3, b0, b1, b2, b3}
}

// plainFour loads a sum in the step before: the compiler for amd64 adds one from memory without an
// instruction that fuses.
func plainFour[B Float](sums []B, x *[4]B, y0, y1, y2, y3 []B) {
	y0, y1, y2, y3 = y0[:len(sums)], y1[:len(sums)], y2[:len(sums)], y3[:len(sums)]
	a, b, c, d := x[0], x[1], x[2], x[3]
	q, s := 0, sums[0]
	for {
		s = a*y0[q] + s
		s = b*y1[q] + s
		s = c*y2[q] + s
		sums[q] = d*y3[q] + s
		if q++; q >= len(sums) {
			return
		}
		s = sums[q]
	}
}

// begin returns where x begins, which has at least n elements. Loops of micro tiles compare no index with a
// length: it takes as long as their sums.
func begin[B Float](x []B, n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x[:n])) }

// at returns element i behind p.
func at[B Float](p unsafe.Pointer, i int) B {
	return *(*B)(unsafe.Add(p, i*int(unsafe.Sizeof(B(0)))))
}

// inline64 are micro tiles for processors with an instruction for math.FMA.
var inline64 = micro[float64, float64]{
	two: func(sums *[8]float64, x []float64, dx int, y []float64, dy, k int) {
		p, q := begin(x, (k-1)*dx+2), begin(y, (k-1)*dy+4)
		a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
		for i, j := 0, 0; k > 0; i, j, k = i+dx, j+dy, k-1 {
			a, b := at[float64](p, i), at[float64](p, i+1)
			y0, y1, y2, y3 := at[float64](q, j), at[float64](q, j+1), at[float64](q, j+2), at[float64](q, j+3)
			a0, a1, a2, a3 = math.FMA(a, y0, a0), math.FMA(a, y1, a1), math.FMA(a, y2, a2), math.FMA(a, y3, a3)
			b0, b1, b2, b3 = math.FMA(b, y0, b0), math.FMA(b, y1, b1), math.FMA(b, y2, b2), math.FMA(b, y3, b3)
		}
		*sums = [8]float64{a0, a1, a2, a3, b0, b1, b2, b3}
	},
	one: func(sums *[8]float64, x []float64, dx int, y []float64, dy, k int) {
		p, q := begin(x, (k-1)*dx+1), begin(y, (k-1)*dy+8)
		a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
		for i, j := 0, 0; k > 0; i, j, k = i+dx, j+dy, k-1 {
			a := at[float64](p, i)
			y0, y1, y2, y3 := at[float64](q, j), at[float64](q, j+1), at[float64](q, j+2), at[float64](q, j+3)
			a0, a1, a2, a3 = math.FMA(a, y0, a0), math.FMA(a, y1, a1), math.FMA(a, y2, a2), math.FMA(a, y3, a3)
			y0, y1, y2, y3 = at[float64](q, j+4), at[float64](q, j+5), at[float64](q, j+6), at[float64](q, j+7)
			b0, b1, b2, b3 = math.FMA(a, y0, b0), math.FMA(a, y1, b1), math.FMA(a, y2, b2), math.FMA(a, y3, b3)
		}
		*sums = [8]float64{a0, a1, a2, a3, b0, b1, b2, b3}
	},
	dots: func(sums *[8]float64, x, y []float64, dy, k int) {
		p, q := begin(x, k), begin(y, 7*dy+k)
		a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
		for l := range k {
			f := at[float64](p, l)
			y0, y1, y2, y3 := at[float64](q, l), at[float64](q, l+dy), at[float64](q, l+2*dy), at[float64](q, l+3*dy)
			a0, a1, a2, a3 = math.FMA(f, y0, a0), math.FMA(f, y1, a1), math.FMA(f, y2, a2), math.FMA(f, y3, a3)
			y0, y1, y2, y3 = at[float64](q, l+4*dy), at[float64](q, l+5*dy), at[float64](q, l+6*dy), at[float64](q, l+7*dy)
			b0, b1, b2, b3 = math.FMA(f, y0, b0), math.FMA(f, y1, b1), math.FMA(f, y2, b2), math.FMA(f, y3, b3)
		}
		*sums = [8]float64{a0, a1, a2, a3, b0, b1, b2, b3}
	},
	four: func(sums []float64, x *[4]float64, y0, y1, y2, y3 []float64) {
		y0, y1, y2, y3 = y0[:len(sums)], y1[:len(sums)], y2[:len(sums)], y3[:len(sums)]
		a, b, c, d := x[0], x[1], x[2], x[3]
		for q, s := range sums {
			sums[q] = math.FMA(d, y3[q], math.FMA(c, y2[q], math.FMA(b, y1[q], math.FMA(a, y0[q], s))))
		}
	},
}

// called are micro tiles that call a function for each product.
func called[B Float](fma func(x, y, z B) B) micro[B, B] {
	return micro[B, B]{
		two: func(sums *[8]B, x []B, dx int, y []B, dy, k int) {
			for l := range k {
				for n, s := range sums {
					sums[n] = fma(x[l*dx+n/4], y[l*dy+n%4], s)
				}
			}
		},
		one: func(sums *[8]B, x []B, dx int, y []B, dy, k int) {
			for l := range k {
				for n, s := range sums {
					sums[n] = fma(x[l*dx], y[l*dy+n], s)
				}
			}
		},
		dots: func(sums *[8]B, x, y []B, dy, k int) {
			for l := range k {
				for n, s := range sums {
					sums[n] = fma(x[l], y[n*dy+l], s)
				}
			}
		},
		four: func(sums []B, x *[4]B, y0, y1, y2, y3 []B) {
			for q, s := range sums {
				sums[q] = fma(x[3], y3[q], fma(x[2], y2[q], fma(x[1], y1[q], fma(x[0], y0[q], s))))
			}
		},
	}
}

// rounded32 is fma32 for numbers of float32 that are held in float64.
func rounded32(x, y, z float64) float64 { return float64(fma32(float32(x), float32(y), float32(z))) }

// twice32 are micro tiles for float32 where no instruction rounds a product and a sum once. They compute in
// float64 and round sums twice, to float64 and to float32. That is as good as once, unless the first rounding
// gives a number half-way between two neighbors, or the sum is below the least normal float32 and inexact,
// which takes a product below 2^-130. They do the step in which a sum is half-way by itself: it leaves the
// loop, so that the loop calls nothing and keeps sums in registers.
func twice32[Y Float]() micro[Y, float64] {
	return micro[Y, float64]{
		two:  func(sums *[8]float64, x []float64, dx int, y []Y, dy, k int) { twiceTwo(sums, x, dx, y, dy, k) },
		one:  func(sums *[8]float64, x []float64, dx int, y []Y, dy, k int) { twiceOne(sums, x, dx, y, dy, k) },
		dots: func(sums *[8]float64, x []float64, y []Y, dy, k int) { twiceDots(sums, x, y, dy, k) },
		four: func(sums []float64, x *[4]float64, y0, y1, y2, y3 []Y) { twiceFour(sums, x, y0, y1, y2, y3) },
	}
}

func twiceTwo[Y Float](sums *[8]float64, x []float64, dx int, y []Y, dy, k int) {
	p, q := begin(x, (k-1)*dx+2), begin(y, (k-1)*dy+4)
	for l := 0; l < k; l++ {
		a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
		done := 0 // how many sums of step l are in sums when the loop is left
		for i, j := l*dx, l*dy; l < k; i, j, l = i+dx, j+dy, l+1 {
			f, v0, v1, v2, v3 := at[float64](p, i), float64(at[Y](q, j)), float64(at[Y](q, j+1)), float64(at[Y](q, j+2)), float64(at[Y](q, j+3))
			s0, s1, s2, s3 := float64(f*v0)+a0, float64(f*v1)+a1, float64(f*v2)+a2, float64(f*v3)+a3
			if low(s0) == tie || low(s1) == tie || low(s2) == tie || low(s3) == tie {
				break
			}
			a0, a1, a2, a3 = float64(float32(s0)), float64(float32(s1)), float64(float32(s2)), float64(float32(s3))
			f = at[float64](p, i+1)
			s0, s1, s2, s3 = float64(f*v0)+b0, float64(f*v1)+b1, float64(f*v2)+b2, float64(f*v3)+b3
			if low(s0) == tie || low(s1) == tie || low(s2) == tie || low(s3) == tie {
				done = 4
				break
			}
			b0, b1, b2, b3 = float64(float32(s0)), float64(float32(s1)), float64(float32(s2)), float64(float32(s3))
		}
		*sums = [8]float64{a0, a1, a2, a3, b0, b1, b2, b3}
		for n := done; n < 8 && l < k; n++ {
			sums[n] = rounded32(x[l*dx+n/4], float64(y[l*dy+n%4]), sums[n])
		}
	}
}

func twiceOne[Y Float](sums *[8]float64, x []float64, dx int, y []Y, dy, k int) {
	p, q := begin(x, (k-1)*dx+1), begin(y, (k-1)*dy+8)
	for l := 0; l < k; l++ {
		a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
		done := 0
		for i, j := l*dx, l*dy; l < k; i, j, l = i+dx, j+dy, l+1 {
			f, v0, v1, v2, v3 := at[float64](p, i), float64(at[Y](q, j)), float64(at[Y](q, j+1)), float64(at[Y](q, j+2)), float64(at[Y](q, j+3))
			s0, s1, s2, s3 := float64(f*v0)+a0, float64(f*v1)+a1, float64(f*v2)+a2, float64(f*v3)+a3
			if low(s0) == tie || low(s1) == tie || low(s2) == tie || low(s3) == tie {
				break
			}
			a0, a1, a2, a3 = float64(float32(s0)), float64(float32(s1)), float64(float32(s2)), float64(float32(s3))
			v0, v1, v2, v3 = float64(at[Y](q, j+4)), float64(at[Y](q, j+5)), float64(at[Y](q, j+6)), float64(at[Y](q, j+7))
			s0, s1, s2, s3 = float64(f*v0)+b0, float64(f*v1)+b1, float64(f*v2)+b2, float64(f*v3)+b3
			if low(s0) == tie || low(s1) == tie || low(s2) == tie || low(s3) == tie {
				done = 4
				break
			}
			b0, b1, b2, b3 = float64(float32(s0)), float64(float32(s1)), float64(float32(s2)), float64(float32(s3))
		}
		*sums = [8]float64{a0, a1, a2, a3, b0, b1, b2, b3}
		for n := done; n < 8 && l < k; n++ {
			sums[n] = rounded32(x[l*dx], float64(y[l*dy+n]), sums[n])
		}
	}
}

func twiceDots[Y Float](sums *[8]float64, x []float64, y []Y, dy, k int) {
	p, q := begin(x, k), begin(y, 7*dy+k)
	for l := 0; l < k; l++ {
		a0, a1, a2, a3, b0, b1, b2, b3 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
		done := 0
		for ; l < k; l++ {
			f, j := at[float64](p, l), l
			v0, v1, v2, v3 := float64(at[Y](q, j)), float64(at[Y](q, j+dy)), float64(at[Y](q, j+2*dy)), float64(at[Y](q, j+3*dy))
			s0, s1, s2, s3 := float64(f*v0)+a0, float64(f*v1)+a1, float64(f*v2)+a2, float64(f*v3)+a3
			if low(s0) == tie || low(s1) == tie || low(s2) == tie || low(s3) == tie {
				break
			}
			a0, a1, a2, a3 = float64(float32(s0)), float64(float32(s1)), float64(float32(s2)), float64(float32(s3))
			j += 4 * dy
			v0, v1, v2, v3 = float64(at[Y](q, j)), float64(at[Y](q, j+dy)), float64(at[Y](q, j+2*dy)), float64(at[Y](q, j+3*dy))
			s0, s1, s2, s3 = float64(f*v0)+b0, float64(f*v1)+b1, float64(f*v2)+b2, float64(f*v3)+b3
			if low(s0) == tie || low(s1) == tie || low(s2) == tie || low(s3) == tie {
				done = 4
				break
			}
			b0, b1, b2, b3 = float64(float32(s0)), float64(float32(s1)), float64(float32(s2)), float64(float32(s3))
		}
		*sums = [8]float64{a0, a1, a2, a3, b0, b1, b2, b3}
		for n := done; n < 8 && l < k; n++ {
			sums[n] = rounded32(x[l], float64(y[n*dy+l]), sums[n])
		}
	}
}

// twiceFour rounds a sum where it is: an instruction that converts waits for what its result replaces.
func twiceFour[Y Float](sums []float64, x *[4]float64, y0, y1, y2, y3 []Y) {
	y0, y1, y2, y3 = y0[:len(sums)], y1[:len(sums)], y2[:len(sums)], y3[:len(sums)]
	a, b, c, d := x[0], x[1], x[2], x[3]
	for q := 0; q < len(sums); q++ {
		for ; q < len(sums); q++ {
			s := float64(a*float64(y0[q])) + sums[q]
			if low(s) == tie {
				break
			}
			s = float64(b*float64(y1[q])) + float64(float32(s))
			if low(s) == tie {
				break
			}
			s = float64(c*float64(y2[q])) + float64(float32(s))
			if low(s) == tie {
				break
			}
			s = float64(d*float64(y3[q])) + float64(float32(s))
			if low(s) == tie {
				break
			}
			sums[q] = float64(float32(s))
		}
		if q < len(sums) {
			s := rounded32(b, float64(y1[q]), rounded32(a, float64(y0[q]), sums[q]))
			sums[q] = rounded32(d, float64(y3[q]), rounded32(c, float64(y2[q]), s))
		}
	}
}
