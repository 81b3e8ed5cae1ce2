package vec

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Windows says how windows lie on the planes of an image, one for each pixel of Rows x Cols. What lies in the padding is 0.
type Windows struct {
	Height, Width        int // of a plane
	KernelH, KernelW     int // of a window
	StrideH, StrideW     int
	PaddingH, PaddingW   int
	DilationH, DilationW int
	Rows, Cols           int
}

// span returns the windows of a row whose column j lies in columns lo to hi-1 of the plane, and the column for the first one.
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

// Unfold writes the pixels that windows see. Each element of a window of all planes is a row of dst, which has an element for each window.
func Unfold[T dtype.Float](dst tensor.WOLane[T], image tensor.ROLane[T], planes int, w *Windows) {
	to, n, step := unlock.Lane(dst.Sealed())
	from, size, apart := unlock.Lane(image.Sealed())
	if step != 1 || apart != 1 || n != planes*w.KernelH*w.KernelW*w.Rows*w.Cols || size != planes*w.Height*w.Width {
		panic("vec: Unfold needs neighboring elements, as many as windows and planes have")
	}
	for c := range planes {
		plane := from[c*w.Height*w.Width : (c+1)*w.Height*w.Width]
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
					for q := range row[first:end] {
						row[first+q] = x[q*w.StrideW]
					}
				}
			}
		}
	}
}

// foldLength is how many pixels Fold sums at a time.
const foldLength = 64

// Fold puts sums into the gradient of an image: of each pixel, the elements of cols that Unfold sets to it.
func Fold[T dtype.Float](image tensor.GradLane[T], cols tensor.ROLane[T], planes int, w *Windows) {
	from, n, apart := unlock.Lane(cols.Sealed())
	if apart != 1 || n != planes*w.KernelH*w.KernelW*w.Rows*w.Cols || image.Len() != planes*w.Height*w.Width {
		panic("vec: Fold needs neighboring elements, as many as windows and planes have")
	}
	var sums [foldLength]T
	for c := range planes {
		for h := range w.Height {
			for lo := 0; lo < w.Width; lo += foldLength {
				hi := min(lo+foldLength, w.Width)
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
						addApart(part[column-lo:], from[row+first:row+end], w.StrideW)
					}
				}
				at := (c*w.Height+h)*w.Width + lo
				for k, v := range part {
					image.Put(at+k, v)
				}
			}
		}
	}
}

// addApart adds the elements of x to every step-th of sums.
func addApart[T dtype.Float](sums, x []T, step int) {
	if step == 1 {
		sums = sums[:len(x)]
		for k, v := range x {
			sums[k] += v
		}
		return
	}
	for k, v := range x {
		sums[k*step] += v
	}
}
