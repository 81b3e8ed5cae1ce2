package jit

import (
	"github.com/opgen/opgen/internal/base/a64"
	"github.com/opgen/opgen/internal/base/simd/elementary"
)

const (
	vectorBytes = 16    // size of a vector register
	takesMemory = false // whether the last operand of an instruction may be in memory
	passes      = false // whether there are non-temporal stores
	onSigns     = false // whether a mask is the sign bits of elements
	spare       = 31    // vector register for intermediate results of one operation
)

// vectors is the number of vector registers for values.
func (c *compiler) vectors() int      { return spare }
func (b *body) registers() int        { return spare }
func (c *compiler) copies() int       { return 0 }
func (c *compiler) beginRow()         { c.put(a64.SetWord(elementAt, 0)) }
func (c *compiler) leave()            { c.put(a64.Return()) }
func (c *compiler) copy(z, x int)     { c.put(a64.Move(z, x)) }
func (c *compiler) sum(z, x int)      { c.put(a64.Three(a64.Fadd, c.double(), z, z, x)) }
func (c *compiler) zero(r int)        { c.put(a64.Zero(r)) }
func (c *compiler) double() bool      { return c.Builder.double }
func (c *compiler) element() a64.Size { return a64.Size(c.size()) }

// remainder generates a loop over the elements behind the last whole vector, one element an iteration. It
// returns false if registers do not suffice.
func (c *compiler) remainder(past bool) bool {
	c.compareWord(8 * wholeEnd)
	out := c.jump(atLeast)
	start := len(c.code)
	if !c.body(way{unroll: 1, masked: true, spills: true}) {
		return false
	}
	c.addWord(elementAt, c.size())
	c.compareWord(8 * wholeEnd)
	c.back(below, start)
	c.land(out)
	return true
}

// beginBody computes the byte offsets of a body's vectors in registers.
func (c *compiler) beginBody(b *body) {
	for u := range b.unroll {
		if b.first+u > 0 {
			e := firstAt + u
			c.put(a64.AddNumber(e, elementAt, (b.first+u)*c.bytes()))
		}
	}
}

// transfer loads or stores vector register r.
func (c *compiler) transfer(way transfer, r int, m memory) {
	c.access(way, a64.Vector, r, m)
}

// access loads or stores the first size bytes of vector register r.
func (c *compiler) access(way transfer, size a64.Size, r int, m memory) {
	base, offset := m.base, m.offset
	if m.index != none {
		if offset == 0 {
			if way == storing {
				c.put(a64.StoreAt(size, r, base, m.index))
			} else {
				c.put(a64.LoadAt(size, r, base, m.index))
			}
			return
		}
		c.put(a64.AddWord(other, base, m.index))
		base = other
	}
	base, offset = c.reach(base, offset, int(size))
	if way == storing {
		c.put(a64.Store(size, r, base, offset))
	} else {
		c.put(a64.Load(size, r, base, offset))
	}
}

// upper copies the elements of register x behind a byte offset to the start of register z.
func (c *compiler) upper(z, x, bytes int) { c.put(a64.Ext(z, x, x, bytes)) }

// storeElement stores element 0 of a register at a byte offset of the current row's scalars and sums.
func (c *compiler) storeElement(r, offset int) { c.access(storing, c.element(), r, at(rowAt, offset)) }

// prefetch assembles a prefetch into L2.
func (c *compiler) prefetch(m memory) {
	c.put(a64.AddWord(other, m.base, m.index))
	c.addWord(other, m.offset)
	c.put(a64.Prefetch(other))
}

// held returns how many bytes of a vector a body computes: one element in the remainder, and otherwise all.
func (b *body) held() a64.Size {
	if b.masked {
		return b.element()
	}
	return a64.Vector
}

// memory returns vector u of node i as a memory operand.
func (b *body) memory(i int32, u int) operand {
	return operand{register: none, memory: b.indexed(&b.nodes[i], u)}
}

// indexed returns the address that place returns, with the register that holds the offset of vector u as
// index.
func (b *body) indexed(d *node, u int) memory {
	m := b.place(d, u)
	if m.index == elementAt && m.offset == (b.first+u)*b.bytes() && m.offset > 0 {
		m.index, m.offset = firstAt+u, 0
	}
	return m
}

// ofKind changes nothing: loops have elements of one kind on arm64.
func (b *body) ofKind(*node, int, *memory) {}

