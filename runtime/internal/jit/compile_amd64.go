package jit

import (
	"maps"
	"slices"
)

// longest is how many instructions the body of the main loop has at most, if it takes several vectors at a time.
const longest = 160

// accumulators is how many accumulators a fold has, as in package simd.
const accumulators = 64

// reserved is the holder of registers that a body may not take.
const reserved = -2

// mostVectors is how many vectors the main loop takes at most at a time.
const mostVectors = 4

// compiler makes the code of a loop.
type compiler struct {
	*Builder
	encoder
	swapped []bool // whether the operands of a node change places
	uses    []int  // how often a node is used
	live    []bool
	slots   int         // how many vectors are kept in memory at most
	held    map[int]int // the first registers of accumulators in the main loop, by number
}

// offsets of the parts of the arguments, in bytes
func (c *compiler) pointer(i int) int { return 8 * (firstPointer + i) }
func (c *compiler) scalar(i int) int  { return 8 * (firstPointer + c.pointers + i) }

// repeated is where the vector of an argument is, for AVX2.
func (c *compiler) repeatedScalar(i int) int { return c.result(c.sums) + 32*i }

// result is where a sum goes, and lanes where its accumulators are.
func (c *compiler) result(i int) int { return c.scalar(c.scalars) + 8*i }

func (c *compiler) lanes(i int) int {
	n := c.result(c.sums)
	if !c.wide {
		n += 32 * c.scalars
	}
	return n + accumulators*c.size()*i
}

func (c *compiler) slot(i int) int { return c.lanes(c.sums) + c.bytes()*i }

// compile returns machine code, the offset of the entry for stores past the caches, how many vectors the main loop takes, and how many words
// arguments have. It returns nil if the loop needs more registers than there are.
func (b *Builder) compile() (code []byte, past, unroll, words int) {
	if b.pointers > len(free) {
		return nil, 0, 0, 0
	}
	c := &compiler{Builder: b, encoder: encoder{zmm: b.wide, element: b.size()}}
	c.analyze()
	anyPast := false
	for _, n := range b.nodes {
		anyPast = anyPast || n.past
	}
	unroll, ok := c.loops(false)
	if !ok {
		return nil, 0, 0, 0
	}
	if anyPast {
		for len(c.code)%16 != 0 {
			c.put(0xcc)
		}
		past = len(c.code)
		c.loops(true)
	}
	words = (c.slot(c.slots) + 7) / 8
	return c.finish(), past, unroll, words
}

// analyze finds what is used, and how.
func (c *compiler) analyze() {
	n := len(c.nodes)
	c.swapped, c.uses, c.live = make([]bool, n), make([]int, n), make([]bool, n)
	for i := n - 1; i >= 0; i-- {
		d := &c.nodes[i]
		if !d.gives() {
			c.live[i] = true
		}
		if !c.live[i] {
			continue
		}
		for _, o := range [3]int32{d.a, d.b, d.c} {
			if o != none {
				c.live[o] = true
				c.uses[o]++
			}
		}
	}
	for i := range c.nodes {
		d := &c.nodes[i]
		switch d.op {
		case opAdd, opMul, opAnd, opOr, opXor, opAddInt:
			c.swapped[i] = c.inMemory(d.a, false) && !c.inMemory(d.b, false)
		}
	}
}

// inMemory reports whether an instruction can take a node from memory.
func (c *compiler) inMemory(i int32, masked bool) bool {
	switch c.nodes[i].op {
	case opConstant, opScalar:
		return true
	case opInput, opLanes:
		return c.uses[i] == 1 && !masked
	}
	return false
}

// operands returns those that a node takes from registers, and the one that may be in memory, or none.
func (c *compiler) operandsOf(i int) (registers [3]int32, last int32) {
	d := &c.nodes[i]
	switch d.op {
	case opSqrt, opRound:
		return [3]int32{none, none, none}, d.a
	case opTruth:
		return [3]int32{d.a, none, none}, d.b
	case opChoose:
		return [3]int32{d.a, d.c, none}, d.b
	case opMulAdd, opMulSubFrom:
		if c.adds(i) {
			return [3]int32{d.c, d.a, none}, d.b
		}
		return [3]int32{d.a, d.b, none}, d.c
	case opUp, opDown, opSigns, opStore, opFold:
		return [3]int32{d.a, none, none}, none
	case opInput, opLanes, opScalar, opConstant:
		return [3]int32{none, none, none}, none
	case opBoth, opEither:
		return [3]int32{d.a, d.b, none}, none
	}
	if c.swapped[i] {
		return [3]int32{d.b, none, none}, d.a
	}
	return [3]int32{d.a, none, none}, d.b
}

