package verify

import "slices"

// clock is a vector clock: which entries of all queues are over at some place of one. It is not changed once
// others may have it.
type clock struct {
	passed []int // per worker: how many entries at the front of its queue are over
	// Shared tasks that are over, by number: all below upto, and those of more, which ascends.
	upto int
	more []int
}

// has reports whether a shared task is over.
func (c *clock) has(n int) bool {
	if n < c.upto {
		return true
	}
	_, ok := slices.BinarySearch(c.more, n)
	return ok
}

// with returns the clock after the shared task n is over, too.
func (c *clock) with(n int) *clock {
	return c.join(&clock{passed: make([]int, len(c.passed)), more: []int{n}})
}

// join returns the clock at which everything is over that is over at one of two.
func (c *clock) join(d *clock) *clock {
	out := &clock{slices.Clone(c.passed), c.upto, c.more}
	out.add(d)
	return out
}

// add changes a clock to the one that join returns.
func (c *clock) add(d *clock) {
	passed := c.passed[:len(d.passed)]
	for w, at := range d.passed {
		passed[w] = max(passed[w], at)
	}
	all := slices.Concat(c.more, d.more)
	slices.Sort(all)
	c.upto, c.more = max(c.upto, d.upto), nil
	for _, n := range slices.Compact(all) {
		switch {
		case n == c.upto:
			c.upto++
		case n > c.upto:
			c.more = append(c.more, n)
		}
	}
}

// meet returns the clock at which everything is over that is over at both of two.
func (c *clock) meet(d *clock) *clock {
	out := &clock{passed: slices.Clone(c.passed), upto: min(c.upto, d.upto)}
	for w, at := range d.passed {
		out.passed[w] = min(out.passed[w], at)
	}
	most := max(c.upto, d.upto)
	for n := out.upto; n < most; n++ {
		if c.has(n) && d.has(n) {
			out.more = append(out.more, n)
		}
	}
	for _, n := range c.more {
		if n >= most && d.has(n) {
			out.more = append(out.more, n)
		}
	}
	return out
}
