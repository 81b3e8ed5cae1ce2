// Package unlock seals and opens the memory behind views. Being internal to the runtime, kernels and
// generated code cannot call it, and no method of a view opens what it has sealed.
package unlock

// Memory is memory of which a view can be made.
type Memory[T any] struct{ data []T }

// Seal returns memory of which a view can be made.
func Seal[T any](data []T) Memory[T] { return Memory[T]{data} }

// Open returns the elements.
func Open[T any](m Memory[T]) []T { return m.data }

// Part is the memory of a part of a view. It is another type than Memory, so that no view can be made of it.
type Part[T any] struct{ data []T }

// SealPart returns the memory of a part of a view.
func SealPart[T any](data []T) Part[T] { return Part[T]{data} }

// Lane opens what a lane has sealed: data[i*stride] for i < n.
func Lane[T any](p Part[T], n, stride int) (data []T, _, _ int) { return p.data, n, stride }

// Mat opens what a matrix has sealed: its stored rows begin ld elements apart, and trans says whether it
// stands transposed.
func Mat[T any](p Part[T], ld int, trans bool) (data []T, _ int, _ bool) { return p.data, ld, trans }
