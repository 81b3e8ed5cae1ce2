package jit

import (
	"math/bits"
	"slices"
)

// way describes one body of a loop.
type way struct {
	unroll, first int         // vectors of the body, and those of earlier bodies of the iteration
	masked, past  bool        // whether it computes a masked remainder, and uses non-temporal stores
	spills        bool        // whether values may be spilled
	holds         bool        // whether accumulators stay in registers
	lanes         map[int]int // accumulators, by number -> their first register; others are in memory
	still         bool        // whether all offsets of accumulators are constant
}

// body generates the machine code of one way.
type body struct {
	*compiler
	way

	holders [32]int // by register: its value, reserved or none
	masks   [8]int  // by mask register: its value or none
	where   []int   // by value: its register or none
	kept    []int   // by value: its spill slot or none
	pinned  []int   // operands of the current instruction, which are not evicted
	steps   []step
	left    [][]int32 // by value: the later steps that use it from a register
	slotsOf int
	now     int32 // index of the current step
}

// value returns the number of vector u of a node's result. A constant or an argument is one vector for all
// u.
func (b *body) value(i int32, u int) int {
	if op := b.nodes[i].op; op == opConstant || op == opScalar {
		u = 0
	}
	return int(i)*mostVectors + u
}

// body generates the code of one way. It returns false if the registers do not suffice.
func (c *compiler) body(w way) bool {
	b := &body{compiler: c, way: w, steps: c.order(w)}
	values := mostVectors * len(c.nodes)
	b.where, b.kept, b.left = slices.Repeat([]int{none}, values), slices.Repeat([]int{none}, values), make([][]int32, values)
	for i := range b.holders {
		b.holders[i] = none
	}
	for _, r := range w.lanes {
		for i := range accumulators / c.width() {
			b.holders[r+i] = reserved
		}
	}
	for i := range b.masks {
		b.masks[i] = none
	}
	lanes := false
	for at, s := range b.steps {
		op := c.nodes[s.node].op
		for _, o := range c.nodes[s.node].operands() {
			lanes = lanes || o != none && c.nodes[o].op == opLanes
		}
		lanes = lanes || op == opFold
		registers, last := c.operandsOf(int(s.node))
		for _, o := range registers {
			b.uses(o, s.u, at)
		}
		if last != none && !c.inMemory(last, w.masked) {
			b.uses(last, s.u, at)
		}
	}
	if lanes && len(w.lanes) == 0 && !w.still {
		c.lane(64*c.size() - 1)
	}
	if c.mixed {
		c.numberOf(int(bits.TrailingZeros(uint(c.size()))))
	}
	for at, s := range b.steps {
		if !b.emit(s.node, s.u, int32(at)) {
			return false
		}
	}
	c.slots = max(c.slots, b.slotsOf)
	return true
}

// uses records that a step reads a value from a register.
func (b *body) uses(i int32, u, at int) {
	if i != none {
		v := b.value(i, u)
		b.left[v] = append(b.left[v], int32(at))
	}
}

// register returns the register of a value, and loads or reloads the value if it has none. It returns none
// if all registers are in use.
func (b *body) register(i int32, u int) int {
	if r, ok := b.way.lanes[b.nodes[i].at]; ok && b.nodes[i].op == opLanes {
		return r + b.first + u
	}
	v := b.value(i, u)
	if r := b.where[v]; r != none {
		b.pinned = append(b.pinned, v)
		return r
	}
	r := b.take(v)
	if r == none {
		return none
	}
	b.pinned = append(b.pinned, v)
	if s := b.kept[v]; s != none {
		b.vector(b.move(0x10), r, none, operand{register: none, memory: at(rdi, b.slot(s))}, 0, false, 0)
		return r
	}
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
	return r
}

// memory returns the memory operand of a node.
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

