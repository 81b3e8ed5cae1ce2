package vec

import (
	"sync"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// planeBytes is how large the copy of a part of a plane becomes, so that it stays in the first cache.
const planeBytes = 16 << 10

// mostLine bounds the elements of the rows that one row of windows sees, with their padding.
const mostLine = 1 << 18

// Single reports whether CorrelatePlanes takes windows: they have at most as many elements as sums are added
// up of at once, and the rows that one row of windows sees, with their padding, are not too large.
func (w *Windows) Single() bool {
	high := (w.KernelH-1)*w.DilationH + 1
	return w.KernelH*w.KernelW <= depth && w.Width+2*w.PaddingW <= mostLine/high
}

// CorrelatePlanes puts into dst what filters give for the windows of n planes, each of which has as
// many filters of its own: the sums of the products of a filter's elements and the pixels that a window sees.
// Each row of filters is one, and each row of dst is what it gives, with an element for each window. Windows
// are those of which Single reports so. It panics if sizes do not fit together.
//
// The elements are summed as by Gemm in package blas, of a filter and what Unfold gives, but the pixels are
// copied once for all elements of a window.
func CorrelatePlanes[T dtype.Float](dst tensor.OutMat[T], filters tensor.ROMat[T], planes tensor.ROLane[T], n int, w *Windows) {
	f, ldf, turned := unlock.Mat(filters.Sealed())
	c, ldc, byCols := unlock.Mat(dst.Sealed())
	from, all, apart := unlock.Lane(planes.Sealed())
	each := filters.Rows() / max(n, 1)
	if turned || byCols || apart != 1 || !w.Single() || all != n*w.Height*w.Width || filters.Rows() != n*each || filters.Cols() != w.KernelH*w.KernelW ||
		dst.Rows() != filters.Rows() || dst.Cols() != w.Rows*w.Cols {
		panic("vec: CorrelatePlanes needs filters and a result by rows, as many for each plane, with an element for each pixel of a window and for each window")
	}
	if dst.Mode() == tensor.Discard || n == 0 || w.Rows*w.Cols == 0 {
		return
	}
	pool := &planesOf32
	if _, wide := any(T(0)).(float64); wide {
		pool = &planesOf64
	}
	k := pool.Get().(*padded[T])
	defer pool.Put(k)
	k.prepare(w)
	for i := range n {
		plane := from[i*w.Height*w.Width:][:w.Height*w.Width]
		for first := 0; first < w.Rows; first += k.strip {
			rows := min(k.strip, w.Rows-first)
			k.copy(plane, first*w.StrideH-w.PaddingH, (rows-1)*w.StrideH+k.high, w)
			for o := i * each; o < (i+1)*each; o++ {
				k.multiply(c[o*ldc+first*w.Cols:o*ldc+w.Rows*w.Cols], f[o*ldf:][:w.KernelH*w.KernelW], rows, w, dst.Mode() == tensor.Accumulate)
			}
		}
	}
}

// padded is a copy of rows of a plane with their padding. Where windows are several pixels apart, columns
// that lie as far apart are neighbors, so that what windows of a row see at one place is a list of neighbors.
type padded[T dtype.Float] struct {
	copies []T
	row    []T // sums of a row of windows
	high   int // rows that a row of windows sees
	strip  int // rows of windows that a copy serves
	width  int // neighbors in a row of the copy
	places simd.Places
}

var (
	planesOf32 = sync.Pool{New: func() any { return new(padded[float32]) }}
	planesOf64 = sync.Pool{New: func() any { return new(padded[float64]) }}
)

// prepare decides how copies lie.
func (k *padded[T]) prepare(w *Windows) {
	whole := simd.LineCols[T]()
	k.high = (w.KernelH-1)*w.DilationH + 1
	steps := min(w.StrideW, (w.KernelW-1)*w.DilationW+1) // lists of columns that windows see
	k.width = (w.KernelW-1)*w.DilationW/w.StrideW + w.Cols
	line := steps * k.width
	k.strip = min(max(1, (planeBytes/dtype.Of[T]().Size()/line-k.high)/w.StrideH+1), w.Rows)
	rows := (k.strip-1)*w.StrideH + k.high
	k.copies = room(k.copies, rows*line+whole) // a line reads beyond the last column
	clear(k.copies[rows*line:])
	k.row = room(k.row, (w.Cols+whole-1)/whole*whole)
	at := make([]int, 0, w.KernelH*w.KernelW)
	for i := range w.KernelH {
		for j := range w.KernelW {
			x := j * w.DilationW
			at = append(at, (i*w.DilationH*steps+x%w.StrideW)*k.width+x/w.StrideW)
		}
	}
	k.places = simd.MakePlaces(at)
}

// copy copies rows of a plane, of which the first may lie in the padding.
func (k *padded[T]) copy(plane []T, first, rows int, w *Windows) {
	to := k.copies
	steps := min(w.StrideW, (w.KernelW-1)*w.DilationW+1)
	for h := first; h < first+rows; h++ {
		if h < 0 || h >= w.Height {
			clear(to[:steps*k.width])
			to = to[steps*k.width:]
			continue
		}
		row := plane[h*w.Width : (h+1)*w.Width]
		for s := range steps {
			line := to[:k.width]
			to = to[k.width:]
			// Element q of the line is pixel q*StrideW + s - PaddingW of the row.
			lo := min(max(0, (w.PaddingW-s+w.StrideW-1)/w.StrideW), k.width)
			hi := lo
			if last := w.Width - 1 + w.PaddingW - s; last >= 0 {
				hi = max(lo, min(k.width, last/w.StrideW+1))
			}
			clear(line[:lo])
			clear(line[hi:])
			seen := line[lo:hi]
			if len(seen) == 0 {
				continue
			}
			x := row[lo*w.StrideW+s-w.PaddingW:]
			if w.StrideW == 1 {
				copy(seen, x)
				continue
			}
			for q := range seen {
				seen[q] = x[q*w.StrideW]
			}
		}
	}
}

// multiply computes rows of windows from the copy. What a row writes beyond its end, the next one
// overwrites: c is what follows in the result.
func (k *padded[T]) multiply(c, f []T, rows int, w *Windows, add bool) {
	line := min(w.StrideW, (w.KernelW-1)*w.DilationW+1) * k.width
	for p := range rows {
		to := c[p*w.Cols:]
		if add || len(to) < len(k.row) {
			simd.Line(k.row, f, k.copies, p*w.StrideH*line, k.places)
			if add {
				addLists(to[:w.Cols], k.row[:w.Cols])
			} else {
				copy(to[:w.Cols], k.row)
			}
			continue
		}
		simd.Line(to[:len(k.row)], f, k.copies, p*w.StrideH*line, k.places)
	}
}
