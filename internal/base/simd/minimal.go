package simd

import "fmt"

// Beyond is how many elements IntoTiles may write behind the last tile, and read behind what it needs.
const Beyond = 15

// IntoFilters transforms filters of three by three elements for IntoTiles. The filters of a tile of products
// lie side by side: as many as rows says, which is a number of the first list of TileSizes. For each of n
// such tiles, x has 9 rows of them, one for each element of a filter. Element e of the transforms is at
// z[e*apart], for one tile after the other. It panics if one of the slices does not have the elements.
//
// With the rows of a filter g0 to g2, the rows of t are g0, (g0+g2+g1)/2, (g0+g2-g1)/2 and g2, added from the
// left. The columns of the transform are the same sums of columns of t.
func IntoFilters[T Float](z []T, apart int, x []T, rows, n int) {
	t := functions[T]()
	if min(rows, n) < 0 || rows > t.tiles[0][0].rows || apart < rows*n || n > 0 && (len(z) < 15*apart+rows*n || len(x) < 9*rows*n) {
		panic(fmt.Sprintf("simd: %d times %d filters: %d and %d elements at distance %d do not suffice", n, rows, len(z), len(x), apart))
	}
	t.intoFilters(z, apart, x, rows, n)
}

// Columns says which columns of an image tiles see: Cols tiles see four columns each, two columns apart. The
// first one begins Padding columns before the image, which has Width columns. Others are 0.
type Columns struct {
	Width, Padding, Cols int
	masks                []int32 // for each column that a function may look at, whether all bits are set since the image has it
}

// MakeColumns returns columns. It panics unless they begin in the image or before it.
func MakeColumns(width, padding, cols int) Columns {
	if min(width, padding) < 0 || cols < 1 {
		panic(fmt.Sprintf("simd: %d tiles cannot see %d columns from %d before the first one on", cols, width, padding))
	}
	masks := make([]int32, 2*cols+3*16)
	for i := range masks {
		if i >= padding && i < padding+width {
			masks[i] = -1
		}
	}
	return Columns{width, padding, cols, masks}
}

// SplitRows makes four lists of columns for each of some rows of pixels, which lie below each other in x,
// width elements apart: z[j*apart + r*c.Cols + t] is what tile t sees in row r as its column j. It panics
// unless z and x have the elements.
func SplitRows[T Float](z []T, apart int, x []T, width int, c Columns, rows int) {
	if min(width, rows) < 0 || c.Cols < 1 || rows > 0 && (apart < rows*c.Cols || len(z) < 3*apart+rows*c.Cols || len(x) < (rows-1)*width+c.Width) {
		panic(fmt.Sprintf("simd: %d rows of %d columns, split into %d: %d and %d elements at distances %d and %d do not suffice", rows, c.Width, c.Cols, len(z), len(x), apart, width))
	}
	functions[T]().splitRows(z, apart, x, width, c.masks, c.Padding, c.Cols, rows)
}

// IntoTiles transforms overlapping tiles of four by four pixels for convolution with filters of three by
// three, as S. Winograd's minimal filtering does for two by two results. Pixels are in lists that SplitRows
// makes: column j of row 0 of tile t is x[j*apart + t], that of row 1 x[(4+j)*apart + t], and those of rows 2
// and 3 lie below elements behind these. Element e of the transform of tile t, of n, is at z[e*to + t].
// Behind the last tile, Beyond elements may be written for each e. It panics unless z has them, and x as many
// behind the last pixel.
//
// With the rows of a tile d0 to d3, the rows of t are d0-d2, d1+d2, d2-d1 and d1-d3. The columns of the
// transform are the same sums of columns of t.
func IntoTiles[T Float](z []T, to int, x []T, apart, below, n int) {
	if min(apart, below) < 0 || n < 1 || to < n+Beyond || len(z) < 15*to+n+Beyond || len(x) < 7*apart+below+n+Beyond {
		panic(fmt.Sprintf("simd: %d tiles: %d and %d elements at distances %d, %d and %d do not suffice", n, len(z), len(x), to, apart, below))
	}
	functions[T]().intoTiles(z, to, x, apart, below, n)
}

