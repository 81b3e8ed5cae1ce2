//go:build amd64 || arm64

package jit

import "slices"

// way says how one copy of a loop's body is generated.
type way struct {
	unroll, first int         // vectors of the body, and vectors of earlier copies in the same iteration
	masked, past  bool        // whether it computes the remainder of a row, and whether it uses non-temporal stores
	spills        bool        // whether values may be spilled
	holds         bool        // whether accumulators stay in registers
	lanes         map[int]int // number of accumulators -> their first register; accumulators that are not in the map are in memory
	still         bool        // whether accumulators are at constant offsets of the argument block
}

// body generates one copy of a loop's body, and allocates its registers.
type body struct {
	*compiler
	way

	holders [32]int // by register: the value in it, reserved, or none
	masks   [8]int  // by mask register: the value in it, or none
	where   []int   // by value: its register or none
	kept    []int   // by value: its spill slot or none
	pinned  []int   // operands of the current instruction, which are not evicted
	steps   []step
	left    [][]int32 // by value: the steps from now on that read it from a register
	slotsOf int
	now     int32 // index of the current step
}

// value returns the number of the value that is vector u of node i's result. A constant or an argument is the
// same vector for all u.
func (b *body) value(i int32, u int) int {
	if op := b.nodes[i].op; op == opConstant || op == opScalar {
		u = 0
	}
	return int(i)*mostVectors + u
}

// body generates one copy of the loop's body. It returns false if registers do not suffice.
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
	c.beginBody(b)
	for at, s := range b.steps {
		if !b.emit(s.node, s.u, int32(at)) {
			return false
		}
	}
	c.slots = max(c.slots, b.slotsOf)
	return true
}

// uses records that step at reads vector u of node i from a register.
func (b *body) uses(i int32, u, at int) {
	if i != none {
		v := b.value(i, u)
		b.left[v] = append(b.left[v], int32(at))
	}
}

// register returns the register of vector u of node i, and loads the value if no register holds it. It
// returns none if no register is available.
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
		b.transfer(loading, r, at(block, b.slot(s)))
		return r
	}
	b.fetch(i, u, r)
	return r
}

// place returns the address of vector u of the elements or accumulators that a node loads or stores.
func (b *body) place(d *node, u int) memory {
	m := memory{base: block, index: elementAt, offset: (b.first + u) * b.bytes(), constant: none}
	if d.at >= firstSum {
		m.offset += b.compiler.lanes(d.at - firstSum)
	} else {
		m.base = free[d.at]
	}
	b.ofKind(d, u, &m)
	if d.op == opLanes || d.op == opFold {
		if m.index = laneAt; b.still {
			m.index = none
		}
	}
	return m
}

// last returns the last operand of an instruction, which may be in memory. It returns false if it needs a
// register and none is available.
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
	if takesMemory && b.kept[v] != none && b.where[v] == none && len(b.left[v]) == 1 {
		return operand{register: none, memory: at(block, b.slot(b.kept[v]))}, true
	}
	r := b.register(i, u)
	return inRegister(r), r != none
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
			b.transfer(storing, victim, at(block, b.slot(b.kept[h])))
		}
	}
	b.holders[victim] = v
	b.where[v] = victim
	return victim
}

// again reports whether value v can be loaded again, until its last use, instead of being spilled: a
// constant, an argument, or an input that no store before that use may change.
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

// takeMask allocates a mask register for a value. It returns none if all are in use.
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

// release frees the registers of operands whose last use is step at.
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

// emit generates step at: the instruction of node i for vector u. It returns false if registers do not
// suffice.
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

// fused generates an FMA, which overwrites its first operand. The operand is copied first if a later step
// uses it. fused returns false if registers do not suffice.
func (b *body) fused(i int32, u int, at int32, registers [3]int32, rest int32, in [3]int, y operand) bool {
	z := in[0]
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
		b.copy(z, in[0])
	}
	b.release(at, u, registers[1], registers[2], rest)
	b.mulAdd(int(i), z, in[1], y)
	return true
}

// ahead generates a prefetch if vector u begins a cache line.
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
