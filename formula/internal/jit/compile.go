//go:build amd64 || arm64

package jit

import (
	"maps"
	"slices"
)

// longest is the maximum number of instructions of an unrolled main loop. longestNarrow is that for AVX2,
// where values may be spilled.
const longest, longestNarrow = 160, 320

// mostAsking is the maximum number of instructions per vector of a loop that prefetches. A longer loop is
// bound by computation: prefetches made it 10 % slower.
const mostAsking = 14

// accumulators is the number of accumulators of a fold or a sum, as in package simd.
const accumulators = 64

// reserved marks registers of accumulators, which a body may not allocate.
const reserved = -2

// mostVectors is the maximum unroll factor of the main loop.
const mostVectors = 4

// transfer is a way to set a vector register or to store it.
type transfer uint8

const (
	clearing transfer = iota // the register becomes 0
	loading                  // from memory
	storing                  // to memory
)

// compiler generates the machine code of a loop. The processor's files have its instructions.
type compiler struct {
	*Builder
	encoder
	swapped []bool // by node: whether its operands are exchanged
	uses    []int  // by node: how many nodes use it
	live    []bool
	slots   int         // number of spill slots
	held    map[int]int // number of the main loop's accumulators -> their first register
	asks    bool        // whether the loop prefetches
}

// pointer and stride return byte offsets in the argument block.
func (c *compiler) pointer(i int) int { return 8 * (firstPointer + i) }
func (c *compiler) stride(i int) int  { return 8 * (firstPointer + c.pointers + i) }

// align rounds n up to a multiple of the vector size.
func (c *compiler) align(n int) int { return (n + c.bytes() - 1) &^ (c.bytes() - 1) }

// lanes returns the byte offset of the accumulators of sum i in the argument block.
func (c *compiler) lanes(i int) int {
	return c.align(c.stride(c.pointers)) + c.copies() + accumulators*c.size()*i
}

// row returns the size of a row's scalars and sums in bytes. rows returns the byte offset of the first row's
// in the argument block.
func (c *compiler) row() int  { return c.size() * (c.scalars + c.sums) }
func (c *compiler) rows() int { return c.lanes(c.sums) }

func (c *compiler) slot(i int) int { return c.align(c.rows()+MostRows*c.row()) + c.bytes()*i }

// compile generates machine code. past is the offset of the entry whose stores are non-temporal, or 0. unroll
// is the number of vectors in an iteration of the main loop. words is the size of the argument block. rows is
// the word offset of the first row's scalars. code is nil if registers do not suffice.
func (b *Builder) compile() (code []byte, past, unroll, words, rows int) {
	most := len(free)
	if b.mixed {
		most-- // mixed loops reserve the last register
	}
	if b.pointers > most {
		return nil, 0, 0, 0, 0
	}
	c := &compiler{Builder: b, encoder: newEncoder(b)}
	c.analyze()
	anyPast := false
	for _, n := range b.nodes {
		anyPast = anyPast || n.past && passes
	}
	unroll, ok := c.loops(false)
	if !ok {
		return nil, 0, 0, 0, 0
	}
	if anyPast {
		c.pad(16)
		past = len(c.code)
		c.loops(true)
	}
	words = (c.slot(c.slots) + 7) / 8
	return c.finish(), past, unroll, words, c.rows() / 8
}

// analyze computes which nodes are live and how many nodes use each. It exchanges the operands of a
// commutative operation if only the first one can be a memory operand, which must be the last.
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
		for _, o := range d.operands() {
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

// inMemory reports whether node i can be a memory operand of an instruction.
func (c *compiler) inMemory(i int32, masked bool) bool {
	if !takesMemory {
		return false
	}
	switch c.nodes[i].op {
	case opConstant, opScalar:
		return true
	case opInput, opLanes:
		return c.uses[i] == 1 && !masked
	}
	return false
}

// operandsOf returns the operands that node i needs in registers, and the operand that may be in memory. none
// stands for an absent operand.
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
	case opUp, opDown, opSigns, opStore, opFold, opNarrow:
		return [3]int32{d.a, none, none}, none
	case opInput, opLanes, opScalar, opConstant, opAhead, opLoad:
		return [3]int32{none, none, none}, none
	case opBoth, opEither:
		return [3]int32{d.a, d.b, none}, none
	}
	if c.swapped[i] {
		return [3]int32{d.b, none, none}, d.a
	}
	return [3]int32{d.a, none, none}, d.b
}

// adds reports whether the FMA of node i overwrites its addend, and not its first factor.
func (c *compiler) adds(i int) bool {
	d := &c.nodes[i]
	return !c.inMemory(d.c, false) || c.inMemory(d.b, false)
}

