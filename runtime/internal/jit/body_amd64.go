package jit

// way says how a body goes through the nodes.
type way struct {
	unroll, first int         // how many vectors it takes, and how many ones before them the loop has taken already
	masked, past  bool        // whether it takes the elements of the mask only, and stores past the caches
	spills        bool        // whether values may be kept in memory
	lanes         map[int]int // the first registers of accumulators, by number; those of others are in memory
}

// body is the code of one way through the nodes.
type body struct {
	*compiler
	way

	holders [32]int      // what registers hold, or none
	masks   [8]int       // what mask registers hold, or none
	where   map[int]int  // the registers of values
	kept    map[int]int  // the slots of values that are kept in memory
	pinned  map[int]bool // values that the current instruction uses
	left    [][]int32    // the nodes that still use a node from a register
	slotsOf int
}

// value names vector u of a node. Constants and arguments are the same for all vectors.
func (b *body) value(i int32, u int) int {
	if op := b.nodes[i].op; op == opConstant || op == opScalar {
		u = 0
	}
	return int(i)*mostVectors + u
}

// body writes the code for some vectors, and reports whether there are enough registers.
func (c *compiler) body(w way) bool {
	b := &body{compiler: c, way: w, where: map[int]int{}, kept: map[int]int{}, left: make([][]int32, len(c.nodes))}
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
	for i := range c.nodes {
		if !c.live[i] {
			continue
		}
		lanes = lanes || len(w.lanes) == 0 && (c.nodes[i].op == opLanes || c.nodes[i].op == opFold)
		registers, last := c.operandsOf(i)
		for _, o := range registers {
			if o != none {
				b.left[o] = append(b.left[o], int32(i))
			}
		}
		if last != none && !c.inMemory(last, w.masked) {
			b.left[last] = append(b.left[last], int32(i))
		}
	}
	if lanes {
		c.lane(64*c.size() - 1)
	}
	for i := range c.nodes {
		if !c.live[i] {
			continue
		}
		switch c.nodes[i].op {
		case opConstant, opScalar, opInput, opLanes:
			continue // when they are used first
		}
		for u := range w.unroll {
			if !b.emit(int32(i), u) {
				return false
			}
		}
	}
	c.slots = max(c.slots, b.slotsOf)
	return true
}

