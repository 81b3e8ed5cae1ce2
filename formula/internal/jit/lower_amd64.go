package jit

import "math/bits"

const (
	vectorBytes = 32   // size of a vector register without AVX-512
	takesMemory = true // whether the last operand of an instruction may be in memory
	passes      = true // whether there are non-temporal stores
	onSigns     = true // whether a mask is the sign bits of elements without AVX-512
)

// vectors is the number of vector registers.
func (c *compiler) vectors() int {
	if c.wide {
		return 32
	}
	return 16
}

// copies returns the size, in the argument block, of the broadcast copies of scalars, which AVX2 needs as
// memory operands.
func (c *compiler) copies() int {
	if c.wide {
		return 0
	}
	return 32 * c.scalars
}

// repeatedScalar returns the byte offset of the broadcast copy of scalar i, for AVX2.
func (c *compiler) repeatedScalar(i int) int { return c.align(c.stride(c.pointers)) + 32*i }

// beginRow sets the offset of the current element to 0, and broadcasts the row's scalars for AVX2.
func (c *compiler) beginRow() {
	if !c.wide {
		for i := range c.scalars {
			c.vector(c.broadcast(), 0, none, operand{register: none, memory: at(rowAt, c.size()*i)}, 0, false, 0)
			c.transfer(storing, 0, at(block, c.repeatedScalar(i)))
		}
	}
	c.put(0x31, 0xc0) // xor eax, eax
}

// remainder generates a masked body for the elements behind the last whole vector. It returns false if
// registers do not suffice.
func (c *compiler) remainder(past bool) bool {
	c.put(0x48, 0x83, 0x7f, 8*tailCount, 0) // cmp qword [rdi+tailCount], 0
	out := c.jump(equal)
	if c.wide {
		c.shortVector(instruction{table: 1, code: 0x90}, false, 1, 0, operand{register: none, memory: at(rdi, 8*tailMask)})
	} else {
		c.vector(c.move(0x10), 15, none, operand{register: none, memory: at(rdi, 8*tailLanes)}, 0, false, 0)
	}
	if !c.body(way{unroll: 1, masked: true, spills: true}) {
		return false
	}
	c.land(out)
	return true
}

// leave generates the return from the code.
func (c *compiler) leave() {
	c.put(0xc5, 0xf8, 0x77) // vzeroupper
	c.put(0xc3)             // ret
}

// beginBody computes the index of the current element if elements of several kinds are loaded or stored.
func (c *compiler) beginBody(*body) {
	if c.mixed {
		c.numberOf(int(bits.TrailingZeros(uint(c.size()))))
	}
}

// transfer loads or stores vector register r.
func (c *compiler) transfer(way transfer, r int, m memory) {
	code := byte(0x10)
	if way == storing {
		code = 0x11
	}
	c.vector(c.move(code), r, none, operand{register: none, memory: m}, 0, false, 0)
}

func (c *compiler) copy(z, x int) { c.vector(c.move(0x10), z, none, inRegister(x), 0, false, 0) }

// sum adds vector register x to z.
func (c *compiler) sum(z, x int) { c.vector(c.real(0x58), z, z, inRegister(x), 0, false, 0) }

func (c *compiler) zero(r int) { c.vector(c.whole(0xef, 0xef), r, r, inRegister(r), 0, false, 0) } // vpxor

// upper copies the elements of register x behind a byte offset to the start of register z.
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

// storeElement stores element 0 of a register at a byte offset of the current row's scalars and sums.
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

// ofKind changes m, the address of a vector, to that of elements of the node's kind.
func (b *body) ofKind(d *node, u int, m *memory) {
	if d.kind != Same {
		m.index, m.scale, m.offset = number, d.kind.scale(), (b.first+u)*b.width()*d.kind.Bytes(b.size())
	}
}

// fetch loads vector u of node i, which is an input, accumulators, a constant or an argument, into register
// r.
func (b *body) fetch(i int32, u, r int) {
	d := &b.nodes[i]
	switch d.op {
	case opConstant, opScalar:
		m := b.memory(i, u)
		if b.wide {
			m.repeated = false
			b.vector(b.broadcast(), r, none, m, 0, false, 0)
		} else {
			b.vector(b.move(0x10), r, none, m, 0, false, 0)
		}
	default:
		m := b.memory(i, u)
		switch {
		case b.masked && b.wide:
			b.vector(b.move(0x10), r, none, m, 1, true, 0)
		case b.masked:
			b.vector(b.maskedMove(0x2c), r, 15, m, 0, false, 0)
		default:
			b.vector(b.move(0x10), r, none, m, 0, false, 0)
		}
	}
}

