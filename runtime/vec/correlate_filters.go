package vec

import (
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// CorrelateFilters puts into dst the gradient of the filters of Correlate, given that of its result, as for
// CorrelateBack. Each row of dst is the gradient of a filter.
func CorrelateFilters[T dtype.Float](dst tensor.OutMat[T], grad, images tensor.ROLane[T], planes int, w *Windows) {
	k, put := correlators[T]()
	defer put()
	k.filters(dst, grad, images, planes, w)
}

// filters computes the gradient of filters: for each row of windows' places, the product of copies of planes,
// which are rows of windows, and of the gradients by windows. The sums have the copies as rows, and filters
// as columns.
func (k *correlator[T]) filters(dst tensor.OutMat[T], gradLane, lane tensor.ROLane[T], planes int, w *Windows) {
	w.check()
	k.prepare(planes, w, false, true)
	grad, n, apart := unlock.Lane(gradLane.Sealed())
	c, ldc, byCols := unlock.Mat(dst.Sealed())
	rows, windows, pixels := dst.Rows(), w.Rows*w.Cols, planes*w.Height*w.Width
	images := n / max(rows*windows, 1)
	if byCols || apart != 1 || n != images*rows*windows || dst.Cols() != planes*w.KernelH*w.KernelW {
		panic("vec: CorrelateFilters needs a result by rows, with an element for each pixel of a window, and a gradient for each window, filter and image")
	}
	if dst.Mode() == tensor.Discard || rows == 0 || dst.Cols() == 0 {
		return
	}
	var from []T
	if windows > 0 {
		from = pixelsOf(lane, images, pixels)
	}
	tileRows, tileCols := simd.TileSizes[T]()
	copies, ld := planes*w.KernelW, 0
	for q := 0; q < rows; q += tileCols[placeOf(tileCols, rows-q)] {
		ld += tileCols[placeOf(tileCols, rows-q)]
	}
	high := tilesOf(tileRows, copies)
	k.sums = room(k.sums, w.KernelH*high*ld)
	clear(k.sums)
	k.packed = room(k.packed, depth*tileCols[0])
	for i := range images {
		image, g := from[i*pixels:(i+1)*pixels], grad[i*rows*windows:(i+1)*rows*windows]
		for first := 0; first < w.Rows; first += k.strip {
			lines := min(k.strip, w.Rows-first)
			k.copy(image, planes, first, lines, w)
			all := lines * w.Cols
			parts := (all + depth - 1) / depth
			for part := range parts {
				lo, hi := all*part/parts, all*(part+1)/parts
				for q := 0; q < rows; {
					place := placeOf(tileCols, rows-q)
					cols := tileCols[place]
					y := k.packed[:(hi-lo)*cols]
					if rows-q < cols {
						clear(y)
					}
					simd.Transpose(y, cols, g[q*windows+first*w.Cols+lo:], windows, min(cols, rows-q), hi-lo)
					for h := range w.KernelH {
						for p := 0; p < copies; {
							kind := simd.TileKind(tileRows, copies-p)
							simd.Tile(kind, place, k.sums[(h*high+p)*ld+q:], ld, k.copies[p*k.apart+h*w.DilationH*w.Cols+lo:], k.apart, 1, y, cols, hi-lo, true)
							p += tileRows[kind]
						}
					}
					q += cols
				}
			}
		}
	}
	k.store(c, ldc, rows, planes, high, ld, w, dst.Mode() == tensor.Accumulate)
}

// store transposes the sums.
func (k *correlator[T]) store(c []T, ldc, rows, planes, high, ld int, w *Windows, add bool) {
	size := planes * w.KernelH * w.KernelW
	k.lines = room(k.lines, size*ld)
	for p := range planes {
		for h := range w.KernelH {
			copy(k.lines[(p*w.KernelH+h)*w.KernelW*ld:(p*w.KernelH+h+1)*w.KernelW*ld], k.sums[(h*high+p*w.KernelW)*ld:])
		}
	}
	if !add {
		simd.Transpose(c, ldc, k.lines, ld, size, rows)
		return
	}
	k.sums = room(k.sums, rows*size)
	simd.Transpose(k.sums, size, k.lines, ld, size, rows)
	for o := range rows {
		addLists(c[o*ldc:o*ldc+size], k.sums[o*size:(o+1)*size])
	}
}
