// Package memplan lays out buffers in one block of memory, so that buffers which are needed at the
// same time do not overlap and the block is small.
//
// The problem is known as dynamic storage allocation and is NP-hard. Plan tries greedy orders, and then
// improves the best of them. The result is usually within a percent of the lower bound.
package memplan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Buffer is a piece of memory and the time for which it is needed.
type Buffer struct {
	// Bytes is its size. Offsets are sums of sizes, so sizes that are multiples of an alignment give
	// offsets that are, too.
	Bytes int64
	// First and Last are the first and the last step at which it is needed. Steps form a cycle: with
	// First > Last it is needed from First to the end and from the beginning to Last, as is the input
	// of the next iteration that comes while results of the last one are still there.
	First, Last int
}

// Layout says where buffers lie.
type Layout struct {
	Offsets []int64 // of each buffer, in the order given
	Bytes   int64   // of the block
	Bound   int64   // the most bytes that the buffers need at one step
}

// DefaultEffort is an effort that takes about a millisecond for 1000 buffers.
const DefaultEffort = 300

// maxSearched is the largest number of buffers that are placed by size, which takes time quadratic in their
// number.
const maxSearched = 20000

// minBuffers is the least number of buffers that effort is multiplied by.
const minBuffers = 400

// placeCost is the cost of placing a buffer besides comparing it with others, in comparisons.
const placeCost = 60

// Plan lays out buffers. It stops at the lower bound, or after effort comparisons for each buffer. The limit
// is not a time, since the layout would then depend on the load of the machine. The first layout is made in
// any case. More than 20000 buffers get one layout, in the order of time, since a search would take too long.
// The same buffers and effort give the same layout.
//
// It is an error if a size is negative, a step is not in the range of int32, or all sizes together do not
// fit an int64.
func Plan(buffers []Buffer, effort int) (*Layout, error) {
	var sum int64
	for i, b := range buffers {
		if b.Bytes < 0 {
			return nil, fmt.Errorf("offsets: buffer %d: want a size of at least 0, got %d bytes", i, b.Bytes)
		}
		if min(b.First, b.Last) < 0 || max(b.First, b.Last) > math.MaxInt32 {
			return nil, fmt.Errorf("offsets: buffer %d: want steps from 0 to %d, got %d to %d", i, math.MaxInt32, b.First, b.Last)
		}
		if b.Bytes > math.MaxInt64-sum {
			return nil, fmt.Errorf("offsets: buffer %d: all sizes together are more than %d bytes", i, int64(math.MaxInt64))
		}
		sum += b.Bytes
	}
	all := changes(buffers)
	l := &Layout{Offsets: make([]int64, len(buffers)), Bound: bound(all)}
	if len(buffers) > maxSearched {
		sweep(buffers, all, l)
	} else {
		search(buffers, effort, l)
	}
	return l, nil
}

// change is the beginning or the end of the time for which a buffer is needed.
type change struct {
	step  int
	bytes int64 // below 0 at the end
	index int   // of the buffer
}

// changes returns all changes in order; at the same step, what ends goes before what begins. A buffer
// that is needed over the end of the cycle begins twice.
func changes(buffers []Buffer) []change {
	all := make([]change, 0, 2*len(buffers))
	for i, b := range buffers {
		if b.Bytes == 0 {
			continue
		}
		if b.First > b.Last {
			all = append(all, change{0, b.Bytes, i})
		}
		all = append(all, change{b.First, b.Bytes, i}, change{b.Last + 1, -b.Bytes, i})
	}
	slices.SortFunc(all, func(a, b change) int {
		switch {
		case a.step != b.step:
			return cmp.Compare(a.step, b.step)
		case a.bytes != b.bytes:
			return cmp.Compare(a.bytes, b.bytes)
		}
		return a.index - b.index
	})
	return all
}

func bound(all []change) int64 {
	var now, most int64
	for _, c := range all {
		now += c.bytes
		most = max(most, now)
	}
	return most
}