// memory returns vector u of node i as a memory operand.
func (b *body) memory(i int32, u int) operand {
	d := &b.nodes[i]
	switch d.op {
	case opConstant:
		return operand{register: none, memory: memory{base: 0, index: none, constant: b.constant(d.bits)}, repeated: b.wide}
	case opScalar:
		if b.wide {
			return operand{register: none, memory: at(rsi, b.size()*d.at), repeated: true}
		}
		return operand{register: none, memory: at(rdi, b.repeatedScalar(d.at))}
	}
	return operand{register: none, memory: b.place(d, u)}
}

// registers returns the number of registers that a body may allocate.
func (b *body) registers() int {
	switch {
	case b.wide:
		return 32
	case b.masked:
		return 15 // the last one holds the mask
	}
	return 16
}

// mulAdd generates the FMA of node i into register z, which holds the first operand.
func (b *body) mulAdd(i, z, x int, y operand) {
	d := &b.nodes[i]
	code := byte(0xa8) // z = z*x + y
	if b.adds(i) {
		code = 0xb8 // z = x*y + z
	}
	if d.op == opMulSubFrom {
		code += 4
	}
	b.vector(instruction{prefix: 1, table: 2, code: code, wide: b.double}, z, x, y, 0, false, 0)
}

// store generates the store of register r as vector u of node d.
func (b *body) store(d *node, r, u int) {
	if z, ok := b.way.lanes[d.at]; ok && d.op == opFold {
		b.copy(z+b.first+u, r)
		return
	}
	m := operand{register: none, memory: b.place(d, u)}
	switch {
	case d.kind != Same:
		b.vector(b.narrowing(d.kind), r, none, m, int(b2(b.masked)), false, 0)
	case b.masked && b.wide:
		b.vector(b.move(0x11), r, none, m, 1, false, 0)
	case b.masked:
		b.vector(b.maskedMove(0x2e), r, 15, m, 0, false, 0)
	case b.past && d.past:
		b.vector(b.move(0x2b), r, none, m, 0, false, 0)
	default:
		b.vector(b.move(0x11), r, none, m, 0, false, 0)
	}
}

// load generates the load of vector u of node d into register z, with a conversion from the node's kind.
func (b *body) load(d *node, z, u int) {
	m, mask := operand{register: none, memory: b.place(d, u)}, int(b2(b.masked))
	whole := instruction{table: 1, code: 0x5b, memory: 64} // vcvtdq2ps
	if b.double {
		whole = instruction{prefix: 2, table: 1, code: 0xe6, memory: 32} // vcvtdq2pd
	}
	wider := instruction{prefix: 2, table: 1, code: 0xe6, wide: true, memory: 64} // vcvtqq2pd
	switch {
	case d.kind == Conditions && b.double:
		b.vector(instruction{prefix: 1, table: 2, code: 0x32, memory: 8}, z, none, m, mask, b.masked, 0) // vpmovzxbq
		b.vector(wider, z, none, inRegister(z), 0, false, 0)
	case d.kind == Conditions:
		b.vector(instruction{prefix: 1, table: 2, code: 0x31, memory: 16}, z, none, m, mask, b.masked, 0) // vpmovzxbd
		b.vector(whole, z, none, inRegister(z), 0, false, 0)
	case d.kind == Int32:
		b.vector(whole, z, none, m, mask, b.masked, 0)
	case d.kind == Int64:
		b.vector(wider, z, none, m, mask, b.masked, 0)
	default:
		b.vector(instruction{table: 1, code: 0x5a, memory: 32}, z, none, m, mask, b.masked, 0) // vcvtps2pd
	}
}

// narrowing returns the instruction that stores elements as kind k.
func (b *body) narrowing(k Kind) instruction {
	switch {
	case k == Single:
		return instruction{table: 1, code: 0x11, half: true, memory: 32} // vmovups of 256 bits
	case b.double:
		return instruction{prefix: 2, table: 2, code: 0x32, memory: 8} // vpmovqb
	}
	return instruction{prefix: 2, table: 2, code: 0x31, memory: 16} // vpmovdb
}

