package vec

import (
	"unsafe"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// Correlation with filters of three by three elements can compute tiles of two by two results with 16
// products instead of 36, by S. Winograd's minimal filtering: filters and overlapping tiles of four by four
// pixels are transformed, their elements multiplied one by one, the products summed over planes, and the sums
// transformed back. For each of the 16 elements, the sums are a product of matrices: of filters by planes,
// and planes by tiles.

// tileBytes and sumBytes are how large transforms and sums become, so that both stay in the second cache.
const (
	tileBytes = 512 << 10
	sumBytes  = 256 << 10
)

// tileSize is how many elements the transform of a tile or a filter has.
const tileSize = 16

// minimal is memory for a correlation with few products.
type minimal[T dtype.Float] struct {
	filters []T    // for each element of a transform the filters, as tiles of products read them
	lists   [2][]T // of planes, in some rows of tiles: columns of even and odd rows
	tiles   []T    // for each element and plane, of a strip of tiles
	sums    []T    // for each element and some filters
	results []T    // of a strip, that are added to others later
	edge    []T    // two rows of results, of which one lies beyond the image
	parts   []part
	bad     []bool // of the rows of tiles of a strip, those with results that are not finite

	turned                             bool // whether filters are turned
	planes, padded                     int  // how many planes there are, and filters with those that fill the last tile of a product
	rows, cols                         int  // of tiles of an image
	strip                              int  // how many rows of tiles a strip has
	list                               int  // the distance of lists of columns
	columns                            simd.Columns
	filtersApart, ld, apart, sumsApart int // the distances of planes or filters, and of elements
	block                              int // how many filters are multiplied before their sums are transformed back
}

// part is some rows of tiles of an image in a strip. Its results for the first filter begin at a place of
// their own.
type part struct{ image, first, rows, at int }

// fewProducts reports whether a correlation takes less time with transforms: there must be enough products
// for each pixel that is transformed, few results beyond an image, and enough tiles for the transforms of
// filters. What a row of tiles needs must fit in a cache. It does not depend on how many images there are, so
// results do not.
func fewProducts[T dtype.Float](filters, planes int, w *Windows) bool {
	if unsafe.Sizeof(T(0)) != 4 || w.KernelH != 3 || w.KernelW != 3 || w.DilationH != 1 || w.DilationW != 1 {
		return false
	}
	rows, cols, results := (w.Rows+1)/2, (w.Cols+1)/2, w.Rows*w.Cols
	return planes >= 32 && results >= 14*14 && min(planes, 64)*min(filters, 64)*results >= 5<<16 && // products for each transform
		8*results >= 27*rows*cols && cols <= 256 && planes*cols <= 1<<15
}

// transform transforms packed filters.
func (m *minimal[T]) transform(packed []T, filters, planes int, turned bool) {
	sizes, _ := simd.TileSizes[T]()
	m.planes, m.padded, m.turned = planes, tilesOf(sizes, filters), turned
	m.filtersApart = oddLines[T](m.padded * planes)
	m.filters = room(m.filters, tileSize*m.filtersApart)
	for p := 0; p < filters; {
		rows := sizes[simd.TileKind(sizes, filters-p)]
		simd.IntoFilters(m.filters[p*planes:], m.filtersApart, packed[9*p*planes:], rows, planes)
		p += rows
	}
}

// turnedElement returns the place that an element of a transform has in that of the turned filter.
func turnedElement(e int) int {
	turn := [4]int{3, 1, 2, 0}
	return 4*turn[e/4] + turn[e%4]
}

// oddLines returns the least odd number of lines of a cache that n elements fit into. Lists that are as far
// apart are not in the same sets of a cache.
func oddLines[T dtype.Float](n int) int {
	line := lineBytes / 2 / dtype.Of[T]().Size()
	return ((n+line-1)/line | 1) * line
}

// prepare makes room for strips of tiles of some images.
func (m *minimal[T]) prepare(filters, images int, w *Windows) {
	size := dtype.Of[T]().Size()
	line, columns := lineBytes/2/size, lineBytes/size
	m.rows, m.cols = (w.Rows+1)/2, (w.Cols+1)/2
	m.strip = min(max(tileBytes/(tileSize*m.planes*size), 2*columns)/m.cols, m.rows*images)
	m.strip = max(m.strip, 1)
	m.ld = (m.strip*m.cols+simd.Beyond+columns-1)/columns*columns + line
	m.block = min(max(sumBytes/(tileSize*m.ld*size), 1), m.padded)
	sizes, _ := simd.TileSizes[T]()
	m.apart, m.sumsApart = oddLines[T](tileSize*m.ld), oddLines[T]((m.block+sizes[0])*m.ld)
	m.tiles = room(m.tiles, m.planes*m.apart)
	m.sums = room(m.sums, tileSize*m.sumsApart)
	if w.Width != m.columns.Width || w.PaddingW != m.columns.Padding || m.cols != m.columns.Cols {
		m.columns = simd.MakeColumns(w.Width, w.PaddingW, m.cols)
	}
	m.list = oddLines[T]((min(m.strip, m.rows) + 1) * m.cols)
	for i := range m.lists {
		m.lists[i] = room(m.lists[i], 8*m.list+simd.Beyond)
	}
	m.edge = room(m.edge, 2*w.Cols)
	m.bad = room(m.bad, m.strip)
}

// run correlates transformed filters with images, for rows lo to hi-1 of windows. Where results of a row of
// tiles are not finite, function direct computes some rows of all results of an image, since a pixel that is
// not finite makes all results of its tiles NaN.
func (m *minimal[T]) run(c []T, ldc, filters int, pixels []T, images int, w *Windows, lo, hi int, add bool, direct func(to []T, ld, image, first, rows int)) {
	m.prepare(filters, images, w)
	begin, end := lo/2, (hi+1)/2 // rows of tiles
	for image, first := 0, begin; image < images; {
		tiles := 0
		m.parts = m.parts[:0]
		for left := m.strip; left > 0 && image < images; {
			n := min(end-first, left)
			at := image*filters*ldc + 2*(first-begin)*w.Cols
			if add {
				at = 4 * tiles
			}
			m.parts = append(m.parts, part{image, first, n, at})
			left, first, tiles = left-n, first+n, tiles+n*m.cols
			if first == end {
				image, first = image+1, begin
			}
		}
		m.into(pixels, w)
		clear(m.bad)
		to, ld := c, ldc
		if add { // whether all are finite is known later
			ld = 4 * tiles
			m.results = room(m.results, filters*ld)
			to = m.results
		}
		for f := 0; f < filters; {
			next := m.multiply(f, filters, tiles)
			m.out(to, ld, f, min(next, filters), w)
			f = next
		}
		m.mend(to, ld, w, direct)
		for _, p := range m.parts {
			n := m.size(p, w)
			for f := 0; f < filters && add; f++ {
				addLists(c[(p.image*filters+f)*ldc+2*(p.first-begin)*w.Cols:][:n], to[p.at+f*ld:][:n])
			}
		}
	}
}

// size returns how many results a part has for a filter.
func (m *minimal[T]) size(p part, w *Windows) int {
	return (min(2*(p.first+p.rows), w.Rows) - 2*p.first) * w.Cols
}

// into transforms the tiles of a strip. It splits a plane before it transforms the one before, since a
// processor cannot read what it has just written in other pieces without delay.
func (m *minimal[T]) into(images []T, w *Windows) {
	tiles := 0
	for _, p := range m.parts {
		top := w.PaddingH - 2*p.first // the row that the tiles see for the first one of the image
		var lo, hi [2]int             // of even and odd rows, those in the image
		for odd := range 2 {
			lo[odd] = min(max(0, top-odd+1)/2, p.rows+1)
			hi[odd] = max(lo[odd], min(p.rows+1, (top+w.Height-odd+1)/2))
			for _, lists := range m.lists {
				for j := range 4 {
					list := lists[(4*odd+j)*m.list:][:(p.rows+1)*m.cols]
					clear(list[:lo[odd]*m.cols])
					clear(list[hi[odd]*m.cols:])
				}
			}
		}
		for c := range m.planes + 1 {
			if c < m.planes {
				plane := images[(p.image*m.planes+c)*w.Height*w.Width:]
				for odd := range 2 {
					if n := hi[odd] - lo[odd]; n > 0 {
						from := (2*lo[odd] + odd - top) * w.Width
						simd.SplitRows(m.lists[c%2][4*odd*m.list+lo[odd]*m.cols:], m.list, plane[from:], 2*w.Width, m.columns, n)
						if next := from + w.Height*w.Width; odd == 0 && c+1 < m.planes {
							simd.Fetch(plane[next : next+(2*n-1)*w.Width])
						}
					}
				}
			}
			if c > 0 {
				simd.IntoTiles(m.tiles[(c-1)*m.apart+tiles:], m.ld, m.lists[(c-1)%2], m.list, m.cols, p.rows*m.cols)
			}
		}
		tiles += p.rows * m.cols
	}
}

// multiply multiplies filters with tiles, from a filter on. It returns which is the next one.
func (m *minimal[T]) multiply(lo, filters, tiles int) int {
	tileRows, tileCols := simd.TileSizes[T]()
	hi := lo
	for hi < filters && (hi == lo || hi < lo+m.block) {
		hi += tileRows[simd.TileKind(tileRows, filters-hi)]
	}
	for e := range tileSize {
		filter := e
		if m.turned {
			filter = turnedElement(e)
		}
		x := m.filters[filter*m.filtersApart:][:m.padded*m.planes]
		y, z := m.tiles[e*m.ld:], m.sums[e*m.sumsApart:]
		for q := 0; q < tiles; {
			place := placeOf(tileCols, tiles-q)
			for l := 0; l < m.planes; l += depth {
				k := min(depth, m.planes-l)
				for p := lo; p < hi; {
					kind, n := simd.TileKind(tileRows, filters-p), 1
					rows := tileRows[kind]
					for kind == 0 && p+n*rows < hi && simd.TileKind(tileRows, filters-p-n*rows) == 0 {
						n++
					}
					from := x[p*m.planes+l*rows:]
					if kind == 0 {
						simd.Column(place, z[(p-lo)*m.ld+q:], m.ld, from, rows*m.planes, y[l*m.apart+q:], m.apart, k, n, l > 0)
					} else {
						simd.Tile(kind, place, z[(p-lo)*m.ld+q:], m.ld, from, 1, rows, y[l*m.apart+q:], m.apart, k, l > 0)
					}
					p += n * rows
				}
			}
			q += tileCols[place]
		}
	}
	return hi
}

// out transforms the sums for some filters back.
func (m *minimal[T]) out(to []T, ld, lo, hi int, w *Windows) {
	for f := lo; f < hi; f++ {
		row := 0 // of tiles of the strip
		for _, p := range m.parts {
			whole := min(p.rows, w.Rows/2-p.first) // rows of tiles with two rows of results
			sums, results := m.sums[(f-lo)*m.ld+row*m.cols:], to[p.at+f*ld:]
			if !simd.OutOfTiles(results[:2*whole*w.Cols], w.Cols, sums, m.sumsApart, m.cols, whole) {
				for r := range whole {
					m.bad[row+r] = m.bad[row+r] || !finite(results[2*r*w.Cols:][:2*w.Cols])
				}
			}
			if whole < p.rows {
				if !simd.OutOfTiles(m.edge, w.Cols, sums[whole*m.cols:], m.sumsApart, m.cols, 1) {
					m.bad[row+whole] = true
				}
				copy(results[2*whole*w.Cols:], m.edge[:w.Cols])
			}
			row += p.rows
		}
	}
}

// finite reports whether no element is infinite or NaN.
func finite[T dtype.Float](x []T) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// mend lets direct compute what is not finite.
func (m *minimal[T]) mend(to []T, ld int, w *Windows, direct func(to []T, ld, image, first, rows int)) {
	row := 0
	for _, p := range m.parts {
		for r := 0; r < p.rows; r++ {
			n := 0
			for r+n < p.rows && m.bad[row+r+n] {
				n++
			}
			if n > 0 {
				first := 2 * (p.first + r)
				direct(to[p.at+2*r*w.Cols:], ld, p.image, first, min(2*n, w.Rows-first))
				r += n
			}
		}
		row += p.rows
	}
}
