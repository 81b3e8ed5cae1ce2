package simd

import (
	"fmt"
	"slices"
)

// tile is a function that computes as many rows and columns of a product of matrices.
type tile[T Float] struct {
	rows, cols int
	compute    func(z []T, ld int, x []T, row, col int, y []T, next, k int, more bool)
	rowsAt     func(z []T, ld int, x []T, row, col int, y []T, at *int, k int, more bool)
	// column and columnAt compute n tiles, one below the other, of elements of x that lie side by side. They
	// are nil where tiles are computed one by one.
	column   func(z []T, ld int, x []T, apart int, y []T, next, k, n int, more bool)
	columnAt func(z []T, ld int, x []T, apart int, y []T, at *int, k, n int, more bool)
}

// TileSizes returns of how many rows and columns Tile computes tiles: of any of these rows with any of these
// columns, the greatest numbers first. They depend on the set of instructions, and the results do not.
func TileSizes[T Float]() (rows [3]int, cols [2]int) {
	t := &functions[T]().tiles
	return [3]int{t[0][0].rows, t[1][0].rows, t[2][0].rows}, [2]int{t[0][0].cols, t[0][1].cols}
}

// TileKind returns the place in the first list of TileSizes of the rows of the next tile, where some rows are
// left. Tiles of fewer rows come last. Two of the second kind take less time than a tile of more rows and one
// of a few.
func TileKind(rows [3]int, left int) int {
	switch {
	case left >= rows[0] && left != 2*rows[1]:
		return 0
	case left > rows[2]:
		return 1
	}
	return 2
}

// Packs reports whether tiles of more rows take less time with rows that Pack copied. It holds for AVX2: most
// processors that have no other instructions keep 32 KiB near, in which rows of x often take the places of
// each other and of y. It holds for Go, where Column copies columns of y once for several tiles.
func Packs[T Float]() bool { return functions[T]().pack != nil }

// Pack copies a tile's rows and k columns of x side by side: with as many rows as the first list of TileSizes
// says, it sets z[l*rows+i] to x[i*row+l]. So tiles read x as one list.
func Pack[T Float](z, x []T, row, k int) {
	t := functions[T]()
	rows := t.tiles[0][0].rows
	if row < 0 || k < 0 || len(z) < rows*k || len(x) < (rows-1)*row+k {
		panic(fmt.Sprintf("simd: %d elements cannot hold %d rows of %d elements, of %d at distance %d", len(z), rows, k, len(x), row))
	}
	from := 0 // columns that blocks cover
	if whole := k / t.side; t.pack != nil && whole > 0 {
		t.pack(z, x, row, whole)
		from = whole * t.side
	}
	for l := from; l < k; l++ {
		for i := range rows {
			z[l*rows+i] = x[i*row+l]
		}
	}
}

// Slivers copies n rows of x, of which each is next elements behind the one before, into count lists of as
// many elements of each row as each says. It sets z[(s*n+l)*each+q] to x[l*next+s*each+q].
func Slivers[T Float](z []T, each int, x []T, next, count, n int) {
	if n == 0 || count == 0 {
		return
	}
	if min(each, next, count, n) < 0 || len(z) < each*count*n || len(x) < (n-1)*next+count*each {
		panic(fmt.Sprintf("simd: %d elements cannot hold %d lists of %d rows of %d elements, of %d at distance %d", len(z), count, n, each, len(x), next))
	}
	t := functions[T]()
	switch {
	case each == t.tiles[0][0].cols && t.slivers.cols != nil:
		t.slivers.cols(z, x, next, count, n)
	case each == t.tiles[0][0].rows && t.slivers.rows != nil:
		t.slivers.rows(z, x, next, count, n)
	default:
		for l := range n {
			for s := range count {
				to, from := z[(s*n+l)*each:(s*n+l+1)*each], x[l*next+s*each:]
				for ; len(to) >= 4; to, from = to[4:], from[4:] {
					*(*[4]T)(to) = *(*[4]T)(from)
				}
				copy(to, from)
			}
		}
	}
}

