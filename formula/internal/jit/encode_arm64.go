package jit

import (
	"encoding/binary"

	"github.com/opgen/opgen/internal/base/a64"
)

// Numbers of the general registers. Go reserves 18 and those from 27 on.
const (
	block     = 0 // argument block
	rowAt     = 1 // scalars and sums of the current row
	elementAt = 2 // byte offset of the current element
	laneAt    = 3 // byte offset of the current accumulator
	address   = 16
	other     = 17 // temporary, as address
	firstAt   = 19 // byte offsets of up to four vectors of a body
)

// free lists the general registers for pointers.
var free = []int{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 23, 24, 25, 26}

// encoder assembles machine code.
type encoder struct {
	code   []byte
	double bool
	// constants are placed behind the code. fixes are the loads that refer to them.
	constants []uint64
	fixes     []fix
}

// fix is the offset of a load whose address must become that of a constant.
type fix struct{ at, constant int }

func newEncoder(b *Builder) encoder { return encoder{double: b.double} }

func (e *encoder) put(words ...uint32) {
	for _, w := range words {
		e.code = binary.LittleEndian.AppendUint32(e.code, w)
	}
}

// pad appends undefined instructions until the size of the code is a multiple of n.
func (e *encoder) pad(n int) {
	for len(e.code)%n != 0 {
		e.put(0)
	}
}

// reach returns a base register and an offset of the same address that an instruction on units of unit bytes
// can encode. It computes the address in a temporary register if the offset is too large.
func (e *encoder) reach(base, offset, unit int) (int, int) {
	if offset%unit == 0 && offset/unit < 1<<12 {
		return base, offset
	}
	e.put(a64.AddNumber(address, base, offset&0xfff), a64.AddPages(address, address, offset>>12))
	return address, 0
}

// loadWord loads a word of the argument block into a general register.
func (e *encoder) loadWord(r, offset int) {
	base, offset := e.reach(block, offset, 8)
	e.put(a64.LoadWord(r, base, offset))
}

// addFrom adds a word of the argument block to a general register.
func (e *encoder) addFrom(r, offset int) {
	e.loadWord(other, offset)
	e.put(a64.AddWord(r, r, other))
}

// addressOf sets a general register to an address in the argument block.
func (e *encoder) addressOf(r, offset int) {
	e.put(a64.AddNumber(r, block, offset&0xfff), a64.AddPages(r, r, offset>>12))
}

// decrement subtracts 1 from a word of the argument block.
func (e *encoder) decrement(offset int) {
	e.put(a64.LoadWord(other, block, offset), a64.Decrement(other, other), a64.StoreWord(other, block, offset))
}

// addWord adds v, which is below 2^24, to a general register.
func (e *encoder) addWord(r, v int) {
	if v>>12 != 0 {
		e.put(a64.AddPages(r, r, v>>12))
	}
	e.put(a64.AddNumber(r, r, v&0xfff))
}

// lane sets laneAt to elementAt & v. v+1 is a power of 2.
func (e *encoder) lane(v int) { e.put(a64.AndOnes(laneAt, elementAt, v)) }

// compareWord compares elementAt with a word of the argument block.
func (e *encoder) compareWord(offset int) {
	e.loadWord(other, offset)
	e.put(a64.Compare(elementAt, other))
}

// Conditions of jumps, for unsigned comparisons.
const (
	notEqual = a64.NotEqual
	atLeast  = a64.AtLeast
	below    = a64.Below
)

// jump assembles a forward jump. land sets its target, by the offset that jump returns.
func (e *encoder) jump(condition a64.Condition) int {
	e.put(a64.Jump(condition, 0))
	return len(e.code) - 4
}

// patch sets the distance, in bytes, of the jump or load at an offset. The instruction encodes it in words
// from bit 5 on.
func (e *encoder) patch(at, distance int) {
	w := binary.LittleEndian.Uint32(e.code[at:])
	binary.LittleEndian.PutUint32(e.code[at:], w|a64.Distance(distance))
}

// land makes the current end of the code the target of a forward jump.
func (e *encoder) land(jump int) { e.patch(jump, len(e.code)-jump) }

// back assembles a conditional jump to an earlier offset of the code.
func (e *encoder) back(condition a64.Condition, to int) { e.put(a64.Jump(condition, to-len(e.code))) }

// finish appends the constants, each repeated to a vector, sets the addresses of the loads that refer to
// them, and returns the code.
func (e *encoder) finish() []byte {
	e.pad(16)
	start := len(e.code)
	for _, c := range e.constants {
		if !e.double {
			c = c<<32 | c
		}
		e.put(uint32(c), uint32(c>>32), uint32(c), uint32(c>>32))
	}
	for _, f := range e.fixes {
		e.patch(f.at, start+16*f.constant-f.at)
	}
	return e.code
}
