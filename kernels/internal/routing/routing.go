// Package routing finds, for operators of a mixture of experts, the row of an expert that an assignment gets.
package routing

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
)

// Dropped is the place of an assignment to an expert that is full.
const Dropped = -1

// Place gives assignments rows of their experts: to each expert's assignments its rows in order, until
// it is full. f gets the number of every assignment, its expert and its row, which may be Dropped. An
// assignment to no expert is an error; slot names the assignments in it.
func Place[L dtype.Index](slot string, assign tensor.RO[L], experts, capacity int, f func(i, expert, row int)) error {
	taken := make([]int, experts)
	for i := range assign.Len() {
		e := int(assign.At(i))
		if e < 0 || e >= experts {
			return fmt.Errorf("slot %s, element %d: want an expert from 0 to %d, got %d", slot, i, experts-1, e)
		}
		row := Dropped
		if taken[e] < capacity {
			row = taken[e]
			taken[e]++
		}
		f(i, e, row)
	}
	return nil
}

// Rows calls f for all rows of an expert: with the number of the assignment that has it, or with Dropped
// if none has.
func Rows[L dtype.Index](assign tensor.RO[L], place tensor.RO[int32], expert, capacity int, f func(row, i int)) {
	used := 0
	for i := range assign.Len() {
		if int(assign.At(i)) == expert && place.At(i) != Dropped {
			f(int(place.At(i)), i)
			used++
		}
	}
	for row := used; row < capacity; row++ {
		f(row, Dropped)
	}
}

// Row returns the row, of size elements, that assignment i has of its expert, and whether it has one.
func Row[T dtype.Element, L dtype.Index](experts []tensor.RO[T], assign tensor.RO[L], place tensor.RO[int32], i, size int) (tensor.ROLane[T], bool) {
	row := int(place.At(i))
	if row == Dropped {
		return tensor.ROLane[T]{}, false
	}
	return experts[int(assign.At(i))].Span(row*size, (row+1)*size), true
}