// Tile computes a tile of a product of matrices, of the sizes at places i and j of TileSizes. Element (p, q)
// at z[p*ld+q] is the sum of x[p*row+l*col] * y[l*next+q] over l from 0 to k-1, in this order, or is
// increased by the sum if more says so. Each product is added to the sum with one rounding. This holds for
// all sets of instructions, unlike what package simd says of other functions. k is at least 1.
func Tile[T Float](i, j int, z []T, ld int, x []T, row, col int, y []T, next, k int, more bool) {
	t := &functions[T]().tiles[i][j]
	if k < 1 || min(ld, row, col, next) < 0 || len(z) < (t.rows-1)*ld+t.cols || len(x) < (t.rows-1)*row+(k-1)*col+1 || len(y) < (k-1)*next+t.cols {
		panic(fmt.Sprintf("simd: a tile of %d x %d of a sum of %d products: %d, %d and %d elements at distances %d, %d, %d and %d do not suffice",
			t.rows, t.cols, k, len(z), len(x), len(y), ld, row, col, next))
	}
	t.compute(z, ld, x, row, col, y, next, k, more)
}

// Column is Tile for n tiles of the first size of rows, one below the other. The elements of x that a tile
// multiplies lie column by column, and those of the next tile apart elements behind them: the tiles are those
// of Tile with distances 1 and the number of rows.
func Column[T Float](j int, z []T, ld int, x []T, apart int, y []T, next, k, n int, more bool) {
	t := &functions[T]().tiles[0][j]
	if t.column == nil || n < 1 {
		for p := range n {
			Tile(0, j, z[p*t.rows*ld:], ld, x[p*apart:], 1, t.rows, y, next, k, more)
		}
		return
	}
	if k < 1 || min(ld, apart, next) < 0 || len(z) < (n*t.rows-1)*ld+t.cols || len(x) < (n-1)*apart+k*t.rows || len(y) < (k-1)*next+t.cols {
		panic(fmt.Sprintf("simd: %d tiles of %d x %d of sums of %d products: %d, %d and %d elements at distances %d, %d and %d do not suffice",
			n, t.rows, t.cols, k, len(z), len(x), len(y), ld, apart, next))
	}
	t.column(z, ld, x, apart, y, next, k, n, more)
}

// ColumnRows is to TileRows what Column is to Tile.
func ColumnRows[T Float](j int, z []T, ld int, x []T, apart int, y []T, first int, at Places, n int, more bool) {
	t := &functions[T]().tiles[0][j]
	if t.columnAt == nil || n < 1 {
		for p := range n {
			TileRows(0, j, z[p*t.rows*ld:], ld, x[p*apart:], 1, t.rows, y, first, at, more)
		}
		return
	}
	k := len(at.at)
	if k < 1 || min(ld, apart, first, at.least) < 0 || len(z) < (n*t.rows-1)*ld+t.cols || len(x) < (n-1)*apart+k*t.rows || len(y) < first+at.most+t.cols {
		panic(fmt.Sprintf("simd: %d tiles of %d x %d of sums of %d products: %d, %d and %d elements at distances %d and %d and places %d to %d do not suffice",
			n, t.rows, t.cols, k, len(z), len(x), len(y), ld, apart, first+at.least, first+at.most))
	}
	t.columnAt(z, ld, x, apart, y[first:], &at.at[0], k, n, more)
}

// Places says where rows begin.
type Places struct {
	at          []int
	least, most int
}

// MakePlaces returns places, none of which is negative. The list belongs to them from then on.
func MakePlaces(at []int) Places {
	if len(at) == 0 {
		return Places{}
	}
	return Places{at, slices.Min(at), slices.Max(at)}
}

// Len returns how many places there are.
func (p Places) Len() int { return len(p.at) }

// Part returns places lo to hi-1.
func (p Places) Part(lo, hi int) Places { return Places{p.at[lo:hi], p.least, p.most} }

