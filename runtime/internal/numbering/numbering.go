// Package numbering numbers the distinct keys of a large set, in less memory than a map.
package numbering

import "hash/maphash"

// Numbering gives each distinct key a number, from 0 on. New makes one.
type Numbering[K comparable] struct {
	seed  maphash.Seed
	keys  []K
	table []slot // its length is a power of 2; at most three quarters are used
}

// slot holds the number of a key, plus 1, and some bits of the hash of the key. The zero slot is free.
type slot struct{ number, hash uint32 }

// New returns a numbering without keys, with room for n of them.
func New[K comparable](n int) *Numbering[K] {
	size := 8
	for size/4*3 < n {
		size *= 2
	}
	return &Numbering[K]{maphash.MakeSeed(), make([]K, 0, n), make([]slot, size)}
}

// Add returns the number of a key, and whether the key is new.
func (x *Numbering[K]) Add(k K) (n int, added bool) {
	h := uint32(maphash.Comparable(x.seed, k) >> 32)
	at := x.find(k, h)
	if x.table[at].number > 0 {
		return int(x.table[at].number - 1), false
	}
	if len(x.keys) >= len(x.table)/4*3 {
		x.grow()
		at = x.find(k, h)
	}
	x.keys = append(x.keys, k)
	x.table[at] = slot{uint32(len(x.keys)), h}
	return len(x.keys) - 1, true
}

// few is how many keys are compared one by one at most, which takes less time than to hash one.
const few = 8

// Find returns the number of a key; ok is false if it has none.
func (x *Numbering[K]) Find(k K) (n int, ok bool) {
	if len(x.keys) <= few {
		for i := range x.keys {
			if x.keys[i] == k {
				return i, true
			}
		}
		return -1, false
	}
	at := x.find(k, uint32(maphash.Comparable(x.seed, k)>>32))
	return int(x.table[at].number) - 1, x.table[at].number > 0
}

// find returns the place of a key in the table, or the free one that it would get.
func (x *Numbering[K]) find(k K, h uint32) int {
	mask := len(x.table) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		s := x.table[i]
		if s.number == 0 || s.hash == h && x.keys[s.number-1] == k {
			return i
		}
	}
}

// grow doubles the table.
func (x *Numbering[K]) grow() {
	old := x.table
	x.table = make([]slot, 2*len(old))
	mask := len(x.table) - 1
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		i := int(s.hash) & mask
		for x.table[i].number > 0 {
			i = (i + 1) & mask
		}
		x.table[i] = s
	}
}

// Clone returns a copy, which later changes of x do not change.
func (x *Numbering[K]) Clone() *Numbering[K] {
	return &Numbering[K]{x.seed, append(make([]K, 0, len(x.keys)), x.keys...), append(make([]slot, 0, len(x.table)), x.table...)}
}