// OutOfTiles transforms sums of products of transforms into results, two by two for each tile, and reports
// whether all of them are finite. Element e of the sums of tile c of row r is x[e*apart + r*cols + c]. Rows
// of results are width elements of z: two for each tile, or for the last tile only one. It panics if x has no
// sum or z no place for a result.
//
// With the rows of sums m0 to m3, the rows of s are m0+m1+m2 and m1-m2-m3, added from the left. The columns
// of results are the same sums of columns of s.
func OutOfTiles[T Float](z []T, width int, x []T, apart, cols, rows int) (finite bool) {
	if min(apart, rows) < 0 || cols < 1 || width > 2*cols || width < 2*cols-1 || len(z) < 2*rows*width || rows > 0 && len(x) < 15*apart+rows*cols {
		panic(fmt.Sprintf("simd: %d rows of %d tiles, %d results a row: %d and %d elements at distance %d do not suffice", rows, cols, width, len(z), len(x), apart))
	}
	return functions[T]().outOfTiles(z, width, x, apart, cols, rows)
}

func intoFilters[T Float](z []T, apart int, x []T, rows, n int) {
	for i := range n * rows {
		var t [4][3]T
		for j := range 3 {
			at := i/rows*9*rows + j*rows + i%rows
			t[0][j], t[1][j], t[2][j], t[3][j] = halvesOf(x[at], x[at+3*rows], x[at+6*rows])
		}
		for j := range t {
			at := 4*j*apart + i
			z[at], z[at+apart], z[at+2*apart], z[at+3*apart] = halvesOf(t[j][0], t[j][1], t[j][2])
		}
	}
}

// halvesOf returns the sums of three elements of a filter.
func halvesOf[T Float](a, b, c T) (T, T, T, T) {
	return a, T((a + c + b) * 0.5), T((a + c - b) * 0.5), c
}

func splitRows[T Float](z []T, apart int, x []T, width int, masks []int32, shift, cols, rows int) {
	for r := range rows {
		for t := range cols {
			for j := range 4 {
				var v T
				if i := 2*t + j; masks[i] != 0 {
					v = x[r*width+i-shift]
				}
				z[j*apart+r*cols+t] = v
			}
		}
	}
}

func intoTiles[T Float](z []T, to int, x []T, apart, below, n int) {
	for at := range n {
		var t [4][4]T
		for j := range 4 {
			d := j*apart + at
			t[0][j], t[1][j], t[2][j], t[3][j] = fourOf(x[d], x[d+4*apart], x[d+below], x[d+4*apart+below])
		}
		for i := range t {
			e := 4*i*to + at
			z[e], z[e+to], z[e+2*to], z[e+3*to] = fourOf(t[i][0], t[i][1], t[i][2], t[i][3])
		}
	}
}

// fourOf returns the sums of four elements of a tile.
func fourOf[T Float](a, b, c, d T) (T, T, T, T) { return a - c, b + c, c - b, b - d }

func outOfTiles[T Float](z []T, width int, x []T, apart, cols, rows int) bool {
	var seen T
	for r := range rows {
		for c := range cols {
			var s [2][4]T
			for j := range 4 {
				at := j*apart + r*cols + c
				s[0][j], s[1][j] = twoOf(x[at], x[at+4*apart], x[at+8*apart], x[at+12*apart])
			}
			for i := range s {
				a, b := twoOf(s[i][0], s[i][1], s[i][2], s[i][3])
				seen += (a - a) + (b - b) // not a number where one is infinite
				at := (2*r + i) * width
				z[at+2*c] = a
				if 2*c+1 < width {
					z[at+2*c+1] = b
				}
			}
		}
	}
	return seen == 0
}

// twoOf returns the results of four sums.
func twoOf[T Float](a, b, c, d T) (T, T) { return a + b + c, b - c - d }
