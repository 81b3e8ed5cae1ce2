// Package intset has a set of numbers that finds the next number above or below another.
package intset

import "math/bits"

// None stands for no number.
const None = -1

// Set is a set of numbers from 0 to a limit. Level 0 has a bit for each number. Each other level has a bit
// for each word of the level below, which says whether the word has a bit.
type Set [][]uint64

// New returns an empty set of numbers from 0 to n-1.
func New(n int) Set {
	var s Set
	for {
		n = n/64 + 1 // so that a number may be compared with the limit
		s = append(s, make([]uint64, n))
		if n == 1 {
			return s
		}
	}
}

// Add adds a number.
func (s Set) Add(i int) {
	for _, level := range s {
		level[i>>6] |= 1 << (i & 63)
		i >>= 6
	}
}

// Remove removes a number.
func (s Set) Remove(i int) {
	for _, level := range s {
		if level[i>>6] &^= 1 << (i & 63); level[i>>6] != 0 {
			return
		}
		i >>= 6
	}
}

// Below returns the greatest number of the set that is less than i, or None.
func (s Set) Below(i int) int {
	for l, level := range s {
		if i>>6 < len(level) {
			if word := level[i>>6] & (1<<(i&63) - 1); word != 0 {
				i = i&^63 + 63 - bits.LeadingZeros64(word)
				for l--; l >= 0; l-- {
					i = i<<6 + 63 - bits.LeadingZeros64(s[l][i])
				}
				return i
			}
		}
		i >>= 6
	}
	return None
}

// Above returns the least number of the set that is greater than i, or None.
func (s Set) Above(i int) int {
	for l, level := range s {
		i++
		if i>>6 >= len(level) {
			return None
		}
		if word := level[i>>6] &^ (1<<(i&63) - 1); word != 0 {
			i = i&^63 + bits.TrailingZeros64(word)
			for l--; l >= 0; l-- {
				i = i<<6 + bits.TrailingZeros64(s[l][i])
			}
			return i
		}
		i >>= 6
	}
	return None
}
