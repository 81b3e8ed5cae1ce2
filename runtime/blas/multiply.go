package blas

import (
	"sync"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// Products are computed by blocks, as K. Goto and R. van de Geijn describe in Anatomy of high-performance
// matrix multiplication, 2008. A sliver, which is some columns of blockDepth rows of b, stays in the
// first-level cache. A block of a and one of b stay in the next ones.
const (
	blockDepth = 256 // how many products are added up before they are added to c
	blockRows  = 96
	blockCols  = 1024
)

// far is from which distance on, in bytes, rows of a tile are copied side by side: at most two of them have
// lines in one set of a cache that holds 4096 bytes in each of its ways, and they lie on fewer pages.
const far = 2048 + 1

// packs is from how many slivers on at least two tiles' rows of a are packed, where tiles take less time
// then.
const packs = 4

// abreast is how many slivers of rows are copied at a time where tiles take less time with copies. Rows often
// lie pages apart.
const abreast = 4

// line is how many bytes lie between rows of a copy of a, so that these are in different sets of a cache.
const line = 64

// few is up to how many rows of a are multiplied without a copy of b.
const few = 24

// fewest is up to how many rows of a are multiplied by rows of b one by one, where that takes less time than
// tiles.
const fewest = 3

// flipped is from which k on, for each row of a, the transpose of a product takes less time than a copy of b.
// It stores the elements of the product one by one.
const flipped = 8

// Multiply stores the product of a and b in c, or adds it to c. a is m x k and b is k x n; both are stored by
// rows, of lda and ldb elements from one to the next, or by columns if ta and tb say so. c is m x n, by rows.
func Multiply[T dtype.Float](c []T, ldc int, a []T, lda int, ta bool, b []T, ldb int, tb bool, m, n, k int, add bool) {
	MultiplyShared(Key{}, c, ldc, a, lda, ta, b, ldb, tb, m, n, k, add)
}

// Key names a factor b that several products have in common: an element of a tensor with which it begins, and
// the run of a task and the phase in it that read it. Products with the same key, which is not zero, must
// have the same elements of b. A copy of b then serves several of them.
type Key struct {
	Task, Run             uint64
	Phase, Tensor, Offset int
}

// MultiplyShared is Multiply for products with a factor b in common. The result is the same.
func MultiplyShared[T dtype.Float](key Key, c []T, ldc int, a []T, lda int, ta bool, b []T, ldb int, tb bool, m, n, k int, add bool) {
	if k == 0 || m == 0 || n == 0 {
		for i := 0; !add && i < m; i++ {
			clear(c[i*ldc : i*ldc+n])
		}
		return
	}
	row, col := steps(lda, ta)
	next, across := steps(ldb, tb)
	if tb && m <= thinnest && thin(c, 1, ldc, b, ldb, a, col, row, n, m, k, add) || !ta && n <= thinnest && thin(c, ldc, 1, a, lda, b, next, across, m, n, k, add) {
		return
	}
	if tb && !ta && m <= fewest && rowByRow(c, ldc, a, lda, b, ldb, m, n, k, add) || fewRows(c, ldc, a, lda, ta, b, ldb, tb, m, n, k, add) {
		return
	}
	w := workspaces[T]().Get().(*workspace[T])
	defer workspaces[T]().Put(w)
	w.rows, w.cols = simd.TileSizes[T]()
	w.c, w.ldc, w.add = c, ldc, add
	w.shared = nil
	if key.Run > 0 && k*n*dtype.Of[T]().Size() <= most {
		w.shared = w.find(factor{key, n, k, ldb, tb})
	}
	w.flip = w.shared == nil && tb && m <= w.cols[1] && n > m && k > flipped*m
	if w.flip { // the transpose of the product, from the rows of b, so that b needs no copy
		a, b, lda, ldb, ta, tb, m, n = b, a, ldb, lda, !tb, !ta, n, m
	}
	w.a, w.b, w.ldb, w.tb = a, b, ldb, tb
	w.row, w.col = steps(lda, ta)
	w.multiply(m, n, k)
	w.a, w.b, w.c = nil, nil, nil
}

// thinnest is up to how many rows or columns of a product are sums over rows of the other factor as they lie,
// where that takes less time than tiles.
const thinnest = 4

// thin computes a product of rows of x and few columns of y, if it takes less time than tiles. Elements of c,
// and those of y, are some elements apart in a column and in a row.
func thin[T dtype.Float](c []T, zrow, zcol int, x []T, ld int, y []T, row, col, m, n, k int, add bool) bool {
	for l := 0; l < k; l += blockDepth {
		if !simd.Thin(c, zrow, zcol, x[l:], ld, y[l*row:], row, col, m, n, min(blockDepth, k-l), add || l > 0) {
			return false // as the first one does
		}
	}
	return true
}

// rowByRow computes a product of rows of a and rows of b, if it takes less time than tiles.
func rowByRow[T dtype.Float](c []T, ldc int, a []T, lda int, b []T, ldb, m, n, k int, add bool) bool {
	for i := range m {
		for l := 0; l < k; l += blockDepth {
			if !simd.Dots(c[i*ldc:i*ldc+n], a[i*lda+l:i*lda+min(l+blockDepth, k)], b[l:], ldb, add || l > 0) {
				return false // as the first one does
			}
		}
	}
	return true
}

// fewRows computes a product of few rows of a, if it takes less time than tiles.
func fewRows[T dtype.Float](c []T, ldc int, a []T, lda int, ta bool, b []T, ldb int, tb bool, m, n, k int, add bool) bool {
	row, col := steps(lda, ta)
	next, across := steps(ldb, tb)
	for l := 0; l < k; l += blockDepth {
		for i := 0; i < m; i += blockRows {
			if !simd.Few(c[i*ldc:], ldc, a[i*row+l*col:], row, col, b[l*next:], next, across, min(blockRows, m-i), n, min(blockDepth, k-l), add || l > 0) {
				return false // as the first one does
			}
		}
	}
	return true
}

// most is of how many bytes at most a factor is copied as a whole for other products.
const most = 8 << 20

// factor is a factor b of products that have it in common.
type factor struct {
	Key
	n, k, ldb int
	tb        bool
}

// shared is a copy of a factor: its blocks, in the order in which they are used.
type shared[T dtype.Float] struct {
	factor
	made    bool
	slivers []T
}

// find returns the copy of a factor, or room for one. Copies that other tasks, runs or phases had are given
// up.
func (w *workspace[T]) find(f factor) *shared[T] {
	var out *shared[T]
	for i := range w.copies {
		s := &w.copies[i]
		if s.factor == f {
			return s
		}
		if out == nil && (s.Task != f.Task || s.Run != f.Run || s.Phase != f.Phase) {
			out = s
		}
	}
	if out != nil {
		cols := 0
		for j := 0; j < f.n; j += blockCols {
			cols += w.padded(min(blockCols, f.n-j))
		}
		out.factor, out.made, out.slivers = f, false, room(out.slivers, f.k*cols)
	}
	return out
}

// workspace is a product that is being computed, with memory for it.
type workspace[T dtype.Float] struct {
	rows     [3]int // of tiles
	cols     [2]int
	a        []T
	row, col int // how far rows and columns of a lie apart
	b        []T
	ldb      int
	tb       bool
	c        []T
	ldc      int
	add      bool
	flip     bool // whether c is the transpose of the product

	shared  *shared[T]   // a copy of b for several products, or nil
	copies  [4]shared[T] // of factors of the last phase
	y       []T          // the copy of a block of b that is used
	slivers []T          // memory for a copy of a block of b
	block   []T          // a copy of a block of a
	edge    []T          // a copy of the last rows of a
	tile    []T          // for tiles that reach beyond c
}

var (
	workspaces32 = sync.Pool{New: func() any { return new(workspace[float32]) }}
	workspaces64 = sync.Pool{New: func() any { return new(workspace[float64]) }}
)

// workspaces returns idle workspaces for an element type.
func workspaces[T dtype.Float]() *sync.Pool {
	if _, wide := any(T(0)).(float64); wide {
		return &workspaces64
	}
	return &workspaces32
}

// room returns a slice of n elements, which is the given one if it suffices.
func room[T dtype.Float](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

func (w *workspace[T]) multiply(m, n, k int) {
	at := 0 // how much of the shared copy is used
	w.tile = room(w.tile, w.rows[0]*w.cols[0])
	for j := 0; j < n; j += blockCols {
		width := min(blockCols, n-j)
		for l := 0; l < k; l += blockDepth {
			depth := min(blockDepth, k-l)
			way := oneByOne
			switch {
			case w.shared != nil:
				n := depth * w.padded(width)
				w.y = w.shared.slivers[at : at+n]
				at += n
				if !w.shared.made {
					w.copy(j, l, width, depth)
				}
				way = copied
			case !w.tb && m <= few:
				way = inPlace
			case m > blockRows:
				w.slivers = room(w.slivers, depth*w.padded(width))
				w.y = w.slivers
				w.copy(j, l, width, depth)
				way = copied
			}
			for i := 0; i < m; i += blockRows {
				w.multiplyBlock(i, j, l, min(blockRows, m-i), width, depth, way)
			}
		}
	}
	if w.shared != nil {
		w.shared.made = true
	}
}

// way says from where slivers of b are read.
type way int

const (
	copied   way = iota // from the copy of the block
	oneByOne            // from a copy of each sliver, which is made when it is used
	inPlace             // from b, but for those that reach beyond it
)

// padded returns how many columns the slivers of a block have together.
func (w *workspace[T]) padded(width int) int {
	whole := width / w.cols[0] * w.cols[0]
	if width > whole {
		_, cols := w.sliver(width - whole)
		whole += cols
	}
	return whole
}

// sliver returns how many columns the tiles of a sliver have, of which n are left.
func (w *workspace[T]) sliver(n int) (place, cols int) {
	if n <= w.cols[1] {
		return 1, w.cols[1]
	}
	return 0, w.cols[0]
}

// copy copies a block of b by slivers. What lies beyond b is 0.
func (w *workspace[T]) copy(j, l, width, depth int) {
	at := 0
	for q := 0; q < width; {
		cols, n := w.together(width - q)
		w.copySlivers(w.y[at:], cols, n, j+q, l, min(n*cols, width-q), depth)
		at, q = at+depth*n*cols, q+n*cols
	}
}

// together returns how many columns the next slivers have, and how many of them are copied at a time, of a
// block of which some columns are left.
func (w *workspace[T]) together(left int) (cols, n int) {
	_, cols = w.sliver(left)
	if simd.Packs[T]() && !w.tb {
		return cols, min(max(left/cols, 1), abreast)
	}
	return cols, 1
}

// copySlivers copies n slivers of b. If the last one reaches beyond b, it is the only one.
func (w *workspace[T]) copySlivers(to []T, cols, n, j, l, width, depth int) {
	to = to[:depth*n*cols]
	if width < n*cols {
		clear(to)
	}
	switch {
	case w.tb:
		simd.Transpose(to, cols, w.b[j*w.ldb+l:], w.ldb, width, depth)
	case width < cols:
		for p := range depth {
			copy(to[p*cols:p*cols+width], w.b[(l+p)*w.ldb+j:])
		}
	default:
		simd.Slivers(to, cols, w.b[l*w.ldb+j:], w.ldb, n, depth)
	}
}

// multiplyBlock multiplies a block of a with one of b.
func (w *workspace[T]) multiplyBlock(i, j, l, height, width, depth int, from way) {
	a, row, col := w.a[i*w.row+l*w.col:], w.row, w.col
	whole := 0 // how many rows the tiles of more rows have together
	packed := simd.Packs[T]() && width >= packs*w.cols[0] && height >= 2*w.rows[0]
	switch {
	case packed:
		whole = w.pack(a, height, depth)
	case width > 2*w.cols[0] && max(row, col)*dtype.Of[T]().Size() >= far:
		a, row, col = w.copyRows(a, height, depth)
	}
	at, have := 0, 0 // where the next sliver is in the copy, and how many columns the copy has from there on
	for q := 0; q < width; {
		place, cols := w.sliver(width - q)
		part := min(cols, width-q)
		var y []T
		next := cols
		switch {
		case from == copied:
			y = w.y[at : at+depth*cols]
		case from == inPlace && part == cols:
			y, next = w.b[l*w.ldb+j+q:], w.ldb
		default:
			if have == 0 {
				cols, n := w.together(width - q)
				w.slivers = room(w.slivers, depth*n*cols)
				w.copySlivers(w.slivers, cols, n, j+q, l, min(n*cols, width-q), depth)
				at, have = 0, n*cols
			}
			y = w.slivers[at : at+depth*cols]
			have -= cols
		}
		p := 0
		if packed && part == cols && !w.flip {
			if p = whole; p > 0 {
				simd.Column(place, w.c[i*w.ldc+j+q:], w.ldc, w.block, w.rows[0]*depth, y, next, depth, p/w.rows[0], w.add || l > 0)
			}
		}
		for p < height {
			kind := simd.TileKind(w.rows, height-p)
			rows := min(w.rows[kind], height-p)
			x, row, col := a[p*row:], row, col
			switch {
			case packed:
				if x, row, col = w.block[p*depth:], 1, w.rows[0]; p >= whole {
					col = w.rows[1] // as pack copies all that are left
				}
			case rows < w.rows[kind]:
				w.edge = room(w.edge, w.rows[kind]*depth)
				w.packRows(w.edge, x, row, col, rows, w.rows[kind])
				x, row, col = w.edge, 1, w.rows[kind]
			}
			w.put(kind, place, i+p, j+q, rows, part, x, row, col, y, next, depth, l > 0)
			p += rows
		}
		at, q = at+depth*cols, q+cols
	}
}

// pack copies a block of a for tiles, one after the other. What tiles read beyond the block is 0. It returns
// how many rows the tiles of more rows have together.
func (w *workspace[T]) pack(x []T, height, depth int) (whole int) {
	w.block = room(w.block, (height+w.rows[1])*depth)
	for whole < height && simd.TileKind(w.rows, height-whole) == 0 {
		whole += w.rows[0]
	}
	if w.row == 1 {
		simd.Slivers(w.block, w.rows[0], x, w.col, whole/w.rows[0], depth)
	} else {
		for p := 0; p < whole; p += w.rows[0] {
			simd.Pack(w.block[p*depth:], x[p*w.row:], w.row, depth)
		}
	}
	all := w.rows[1]
	for p := whole; p < height; p += all {
		w.packRows(w.block[p*depth:(p+all)*depth], x[p*w.row:], w.row, w.col, min(all, height-p), all)
	}
	return whole
}

// packRows copies rows by columns of which each has a number of elements, with zeros below.
func (w *workspace[T]) packRows(to, x []T, row, col, rows, all int) {
	if rows < all {
		clear(to)
	}
	for i := range rows {
		from := i * row
		for at := i; at < len(to); at += all {
			to[at] = x[from]
			from += col
		}
	}
}

// copyRows copies a block of a by rows, and returns how far rows and columns of the copy lie apart.
func (w *workspace[T]) copyRows(x []T, height, depth int) (block []T, row, col int) {
	ld := depth + line/dtype.Of[T]().Size()
	w.block = room(w.block, height*ld)
	if w.col != 1 {
		simd.Transpose(w.block, ld, x, w.col, depth, height)
		return w.block, ld, 1
	}
	for p := range height {
		copy(w.block[p*ld:p*ld+depth], x[p*w.row:])
	}
	return w.block, ld, 1
}

// put computes a tile of the product and puts its rows and columns that c has into c.
func (w *workspace[T]) put(kind, place, i, j, rows, cols int, x []T, row, col int, y []T, next, depth int, later bool) {
	more := w.add || later
	if !w.flip && rows == w.rows[kind] && cols == w.cols[place] {
		simd.Tile(kind, place, w.c[i*w.ldc+j:], w.ldc, x, row, col, y, next, depth, more)
		return
	}
	ld := w.cols[place]
	simd.Tile(kind, place, w.tile, ld, x, row, col, y, next, depth, false)
	down, right := steps(w.ldc, w.flip)
	for p := range rows {
		at := (i+p)*down + j*right
		for _, v := range w.tile[p*ld : p*ld+cols] {
			if more {
				v += w.c[at]
			}
			w.c[at] = v
			at += right
		}
	}
}
