// Package sorting finds the order of numbers: all of it, or only its beginning.
package sorting

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Key is what is ordered.
type Key interface {
	int | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// First sets to[i] to the place among keys of the one that comes i-th, for every element of to. The least
// comes first or, if descending, the greatest. Equal keys keep their order, and NaN is greater than all
// numbers. to has at most as many elements as keys.
func First[K Key](to []int64, keys []K, descending bool) {
	if len(to) == 0 {
		return
	}
	b := buffers.Get().(*buffer)
	defer buffers.Put(b)
	flip := uint64(0)
	if descending {
		flip = math.MaxUint64
	}
	if narrow[K]() && uint64(len(keys)) <= math.MaxUint32 { // the number of a key follows it in one word
		if len(to) <= few && len(to) < len(keys) {
			b.words = fewest(b.words[:0], keys, len(to), descending, flip)
		} else {
			b.words = least(b.words[:0], keys, len(to), descending, func(i int) uint64 { return word(keys, i, flip) }, slices.Sort, placeOf)
		}
		for i, w := range b.words {
			to[i] = int64(w & math.MaxUint32)
		}
		return
	}
	b.pairs = least(b.pairs[:0], keys, len(to), descending, func(i int) pair { return pair{code(keys[i]) ^ flip, i} },
		func(p []pair) { slices.SortFunc(p, pair.compare) }, func(p pair) int { return p.at })
	for i, p := range b.pairs {
		to[i] = int64(p.at)
	}
}

// buffer is memory for an order.
type buffer struct {
	words []uint64
	pairs []pair
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// pair is a key and its place.
type pair struct {
	code uint64
	at   int
}

func (p pair) compare(q pair) int {
	if p.code != q.code {
		return cmp.Compare(p.code, q.code)
	}
	return cmp.Compare(p.at, q.at)
}

// narrow reports whether the lower 32 bits of codes are not needed.
func narrow[K Key]() bool {
	switch any(K(0)).(type) {
	case float32, int32:
		return true
	}
	return false
}

// code makes a number of 64 bits of a key. Numbers are ordered as their keys.
func code[K Key](x K) uint64 {
	const sign = 1 << 63
	if x != x {
		return math.MaxUint64
	}
	switch x := any(x + 0).(type) { // -0 is equal to 0
	case float32:
		b := math.Float32bits(x)
		return uint64(b^(uint32(int32(b)>>31)|1<<31)) << 32
	case float64:
		b := math.Float64bits(x)
		return b ^ (uint64(int64(b)>>63) | sign)
	case int32:
		return uint64(int64(x))<<32 ^ sign
	case uint64:
		return x
	}
	return uint64(int64(x)) ^ sign
}

// word returns the code of a key with its place in the lower half.
func word[K Key](keys []K, i int, flip uint64) uint64 {
	return (code(keys[i])^flip)&^math.MaxUint32 | uint64(i)
}

func placeOf(word uint64) int { return int(word & math.MaxUint32) }

// few is of how many elements each is put at its place among the ones before.
const few = 32

// fewest is like least for few elements, which it keeps in their order.
func fewest[K Key](out []uint64, keys []K, n int, descending bool, flip uint64) []uint64 {
	for i := 0; i < len(keys); i++ {
		if len(out) == n {
			if i = next(keys, i, keys[placeOf(out[n-1])], descending); i == len(keys) {
				break
			}
		}
		w := word(keys, i, flip)
		switch {
		case len(out) < n:
			out = append(out, w)
		case w < out[n-1]:
			out[n-1] = w
		default:
			continue
		}
		at := len(out) - 1
		for ; at > 0 && out[at-1] > w; at-- {
			out[at] = out[at-1]
		}
		out[at] = w
	}
	return out
}

// least appends the n elements that come first to out, in their order. item makes an element of the place of
// its key, and place returns it. Elements that may be among the first are collected, and when there are twice
// as many as are needed, the others are dropped.
func least[K Key, E any](out []E, keys []K, n int, descending bool, item func(int) E, sort func([]E), place func(E) int) []E {
	most := min(2*n+32, len(keys))
	for i := range keys[:most] {
		out = append(out, item(i))
	}
	for i := most; ; i++ {
		if len(out) == most || i >= len(keys) {
			sort(out)
			out = out[:n]
		}
		if i >= len(keys) {
			return out
		}
		if i = next(keys, i, keys[place(out[n-1])], descending); i < len(keys) {
			out = append(out, item(i))
		}
	}
}

// next returns the first place from i on of a key that does not come behind the last one. A comparison with
// NaN decides nothing.
func next[K Key](keys []K, i int, last K, descending bool) int {
	if descending {
		for i < len(keys) && keys[i] <= last {
			i++
		}
		return i
	}
	for i < len(keys) && keys[i] >= last {
		i++
	}
	return i
}