// TileRows is Tile, but row l of y begins at a place of its own, from first on: the elements are
// y[first+at[l]+q]. It has as many products as there are places, at least 1.
func TileRows[T Float](i, j int, z []T, ld int, x []T, row, col int, y []T, first int, at Places, more bool) {
	t := &functions[T]().tiles[i][j]
	k := len(at.at)
	if k < 1 || min(ld, row, col, first, at.least) < 0 || len(z) < (t.rows-1)*ld+t.cols || len(x) < (t.rows-1)*row+(k-1)*col+1 || len(y) < first+at.most+t.cols {
		panic(fmt.Sprintf("simd: a tile of %d x %d of a sum of %d products: %d, %d and %d elements at distances %d, %d and %d and places %d to %d do not suffice",
			t.rows, t.cols, k, len(z), len(x), len(y), ld, row, col, first+at.least, first+at.most))
	}
	t.rowsAt(z, ld, x, row, col, y[first:], &at.at[0], k, more)
}

// Line computes a row of a product: z[q] is the sum of x[l] * y[first+at[l]+q] over the places l, in this
// order, with one rounding for each product, as in Tile. There is at least one place. The columns are whole
// lines: a multiple of LineCols.
func Line[T Float](z, x, y []T, first int, at Places) {
	t, k, width := functions[T](), len(at.at), LineCols[T]()
	if k < 1 || len(z)%width != 0 || min(first, at.least) < 0 || len(x) < k || len(z) > 0 && len(y) < first+at.most+len(z) {
		panic(fmt.Sprintf("simd: a row of %d sums of %d products: %d and %d elements at places %d to %d do not suffice",
			len(z), k, len(x), len(y), first+at.least, first+at.most))
	}
	y = y[min(first, len(y)):]
	if t.lines[0] == nil {
		few := &t.tiles[2][1]
		for ; len(z) > 0; z, y = z[few.cols:], y[few.cols:] {
			few.rowsAt(z, 0, x, 0, 1, y, &at.at[0], k, false) // all of its rows are this one
		}
		return
	}
	for left := len(z) / width; left > 0; {
		parts := (left + len(t.lines) - 1) / len(t.lines)
		n := (left + parts - 1) / parts
		t.lines[n-1](z, x, y, &at.at[0], k)
		z, y, left = z[n*width:], y[n*width:], left-n
	}
}

// LineCols returns of how many columns the lines are that Line computes.
func LineCols[T Float]() int { return functions[T]().tiles[2][1].cols }

// Transpose sets z[j*zld+i] to x[i*xld+j], for i below rows and j below cols.
func Transpose[T Float](z []T, zld int, x []T, xld, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	if zld < 0 || xld < 0 || len(z) < (cols-1)*zld+rows || len(x) < (rows-1)*xld+cols {
		panic(fmt.Sprintf("simd: %d elements at distance %d cannot hold the transpose of %d x %d, which %d hold at distance %d", len(z), zld, rows, cols, len(x), xld))
	}
	t := functions[T]()
	whole := 0 // columns that blocks cover
	if t.transpose != nil {
		if whole = cols / t.side * t.side; whole > 0 {
			for ; rows >= t.side; rows -= t.side {
				t.transpose(z, zld, x, xld, whole/t.side)
				transposePart(z, zld, x, xld, t.side, whole, cols)
				if rows > t.side {
					z, x = z[t.side:], x[t.side*xld:]
				}
			}
			whole = 0
		}
	}
	transposePart(z, zld, x, xld, rows, whole, cols)
}

// transposePart transposes the columns from lo on, in blocks of rows that write lines of the cache as a
// whole.
func transposePart[T Float](z []T, zld int, x []T, xld, rows, lo, cols int) {
	const block = 8
	i := 0
	for ; i+block <= rows; i += block {
		at := lo*zld + i
		a, b := x[i*xld:][:cols], x[(i+1)*xld:][:cols]
		c, d := x[(i+2)*xld:][:cols], x[(i+3)*xld:][:cols]
		e, f := x[(i+4)*xld:][:cols], x[(i+5)*xld:][:cols]
		g, h := x[(i+6)*xld:][:cols], x[(i+7)*xld:][:cols]
		for j := lo; j < cols; j++ {
			to := (*[block]T)(z[at:])
			to[0], to[1], to[2], to[3] = a[j], b[j], c[j], d[j]
			to[4], to[5], to[6], to[7] = e[j], f[j], g[j], h[j]
			at += zld
		}
	}
	for ; i < rows; i++ {
		at := lo*zld + i
		for _, v := range x[i*xld+lo : i*xld+cols] {
			z[at] = v
			at += zld
		}
	}
}