// adds reports whether the instruction of a fused product adds to the register of its third operand, and not to that of its first.
func (c *compiler) adds(i int) bool {
	d := &c.nodes[i]
	return !c.inMemory(d.c, false) || c.inMemory(d.b, false)
}

// loops writes the code: a loop over several vectors at a time, one over single vectors, and the rest under a mask.
func (c *compiler) loops(past bool) (unroll int, ok bool) {
	if !c.wide {
		for i := range c.scalars {
			c.vector(c.broadcast(), 0, none, operand{register: none, memory: at(rdi, c.scalar(i))}, 0, false, 0)
			c.vector(c.move(0x11), 0, none, operand{register: none, memory: at(rdi, c.repeatedScalar(i))}, 0, false, 0)
		}
	}
	for i := range c.pointers {
		c.loadWord(free[i], c.pointer(i))
	}
	c.put(0x31, 0xc0) // xor eax, eax
	count := 0
	for i := range c.nodes {
		if c.live[i] {
			count++
		}
	}
	unroll = 1
	done, found := 0, false // a jump from where sums are complete
	for u := mostVectors; u >= 1 && !found; u /= 2 {
		if u > 1 && u*count > longest {
			continue
		}
		unroll, done, found = c.main(u, past)
	}
	if !found {
		if unroll = 1; c.sums > 0 {
			return 0, false
		}
	}
	c.compareWord(8 * singleEnd)
	out := c.jump(atLeast)
	start := len(c.code)
	if !c.body(way{unroll: 1, past: past, spills: true}) {
		return 0, false
	}
	c.addWord(rax, c.bytes())
	c.compareWord(8 * singleEnd)
	c.back(below, start)
	c.land(out)
	c.put(0x48, 0x83, 0x7f, 8*tailCount, 0) // cmp qword [rdi+tailCount], 0
	out = c.jump(equal)
	if c.wide {
		c.shortVector(instruction{table: 1, code: 0x90}, false, 1, 0, operand{register: none, memory: at(rdi, 8*tailMask)})
	} else {
		c.vector(c.move(0x10), 15, none, operand{register: none, memory: at(rdi, 8*tailLanes)}, 0, false, 0)
	}
	if !c.body(way{unroll: 1, masked: true, spills: true}) {
		return 0, false
	}
	c.land(out)
	if c.sums > 0 {
		c.moveSums(0x10)
		c.land(done)
		c.addSums()
	}
	c.put(0xc5, 0xf8, 0x77) // vzeroupper
	c.put(0xc3)             // ret
	return unroll, true
}

// main writes the main loop, in which a body takes u vectors at a time. It returns how many vectors the loop takes at a time, and the jump to what
// follows if sums are complete. It returns false if registers do not suffice, or if the loop over single vectors does as well. Accumulators stay in
// registers.
func (c *compiler) main(u int, past bool) (unroll, done int, ok bool) {
	code, constants, fixes := len(c.code), len(c.constants), len(c.fixes)
	registers := 16
	if c.wide {
		registers = 32
	}
	lanes := map[int]int{} // the first register of accumulators, by number
	vectors := accumulators / c.width()
	for i := range c.nodes {
		if d := &c.nodes[i]; c.live[i] && d.op == opFold {
			if _, ok := lanes[d.at]; !ok {
				registers -= vectors
				lanes[d.at] = registers
			}
		}
	}
	if registers < 6 {
		if c.sums > 0 {
			return 0, 0, false
		}
		lanes = map[int]int{}
	}
	all := u
	if len(lanes) > 0 {
		all = vectors
	} else if u == 1 {
		return 0, 0, false
	}
	c.held = lanes
	c.moveSums(0) // to zeros
	c.compareWord(8 * mainEnd)
	out := c.jump(atLeast)
	move := func(code byte) {
		for _, p := range slices.Sorted(maps.Keys(lanes)) {
			for i := 0; p < firstSum && i < vectors; i++ {
				c.vector(c.move(code), lanes[p]+i, none, operand{register: none, memory: at(free[p], i*c.bytes())}, 0, false, 0)
			}
		}
	}
	move(0x10)
	start := len(c.code)
	for first := 0; first < all; first += u {
		if !c.body(way{unroll: min(u, all), first: first, past: past, lanes: lanes}) {
			c.code, c.constants, c.fixes = c.code[:code], c.constants[:constants], c.fixes[:fixes]
			return 0, 0, false
		}
	}
	c.addWord(rax, all*c.bytes())
	c.compareWord(8 * mainEnd)
	c.back(below, start)
	move(0x11)
	c.land(out)
	if c.sums > 0 {
		c.compareWord(8 * wholeEnd)
		done = c.jump(atLeast)
		c.moveSums(0x11)
	}
	return all, done, true
}