// register returns the register of a value. It is loaded if it is not there.
func (b *body) register(i int32, u int) int {
	if r, ok := b.way.lanes[b.nodes[i].at]; ok && b.nodes[i].op == opLanes {
		return r + b.first + u
	}
	v := b.value(i, u)
	if r, ok := b.where[v]; ok {
		b.pinned[v] = true
		return r
	}
	r := b.take(v)
	if r == none {
		return none
	}
	b.pinned[v] = true
	if s, ok := b.kept[v]; ok {
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

// memory returns where a node that is in memory lies.
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

// place returns the elements at a pointer.
func (b *body) place(d *node, u int) memory {
	if d.at >= firstSum {
		return memory{base: rdi, index: rdx, offset: b.compiler.lanes(d.at - firstSum), constant: none}
	}
	m := memory{base: free[d.at], index: rax, offset: (b.first + u) * b.bytes(), constant: none}
	if d.op == opLanes || d.op == opFold {
		m.index = rdx
	}
	return m
}

// last returns the operand of an instruction that may be in memory.
func (b *body) last(i int32, u int) (operand, bool) {
	if _, ok := b.way.lanes[b.nodes[i].at]; ok && b.nodes[i].op == opLanes {
		return inRegister(b.register(i, u)), true
	}
	if b.inMemory(i, b.masked) {
		if _, ok := b.where[b.value(i, u)]; !ok {
			return b.memory(i, u), true
		}
	}
	r := b.register(i, u)
	return inRegister(r), r != none
}

// take returns a register for a value.
func (b *body) take(v int) int {
	n := 16
	if b.wide {
		n = 32
	} else if b.masked {
		n = 15
	}
	for r := range n {
		if b.holders[r] == none {
			b.holders[r] = v
			b.where[v] = r
			return r
		}
	}
	if !b.spills {
		return none
	}
	victim, farthest := none, int32(-1)
	for r := range n {
		h := b.holders[r]
		if h == reserved || b.pinned[h] {
			continue
		}
		next := int32(len(b.nodes))
		if left := b.left[h/mostVectors]; len(left) > 0 {
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
	delete(b.where, h)
	if op := b.nodes[h/mostVectors].op; op != opConstant && op != opScalar {
		if _, ok := b.kept[h]; !ok {
			b.kept[h] = b.slotsOf
			b.slotsOf++
			b.vector(b.move(0x11), victim, none, operand{register: none, memory: at(rdi, b.slot(b.kept[h]))}, 0, false, 0)
		}
	}
	b.holders[victim] = v
	b.where[v] = victim
	return victim
}

// takeMask returns a mask register for a value.
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

// release gives back the registers of operands that no later node uses.
func (b *body) release(i int32, u int, operands ...int32) {
	for _, o := range operands {
		if o == none {
			continue
		}
		left := b.left[o]
		for len(left) > 0 && left[0] <= i {
			left = left[1:]
		}
		if u == b.unroll-1 {
			b.left[o] = left
		} else if op := b.nodes[o].op; op == opConstant || op == opScalar {
			continue // the next vector needs it
		}
		if len(left) > 0 {
			continue
		}
		v := b.value(o, u)
		r, ok := b.where[v]
		if !ok {
			continue
		}
		delete(b.where, v)
		if b.inMask(o) {
			b.masks[r] = none
		} else {
			b.holders[r] = none
		}
	}
}

// emit writes the instruction of a node for vector u, and reports whether there are enough registers.
func (b *body) emit(i int32, u int) bool {
	d := &b.nodes[i]
	registers, rest := b.operandsOf(int(i))
	b.pinned = map[int]bool{}
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
		return b.fused(i, u, registers, rest, in, y)
	}
	b.release(i, u, registers[0], registers[1], registers[2], rest)
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
	b.operation(d, z, in, y)
	return true
}

// fused writes an instruction that changes the register of its first operand: that operand's, if nothing else needs it, or a copy.
func (b *body) fused(i int32, u int, registers [3]int32, rest int32, in [3]int, y operand) bool {
	d, z := &b.nodes[i], in[0]
	first := b.value(registers[0], u)
	before := b.holders[z]
	b.release(i, u, registers[0])
	if before == first && b.holders[z] == none {
		b.holders[z] = b.value(i, u)
		b.where[b.value(i, u)] = z
	} else {
		if z = b.take(b.value(i, u)); z == none {
			return false
		}
		b.vector(b.move(0x10), z, none, inRegister(in[0]), 0, false, 0)
	}
	b.release(i, u, registers[1], registers[2], rest)
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

// store writes a store.
func (b *body) store(d *node, r, u int) {
	if z, ok := b.way.lanes[d.at]; ok && d.op == opFold {
		b.vector(b.move(0x10), z+b.first+u, none, inRegister(r), 0, false, 0)
		return
	}
	m := operand{register: none, memory: b.place(d, u)}
	switch {
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

// simple are the opcodes of operations of real numbers.
var simple = map[opcode]byte{opAdd: 0x58, opMul: 0x59, opSub: 0x5c, opBelow: 0x5d, opDiv: 0x5e, opAbove: 0x5f, opAnd: 0x54, opOr: 0x56, opXor: 0x57}

// operation writes an operation.
func (b *body) operation(d *node, z int, in [3]int, y operand) {
	if code, ok := simple[d.op]; ok {
		b.vector(b.real(code), z, in[0], y, 0, false, 0)
		return
	}
	switch d.op {
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
		if b.wide {
			b.vector(instruction{prefix: 2, table: 2, code: 0x39, wide: b.double}, z, none, inRegister(in[0]), 0, false, 0)
		} else {
			b.vector(b.real(0x10), z, none, inRegister(in[0]), 0, false, 0)
		}
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
