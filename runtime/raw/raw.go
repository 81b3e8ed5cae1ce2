// Package raw returns the memory behind views. It is the only way around what the types of views permit.
//
// It is for kernels that call code which takes slices. Such a kernel gives its reason in a comment
// //opgen:raw reason; opgen vet lists uses without one. A slice is valid until the body of the task returns.
package raw

import (
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Slice returns the elements of a lane for reading. They lie stride elements apart; the last one is also the
// last of the slice, which has no room for more. They must not be written: other tasks may read them at the
// same time.
func Slice[T dtype.Element](l tensor.ROLane[T]) (data []T, stride int) {
	data, _, stride = unlock.Lane(l.Sealed())
	return slices.Clip(data), stride
}

// Writable returns the elements of a lane for writing, as Slice does. All of them must be written, and
// what they hold before is undefined.
func Writable[T dtype.Element](l tensor.WOLane[T]) (data []T, stride int) {
	data, _, stride = unlock.Lane(l.Sealed())
	return slices.Clip(data), stride
}
