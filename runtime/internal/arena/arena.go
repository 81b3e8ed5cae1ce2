// Package arena makes many small slices that live equally long, with few allocations.
package arena

// Arena makes slices of one block of memory after the other. A block lives as long as any slice of it. The
// zero Arena is ready to use.
type Arena[T any] struct {
	left []T
	size int // of the last block
}

// A block has this many elements at least, and at most, unless a slice has more.
const (
	least = 16
	most  = 4096
)

// Make returns a slice of n zero values, which has no room for more. It is not nil.
func (a *Arena[T]) Make(n int) []T {
	if n > len(a.left) {
		if n > most {
			return make([]T, n)
		}
		a.size = max(min(2*a.size, most), least, n)
		a.left = make([]T, a.size)
	}
	s := a.left[:n:n]
	a.left = a.left[n:]
	if s == nil {
		return []T{}
	}
	return s
}

// Copy returns a copy of a slice, which is not nil.
func (a *Arena[T]) Copy(s []T) []T {
	c := a.Make(len(s))
	copy(c, s)
	return c
}
