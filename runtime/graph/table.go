package graph

// Table holds a value for each tensor, for passes over programs. Tensors that are made one after the other
// lie side by side. The zero Table holds zero values.
type Table[V any] struct {
	pages map[uint64]*[pageSize]V
	last  uint64
	page  *[pageSize]V // that was used last; it has number last
	none  V
}

const pageSize = 128

// At returns the place of the value for a tensor, or for none. It does not depend on the note that gradients
// carry.
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
