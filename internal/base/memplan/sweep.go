package memplan

import "slices"

// hole is free memory.
type hole struct{ lo, hi int64 }

// sweep lays out buffers as an allocator would: step by step, each at the lowest hole where it fits. A
// buffer that is needed over the end of the cycle keeps its place all the time.
func sweep(buffers []Buffer, all []change, l *Layout) {
	wraps := func(i int) bool { return buffers[i].First > buffers[i].Last }
	var holes []hole // by offset, none next to another; those at the end of the block included
	for _, c := range all {
		b := &buffers[c.index]
		switch {
		case c.bytes > 0 && wraps(c.index) && c.step > 0, c.bytes < 0 && wraps(c.index):
			// It has its place already, and keeps it.
		case c.bytes > 0:
			l.Offsets[c.index] = l.Bytes
			if h := slices.IndexFunc(holes, func(h hole) bool { return h.hi-h.lo >= b.Bytes }); h >= 0 {
				l.Offsets[c.index] = holes[h].lo
				if holes[h].lo += b.Bytes; holes[h].lo == holes[h].hi {
					holes = slices.Delete(holes, h, h+1)
				}
				continue
			}
			// The last hole grows if it lies at the end.
			if n := len(holes); n > 0 && holes[n-1].hi == l.Bytes {
				l.Offsets[c.index] = holes[n-1].lo
				holes = holes[:n-1]
			}
			l.Bytes = l.Offsets[c.index] + b.Bytes
		default:
			holes = free(holes, hole{l.Offsets[c.index], l.Offsets[c.index] + b.Bytes})
		}
	}
}

// free adds a hole, and joins it with its neighbors.
func free(holes []hole, h hole) []hole {
	at, _ := slices.BinarySearchFunc(holes, h.lo, func(g hole, lo int64) int {
		if g.lo < lo {
			return -1
		}
		return 1
	})
	if at < len(holes) && holes[at].lo == h.hi {
		h.hi = holes[at].hi
		holes = slices.Delete(holes, at, at+1)
	}
	if at > 0 && holes[at-1].hi == h.lo {
		holes[at-1].hi = h.hi
		return holes
	}
	return slices.Insert(holes, at, h)
}
