package simd

import (
	"fmt"
	"unsafe"
)

// line is how many bytes a line of the cache has.
const line = 64

// Stream sets z to x as copy does, but writes past the caches where it can: memory that is written as a whole
// need not be read first, and what the caches hold stays there. It serves results that are too large to be
// found in a cache when they are used. Other goroutines may see the elements after a call of Drain only.
func Stream[T Float](z, x []T) {
	check(len(z), len(x), len(x), len(x))
	size := int(unsafe.Sizeof(T(0)))
	head := 0
	if len(z) > 0 {
		head = -int(uintptr(unsafe.Pointer(&z[0]))) & (line - 1) / size
	}
	whole := (len(z) - head) * size &^ (line - 1) / size
	if conversions.stream == nil || whole <= 0 {
		copy(z, x)
		return
	}
	copy(z[:head], x)
	conversions.stream(bytesOf(z[head:head+whole]), bytesOf(x[head:head+whole]))
	copy(z[head+whole:], x[head+whole:])
}

// Drain waits until what Stream wrote can be seen by other goroutines that this one lets go on.
func Drain() { conversions.drain() }

func bytesOf[T Float](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(T(0))))
}

// Twice sets z to the elements of x, each of them two times. z has twice as many elements as x, and does not
// overlap with it.
func Twice[T Float](z, x []T) {
	if len(z) != 2*len(x) {
		panic(fmt.Sprintf("simd: %d elements cannot hold each of %d two times", len(z), len(x)))
	}
	functions[T]().twice(z, x)
}

// AddSeconds adds every second element of x, from the first one on, to those of z.
func AddSeconds[T Float](z, x []T) {
	if len(x) < 2*len(z)-1 {
		panic(fmt.Sprintf("simd: every second of %d elements cannot be added to %d", len(x), len(z)))
	}
	functions[T]().addSeconds(z, x)
}

// Truths sets every z[i] to 1 where x[i] holds, and to 0 elsewhere.
func Truths[T Float](z []T, x []bool) {
	check(len(z), len(x), len(x), len(x))
	functions[T]().truths(z, x)
}

// Below reports whether all elements of x are from 0 to bound-1.
func Below[U int32 | int64](x []U, bound int) bool {
	if len(x) == 0 || bound <= 0 {
		return len(x) == 0
	}
	switch x := any(x).(type) {
	case []int32:
		return conversions.below32(x, int32(min(bound-1, 1<<31-1)))
	case []int64:
		return conversions.below64(x, int64(bound-1))
	}
	return false
}

// backward sets z to the elements of x, the last one first.
func backward[T any](z, x []T) {
	switch z := any(z).(type) {
	case []float32:
		functions32.reverse(z, any(x).([]float32))
	case []float64:
		functions64.reverse(z, any(x).([]float64))
	default:
		reverseOf(any(z).([]T), x)
	}
}

func reverse[T Float](z, x []T) { reverseOf(z, x) }

func reverseOf[T any](z, x []T) {
	x = x[:len(z)]
	for i, v := range x {
		z[len(z)-1-i] = v
	}
}

func twice[T Float](z, x []T) {
	for i, v := range x {
		to := (*[2]T)(z[2*i:])
		to[0], to[1] = v, v
	}
}

func addSeconds[T Float](z, x []T) {
	for i := range z {
		z[i] += x[2*i]
	}
}

func truths[T Float](z []T, x []bool) {
	z = z[:len(x)]
	for i, v := range x {
		z[i] = truth[T](v)
	}
}

func below[U int32 | int64](x []U, last U) bool {
	var any U // its sign tells of an element outside
	for _, v := range x {
		any |= v | (last - v)
	}
	return any >= 0
}
