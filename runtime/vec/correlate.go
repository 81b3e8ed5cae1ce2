package vec

import (
	"sync"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/simd"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// depth is how many products Correlate adds up before it adds the sums, as products of package blas do.
const depth = 256

// Correlate puts into dst what filters give for the windows of an image: the sums of the products of a filter's elements and the pixels that a
// window sees. Each row of filters is one, with elements of all planes, and each row of dst has an element for each window. Windows are one pixel
// apart. The elements are summed as by Gemm in package blas, of filters and what Unfold gives, but the pixels are not copied for each element of a
// window.
func Correlate[T dtype.Float](dst tensor.OutMat[T], filters tensor.ROMat[T], image tensor.ROLane[T], planes int, w *Windows) {
	f, ld, turned := unlock.Mat(filters.Sealed())
	if turned || filters.Cols() != planes*w.KernelH*w.KernelW {
		panic("vec: Correlate needs filters by rows, with an element for each pixel of a window")
	}
	correlate(dst, f, ld, filters.Rows(), image, planes, w)
}

// CorrelateBack puts into dst the gradient of the image of Correlate, given that of its result: grad, with a row for each filter. Each row of dst is
// a plane. Paddings must be less than the extents of windows, which Dense reports.
func CorrelateBack[T dtype.Float](dst tensor.OutMat[T], filters tensor.ROMat[T], grad tensor.ROLane[T], planes int, w *Windows) {
	f, ld, turned := unlock.Mat(filters.Sealed())
	size := w.KernelH * w.KernelW
	if turned || filters.Cols() != planes*size {
		panic("vec: CorrelateBack needs filters by rows, with an element for each pixel of a window")
	}
	n := filters.Rows()
	buffers := correlators[T]()
	k := buffers.Get().(*correlator[T])
	defer buffers.Put(k)
	// The gradient of a pixel is a sum over the windows that see it: the last element of a window sees the pixel first.
	k.filters = room(k.filters, planes*n*size)
	for c := range planes {
		for o := range n {
			from, to := f[o*ld+c*size:o*ld+(c+1)*size], k.filters[(c*n+o)*size:(c*n+o+1)*size]
			for i, v := range from {
				to[size-1-i] = v
			}
		}
	}
	back := w.back()
	k.run(dst, k.filters, n*size, planes, grad, n, &back)
}

// back returns the windows in which gradients of windows are summed for pixels.
func (w *Windows) back() Windows {
	out := *w
	out.Height, out.Width, out.Rows, out.Cols = w.Rows, w.Cols, w.Height, w.Width
	out.PaddingH, out.PaddingW = (w.KernelH-1)*w.DilationH-w.PaddingH, (w.KernelW-1)*w.DilationW-w.PaddingW
	return out
}

// Dense reports whether windows are one pixel apart, as Correlate needs, and paddings less than their extents, as CorrelateBack needs.
func (w *Windows) Dense() bool {
	back := w.back()
	return w.StrideH == 1 && w.StrideW == 1 && back.PaddingH >= 0 && back.PaddingW >= 0
}

// correlator is memory for a correlation.
type correlator[T dtype.Float] struct {
	padded  []T
	tile    []T
	edge    []T // the last filters, with zeros below
	filters []T

	last   geometry // of the last image
	places simd.Places
}

// geometry is what the places of pixels and of the padding depend on.
type geometry struct {
	Windows
	planes, cols int // cols are those of tiles
}

var (
	correlators32 = sync.Pool{New: func() any { return new(correlator[float32]) }}
	correlators64 = sync.Pool{New: func() any { return new(correlator[float64]) }}
)

func correlators[T dtype.Float]() *sync.Pool {
	if _, wide := any(T(0)).(float64); wide {
		return &correlators64
	}
	return &correlators32
}

// room returns a slice of n elements, which is the given one if it suffices.
func room[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

func correlate[T dtype.Float](dst tensor.OutMat[T], f []T, ld, rows int, image tensor.ROLane[T], planes int, w *Windows) {
	buffers := correlators[T]()
	k := buffers.Get().(*correlator[T])
	defer buffers.Put(k)
	k.run(dst, f, ld, rows, image, planes, w)
}

// run correlates. An image gets its padding, so that windows side by side see pixels side by side, wherever they lie: those that begin in the
// padding at the end of a row are computed, too, and dropped.
func (k *correlator[T]) run(dst tensor.OutMat[T], f []T, ldf, rows int, image tensor.ROLane[T], planes int, w *Windows) {
	from, size, apart := unlock.Lane(image.Sealed())
	height, width := w.Height+2*w.PaddingH, w.Width+2*w.PaddingW
	if apart != 1 || size != planes*w.Height*w.Width || w.StrideH != 1 || w.StrideW != 1 || min(w.PaddingH, w.PaddingW) < 0 ||
		w.Rows != height-(w.KernelH-1)*w.DilationH || w.Cols != width-(w.KernelW-1)*w.DilationW || dst.Rows() != rows || dst.Cols() != w.Rows*w.Cols {
		panic("vec: Correlate needs windows that are one pixel apart, and a result with an element for each of them and each filter")
	}
	c, ldc, turned := unlock.Mat(dst.Sealed())
	if turned {
		panic("vec: Correlate needs a result by rows")
	}
	add := dst.Mode() == tensor.Accumulate
	if dst.Mode() == tensor.Discard || rows == 0 || w.Rows*w.Cols == 0 {
		return
	}
	if planes == 0 {
		for i := 0; i < rows && !add; i++ {
			clear(c[i*ldc : i*ldc+dst.Cols()])
		}
		return
	}
	tileRows, tileCols := simd.TileSizes[T]()
	if g := (geometry{*w, planes, tileCols[0]}); k.last != g {
		k.last = g
		k.padded = room(k.padded, planes*height*width+tileCols[0])
		clear(k.padded)
		k.places = placesOf(planes, height, width, w)
	}
	k.copy(from, planes, width, w)
	products := planes * w.KernelH * w.KernelW
	k.tile = room(k.tile, tileRows[0]*tileCols[0])
	t := correlation[T]{k, w, c, ldc, add, width}
	for at, total := 0, (w.Rows-1)*width+w.Cols; at < total; {
		place := 0
		if total-at <= tileCols[1] {
			place = 1
		}
		cols := tileCols[place]
		whole := at%width+cols <= w.Cols // the windows lie in one row of the image
		for p := 0; p < rows; {
			kind := 0
			if rows-p < tileRows[0] {
				kind = 1
			}
			n := min(rows-p, tileRows[kind])
			x, ldx := f[p*ldf:], ldf
			if n < tileRows[kind] {
				x, ldx = k.lastFilters(x, ldf, n, tileRows[kind], products), products
			}
			z, ldz, more := k.tile, cols, false
			direct := whole && n == tileRows[kind]
			if direct {
				z, ldz, more = c[p*ldc+at/width*w.Cols+at%width:], ldc, add
			}
			for l := 0; l < products; l += depth {
				simd.TileRows(kind, place, z, ldz, x[l:], ldx, 1, k.padded, at, k.places.Part(l, min(l+depth, products)), more || l > 0)
			}
			if !direct {
				t.put(p, n, at, cols)
			}
			p += n
		}
		at += cols
	}
}

// correlation says where the results of tiles belong.
type correlation[T dtype.Float] struct {
	*correlator[T]
	w     *Windows
	c     []T
	ldc   int
	add   bool
	width int // of the padded image
}

// put puts n rows of the tile, from row p of the result on, where the windows are that begin at places at to at+cols-1 of the padded image.
func (t *correlation[T]) put(p, n, at, cols int) {
	for q := 0; q < cols; {
		row, col := (at+q)/t.width, (at+q)%t.width
		if row >= t.w.Rows {
			return
		}
		next := min(t.width-col, cols-q)
		if count := min(t.w.Cols-col, next); count > 0 {
			for i := range n {
				first := (p+i)*t.ldc + row*t.w.Cols + col
				to, from := t.c[first:first+count], t.tile[i*cols+q:i*cols+q+count]
				if !t.add {
					copy(to, from)
					continue
				}
				for j, v := range from {
					to[j] += v
				}
			}
		}
		q += next
	}
}

// copy copies an image into its padding, which is 0, as are some elements beyond the last one that a tile may read.
func (k *correlator[T]) copy(image []T, planes, width int, w *Windows) {
	at := w.PaddingH*width + w.PaddingW
	for range planes {
		for range w.Height {
			copy(k.padded[at:], image[:w.Width])
			image = image[w.Width:]
			at += width
		}
		at += 2 * w.PaddingH * width
	}
}

// placesOf returns where the elements of the first window lie.
func placesOf(planes, height, width int, w *Windows) simd.Places {
	at := make([]int, 0, planes*w.KernelH*w.KernelW)
	for c := range planes {
		for i := range w.KernelH {
			for j := range w.KernelW {
				at = append(at, (c*height+i*w.DilationH)*width+j*w.DilationW)
			}
		}
	}
	return simd.MakePlaces(at)
}

// lastFilters copies the last filters, with zeros below.
func (k *correlator[T]) lastFilters(x []T, ld, n, all, products int) []T {
	k.edge = room(k.edge, all*products)
	for i := range n {
		copy(k.edge[i*products:(i+1)*products], x[i*ld:])
	}
	clear(k.edge[n*products:])
	return k.edge
}
