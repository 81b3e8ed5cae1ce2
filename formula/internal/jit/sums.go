//go:build amd64 || arm64

package jit

// moveSums loads or stores the accumulators of sums for which the main loop reserved registers. For clearing,
// it sets the accumulators of all sums to 0, in registers or memory.
func (c *compiler) moveSums(way transfer) {
	for k := range c.sums {
		r, held := c.held[firstSum+k]
		switch {
		case held && way == clearing:
			for i := range accumulators / c.width() {
				c.zero(r + i)
			}
		case held:
			c.moveLanes(way, r, k)
		case way == clearing:
			c.zero(0)
			for i := range accumulators / c.width() {
				c.transfer(storing, 0, c.lanesOf(k, i))
			}
		}
	}
}

// moveLanes loads or stores the accumulators of sum k, in the registers from r on.
func (c *compiler) moveLanes(way transfer, r, k int) {
	for i := range accumulators / c.width() {
		c.transfer(way, r+i, c.lanesOf(k, i))
	}
}

// lanesOf returns the address of vector i of the accumulators of sum k.
func (c *compiler) lanesOf(k, i int) memory { return at(block, c.lanes(k)+i*c.bytes()) }

// addSums reduces the accumulators of each sum by a tree, in the order of package simd: i and i+32, then i
// and i+16, and so on. It stores the sums of the row.
func (c *compiler) addSums() {
	for k := range c.sums {
		r, held := c.held[firstSum+k]
		if !held {
			r = 0
			c.moveLanes(loading, r, k)
		}
		for n := accumulators / c.width() / 2; n > 0; n /= 2 {
			for i := range n {
				c.sum(r+i, r+i+n)
			}
		}
		for half := c.bytes() / 2; half >= c.size(); half /= 2 {
			c.upper(r+1, r, half)
			c.sum(r, r+1)
		}
		c.storeElement(r, c.size()*(c.scalars+k))
	}
}
