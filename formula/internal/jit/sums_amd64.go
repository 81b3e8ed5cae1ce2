package jit

// moveSums loads (code 0x10) or stores (0x11) the accumulators of sums that registers hold. If code is 0, it
// zeros all accumulators.
func (c *compiler) moveSums(code byte) {
	for k := range c.sums {
		r, held := c.held[firstSum+k]
		switch {
		case held && code == 0:
			for i := range accumulators / c.width() {
				c.zero(r + i)
			}
		case held:
			c.moveLanes(code, r, k)
		case code == 0:
			c.zero(0)
			for i := range accumulators / c.width() {
				c.vector(c.move(0x11), 0, none, c.lanesOf(k, i), 0, false, 0)
			}
		}
	}
}

// moveLanes moves the accumulators of sum k between memory and the registers from r on.
func (c *compiler) moveLanes(code byte, r, k int) {
	for i := range accumulators / c.width() {
		c.vector(c.move(code), r+i, none, c.lanesOf(k, i), 0, false, 0)
	}
}

// lanesOf is the memory operand of vector i of the accumulators of sum k.
func (c *compiler) lanesOf(k, i int) operand {
	return operand{register: none, memory: at(rdi, c.lanes(k)+i*c.bytes())}
}

func (c *compiler) zero(r int) { c.vector(c.whole(0xef, 0xef), r, r, inRegister(r), 0, false, 0) } // vpxor

// addSums reduces the accumulators of each sum by a tree, in the order of package simd: i and i+32, then i
// and i+16, and so on.
func (c *compiler) addSums() {
	for k := range c.sums {
		r, held := c.held[firstSum+k]
		if !held {
			r = 0
			c.moveLanes(0x10, r, k)
		}
		for n := accumulators / c.width() / 2; n > 0; n /= 2 {
			for i := range n {
				c.vector(c.real(0x58), r+i, r+i, inRegister(r+i+n), 0, false, 0)
			}
		}
		for half := c.bytes() / 2; half >= c.size(); half /= 2 {
			c.upper(r+1, r, half)
			c.vector(c.real(0x58), r, r, inRegister(r+1), 0, false, 0)
		}
		c.storeElement(r, c.size()*(c.scalars+k))
	}
}

// upper copies the elements of register x from a byte offset on to the start of register z.
func (c *compiler) upper(z, x, bytes int) {
	switch {
	case bytes == 32:
		c.vector(instruction{prefix: 1, table: 3, code: 0x1b, wide: true}, x, none, inRegister(z), 0, false, 1) // vextractf64x4
		c.put(1)
	case bytes == 16:
		c.vector(instruction{prefix: 1, table: 3, code: 0x19}, x, none, inRegister(z), 0, false, 1) // vextractf128, vextractf32x4
		c.put(1)
	case bytes == 8:
		c.vector(instruction{prefix: 1, table: 1, code: 0x70}, z, none, inRegister(x), 0, false, 1) // vpshufd
		c.put(0xee)                                                                                 // the upper two of four
	default:
		c.vector(instruction{prefix: 1, table: 1, code: 0x70}, z, none, inRegister(x), 0, false, 1)
		c.put(0x55) // the second of four
	}
}

// storeElement stores element 0 of a register to the sums of the current row.
func (c *compiler) storeElement(r, offset int) {
	if c.wide { // by a mask of one element
		c.put(0xb8, 1, 0, 0, 0) // mov eax, 1
		c.shortVector(instruction{table: 1, code: 0x92}, false, 1, 0, inRegister(rax))
		c.vector(c.move(0x11), r, none, operand{register: none, memory: at(rsi, offset)}, 1, false, 0)
		return
	}
	in := instruction{prefix: 2, table: 1, code: 0x11} // vmovss, vmovsd
	if c.double {
		in.prefix = 3
	}
	c.scalarVector(in, r, operand{register: none, memory: at(rsi, offset)})
}