// loops generates the loop nest: for each row an unrolled main loop, a loop over single vectors, and the
// remainder. It returns the number of vectors in an iteration of the main loop, or false if registers do not
// suffice.
func (c *compiler) loops(past bool) (unroll int, ok bool) {
	for i := range c.pointers {
		c.loadWord(free[i], c.pointer(i))
	}
	c.addressOf(rowAt, c.rows())
	row := len(c.code)
	c.beginRow()
	count := 0
	for i := range c.nodes {
		if op := c.nodes[i].op; c.live[i] && op != opConstant && op != opScalar && op != opAhead { // the excluded ones are mostly memory operands
			count++
		}
	}
	c.asks = count <= mostAsking
	unroll = 1
	done, found := 0, false // a jump from the end of the main loop if no remainder is left
	for _, t := range c.ways(count) {
		if unroll, done, found = c.main(t, past); found {
			break
		}
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
	c.addWord(elementAt, c.bytes())
	c.compareWord(8 * singleEnd)
	c.back(below, start)
	c.land(out)
	if !c.remainder(past) {
		return 0, false
	}
	if c.sums > 0 {
		c.moveSums(loading)
		c.land(done)
		c.addSums()
	}
	for i := range c.pointers {
		c.addFrom(free[i], c.stride(i))
	}
	c.addWord(rowAt, c.row())
	c.decrement(8 * rowsLeft)
	c.back(notEqual, row)
	c.leave()
	return unroll, true
}

// ways returns candidates for the main loop's body, the best first. count is the number of instructions per
// vector.
func (c *compiler) ways(count int) (out []way) {
	folds := false
	for i := range c.nodes {
		folds = folds || c.live[i] && c.nodes[i].op == opFold
	}
	for u := mostVectors; u >= 1; u /= 2 {
		switch {
		case c.wide && (u == 1 || u*count <= longest):
			out = append(out, way{unroll: u, holds: true})
		case c.wide || u > 1 && u*count > longestNarrow:
		case folds:
			out = append(out, way{unroll: u, holds: true}, way{unroll: u, spills: true})
		case u > 1:
			out = append(out, way{unroll: u, spills: true})
		}
	}
	return out
}

// main generates the main loop. It returns the number of vectors in an iteration. If there are sums, it also
// returns the jump that rows without a remainder take. It generates nothing and returns false if registers do
// not suffice, or if the loop over single vectors is as good. Accumulators stay in registers if w.holds, and
// otherwise are at constant offsets in memory.
func (c *compiler) main(w way, past bool) (unroll, done int, ok bool) {
	code, constants, fixes := len(c.code), len(c.constants), len(c.fixes)
	registers := c.vectors()
	lanes := map[int]int{} // accumulators, by number -> their first register
	vectors := accumulators / c.width()
	for i := range c.nodes {
		if d := &c.nodes[i]; c.live[i] && d.op == opFold {
			if _, ok := lanes[d.at]; !ok {
				registers -= vectors
				lanes[d.at] = registers
			}
		}
	}
	all := w.unroll
	switch {
	case len(lanes) == 0 && w.unroll == 1:
		return 0, 0, false
	case len(lanes) == 0:
	case !w.holds:
		all, lanes, w.still = vectors, map[int]int{}, true
	case registers >= 6:
		all = vectors
	case c.sums > 0 || !c.wide:
		return 0, 0, false
	case w.unroll == 1:
		return 0, 0, false
	default:
		lanes = map[int]int{}
	}
	c.held = lanes
	c.moveSums(clearing)
	c.compareWord(8 * mainEnd)
	out := c.jump(atLeast)
	move := func(way transfer) {
		for _, p := range slices.Sorted(maps.Keys(lanes)) {
			for i := 0; p < firstSum && i < vectors; i++ {
				c.transfer(way, lanes[p]+i, at(free[p], i*c.bytes()))
			}
		}
	}
	move(loading)
	start := len(c.code)
	w.unroll, w.past, w.lanes = min(w.unroll, all), past, lanes
	for ; w.first < all; w.first += w.unroll {
		if !c.body(w) {
			c.code, c.constants, c.fixes = c.code[:code], c.constants[:constants], c.fixes[:fixes]
			return 0, 0, false
		}
	}
	c.addWord(elementAt, all*c.bytes())
	c.compareWord(8 * mainEnd)
	c.back(below, start)
	move(storing)
	c.land(out)
	if c.sums > 0 {
		c.compareWord(8 * wholeEnd)
		done = c.jump(atLeast)
		c.moveSums(storing)
	}
	return all, done, true
}

// constant returns the number of the constant with these bits, and adds it if it is new.
func (e *encoder) constant(bits uint64) int {
	for i, c := range e.constants {
		if c == bits {
			return i
		}
	}
	e.constants = append(e.constants, bits)
	return len(e.constants) - 1
}
