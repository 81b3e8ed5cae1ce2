// Package raw hands out the memory behind views: the one way around what their types allow.
//
// A kernel that must call code which wants slices uses it, and says why in a comment //opgen:raw reason;
// opgen vet lists uses that do not. A slice is valid until the task's body returns.
package raw

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Slice returns the elements of a lane for reading. They lie stride elements apart; the last one is also
// the last of the slice. Writing them breaks what other tasks rely on.
func Slice[T dtype.Element](l tensor.ROLane[T]) (data []T, stride int) {
	data, _, stride = l.Unlock(unlock.Key{})
	return data, stride
}

// Writable returns the elements of a lane for writing, as Slice does. All of them must be written, and
// what they hold before is undefined.
func Writable[T dtype.Element](l tensor.WOLane[T]) (data []T, stride int) {
	data, _, stride = l.Unlock(unlock.Key{})
	return data, stride
}
