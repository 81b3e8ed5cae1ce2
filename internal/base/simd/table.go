package simd

import "unsafe"

// table holds the functions for one element type and one set of instructions. The functions in the fields
// unary to scalarBinary check the lengths of their operands, and those in the other fields rely on their
// callers for that.
type table[T Float] struct {
	unary        [unaries]func(z, x []T)
	binary       [binaries]func(z, x, y []T)
	binaryScalar [binaries]func(z, x []T, y T)
	scalarBinary [binaries]func(z []T, x T, y []T)

	mulAdd, mulSub, mulSubFrom, choose func(z, w, x, y []T)
	choosePositive                     func(z, w, x, y []T)
	mulAddScalar                       func(z, w []T, x T, y []T)
	affine                             func(z, x []T, a, b, c, d T)

	sumInto, prodInto, maxInto, minInto func(a *Lanes[T], x []T)
	dotInto                             func(a *Lanes[T], x, y []T)
	expInto                             func(a *Lanes[T], x []T, y T)

	sumLanes, prodLanes, maxLanes, minLanes func(a *Lanes[T]) T
	sumRows, maxRows, minRows               func(z, x []T, n, apart int)

	// tiles are those of many rows, of fewer and of few, with many columns and with few.
	tiles [3][2]tile[T]
	// lines are Line for as many vectors as the place says, and one more. They are nil where tiles do it.
	lines [8]func(z, x, y []T, at *int, k int)
	// transpose transposes n blocks of as many rows and columns as side says; it is nil in Go.
	transpose func(z []T, zld int, x []T, xld, n int)
	side      int
	// pack copies n blocks of a tile's rows and as many columns as side says, column by column. It is nil
	// where tiles read rows where they lie.
	pack func(z, x []T, row, n int)
	// dots is Dots. It is nil where tiles take less time.
	dots func(z, x, y []T, ld int, more bool)
	// few is Few. It is for no rows where tiles take less time.
	few few[T]
	// thin are Thin for as many columns as the place says, and one more. They are nil where tiles do it.
	thin [4]thin[T]
	// slivers copy n rows into count lists of as many elements as the larger tiles have columns, or rows.
	// They are nil where Go does it.
	slivers struct {
		cols, rows func(z, x []T, next, count, n int)
	}

	sumAt func(z, x []T, at []int, rows int)

	reverse, twice, addSeconds func(z, x []T)
	truths                     func(z []T, x []bool)

	runningSums func(z, x []T, sum float64) float64

	// Functions of squares leave out those at the end of a row that are no multiple of a number: squares,
	// which is 0 if they leave out all.
	maxSquares, meanSquares func(x, z []T, width, cols, rows int)
	maxSquaresGrad          func(x, of, g []T, width, cols, rows int)
	squares                 int

	// The functions for convolution with few products.
	intoFilters func(z []T, apart int, x []T, rows, n int)
	splitRows   func(z []T, apart int, x []T, width int, masks []int32, shift, cols, rows int)
	intoTiles   func(z []T, to int, x []T, apart, below, n int)
	outOfTiles  func(z []T, width int, x []T, apart, cols, rows int) bool
}

// conversionTable holds the functions that are not for one element type: conversions, random words, requests
// for memory, and writes past the caches.
type conversionTable struct {
	widen   func(z []float64, x []float32)
	narrow  func(z []float32, x []float64)
	rests   func(z []float32, x []float64)
	draw    func(high, low []uint64, at *[98]uint64)
	units   func(z []float64, x []uint64)
	normals func(z []float64, high, low []uint64)
	fetch   func(x []byte)

	stream  func(z, x []byte)
	drain   func()
	below32 func(x []int32, last int32) bool
	below64 func(x []int64, last int64) bool
}

// The functions in use.
var (
	functions32 *table[float32]
	functions64 *table[float64]
	conversions conversionTable
)

func use(t32 *table[float32], t64 *table[float64], c conversionTable) {
	functions32, functions64, conversions = t32, t64, c
}

// functions returns the functions in use for element type T.
func functions[T Float]() *table[T] {
	if unsafe.Sizeof(T(0)) == 8 { // float64: a type assertion would take as long as some vectors
		return (*table[T])(unsafe.Pointer(functions64))
	}
	return (*table[T])(unsafe.Pointer(functions32))
}
