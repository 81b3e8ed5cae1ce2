package graph

// Table is a map from tensors to values, for passes over programs. It is a paged array by tensor number, so
// that tensors made one after the other share a page. The zero Table holds zero values.
type Table[V any] struct {
	pages map[uint64]*[pageSize]V
	last  uint64
	page  *[pageSize]V // the most recently used page, with number last
	none  V
}

const pageSize = 128

// At returns the address of the value of a tensor, or of a common value for the zero Tensor. It ignores the
// accumulate flag of gradients.
func (x *Table[V]) At(t Tensor) *V {
	if t.info == nil {
		return &x.none
	}
	if n := t.number / pageSize; x.page == nil || n != x.last {
		if x.pages == nil {
			x.pages = map[uint64]*[pageSize]V{}
		}
		if x.page = x.pages[n]; x.page == nil {
			x.page = new([pageSize]V)
			x.pages[n] = x.page
		}
		x.last = n
	}
	return &x.page[t.number%pageSize]
}
