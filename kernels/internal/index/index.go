// Package index walks the elements of a shape in row-major order and keeps, for several tensors that
// are addressed by the same indices, the offset of the current element.
package index

// Walk walks a shape. Each tensor has one stride, in elements, for each dimension of the shape; a
// stride of 0 repeats a tensor along the dimension.
type Walk struct {
	shape   []int
	strides [][]int
	at      []int
	offsets []int
}

// New returns a walk over shape that stands at element start in row-major order.
func New(shape []int, start int, strides ...[]int) *Walk {
	w := &Walk{offsets: make([]int, len(strides))}
	w.shape, w.strides = merge(shape, strides)
	w.at = make([]int, len(w.shape))
	for d := len(w.shape) - 1; d >= 0 && start > 0; d-- {
		w.at[d] = start % w.shape[d]
		start /= w.shape[d]
		for k, s := range w.strides {
			w.offsets[k] += w.at[d] * s[d]
		}
	}
	return w
}

// merge drops dimensions of extent 1, and joins neighbors that have one stride in every tensor. Steps then rarely carry
// from one dimension to the next.
func merge(shape []int, strides [][]int) ([]int, [][]int) {
	var dims []int
	st := make([][]int, len(strides))
	for d, n := range shape {
		if n == 1 {
			continue
		}
		last := len(dims) - 1
		joins := last >= 0
		for k, s := range strides {
			joins = joins && st[k][last] == s[d]*n
		}
		if joins {
			dims[last] *= n
		} else {
			dims = append(dims, n)
			last++
		}
		for k, s := range strides {
			st[k] = append(st[k][:last], s[d])
		}
	}
	return dims, st
}

// Offset returns the offset of the current element in tensor k.
func (w *Walk) Offset(k int) int { return w.offsets[k] }

// Next goes to the next element; after the last one, to the first.
func (w *Walk) Next() { w.step(len(w.shape) - 1) }

// step goes one step along dimension d.
func (w *Walk) step(d int) {
	for ; d >= 0; d-- {
		w.at[d]++
		for k, s := range w.strides {
			w.offsets[k] += s[d]
		}
		if w.at[d] < w.shape[d] {
			return
		}
		for k, s := range w.strides {
			w.offsets[k] -= s[d] * w.shape[d]
		}
		w.at[d] = 0
	}
}
