package jit

import "encoding/binary"

// Numbers of the general registers. Go reserves r14; 4 and 5 are the stack and frame pointers.
const (
	rax = 0 // byte offset of the current element
	rcx = 1
	rdx = 2 // byte offset of the current accumulator
	rbx = 3
	rsi = 6 // scalars and sums of the current row
	rdi = 7 // argument block

	elementAt, laneAt, rowAt, block = rax, rdx, rsi, rdi

	number = 15 // index of the current element, if elements of several kinds are loaded or stored
)

// free lists the general registers for pointers.
var free = []int{rcx, rbx, 8, 9, 10, 11, 12, 13, 15}

// instruction is the encoding of an instruction without its operands.
type instruction struct {
	prefix, table, code byte // mandatory prefix and opcode map, as VEX and EVEX number them, and the opcode
	wide                bool // the W bit
	element             bool // whether a memory operand is one element, and not a vector
	memory              int  // size of a memory operand in bytes, or 0 for a vector or an element
	half                bool // whether it uses half-length registers
}

// encoder assembles machine code.
type encoder struct {
	code    []byte
	zmm     bool // AVX-512 encoding
	element int  // size of an element in bytes
	// constants are placed behind the code. fixes are the displacements that refer to them.
	constants []uint64
	fixes     []fix
}

// fix is a RIP-relative displacement at offset at of the code, which must refer to a constant. after is the
// number of bytes of the instruction behind the displacement.
type fix struct{ at, after, constant int }

func newEncoder(b *Builder) encoder { return encoder{zmm: b.wide, element: b.size()} }

// pad appends traps until the size of the code is a multiple of n.
func (e *encoder) pad(n int) {
	for len(e.code)%n != 0 {
		e.put(0xcc)
	}
}

func (e *encoder) put(b ...byte) { e.code = append(e.code, b...) }

func (e *encoder) word(v int) { e.code = binary.LittleEndian.AppendUint32(e.code, uint32(int32(v))) }

func bit(v, n int) byte { return byte(v>>n) & 1 }

// vector assembles a VEX or EVEX instruction z = op(x, y). y may be in memory. x is none if the instruction
// has one source. mask is a mask register, or 0; zero selects zero-masking. after is the number of immediate
// bytes that follow.
func (e *encoder) vector(in instruction, z, x int, y operand, mask int, zero bool, after int) {
	if x == none {
		x = 0
	}
	r, b, i, i4 := z, y.register, 0, 0
	if y.register == none {
		b, i = max(y.base, 0), max(y.index, 0)
	} else {
		i4 = int(bit(b, 4))
	}
	if !e.zmm {
		e.put(0xc4, (^bit(r, 3)&1)<<7|(^bit(i, 3)&1)<<6|(^bit(b, 3)&1)<<5|in.table, b2(in.wide)<<7|byte(^x&15)<<3|1<<2|in.prefix, in.code)
		e.operand(r, y, 0, after)
		return
	}
	xbit, length := bit(i, 3), byte(2)
	if in.half {
		length = 1
	}
	if y.register != none {
		xbit = byte(i4)
	}
	e.put(0x62,
		(^bit(r, 3)&1)<<7|(^xbit&1)<<6|(^bit(b, 3)&1)<<5|(^bit(r, 4)&1)<<4|in.table,
		b2(in.wide)<<7|byte(^x&15)<<3|1<<2|in.prefix,
		b2(zero)<<7|length<<5|b2(y.repeated)<<4|(^bit(x, 4)&1)<<3|byte(mask),
		in.code)
	unit := 64
	switch {
	case in.memory > 0:
		unit = in.memory
	case y.repeated || in.element:
		unit = e.element
	}
	e.operand(r, y, unit, after)
}

// shortVector assembles a VEX instruction even where AVX-512 is used, such as one on mask registers. long is
// its L bit.
func (e *encoder) shortVector(in instruction, long bool, z, x int, y operand) {
	b := y.register
	if b == none {
		b = y.base
	}
	e.put(0xc4, (^bit(z, 3)&1)<<7|1<<6|(^bit(b, 3)&1)<<5|in.table, b2(in.wide)<<7|byte(^x&15)<<3|b2(long)<<2|in.prefix, in.code)
	e.operand(z, y, 0, 0)
}

// scalarVector assembles a VEX move of one element between register r and memory.
func (e *encoder) scalarVector(in instruction, r int, y operand) {
	e.put(0xc4, (^bit(r, 3)&1)<<7|1<<6|(^bit(y.base, 3)&1)<<5|in.table, 15<<3|in.prefix, in.code)
	e.operand(r, y, 0, 0)
}

