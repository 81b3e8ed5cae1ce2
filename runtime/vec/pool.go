package vec

import (
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// Axis says how windows lie along a dimension of an image. With stride 0 they divide it into equal parts, of
// which neighbors may share an element.
type Axis struct {
	Extent  int // of the image
	Windows int
	Size    int // of a window
	Stride  int
	Padding int // how many elements before the first one windows see; they count for nothing
}

// Window returns the elements lo to hi-1 that window i sees.
func (a *Axis) Window(i int) (lo, hi int) {
	if a.Stride == 0 {
		return i * a.Extent / a.Windows, shape.CeilDiv((i+1)*a.Extent, a.Windows)
	}
	lo = i*a.Stride - a.Padding
	return max(lo, 0), min(lo+a.Size, a.Extent)
}

// Pool is windows on an image: one for each window of its rows and each of its columns. A function that is
// given to a method returns what becomes of the result of window i, or of the gradient of that result.
// Without one they stay as they are.
type Pool[T dtype.Float] struct {
	Down, Right Axis
	// Divisor is the divisor of a mean; 0 stands for the number of the window's elements.
	Divisor float64
}

// finished returns what becomes of x at window i.
func finished[T dtype.Float](finish func(int, T) T, i int, x T) T {
	if finish != nil {
		return finish(i, x)
	}
	return x
}

// mean returns the mean of height x width elements with a sum.
func (w *Pool[T]) mean(sum float64, height, width int) T {
	if w.Divisor != 0 {
		return T(sum / w.Divisor)
	}
	return T(sum / float64(height*width))
}

// check panics unless an image has size elements and rows of windows have as many as windows says.
func (w *Pool[T]) check(size, windows, rows int) {
	if size != w.Down.Extent*w.Right.Extent || windows != rows*w.Right.Windows {
		panic("vec: Pool needs as many elements as the image and the rows of windows have")
	}
}

// Max writes the greatest elements that windows of rows lo to hi-1 see to dst. It is a NaN if one is.
func (w *Pool[T]) Max(dst tensor.WOLane[T], image tensor.ROLane[T], lo, hi int, finish func(int, T) T) {
	to, n, step := unlock.Lane(dst.Sealed())
	from, size, apart := unlock.Lane(image.Sealed())
	neighbors(step, apart)
	w.check(size, n, hi-lo)
	if finish == nil && w.squares() {
		simd.MaxSquares(to, w.of(from, lo, hi), w.layout(hi-lo))
		return
	}
	var columns [512]T
	across, upTo := w.Right.Extent, simd.BinaryOf[T](simd.Max)
	for p := lo; p < hi; p++ {
		top, bottom := w.Down.Window(p)
		rows := from[top*across : bottom*across]
		of := to[(p-lo)*w.Right.Windows:][:w.Right.Windows]
		for q, end := 0, 0; q < len(of); q = end {
			left, right := w.Right.Window(q)
			if right-left > len(columns) {
				of[q], end = greatest(rows, across, left, right), q+1
				continue
			}
			for end = q + 1; end < len(of); end++ {
				_, next := w.Right.Window(end)
				if next-left > len(columns) {
					break
				}
				right = next
			}
			// The maximum is separable: columns that neighboring windows share are reduced once.
			all := columns[:right-left]
			copy(all, rows[left:])
			for h := across; h < len(rows); h += across {
				upTo(all, all, rows[h+left:h+right])
			}
			for i := q; i < end; i++ {
				lo, hi := w.Right.Window(i)
				y := all[lo-left]
				for _, v := range all[lo-left+1 : hi-left] {
					y = max(y, v)
				}
				of[i] = y
			}
		}
		for q := range of {
			of[q] = finished(finish, p*w.Right.Windows+q, of[q])
		}
	}
}

// Mean writes the means of the elements that windows of rows lo to hi-1 see to dst. Sums are carried in
// float64.
func (w *Pool[T]) Mean(dst tensor.WOLane[T], image tensor.ROLane[T], lo, hi int, finish func(int, T) T) {
	to, n, step := unlock.Lane(dst.Sealed())
	from, size, apart := unlock.Lane(image.Sealed())
	neighbors(step, apart)
	w.check(size, n, hi-lo)
	if finish == nil && w.squares() && (w.Divisor == 0 || w.Divisor == 4) {
		simd.MeanSquares(to, w.of(from, lo, hi), w.layout(hi-lo))
		return
	}
	for p := lo; p < hi; p++ {
		top, bottom := w.Down.Window(p)
		rows := from[top*w.Right.Extent : bottom*w.Right.Extent]
		for q := range w.Right.Windows {
			left, right := w.Right.Window(q)
			var sum float64
			for h := 0; h < len(rows); h += w.Right.Extent {
				for _, v := range rows[h+left : h+right] {
					sum += float64(v)
				}
			}
			to[(p-lo)*w.Right.Windows+q] = finished(finish, p*w.Right.Windows+q, w.mean(sum, bottom-top, right-left))
		}
	}
}

// greatest returns the greatest element in columns left to right-1 of rows of a width, or a NaN if one is.
func greatest[T dtype.Float](rows []T, width, left, right int) T {
	y := rows[left]
	for h := 0; h < len(rows); h += width {
		for _, v := range rows[h+left : h+right] {
			y = max(y, v)
		}
	}
	return y
}

// MaxGrad adds the gradient of each window's maximum to the image's gradient, at the maximum: at the first of
// equal elements. A NaN counts as the maximum.
func (w *Pool[T]) MaxGrad(image tensor.ScatterLane[T], of, grad tensor.ROLane[T], finish func(int, T) T) {
	to, size, step := unlock.Lane(image.Sealed())
	x, _, apart := unlock.Lane(of.Sealed())
	g, n, between := unlock.Lane(grad.Sealed())
	if to == nil {
		return
	}
	neighbors(step, apart, between)
	w.check(size, n, w.Down.Windows)
	if finish == nil && w.squares() {
		n := w.Down.Windows
		simd.MaxSquaresGrad(w.of(to, 0, n), w.of(x, 0, n), g, w.layout(n))
		return
	}
	width := w.Right.Extent
	for p := range w.Down.Windows {
		top, bottom := w.Down.Window(p)
		rows := x[top*width : bottom*width]
		for q := range w.Right.Windows {
			left, right := w.Right.Window(q)
			i := p*w.Right.Windows + q
			to[top*width+first(rows, greatest(rows, width, left, right), width, left, right)] += finished(finish, i, g[i])
		}
	}
}

// first returns the number of the first element of columns left to right-1 that equals y, or the first NaN if
// y is one. It goes over all elements from the last to the first: a branch that ends the search would be
// mispredicted for most windows.
func first[T dtype.Float](rows []T, y T, width, left, right int) int {
	at := left
	if y != y {
		for h := len(rows) - width; h >= 0; h -= width {
			for i := h + right - 1; i >= h+left; i-- {
				if v := rows[i]; v != v {
					at = i
				}
			}
		}
		return at
	}
	for h := len(rows) - width; h >= 0; h -= width {
		for i := h + right - 1; i >= h+left; i-- {
			if rows[i] == y {
				at = i
			}
		}
	}
	return at
}

// MeanGrad adds the gradient of each window's mean to the gradients of the window's elements.
func (w *Pool[T]) MeanGrad(image tensor.ScatterLane[T], grad tensor.ROLane[T], finish func(int, T) T) {
	to, size, step := unlock.Lane(image.Sealed())
	g, n, between := unlock.Lane(grad.Sealed())
	if to == nil {
		return
	}
	neighbors(step, between)
	w.check(size, n, w.Down.Windows)
	if finish == nil && w.squares() && (w.Divisor == 0 || w.Divisor == 4) {
		w.meanSquaresGrad(to, g)
		return
	}
	width := w.Right.Extent
	for p := range w.Down.Windows {
		top, bottom := w.Down.Window(p)
		rows := to[top*width : bottom*width]
		for q := range w.Right.Windows {
			left, right := w.Right.Window(q)
			i := p*w.Right.Windows + q
			share := w.mean(float64(finished(finish, i, g[i])), bottom-top, right-left)
			for h := 0; h < len(rows); h += width {
				part := rows[h+left : h+right]
				for k := range part {
					part[k] += share
				}
			}
		}
	}
}

// squares reports whether windows are squares of two by two elements, side by side. Most networks have such
// windows.
func (w *Pool[T]) squares() bool { return w.Down.pairs() && w.Right.pairs() }

// pairs reports whether windows are pairs of elements, one after the other from the first element on.
func (a *Axis) pairs() bool {
	if a.Stride == 0 {
		return a.Extent == 2*a.Windows
	}
	return a.Stride == 2 && a.Size == 2 && a.Padding == 0
}

// layout says where the squares of n rows lie, and of returns the elements of rows lo to hi-1.
func (w *Pool[T]) layout(n int) simd.Squares {
	return simd.Squares{Width: w.Right.Extent, Cols: w.Right.Windows, Rows: n}
}

func (w *Pool[T]) of(image []T, lo, hi int) []T {
	return image[2*lo*w.Right.Extent : 2*hi*w.Right.Extent]
}

// meanSquaresGrad is MeanGrad for squares.
func (w *Pool[T]) meanSquaresGrad(to, g []T) {
	var shares, both [512]T
	add, n := simd.BinaryOf[T](simd.Add), w.Right.Windows
	for p := range w.Down.Windows {
		upper := to[2*p*w.Right.Extent:]
		lower := upper[w.Right.Extent:]
		for q := 0; q < n; q += len(both) / 2 {
			m := min(n-q, len(both)/2)
			simd.BinaryScalarOf[T](simd.Mul)(shares[:m], g[p*n+q:][:m], 0.25)
			simd.Twice(both[:2*m], shares[:m])
			for _, row := range [2][]T{upper, lower} {
				part := row[2*q:][:2*m]
				add(part, part, both[:2*m])
			}
		}
	}
}

// Stacked returns windows on n images that lie one below the other, and true; or false if a window would see
// elements of two images.
func (w *Pool[T]) Stacked(n int) (Pool[T], bool) {
	d := w.Down
	whole := d.Stride > 0 && d.Padding == 0 && d.Extent == d.Windows*d.Stride && d.Size <= d.Stride || d.Stride == 0 && d.Extent%d.Windows == 0
	out := *w
	out.Down.Extent, out.Down.Windows = n*d.Extent, n*d.Windows
	return out, whole
}

// neighbors panics if elements of a lane are apart.
func neighbors(steps ...int) {
	for _, s := range steps {
		if s != 1 {
			panic("vec: Pool needs neighboring elements")
		}
	}
}