// fetch loads vector u of node i, which is an input, accumulators, a constant or an argument, into register
// r.
func (b *body) fetch(i int32, u, r int) {
	switch d := &b.nodes[i]; d.op {
	case opConstant:
		b.fixes = append(b.fixes, fix{len(b.code), b.constant(d.bits)})
		b.put(a64.LoadNear(r, 0))
	case opScalar:
		b.access(loading, b.element(), r, at(rowAt, b.size()*d.at))
		b.put(a64.Repeat(b.double(), r, r))
	default:
		b.access(loading, b.held(), r, b.indexed(d, u))
	}
}

// store generates the store of register r as vector u of node d.
func (b *body) store(d *node, r, u int) {
	if z, ok := b.way.lanes[d.at]; ok && d.op == opFold {
		b.copy(z+b.first+u, r)
		return
	}
	b.access(storing, b.held(), r, b.indexed(d, u))
}

// mulAdd generates the FMA of node i into register z, which holds the addend.
func (b *body) mulAdd(i, z, x int, y operand) {
	op := a64.Fmla
	if b.nodes[i].op == opMulSubFrom {
		op = a64.Fmls
	}
	b.put(a64.Three(op, b.double(), z, x, y.register))
}

// choose sets z to x where the bits of mask are ones, and to y elsewhere. z may equal any of the other
// registers.
func (b *body) choose(z, mask, x, y int) {
	switch z {
	case y:
		b.put(a64.Three(a64.Bit, false, z, x, mask))
	case x:
		b.put(a64.Three(a64.Bif, false, z, y, mask))
	default:
		if z != mask {
			b.put(a64.Move(z, mask))
		}
		b.put(a64.Three(a64.Bsl, false, z, x, y))
	}
}

// compare sets the bits of z to ones where a predicate holds of x and y, and to zeros elsewhere.
func (b *body) compare(z int, predicate uint8, x, y int) {
	three := func(op a64.Op, z, x, y int) { b.put(a64.Three(op, b.double(), z, x, y)) }
	switch predicate {
	case elementary.Equal:
		three(a64.Fcmeq, z, x, y)
	case elementary.Unequal:
		three(a64.Fcmeq, z, x, y)
		b.put(a64.Two(a64.Not, false, z, z))
	case elementary.Less:
		three(a64.Fcmgt, z, y, x)
	case elementary.AtMost:
		three(a64.Fcmge, z, y, x)
	case elementary.AtLeast:
		three(a64.Fcmge, z, x, y)
	case elementary.Greater:
		three(a64.Fcmgt, z, x, y)
	case elementary.Unordered:
		three(a64.Fcmeq, spare, y, y)
		three(a64.Fcmeq, z, x, x)
		three(a64.And, z, z, spare)
		b.put(a64.Two(a64.Not, false, z, z))
	}
}

// direct maps operations to instructions with two source vectors.
var direct = map[opcode]a64.Op{opAdd: a64.Fadd, opMul: a64.Fmul, opSub: a64.Fsub, opDiv: a64.Fdiv, opAnd: a64.And, opOr: a64.Orr, opXor: a64.Eor,
	opAddInt: a64.Add, opSubInt: a64.Sub, opBoth: a64.And, opEither: a64.Orr, opTruth: a64.And}

// rounding maps rounding modes to instructions.
var rounding = map[uint8]a64.Op{elementary.ToNearest: a64.Frintn, elementary.ToFloor: a64.Frintm, elementary.ToCeil: a64.Frintp}

// operation generates node d into register z, from the registers in and the last operand y.
func (b *body) operation(d *node, z int, in [3]int, y operand, u int) {
	if op, ok := direct[d.op]; ok {
		last := y.register
		if d.op == opBoth || d.op == opEither {
			last = in[1]
		}
		b.put(a64.Three(op, b.double(), z, in[0], last))
		return
	}
	switch d.op {
	case opAbove, opBelow:
		x, y := in[0], y.register
		if d.op == opAbove {
			b.compare(spare, elementary.Greater, x, y)
		} else {
			b.compare(spare, elementary.Less, x, y)
		}
		b.choose(z, spare, x, y)
	case opSqrt:
		b.put(a64.Two(a64.Fsqrt, b.double(), z, y.register))
	case opRound:
		b.put(a64.Two(rounding[d.imm], b.double(), z, y.register))
	case opUp:
		b.put(a64.Up(b.double(), z, in[0], int(d.imm)))
	case opDown:
		b.put(a64.Down(b.double(), z, in[0], int(d.imm)))
	case opCompare:
		b.compare(z, d.imm, in[0], y.register)
	case opSigns:
		b.put(a64.Two(a64.Cmlt, b.double(), z, in[0]))
	case opChoose:
		b.choose(z, in[0], y.register, in[1])
	}
}