// moveSums moves the accumulators of sums from memory or to it, or sets them to zeros if the opcode is 0.
func (c *compiler) moveSums(code byte) {
	for k := range c.sums {
		for i := range accumulators / c.width() {
			r := c.held[firstSum+k] + i
			if code == 0 {
				c.vector(c.whole(0xef, 0xef), r, r, inRegister(r), 0, false, 0) // exclusive or
				continue
			}
			c.vector(c.move(code), r, none, operand{register: none, memory: at(rdi, c.lanes(k)+i*c.bytes())}, 0, false, 0)
		}
	}
}

// addSums adds the accumulators of each sum in the order of package simd: number i and i+32, then i and i+16, and so on.
func (c *compiler) addSums() {
	for k := range c.sums {
		r := c.held[firstSum+k]
		for n := accumulators / c.width() / 2; n > 0; n /= 2 {
			for i := range n {
				c.vector(c.real(0x58), r+i, r+i, inRegister(r+i+n), 0, false, 0)
			}
		}
		for half := c.bytes() / 2; half >= c.size(); half /= 2 {
			c.upper(r+1, r, half)
			c.vector(c.real(0x58), r, r, inRegister(r+1), 0, false, 0)
		}
		c.storeElement(r, c.result(k))
	}
}

// upper sets the lower elements of a register to those of another one from a number of bytes on.
func (c *compiler) upper(z, x, bytes int) {
	switch {
	case bytes == 32:
		c.vector(instruction{prefix: 1, table: 3, code: 0x1b, wide: true}, x, none, inRegister(z), 0, false, 1) // vextractf64x4
		c.put(1)
	case bytes == 16 && c.wide:
		c.vector(instruction{prefix: 1, table: 3, code: 0x19}, x, none, inRegister(z), 0, false, 1) // vextractf32x4
		c.put(1)
	case bytes == 16:
		c.vector(instruction{prefix: 1, table: 3, code: 0x19}, x, none, inRegister(z), 0, false, 1) // vextractf128
		c.put(1)
	case bytes == 8:
		c.vector(instruction{prefix: 1, table: 1, code: 0x70}, z, none, inRegister(x), 0, false, 1) // vpshufd
		c.put(0xee)
	default:
		c.vector(instruction{prefix: 1, table: 1, code: 0x70}, z, none, inRegister(x), 0, false, 1)
		c.put(0x55)
	}
}

// storeElement writes the first element of a register to the arguments.
func (c *compiler) storeElement(r, offset int) {
	if c.wide { // the mask of one element
		c.put(0xb8, 1, 0, 0, 0) // mov eax, 1
		c.shortVector(instruction{table: 1, code: 0x92}, false, 1, 0, inRegister(rax))
		c.vector(c.move(0x11), r, none, operand{register: none, memory: at(rdi, offset)}, 1, false, 0)
		return
	}
	in := instruction{prefix: 2, table: 1, code: 0x11} // vmovss, vmovsd
	if c.double {
		in.prefix = 3
	}
	c.scalarVector(in, r, operand{register: none, memory: at(rdi, offset)})
}

// real returns an instruction that has a form for each element type.
func (c *compiler) real(code byte) instruction {
	return instruction{prefix: b2(c.double), table: 1, code: code, wide: c.double && c.wide}
}

func (c *compiler) move(code byte) instruction { return c.real(code) }

// whole returns an instruction on integers: its opcode for 32 bits and for 64.
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

// maskedMove returns the AVX2 instruction that moves elements under a mask.
func (c *compiler) maskedMove(code byte) instruction {
	return instruction{prefix: 1, table: 2, code: code + b2(c.double)}
}

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
			return operand{register: none, memory: at(rdi, b.scalar(d.at)), repeated: true}
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
		if u == b.unroll-1 {
			for len(left) > 0 && left[0] <= i {
				left = left[1:]
			}
			b.left[o] = left
		} else {
			for len(left) > 0 && left[0] <= i {
				left = left[1:]
			}
			if op := b.nodes[o].op; op == opConstant || op == opScalar {
				continue
			}
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
