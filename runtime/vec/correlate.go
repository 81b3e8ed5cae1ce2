package vec

import (
	"sync"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// depth is how many products Correlate adds up before it adds the sums, as products of package blas do.
const depth = 256

// stripBytes is how large copies of parts of images become, so that they stay in the second cache beside
// filters.
const stripBytes = 512 << 10

// lineBytes is how many bytes of a row of a result tiles have at most.
const lineBytes = 128

// Correlate stores the correlations of filters with the windows of images in dst: sums of the products of a
// filter's elements and a window's pixels. Each row of filters is one filter, with elements of all planes.
// Images are consecutive, with the given number of planes each. For each image, dst has a row for each
// filter, with an element for each window. Windows are one pixel apart. It panics if sizes do not fit
// together.
//
// The elements are summed as by Gemm in package blas, of filters and the result of Unfold, but the pixels are
// not copied for each element of a window. With float32, windows of three by three neighboring pixels, at
// least 32 planes and many results, sums are those of S. Winograd's minimal filtering, which takes 16
// products for four results instead of 36. In units of 2^-24 of the sum of absolute products, errors are then
// at most 2 with normal random numbers and 20 with positive ones, where sums of all products have 3 and 11.
// In the mean, they are as large with 64 planes, and 1.8 and 3 times as large with 256 planes. A window is
// computed with up to three neighbors in a square of four by four pixels, so an error is small beside the
// greatest pixels of the square, even those outside of the window. Where a result is infinite or NaN, it is
// the sum of all products. The choice between both ways depends on the sizes of an image and the numbers of
// planes and filters, and not on the number of images.
func Correlate[T dtype.Float](dst tensor.OutMat[T], filters tensor.ROMat[T], images tensor.ROLane[T], planes int, w *Windows) {
	CorrelateRows(dst, filters, images, planes, w, 0, w.Rows)
}

// CorrelateRows is Correlate for rows lo to hi-1 of the windows of each image: dst has columns for these
// windows only, and gets the same elements. lo must be even, and hi too unless it is the number of all rows,
// since two rows of windows may share sums.
func CorrelateRows[T dtype.Float](dst tensor.OutMat[T], filters tensor.ROMat[T], images tensor.ROLane[T], planes int, w *Windows, lo, hi int) {
	if lo < 0 || lo > hi || hi > w.Rows || lo%2 > 0 || hi%2 > 0 && hi < w.Rows {
		panic("vec: CorrelateRows needs rows of windows in pairs")
	}
	k, put := correlators[T]()
	defer put()
	f, ld := k.open(filters, planes, w)
	k.run(dst, factor[T]{f, ld, filters.Rows(), planes, w.KernelH * w.KernelW, false}, images, w, lo, hi)
}

// CorrelateBack puts into dst the gradient of the images of Correlate, given that of its result: grad, which
// for each image has a row for each filter. Each row of dst is a plane. Paddings must be less than the
// extents of windows, which Dense reports. It is a correlation with turned filters, which is computed as
// Correlate does.
func CorrelateBack[T dtype.Float](dst tensor.OutMat[T], filters tensor.ROMat[T], grad tensor.ROLane[T], planes int, w *Windows) {
	k, put := correlators[T]()
	defer put()
	f, ld := k.open(filters, planes, w)
	back := w.back()
	// The gradient of a pixel is a sum over the windows that see it: the last element of a window sees the
	// pixel first.
	k.run(dst, factor[T]{f, ld, planes, filters.Rows(), w.KernelH * w.KernelW, true}, grad, &back, 0, back.Rows)
}

// back returns the windows in which gradients of windows are summed for pixels.
func (w *Windows) back() Windows {
	out := *w
	out.Height, out.Width, out.Rows, out.Cols = w.Rows, w.Cols, w.Height, w.Width
	out.PaddingH, out.PaddingW = (w.KernelH-1)*w.DilationH-w.PaddingH, (w.KernelW-1)*w.DilationW-w.PaddingW
	return out
}

// Dense reports whether windows are one pixel apart, as Correlate needs, and paddings less than their
// extents, as CorrelateBack needs. It returns false for windows so high beside the image that the rows
// between their pixels would take more memory than Unfold does.
func (w *Windows) Dense() bool {
	back := w.back()
	beyond := (w.KernelH - 1) * w.DilationH
	return w.StrideH == 1 && w.StrideW == 1 && back.PaddingH >= 0 && back.PaddingW >= 0 && beyond <= max(mostBeyond, w.KernelH*min(w.Rows, w.Height))
}

// mostBeyond is up to how many rows Correlate copies beside those of windows, whatever the image.
const mostBeyond = 1 << 12

// correlator is memory for a correlation. For each column of windows there is a copy of each plane, whose
// rows are what the windows of a row see in this column. What windows see at one place is then a list of
// neighboring elements, over all rows.
type correlator[T dtype.Float] struct {
	copies []T // of a strip: some rows of windows
	tile   []T
	packed []T // the factor that tiles read row by row, or the gradient by windows
	sums   []T // for the gradient of filters
	lines  []T

	minimal minimal[T]

	last   geometry // of the last images
	strip  int      // the rows of windows of a strip
	apart  int      // the distance of copies
	kept   bool     // whether rows in the padding are 0, since each image is one strip
	used   bool     // whether strips of other rows have been where rows in the padding are
	places simd.Places
}

// geometry is what the places of pixels and of the padding depend on.
type geometry struct {
	Windows
	planes int
	turned bool // whether the last place of a window comes first
}

var (
	correlators32 = sync.Pool{New: func() any { return new(correlator[float32]) }}
	correlators64 = sync.Pool{New: func() any { return new(correlator[float64]) }}
)

// correlators returns idle memory for a correlation, and a function that gives it back.
func correlators[T dtype.Float]() (k *correlator[T], put func()) {
	pool := &correlators32
	if _, wide := any(T(0)).(float64); wide {
		pool = &correlators64
	}
	k = pool.Get().(*correlator[T])
	return k, func() { pool.Put(k) }
}

// room returns a slice of n elements, which is the given one if it suffices.
func room[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// open returns the memory of filters, and how far they lie apart.
func (k *correlator[T]) open(filters tensor.ROMat[T], planes int, w *Windows) (f []T, ld int) {
	f, ld, turned := unlock.Mat(filters.Sealed())
	if turned || filters.Cols() != planes*w.KernelH*w.KernelW {
		panic("vec: Correlate needs filters by rows, with an element for each pixel of a window")
	}
	return f, ld
}

// factor is filters of a correlation: f[o*ld + c*size + e] is element e of that for result o and plane c, or
// if turned says so, f[c*ld + o*size + size-1-e].
type factor[T dtype.Float] struct {
	f                  []T
	ld                 int
	rows, planes, size int // how many results and planes there are, and elements of a filter
	turned             bool
}

// pack copies filters for tiles. Those that are turned are copied in the order that they have.
func (k *correlator[T]) pack(x *factor[T]) {
	k.slivers(x.rows, x.planes*x.size, func(to []T, rows, from, n int) {
		if !x.turned {
			simd.Transpose(to, rows, x.f[from*x.ld:], x.ld, n, x.planes*x.size)
			return
		}
		for c := range x.planes {
			simd.Transpose(to[c*x.size*rows:], rows, x.f[c*x.ld+from*x.size:], x.size, n, x.size)
		}
	})
}

// slivers copies a factor of rows so that tiles read it in order: each sliver has the rows of a tile side by
// side for each product. What a tile reads beyond the last row is 0. Function sliver copies n rows, from a
// row on, into a sliver of more rows.
func (k *correlator[T]) slivers(rows, products int, sliver func(to []T, rows, from, n int)) {
	tiles, _ := simd.TileSizes[T]()
	k.packed = room(k.packed, tilesOf(tiles, rows)*products)
	for p := 0; p < rows; {
		n := tiles[simd.TileKind(tiles, rows-p)]
		to := k.packed[p*products : (p+n)*products]
		if rows-p < n {
			clear(to)
		}
		sliver(to, n, p, min(n, rows-p))
		p += n
	}
}

// tilesOf returns how many rows the tiles have together that cover a number of rows.
func tilesOf(sizes [3]int, rows int) int {
	all := 0
	for all < rows {
		all += sizes[simd.TileKind(sizes, rows-all)]
	}
	return all
}

// placeOf returns the place of the columns of a tile in their list, for those that are left. A tile may have
// more.
func placeOf(sizes [2]int, left int) int {
	if left <= sizes[1] {
		return 1
	}
	return 0
}

// check panics unless windows are one pixel apart, on whole images with their padding.
func (w *Windows) check() {
	height, width := w.Height+2*w.PaddingH, w.Width+2*w.PaddingW
	if w.StrideH != 1 || w.StrideW != 1 || min(w.PaddingH, w.PaddingW) < 0 ||
		w.Rows != height-(w.KernelH-1)*w.DilationH || w.Cols != width-(w.KernelW-1)*w.DilationW {
		panic("vec: Correlate needs windows that are one pixel apart")
	}
}

// prepare makes copies for windows on images: for all rows of windows, or for some of them.
func (k *correlator[T]) prepare(planes int, w *Windows, turned, all bool) {
	if g := (geometry{*w, planes, turned}); k.last != g {
		k.last = g
		beyond := (w.KernelH - 1) * w.DilationH // the rows that the last row of windows sees below
		line := max(1, planes*w.KernelW*w.Cols*dtype.Of[T]().Size())
		k.strip = stripRows(w, stripBytes/line-beyond, lineBytes/dtype.Of[T]().Size())
		k.apart = (k.strip + beyond) * w.Cols
		if bytes := k.apart * dtype.Of[T]().Size(); bytes%2048 < 64 || bytes%2048 > 2048-64 { // not in the same sets of a cache
			k.apart += 128 / dtype.Of[T]().Size()
		}
		rows, cols := simd.TileSizes[T]()
		k.copies = room(k.copies, (planes*w.KernelW+rows[0])*k.apart+max(cols[0], depth)) // tiles read beyond the last plane and window
		clear(k.copies)
		k.tile = room(k.tile, rows[0]*cols[0])
		at := make([]int, 0, planes*w.KernelH*w.KernelW)
		for c := range planes {
			for e := range w.KernelH * w.KernelW {
				if turned {
					e = w.KernelH*w.KernelW - 1 - e
				}
				at = append(at, (c*w.KernelW+e%w.KernelW)*k.apart+e/w.KernelW*w.DilationH*w.Cols)
			}
		}
		k.places, k.used = simd.MakePlaces(at), false
	}
	if all && k.used {
		clear(k.copies)
		k.used = false
	}
	k.kept, k.used = all && k.strip >= w.Rows, k.used || !all
}

// pixelsOf returns the pixels of images, of which each has a number of them.
func pixelsOf[T dtype.Float](lane tensor.ROLane[T], images, each int) []T {
	x, size, apart := unlock.Lane(lane.Sealed())
	if apart != 1 || size != images*each {
		panic("vec: Correlate needs whole images, as many as the result has")
	}
	return x
}

// stripRows returns how many rows of windows a strip has: all, or about the given number. If it can, a strip
// has whole tiles of windows.
func stripRows(w *Windows, most, tile int) int {
	most = max(most, 2*(w.KernelH-1)*w.DilationH, 1)
	if w.Rows <= most {
		return max(w.Rows, 1)
	}
	for rows := most; rows > most/2; rows-- {
		if rows*w.Cols%tile == 0 {
			return rows
		}
	}
	strips := (w.Rows + most - 1) / most
	return (w.Rows + strips - 1) / strips
}

// run correlates filters with images, of which the result says the number, for rows lo to hi-1 of windows.
func (k *correlator[T]) run(dst tensor.OutMat[T], x factor[T], lane tensor.ROLane[T], w *Windows, lo, hi int) {
	w.check()
	c, ldc, byCols := unlock.Mat(dst.Sealed())
	images, windows, pixels := dst.Rows()/max(x.rows, 1), (hi-lo)*w.Cols, x.planes*w.Height*w.Width
	if byCols || dst.Rows() != images*x.rows || dst.Cols() != windows {
		panic("vec: Correlate needs a result by rows, with an element for each window, filter and image")
	}
	if dst.Mode() == tensor.Discard || x.rows == 0 || windows == 0 {
		return
	}
	from, add := pixelsOf(lane, images, pixels), dst.Mode() == tensor.Accumulate
	switch {
	case x.planes == 0:
		for i := 0; i < images*x.rows && !add; i++ {
			clear(c[i*ldc : i*ldc+windows])
		}
	case fewProducts[T](x.rows, x.planes, w):
		k.few(c, ldc, &x, from, images, w, lo, hi, add)
	default:
		k.all(c, ldc, &x, from, images, w, lo, hi, add)
	}
}

// all computes each product of a correlation.
func (k *correlator[T]) all(c []T, ldc int, x *factor[T], images []T, n int, w *Windows, lo, hi int, add bool) {
	k.pack(x)
	k.prepare(x.planes, w, x.turned, hi-lo == w.Rows)
	for i := range n {
		k.part(c[i*x.rows*ldc:], ldc, x, images, i, lo, hi-lo, w, add)
	}
}

// part computes each product for some rows of windows of an image.
func (k *correlator[T]) part(c []T, ldc int, x *factor[T], images []T, image, first, rows int, w *Windows, add bool) {
	size := x.planes * w.Height * w.Width
	for from := 0; from < rows; from += k.strip {
		n := min(k.strip, rows-from)
		k.copy(images[image*size:][:size], x.planes, first+from, n, w)
		k.multiply(c[from*w.Cols:], ldc, x.rows, n*w.Cols, add)
	}
}

// few computes a correlation with few products.
func (k *correlator[T]) few(c []T, ldc int, x *factor[T], images []T, n int, w *Windows, lo, hi int, add bool) {
	k.pack(x)
	k.minimal.transform(k.packed, x.rows, x.planes, x.turned)
	ready := false
	k.minimal.run(c, ldc, x.rows, images, n, w, lo, hi, add, func(to []T, ld, image, first, rows int) {
		if !ready {
			k.prepare(x.planes, w, x.turned, false)
			ready = true
		}
		k.part(to, ld, x, images, image, first, rows, w, false)
	})
}

// multiply multiplies packed filters with a number of neighboring windows of a strip.
func (k *correlator[T]) multiply(c []T, ldc, rows, windows int, add bool) {
	tileRows, tileCols := simd.TileSizes[T]()
	products := k.places.Len()
	for q := 0; q < windows; {
		place := placeOf(tileCols, windows-q)
		cols := tileCols[place]
		part := min(cols, windows-q)
		for l := 0; l < products; l += depth {
			places := k.places.Part(l, min(l+depth, products))
			p := 0
			if part == cols {
				n := 0
				for n*tileRows[0] < rows && simd.TileKind(tileRows, rows-n*tileRows[0]) == 0 {
					n++
				}
				if p = n * tileRows[0]; n > 0 {
					simd.ColumnRows(place, c[q:], ldc, k.packed[l*tileRows[0]:], tileRows[0]*products, k.copies, q, places, n, add || l > 0)
				}
			}
			for p < rows {
				kind := simd.TileKind(tileRows, rows-p)
				all := tileRows[kind]
				n := min(all, rows-p)
				x := k.packed[p*products+l*all:]
				if n == all && part == cols {
					simd.TileRows(kind, place, c[p*ldc+q:], ldc, x, 1, all, k.copies, q, places, add || l > 0)
				} else {
					simd.TileRows(kind, place, k.tile, cols, x, 1, all, k.copies, q, places, false)
					for i := range n {
						to, sums := c[(p+i)*ldc+q:(p+i)*ldc+q+part], k.tile[i*cols:i*cols+part]
						if add || l > 0 {
							addLists(to, sums)
						} else {
							copy(to, sums)
						}
					}
				}
				p += all
			}
		}
		q += cols
	}
}

// copy makes the copies of what rows of windows of an image see, from the first row on.
func (k *correlator[T]) copy(image []T, planes, first, rows int, w *Windows) {
	top := w.PaddingH - first // the row of the copy for the first one of a plane
	all := rows + (w.KernelH-1)*w.DilationH
	lo, hi := max(0, -top), min(w.Height, all-top)
	before, after := all*w.Cols, all*w.Cols
	if lo < hi {
		before, after = (top+lo)*w.Cols, (top+hi)*w.Cols
	}
	size := w.Height * w.Width
	for j := range w.KernelW {
		left, right, column := w.span(j, 0, w.Width)
		if left == right {
			left, right = w.Cols, w.Cols
		}
		for c := range planes {
			to := k.copies[(c*w.KernelW+j)*k.apart:][:all*w.Cols]
			body := to[before:after]
			if !k.kept {
				clear(to[:before])
				clear(to[after:])
			}
			switch plane := image[c*size : (c+1)*size]; {
			case left == right:
				clear(body)
			case w.Cols == w.Width: // the plane, shifted
				if len(body) > 0 {
					copy(body[left:len(body)-(w.Cols-right)], plane[lo*w.Width+column:])
				}
				clearColumns(body, w.Cols, 0, left)
				clearColumns(body, w.Cols, right, w.Cols)
			default:
				for h := lo; h < hi; h++ {
					row := body[(h-lo)*w.Cols : (h-lo+1)*w.Cols]
					if !k.kept {
						clear(row[:left])
						clear(row[right:])
					}
					copy(row[left:right], plane[h*w.Width+column:])
				}
			}
		}
	}
}

// clearColumns sets columns lo to hi-1 of rows to 0. They are few.
func clearColumns[T dtype.Float](x []T, cols, lo, hi int) {
	for q := lo; q < hi; q++ {
		for at := q; at < len(x); at += cols {
			x[at] = 0
		}
	}
}
