// Package shape holds the integer arithmetic of tensor shapes: what the expressions of a spec mean,
// as functions that generated code calls.
//
// A shape lists the extents of a tensor, slowest dimension first; its elements lie row-major. The
// empty shape is that of a scalar.
package shape

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Prod returns the product of the extents; of none, 1.
func Prod(s []int) int {
	p := 1
	for _, n := range s {
		p *= n
	}
	return p
}

// FloorDiv returns a/b rounded towards minus infinity. b must be above 0.
func FloorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Mod returns a - b*FloorDiv(a, b), which is never negative. b must be above 0.
func Mod(a, b int) int { return a - b*FloorDiv(a, b) }

// CeilDiv returns a/b rounded towards plus infinity. b must be above 0.
func CeilDiv(a, b int) int {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// If returns a if cond holds, otherwise b.
func If[T any](cond bool, a, b T) T {
	if cond {
		return a
	}
	return b
}

// Choose returns a() if cond holds, otherwise b(). Unlike If, it leaves the other alone, which may
// have no value.
func Choose[T any](cond bool, a, b func() T) T {
	if cond {
		return a()
	}
	return b()
}

// Concat returns the concatenation of dims and lists of dims.
func Concat(parts ...[]int) []int { return slices.Concat(parts...) }

// Broadcast returns the common shape of a and b under the rule of [NumPy]: aligned at the last
// dimension, each pair of extents equal, or one of them 1. ok is false if there is none.
//
// [NumPy]: https://numpy.org/doc/stable/user/basics.broadcasting.html
func Broadcast(a, b []int) (s []int, ok bool) {
	n := max(len(a), len(b))
	s = make([]int, n)
	for i := range n {
		x, y := 1, 1
		if j := i - n + len(a); j >= 0 {
			x = a[j]
		}
		if j := i - n + len(b); j >= 0 {
			y = b[j]
		}
		switch {
		case x == y || y == 1:
			s[i] = x
		case x == 1:
			s[i] = y
		default:
			return nil, false
		}
	}
	return s, true
}

// Strides returns the row-major strides of s in elements.
func Strides(s []int) []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= s[i]
	}
	return st
}

// Permute returns the elements of s at places axes: strides of a transposed tensor, say.
func Permute(s, axes []int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = s[a]
	}
	return out
}

// MaxBytes bounds the size of a tensor: what can be addressed.
const MaxBytes int64 = min(math.MaxInt, 1<<47)

// Fits reports whether a tensor, whose elements have the given size in bytes, is not larger than
// MaxBytes.
func Fits(s []int, size int) bool {
	if slices.Contains(s, 0) {
		return true
	}
	n := int64(max(size, 1))
	for _, extent := range s {
		if n > MaxBytes/int64(extent) {
			return false
		}
		n *= int64(extent)
	}
	return true
}

// Equal reports whether a and b are the same shape.
func Equal(a, b []int) bool { return slices.Equal(a, b) }

// Format formats a shape as [2, 3].
func Format(s []int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, n := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	b.WriteByte(']')
	return b.String()
}

// Each returns f(0) to f(n-1); for n below 1, nothing.
func Each(n int, f func(i int) int) []int {
	var out []int
	for i := range n {
		out = append(out, f(i))
	}
	return out
}

// All reports whether f(0) to f(n-1) all hold.
func All(n int, f func(i int) bool) bool { return !Any(n, func(i int) bool { return !f(i) }) }

// Any reports whether one of f(0) to f(n-1) holds.
func Any(n int, f func(i int) bool) bool {
	for i := range n {
		if f(i) {
			return true
		}
	}
	return false
}