func b2(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// operand assembles ModRM, SIB and displacement for register r and operand y. An 8-bit displacement is scaled
// by unit (EVEX disp8*N), unless unit is 0. after is the number of immediate bytes that follow.
func (e *encoder) operand(r int, y operand, unit, after int) {
	reg := byte(r&7) << 3
	if y.register != none {
		e.put(0xc0 | reg | byte(y.register&7))
		return
	}
	if y.constant != none {
		e.put(reg | 5)
		e.fixes = append(e.fixes, fix{len(e.code), after, y.constant})
		e.word(0)
		return
	}
	base := byte(y.base & 7)
	unit = max(unit, 1)
	short := y.offset%unit == 0 && y.offset/unit >= -128 && y.offset/unit <= 127
	mode, rm := byte(2), base
	switch {
	case y.offset == 0 && base != 5:
		mode = 0
	case short:
		mode = 1
	}
	if y.index != none || base == 4 {
		rm = 4
	}
	e.put(mode<<6 | reg | rm)
	if rm == 4 {
		index := byte(4) // no index
		if y.index != none {
			index = byte(y.index & 7)
		}
		e.put(y.scale<<6 | index<<3 | base)
	}
	switch mode {
	case 1:
		e.put(byte(int8(y.offset / unit)))
	case 2:
		e.word(y.offset)
	}
}

// loadWord loads a word of the argument block into a general register.
func (e *encoder) loadWord(r, offset int) {
	e.put(0x48|bit(r, 3)<<2, 0x8b)
	e.operand(r&7, operand{register: none, memory: at(rdi, offset)}, 0, 0)
}

// addFrom adds a word of the argument block to a general register.
func (e *encoder) addFrom(r, offset int) {
	e.put(0x48|bit(r, 3)<<2, 0x03)
	e.operand(r&7, operand{register: none, memory: at(rdi, offset)}, 0, 0)
}

// addressOf sets a general register below 8 to an address in the argument block.
func (e *encoder) addressOf(r, offset int) {
	e.put(0x48, 0x8d)
	e.operand(r, operand{register: none, memory: at(rdi, offset)}, 0, 0)
}

// decrement subtracts 1 from a word of the argument block.
func (e *encoder) decrement(offset int) {
	e.put(0x48, 0xff)
	e.operand(1, operand{register: none, memory: at(rdi, offset)}, 0, 0)
}

// addWord adds an immediate to a general register below 8.
func (e *encoder) addWord(r, v int) {
	e.put(0x48, 0x81, 0xc0|byte(r))
	e.word(v)
}

// prefetch assembles a prefetch into L2. The index register must be below 8.
func (e *encoder) prefetch(m memory) {
	if m.base >= 8 {
		e.put(0x41)
	}
	e.put(0x0f, 0x18) // prefetcht1
	e.operand(2, operand{register: none, memory: m}, 0, 0)
}

// lane sets laneAt to elementAt & v.
func (e *encoder) lane(v int) {
	e.put(0x89, 0xc2) // mov edx, eax
	e.put(0x81, 0xe2) // and edx, v
	e.word(v)
}

// numberOf sets register number to elementAt >> n, the index of the current element.
func (e *encoder) numberOf(n int) {
	e.put(0x49, 0x89, 0xc7)          // mov r15, rax
	e.put(0x49, 0xc1, 0xef, byte(n)) // shr r15, n
}

// compareWord compares elementAt with a word of the argument block.
func (e *encoder) compareWord(offset int) {
	e.put(0x48, 0x3b)
	e.operand(rax, operand{register: none, memory: at(rdi, offset)}, 0, 0)
}

// Condition codes of jumps, for unsigned comparisons.
const (
	below    = 0x82
	atLeast  = 0x83
	equal    = 0x84
	notEqual = 0x85
)

// jump assembles a forward jump. land sets its target, by the offset that jump returns.
func (e *encoder) jump(condition byte) int {
	e.put(0x0f, condition)
	e.word(0)
	return len(e.code) - 4
}

// land makes the current end of the code the target of a forward jump.
func (e *encoder) land(jump int) {
	binary.LittleEndian.PutUint32(e.code[jump:], uint32(int32(len(e.code)-jump-4)))
}

// back assembles a conditional jump to an earlier offset of the code.
func (e *encoder) back(condition byte, to int) {
	j := e.jump(condition)
	binary.LittleEndian.PutUint32(e.code[j:], uint32(int32(to-len(e.code))))
}

// finish appends the constants, sets the displacements that refer to them, and returns the code. For AVX2,
// each constant is repeated to a vector.
func (e *encoder) finish() []byte {
	e.pad(64)
	start, step := len(e.code), 8
	if !e.zmm {
		step = 32
	}
	for _, c := range e.constants {
		for n := 0; n < step; n += e.element {
			if e.element == 8 {
				e.code = binary.LittleEndian.AppendUint64(e.code, c)
			} else {
				e.word(int(int32(uint32(c))))
			}
		}
	}
	for _, f := range e.fixes {
		binary.LittleEndian.PutUint32(e.code[f.at:], uint32(int32(start+f.constant*step-(f.at+4+f.after))))
	}
	return e.code
}
