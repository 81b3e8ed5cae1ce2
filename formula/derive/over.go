package derive

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Ranges returns the possible sizes of the iteration space of a task that computes statements in this
// use: all products of extents of left-side indices, and 1.
func Ranges(statements []*program.Statement) map[int]bool {
	out := map[int]bool{1: true}
	for _, s := range statements {
		var extents []int
		for _, v := range s.Vars {
			if n, known := term.Difference(v.Hi, v.Lo).Known(); known {
				extents = append(extents, n)
			}
		}
		for _, n := range Products(extents) {
			out[n] = true
		}
	}
	return out
}

// Products returns the distinct products of all subsets of extents, with 1 for the empty subset. There are
// few, since the extents of many indices are mostly equal.
func Products(extents []int) []int {
	out, seen := []int{1}, map[int]bool{1: true}
	for _, n := range extents {
		for _, x := range out[:len(out):len(out)] {
			if len(out) < maxProducts && !seen[x*n] {
				seen[x*n] = true
				out = append(out, x*n)
			}
		}
	}
	return out
}

// maxProducts bounds the number of products. The extents of a tensor of 16 dimensions have fewer.
const maxProducts = 1 << 16
