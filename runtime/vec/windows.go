package vec

import (
	"sync"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Windows says where windows are on the planes of an image, one window for each pixel of Rows x Cols.
// Elements in the padding are 0.
type Windows struct {
	Height, Width        int // of a plane
	KernelH, KernelW     int // of a window
	StrideH, StrideW     int
	PaddingH, PaddingW   int
	DilationH, DilationW int
	Rows, Cols           int
}

// Part returns the windows of rows lo to hi-1. Unfold and CorrelatePlanes give for them what they give for
// all.
func (w *Windows) Part(lo, hi int) *Windows {
	out := *w
	out.PaddingH, out.Rows = w.PaddingH-lo*w.StrideH, hi-lo
	return &out
}

// span returns the windows of a row whose column j lies in columns lo to hi-1 of the plane, and the column
// for the first one.
func (w *Windows) span(j, lo, hi int) (first, end, column int) {
	shift := j*w.DilationW - w.PaddingW
	if lo > shift {
		first = (lo - shift + w.StrideW - 1) / w.StrideW
	}
	if hi > shift {
		end = min(w.Cols, (hi-1-shift)/w.StrideW+1)
	}
	return first, max(first, end), first*w.StrideW + shift
}

// Unfold writes the pixels that windows see. Each element of a window of all planes is a row of dst, which
// has an element for each window.
func Unfold[T dtype.Float](dst tensor.WOLane[T], image tensor.ROLane[T], planes int, w *Windows) {
	to, n, step := unlock.Lane(dst.Sealed())
	from, size, apart := unlock.Lane(image.Sealed())
	if step != 1 || apart != 1 || n != planes*w.KernelH*w.KernelW*w.Rows*w.Cols || size != planes*w.Height*w.Width {
		panic("vec: Unfold needs neighboring elements, as many as windows and planes have")
	}
	for c := range planes {
		plane := from[c*w.Height*w.Width : (c+1)*w.Height*w.Width]
		if w.same() {
			to = unfoldSame(to, plane, w)
			continue
		}
		for i := range w.KernelH {
			for j := range w.KernelW {
				first, end, column := w.span(j, 0, w.Width)
				for p := range w.Rows {
					row := to[:w.Cols]
					to = to[w.Cols:]
					h := p*w.StrideH - w.PaddingH + i*w.DilationH
					if h < 0 || h >= w.Height || first == end {
						clear(row)
						continue
					}
					clear(row[:first])
					clear(row[end:])
					x := plane[h*w.Width+column : (h+1)*w.Width]
					if w.StrideW == 1 {
						copy(row[first:end], x)
						continue
					}
					seen := row[first:end]
					for q := range seen {
						seen[q] = x[q*w.StrideW]
					}
				}
			}
		}
	}
}

// same reports whether there is a window for each pixel of a plane. What a place in the windows sees is then
// the plane, shifted.
func (w *Windows) same() bool {
	return w.StrideH == 1 && w.StrideW == 1 && w.Rows == w.Height && w.Cols == w.Width
}

// shifted returns what element i, j of the windows sees: of the pixels, taken as a list, window k sees pixel
// k+shift, if it lies in rows top to bottom-1 and columns left to right-1 of the windows.
func (w *Windows) shifted(i, j int) (shift, top, bottom, left, right int) {
	down, across := i*w.DilationH-w.PaddingH, j*w.DilationW-w.PaddingW
	top, bottom = min(max(-down, 0), w.Height), max(min(w.Height, w.Height-down), 0)
	left, right = min(max(-across, 0), w.Width), max(min(w.Width, w.Width-across), 0)
	return down*w.Width + across, top, max(bottom, top), left, max(right, left)
}

// unfoldSame is Unfold for a plane that has a window for each pixel. It returns what follows in dst.
func unfoldSame[T dtype.Float](to, plane []T, w *Windows) []T {
	size := len(plane)
	for i := range w.KernelH {
		for j := range w.KernelW {
			part := to[:size]
			to = to[size:]
			shift, top, bottom, left, right := w.shifted(i, j)
			if top == bottom || left == right {
				clear(part)
				continue
			}
			lo, hi := top*w.Width+left, (bottom-1)*w.Width+right
			clear(part[:lo])
			clear(part[hi:])
			copy(part[lo:hi], plane[lo+shift:])
			for p := top; p < bottom && left > 0; p++ {
				clear(part[p*w.Width : p*w.Width+left])
			}
			for p := top; p < bottom && right < w.Width; p++ {
				clear(part[p*w.Width+right : (p+1)*w.Width])
			}
		}
	}
	return to
}

// bufferLength is how many elements idle memory has.
const bufferLength = 512

var (
	buffers32 = sync.Pool{New: func() any { return new([bufferLength]float32) }}
	buffers64 = sync.Pool{New: func() any { return new([bufferLength]float64) }}
)

// buffers returns idle memory for elements.
func buffers[T dtype.Float]() *sync.Pool {
	if _, wide := any(T(0)).(float64); wide {
		return &buffers64
	}
	return &buffers32
}

// Fold puts sums into dst, whose rows are the planes of an image: for each pixel, the sum of the elements of
// cols that Unfold sets to it. It may set elements of cols to 0 that Unfold sets to no pixel.
func Fold[T dtype.Float](dst tensor.OutMat[T], cols tensor.RWLane[T], w *Windows) {
	from, n, apart := unlock.Lane(cols.WO().Sealed())
	if apart != 1 || n != dst.Rows()*w.KernelH*w.KernelW*w.Rows*w.Cols || dst.Cols() != w.Height*w.Width {
		panic("vec: Fold needs neighboring elements, as many as windows and planes have")
	}
	if dst.Mode() == tensor.Discard {
		return
	}
	idle := buffers[T]()
	sums := idle.Get().(*[bufferLength]T)
	defer idle.Put(sums)
	planes, ld, _ := unlock.Mat(dst.Sealed())
	put := func(plane, pixel int, part []T) {
		to := planes[plane*ld+pixel:][:len(part)]
		if dst.Mode() == tensor.Accumulate {
			addLists(to, part)
		} else {
			copy(to, part)
		}
	}
	for c := range dst.Rows() {
		if w.same() {
			foldSame(from, sums, c, w, put)
		} else {
			foldRows(from, sums, c, w, put)
		}
	}
}

// foldRows is Fold for plane c, row by row.
func foldRows[T dtype.Float](cols []T, sums *[bufferLength]T, c int, w *Windows, put func(plane, pixel int, part []T)) {
	for h := range w.Height {
		for lo := 0; lo < w.Width; lo += bufferLength {
			hi := min(lo+bufferLength, w.Width)
			part := sums[:hi-lo]
			clear(part)
			for i := range w.KernelH {
				p := h + w.PaddingH - i*w.DilationH
				if p < 0 || p%w.StrideH != 0 || p/w.StrideH >= w.Rows {
					continue
				}
				for j := range w.KernelW {
					first, end, column := w.span(j, lo, hi)
					if first == end {
						continue
					}
					row := (((c*w.KernelH+i)*w.KernelW+j)*w.Rows + p/w.StrideH) * w.Cols
					addApart(part[column-lo:], cols[row+first:row+end], w.StrideW)
				}
			}
			put(c, h*w.Width+lo, part)
		}
	}
}

// foldSame is Fold for plane c where there is a window for each pixel. What windows at the edges see beside
// the plane becomes 0 first, so that shifted lists are added as a whole.
func foldSame[T dtype.Float](cols []T, sums *[bufferLength]T, c int, w *Windows, put func(plane, pixel int, part []T)) {
	size := w.Height * w.Width
	cols = cols[c*w.KernelH*w.KernelW*size:]
	for i := range w.KernelH {
		for j := range w.KernelW {
			part := cols[(i*w.KernelW+j)*size:]
			_, top, bottom, left, right := w.shifted(i, j)
			for p := top; p < bottom; p++ {
				clear(part[p*w.Width : p*w.Width+left])
				clear(part[p*w.Width+right : (p+1)*w.Width])
			}
		}
	}
	for first := 0; first < size; first += bufferLength {
		sum := sums[:min(bufferLength, size-first)]
		clear(sum)
		for i := range w.KernelH {
			for j := range w.KernelW {
				shift, top, bottom, left, right := w.shifted(i, j)
				lo := max(top*w.Width+left+shift, first) // of the pixels
				hi := min((bottom-1)*w.Width+right+shift, first+len(sum))
				if top < bottom && left < right && lo < hi {
					at := (i*w.KernelW+j)*size - shift
					addLists(sum[lo-first:hi-first], cols[at+lo:at+hi])
				}
			}
		}
		put(c, first, sum)
	}
}

// addApart adds the elements of x to every step-th of sums.
func addApart[T dtype.Float](sums, x []T, step int) {
	if step == 1 {
		addLists(sums[:len(x)], x)
		return
	}
	for k, v := range x {
		sums[k*step] += v
	}
}
