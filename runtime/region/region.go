// Package region describes which elements of which memory a task touches.
//
// One type serves views, in-place slots, shards, tiles and the reuse of buffers: a box in the index
// space of a root, the tensor that was allocated. A view that is no box of its root (a transpose,
// say) is its whole root.
package region

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/runtime/perm"
)

// Root numbers an allocation within a plan.
type Root int

// Box is the set of indices Lo <= i < Hi, axis by axis. Of rank 0 it holds the one element.
type Box struct {
	Lo []int `json:"lo"`
	Hi []int `json:"hi"`
}

// Empty reports whether the box holds no index.
func (b Box) Empty() bool {
	for d := range b.Lo {
		if b.Hi[d] <= b.Lo[d] {
			return true
		}
	}
	return false
}

// Volume returns how many indices the box holds.
func (b Box) Volume() int {
	n := 1
	for d := range b.Lo {
		n *= max(b.Hi[d]-b.Lo[d], 0)
	}
	return n
}

// Intersect returns the indices that both boxes, of the same rank, hold.
func (b Box) Intersect(c Box) Box {
	out := Box{make([]int, len(b.Lo)), make([]int, len(b.Lo))}
	for d := range b.Lo {
		out.Lo[d], out.Hi[d] = max(b.Lo[d], c.Lo[d]), min(b.Hi[d], c.Hi[d])
	}
	return out
}

// Clip returns the indices of the box that lie within a shape.
func (b Box) Clip(shape []int) Box { return b.Intersect(Box{make([]int, len(shape)), shape}) }

// String formats the box as [lo:hi, ...].
func (b Box) String() string {
	var s strings.Builder
	s.WriteByte('[')
	for d := range b.Lo {
		if d > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%d:%d", b.Lo[d], b.Hi[d])
	}
	s.WriteByte(']')
	return s.String()
}

// overlaps reports whether the two boxes, of the same rank, share an index.
func (b Box) overlaps(c Box) bool {
	for d := range b.Lo {
		if max(b.Lo[d], c.Lo[d]) >= min(b.Hi[d], c.Hi[d]) {
			return false
		}
	}
	return true
}

// contains reports whether every index of c is one of b. An empty c is contained in everything.
func (b Box) contains(c Box) bool {
	if c.Empty() {
		return true
	}
	for d := range b.Lo {
		if c.Lo[d] < b.Lo[d] || b.Hi[d] < c.Hi[d] {
			return false
		}
	}
	return true
}

// Covers reports whether the box contains every index of a tensor of a shape. Both have the same rank.
func (b Box) Covers(shape []int) bool {
	if slices.Contains(shape, 0) {
		return true
	}
	for d, n := range shape {
		if b.Lo[d] > 0 || b.Hi[d] < n {
			return false
		}
	}
	return true
}

// Run returns the numbers in row-major order of the first element and the one behind the last of a box in a
// tensor of a shape, of the same rank. The box has all elements between; ok is false if it has not, or none.
func (b Box) Run(shape []int) (lo, hi int, ok bool) {
	if b.Empty() {
		return 0, 0, false
	}
	for d, n := range shape {
		lo, hi = lo*n+b.Lo[d], hi*n+b.Hi[d]-1
	}
	hi++
	return lo, hi, hi-lo == b.Volume()
}

// Region is a box in the index space of Root. The box has the root's rank.
type Region struct {
	Root Root `json:"root"`
	Box
}

// Whole returns the region that covers a root of the given shape.
func Whole(root Root, shape []int) Region {
	return Region{root, Box{make([]int, len(shape)), append([]int{}, shape...)}}
}

// Overlaps reports whether the two regions share an element.
func (r Region) Overlaps(s Region) bool { return r.Root == s.Root && r.Box.overlaps(s.Box) }

// Contains reports whether r contains every element of s. An empty s is contained in everything.
func (r Region) Contains(s Region) bool {
	return s.Empty() || r.Root == s.Root && r.Box.contains(s.Box)
}

// String formats the region as root[lo:hi, ...].
func (r Region) String() string { return strconv.Itoa(int(r.Root)) + r.Box.String() }

// Access is how a task accesses a region.
type Access struct {
	Region
	Perm  perm.Perm  `json:"perm"`
	Redop perm.Redop `json:"redop,omitempty"`
	// Footprint says which part of the region a tile of the task touches. Without one, each tile may touch
	// all of it.
	Footprint Footprint `json:"footprint,omitempty"`
	// Least holds, for each axis, the minimum number of indices that a tile may access, as constraints of the
	// task demand. nil demands nothing.
	Least []int `json:"least,omitempty"`
}

// Space is the memory in which a root lies.
type Space uint8

const (
	// Arena is the memory of one plan; roots whose lifetimes do not overlap share it.
	Arena Space = iota
	// Variable is memory that outlives a step and is shared, by name, among the plans of an engine.
	Variable
)

// String names the space.
func (s Space) String() string {
	switch s {
	case Arena:
		return "arena"
	case Variable:
		return "variable"
	}
	return fmt.Sprintf("region.Space(%d)", uint8(s))
}

// MarshalText writes the space's name.
func (s Space) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a space's name.
func (s *Space) UnmarshalText(text []byte) error {
	for _, c := range []Space{Arena, Variable} {
		if c.String() == string(text) {
			*s = c
			return nil
		}
	}
	return fmt.Errorf("unknown memory space %q", text)
}

// Place says where a root lies: Bytes bytes at offset Off of Space. A variable has its own memory,
// so its Off is 0.
type Place struct {
	Space Space `json:"space"`
	Off   int64 `json:"off"`
	Bytes int64 `json:"bytes"`
}

// Overlaps reports whether two places share a byte. Variables never share.
func (p Place) Overlaps(q Place) bool {
	return p.Space == Arena && q.Space == Arena && p.Off < q.Off+q.Bytes && q.Off < p.Off+p.Bytes && p.Bytes > 0 && q.Bytes > 0
}