// place returns the address of vector u at a node's pointer.
func (b *body) place(d *node, u int) memory {
	m := memory{base: rdi, index: rax, offset: (b.first + u) * b.bytes(), constant: none}
	if d.at >= firstSum {
		m.offset += b.compiler.lanes(d.at - firstSum)
	} else {
		m.base = free[d.at]
	}
	if d.kind != Same {
		m.index, m.scale, m.offset = number, d.kind.scale(), (b.first+u)*b.width()*d.kind.Bytes(b.size())
	}
	if d.op == opLanes || d.op == opFold {
		if m.index = rdx; b.still {
			m.index = none
		}
	}
	return m
}

// last returns an instruction's last operand, which may be in memory.
func (b *body) last(i int32, u int) (operand, bool) {
	if _, ok := b.way.lanes[b.nodes[i].at]; ok && b.nodes[i].op == opLanes {
		return inRegister(b.register(i, u)), true
	}
	if b.inMemory(i, b.masked) {
		if b.where[b.value(i, u)] == none {
			return b.memory(i, u), true
		}
	}
	v := b.value(i, u)
	if b.kept[v] != none && b.where[v] == none && len(b.left[v]) == 1 {
		return operand{register: none, memory: at(rdi, b.slot(b.kept[v]))}, true
	}
	r := b.register(i, u)
	return inRegister(r), r != none
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

// take allocates a register for a value. If none is free, it evicts the value whose next use is farthest
// (Belady), with a spill if the value cannot be reloaded.
func (b *body) take(v int) int {
	n := b.registers()
	for r := range n {
		if b.holders[r] == none {
			b.holders[r] = v
			b.where[v] = r
			return r
		}
	}
	if b.wide && !b.spills {
		return none
	}
	victim, farthest := none, int32(-1)
	for r := range n {
		h := b.holders[r]
		if h == reserved || slices.Contains(b.pinned, h) || !b.spills && !b.again(h) {
			continue
		}
		next := int32(len(b.steps))
		if left := b.left[h]; len(left) > 0 {
			next = left[0]
		}
		if next > farthest {
			victim, farthest = r, next
		}
	}
	if victim == none {
		return none
	}
	h := b.holders[victim]
	b.where[h] = none
	if !b.again(h) {
		if b.kept[h] == none {
			b.kept[h] = b.slotsOf
			b.slotsOf++
			b.vector(b.move(0x11), victim, none, operand{register: none, memory: at(rdi, b.slot(b.kept[h]))}, 0, false, 0)
		}
	}
	b.holders[victim] = v
	b.where[v] = victim
	return victim
}

// again reports whether value v can be reloaded from where it came from, until its last use.
func (b *body) again(v int) bool {
	switch b.nodes[v/mostVectors].op {
	case opConstant, opScalar:
		return true
	case opInput:
		left := b.left[v]
		for _, s := range b.steps[b.now:left[len(left)-1]] {
			if b.nodes[s.node].op == opStore {
				return false
			}
		}
		return true
	}
	return false
}

// takeMask allocates a mask register for a value, or returns none.
func (b *body) takeMask(v int) int {
	for k := 2; k < 8; k++ {
		if b.masks[k] == none {
			b.masks[k] = v
			b.where[v] = k
			return k
		}
	}
	return none
}

// inMask reports whether the result of a node is in a mask register.
func (b *body) inMask(i int32) bool { return b.wide && b.nodes[i].masks() }

// release frees the registers of operands after their last use.
func (b *body) release(at int32, u int, operands ...int32) {
	for _, o := range operands {
		if o == none {
			continue
		}
		v := b.value(o, u)
		left := b.left[v]
		for len(left) > 0 && left[0] <= at {
			left = left[1:]
		}
		b.left[v] = left
		if len(left) > 0 {
			continue
		}
		r := b.where[v]
		if r == none {
			continue
		}
		b.where[v] = none
		if b.inMask(o) {
			b.masks[r] = none
		} else {
			b.holders[r] = none
		}
	}
}

// emit generates the instruction of node i for vector u, which is step at. It returns false if the registers
// do not suffice.
func (b *body) emit(i int32, u int, at int32) bool {
	d := &b.nodes[i]
	b.now = at
	if d.op == opAhead {
		b.ahead(d, u)
		return true
	}
	registers, rest := b.operandsOf(int(i))
	b.pinned = b.pinned[:0]
	var in [3]int
	for j, o := range registers {
		if o == none {
			continue
		}
		if in[j] = b.register(o, u); in[j] == none {
			return false
		}
	}
	y := operand{}
	if rest != none {
		var ok bool
		if y, ok = b.last(rest, u); !ok {
			return false
		}
	}
	if d.op == opMulAdd || d.op == opMulSubFrom {
		return b.fused(i, u, at, registers, rest, in, y)
	}
	b.release(at, u, registers[0], registers[1], registers[2], rest)
	if !d.gives() {
		b.store(d, in[0], u)
		return true
	}
	var z int
	if b.inMask(i) {
		z = b.takeMask(b.value(i, u))
	} else {
		z = b.take(b.value(i, u))
	}
	if z == none {
		return false
	}
	b.operation(d, z, in, y, u)
	return true
}

// fused generates an FMA, which overwrites its first operand. That operand is copied if a later step uses
// it.
func (b *body) fused(i int32, u int, at int32, registers [3]int32, rest int32, in [3]int, y operand) bool {
	d, z := &b.nodes[i], in[0]
	first := b.value(registers[0], u)
	before := b.holders[z]
	b.release(at, u, registers[0])
	if before == first && b.holders[z] == none {
		b.holders[z] = b.value(i, u)
		b.where[b.value(i, u)] = z
	} else {
		if z = b.take(b.value(i, u)); z == none {
			return false
		}
		b.vector(b.move(0x10), z, none, inRegister(in[0]), 0, false, 0)
	}
	b.release(at, u, registers[1], registers[2], rest)
	code := byte(0xa8) // z = z*x + y
	if b.adds(int(i)) {
		code = 0xb8 // z = x*y + z
	}
	if d.op == opMulSubFrom {
		code += 4
	}
	b.vector(instruction{prefix: 1, table: 2, code: code, wide: b.double}, z, in[1], y, 0, false, 0)
	return true
}

// store generates a store of register r.
func (b *body) store(d *node, r, u int) {
	if z, ok := b.way.lanes[d.at]; ok && d.op == opFold {
		b.vector(b.move(0x10), z+b.first+u, none, inRegister(r), 0, false, 0)
		return
	}
	m := operand{register: none, memory: b.place(d, u)}
	switch {
	case d.kind != Same:
		b.vector(b.storing(d.kind), r, none, m, int(b2(b.masked)), false, 0)
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

// load generates a load of elements of another kind, with a conversion.
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

// storing returns the instruction that converts elements to kind k and stores them.
func (b *body) storing(k Kind) instruction {
	switch {
	case k == Single:
		return instruction{table: 1, code: 0x11, half: true, memory: 32} // vmovups of 256 bits
	case b.double:
		return instruction{prefix: 2, table: 2, code: 0x32, memory: 8} // vpmovqb
	}
	return instruction{prefix: 2, table: 2, code: 0x31, memory: 16} // vpmovdb
}

// ahead generates one prefetch for each cache line.
func (b *body) ahead(d *node, u int) {
	if !b.asks || b.masked || u*b.bytes()%line != 0 {
		return
	}
	m := b.place(d, u)
	m.offset += int(d.bits)
	b.prefetch(m)
}

// line is the size of a cache line, in bytes.
const line = 64

// simple maps operations to the opcodes of their SSE/AVX instructions.
var simple = map[opcode]byte{opAdd: 0x58, opMul: 0x59, opSub: 0x5c, opBelow: 0x5d, opDiv: 0x5e, opAbove: 0x5f, opAnd: 0x54, opOr: 0x56, opXor: 0x57}

// operation generates a computation of d into register z.
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