// simple maps operations to opcodes of two-operand instructions on vectors of floats.
var simple = map[opcode]byte{opAdd: 0x58, opMul: 0x59, opSub: 0x5c, opBelow: 0x5d, opDiv: 0x5e, opAbove: 0x5f, opAnd: 0x54, opOr: 0x56, opXor: 0x57}

// operation generates node d into register z, from the registers in and the last operand y.
func (b *body) operation(d *node, z int, in [3]int, y operand, u int) {
	if code, ok := simple[d.op]; ok {
		b.vector(b.real(code), z, in[0], y, 0, false, 0)
		return
	}
	switch d.op {
	case opLoad:
		b.load(d, z, u)
	case opNarrow:
		b.vector(instruction{prefix: 1, table: 1, code: 0x5a, wide: true}, z, none, inRegister(in[0]), 0, false, 0) // vcvtpd2ps
	case opAddInt:
		b.vector(b.whole(0xfe, 0xd4), z, in[0], y, 0, false, 0)
	case opSubInt:
		b.vector(b.whole(0xfa, 0xfb), z, in[0], y, 0, false, 0)
	case opSqrt:
		b.vector(b.real(0x51), z, none, y, 0, false, 0)
	case opRound:
		i := instruction{prefix: 1, table: 3, code: 0x08 + b2(b.double), wide: b.double && b.wide}
		b.vector(i, z, none, y, 0, false, 1)
		b.put(d.imm)
	case opUp, opDown:
		kind := 6
		if d.op == opDown {
			kind = 2
		}
		b.vector(b.whole(0x72, 0x73), kind, z, inRegister(in[0]), 0, false, 1)
		b.put(d.imm)
	case opScale:
		b.vector(instruction{prefix: 1, table: 2, code: 0x2c, wide: b.double}, z, in[0], y, 0, false, 0)
	case opCompare:
		b.vector(b.real(0xc2), z, in[0], y, 0, false, 1)
		b.put(d.imm)
	case opSigns:
		b.vector(instruction{prefix: 2, table: 2, code: 0x39, wide: b.double}, z, none, inRegister(in[0]), 0, false, 0)
	case opBoth, opEither:
		code, narrow := byte(0x41), byte(0x54)
		if d.op == opEither {
			code, narrow = 0x45, 0x56
		}
		if b.wide {
			b.shortVector(instruction{table: 1, code: code}, true, z, in[0], inRegister(in[1]))
		} else {
			b.vector(b.real(narrow), z, in[0], inRegister(in[1]), 0, false, 0)
		}
	case opTruth:
		if b.wide {
			if y.register == none {
				y.repeated = false
				b.vector(b.broadcast(), z, none, y, in[0], true, 0)
			} else {
				b.vector(b.move(0x10), z, none, y, in[0], true, 0)
			}
		} else {
			b.vector(b.real(0x54), z, in[0], y, 0, false, 0)
		}
	case opChoose:
		if b.wide {
			b.vector(instruction{prefix: 1, table: 2, code: 0x65, wide: b.double}, z, in[1], y, in[0], false, 0)
		} else {
			b.vector(instruction{prefix: 1, table: 3, code: 0x4a + b2(b.double)}, z, in[1], y, 0, false, 1)
			b.put(byte(in[0] << 4))
		}
	}
}

// real returns the floating-point instruction of an opcode that float32 and float64 share.
func (c *compiler) real(code byte) instruction {
	return instruction{prefix: b2(c.double), table: 1, code: code, wide: c.double && c.wide}
}

func (c *compiler) move(code byte) instruction { return c.real(code) }

// whole returns an integer instruction for elements of the loop's size, given its opcodes for 32 and for 64
// bits.
func (c *compiler) whole(single, double byte) instruction {
	if c.double {
		return instruction{prefix: 1, table: 1, code: double, wide: c.wide}
	}
	return instruction{prefix: 1, table: 1, code: single}
}

func (c *compiler) broadcast() instruction {
	in := instruction{prefix: 1, table: 2, code: 0x18, element: true}
	if c.double {
		in.code, in.wide = 0x19, c.wide
	}
	return in
}

// maskedMove returns the AVX2 masked move of an opcode.
func (c *compiler) maskedMove(code byte) instruction {
	return instruction{prefix: 1, table: 2, code: code + b2(c.double)}
}
