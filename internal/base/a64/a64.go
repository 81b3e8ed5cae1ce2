// Package a64 encodes instructions of arm64 processors: those on vectors of 128 bits (NEON), and the few
// others that loops over them take. Go's assembler has no words for most of the former.
package a64

import "math/bits"

// Op is an instruction on vectors, without its registers. Its bits are those for elements of 32 bits, or
// without a size.
type Op uint32

// Instructions of three vectors z, x and y.
const (
	Fadd  Op = 0x4e20d400
	Fsub  Op = 0x4ea0d400
	Fmul  Op = 0x6e20dc00
	Fdiv  Op = 0x6e20fc00
	Fmax  Op = 0x4e20f400
	Fmin  Op = 0x4ea0f400
	Fmla  Op = 0x4e20cc00 // z += x*y, rounded once
	Fmls  Op = 0x4ea0cc00 // z -= x*y, rounded once
	Fcmeq Op = 0x4e20e400
	Fcmge Op = 0x6e20e400
	Fcmgt Op = 0x6ea0e400
	And   Op = 0x4e201c00
	Orr   Op = 0x4ea01c00
	Eor   Op = 0x6e201c00
	Bic   Op = 0x4e601c00 // x and not y
	Bsl   Op = 0x6e601c00 // x where z has ones, otherwise y
	Bit   Op = 0x6ea01c00 // x where y has ones, otherwise z
	Bif   Op = 0x6ee01c00 // x where y has none, otherwise z
	Add   Op = 0x4ea08400
	Sub   Op = 0x6ea08400
)

// Instructions of two vectors z and x.
const (
	Fneg   Op = 0x6ea0f800
	Fabs   Op = 0x4ea0f800
	Fsqrt  Op = 0x6ea1f800
	Frintn Op = 0x4e218800 // to the nearest integer, the even one of two
	Frintm Op = 0x4e219800 // down
	Frintp Op = 0x4ea18800 // up
	Not    Op = 0x6e205800
	Cmlt   Op = 0x4ea0a800 // ones where the sign bit is set
)

// bitwise instructions know no size of elements.
func (op Op) bitwise() bool {
	switch op {
	case And, Orr, Eor, Bic, Bsl, Bit, Bif, Not:
		return true
	}
	return false
}

// Three encodes an instruction of three vectors, on elements of 64 bits (double) or 32.
func Three(op Op, double bool, z, x, y int) uint32 {
	return Two(op, double, z, x) | uint32(y)<<16
}

// Two encodes an instruction of two vectors.
func Two(op Op, double bool, z, x int) uint32 {
	w := uint32(op) | uint32(x)<<5 | uint32(z)
	if double && !op.bitwise() {
		w |= 1 << 22
	}
	return w
}

// MulAddElement encodes z += x*y[element], rounded once: one element of y is multiplied by all of x.
func MulAddElement(double bool, z, x, y, element int) uint32 {
	if double {
		return 0x4fc01000 | uint32(element)<<11 | uint32(y)<<16 | uint32(x)<<5 | uint32(z)
	}
	return 0x4f801000 | uint32(element&1)<<21 | uint32(element>>1)<<11 | uint32(y)<<16 | uint32(x)<<5 | uint32(z)
}

// Up and Down encode shifts of elements by n bits, left and right; n is at least 1.
func Up(double bool, z, x, n int) uint32 {
	return 0x4f005400 | uint32(width(double)+n)<<16 | uint32(x)<<5 | uint32(z)
}

func Down(double bool, z, x, n int) uint32 {
	return 0x6f000400 | uint32(2*width(double)-n)<<16 | uint32(x)<<5 | uint32(z)
}

func width(double bool) int {
	if double {
		return 64
	}
	return 32
}

// Repeat encodes z = x[0] in all elements.
func Repeat(double bool, z, x int) uint32 {
	if double {
		return 0x4e080400 | uint32(x)<<5 | uint32(z)
	}
	return 0x4e040400 | uint32(x)<<5 | uint32(z)
}

// Ext encodes z = the bytes from n on of x, followed by the first n of y.
func Ext(z, x, y, n int) uint32 {
	return 0x6e000000 | uint32(y)<<16 | uint32(n)<<11 | uint32(x)<<5 | uint32(z)
}

// Move encodes z = x.
func Move(z, x int) uint32 { return Three(Orr, false, z, x, x) }

// Zero encodes z = 0.
func Zero(z int) uint32 { return 0x6f00e400 | uint32(z) }

// Size is how many bytes a load or a store of a vector register moves.
type Size int

// Sizes. Loads of less than a vector set the rest of the register to 0.
const (
	Single Size = 4
	Double Size = 8
	Vector Size = 16
)

// sized returns the bits of a size in loads and stores.
func (s Size) sized() uint32 {
	switch s {
	case Single:
		return 2 << 30
	case Double:
		return 3 << 30
	}
	return 1 << 23
}

// Load encodes a load of vector register v from base + offset, a multiple of the size below 4096 times it;
// Store stores it.
func Load(s Size, v, base, offset int) uint32 {
	return 0x3d400000 | s.sized() | uint32(offset/int(s))<<10 | uint32(base)<<5 | uint32(v)
}

func Store(s Size, v, base, offset int) uint32 { return Load(s, v, base, offset) &^ (1 << 22) }

// LoadAt encodes a load of vector register v from base + index, in bytes; StoreAt stores it.
func LoadAt(s Size, v, base, index int) uint32 {
	return 0x3c606800 | s.sized() | uint32(index)<<16 | uint32(base)<<5 | uint32(v)
}

func StoreAt(s Size, v, base, index int) uint32 { return LoadAt(s, v, base, index) &^ (1 << 22) }

// LoadRepeat encodes a load of one element at base into all elements of vector register v.
func LoadRepeat(double bool, v, base int) uint32 {
	if double {
		return 0x4d40cc00 | uint32(base)<<5 | uint32(v)
	}
	return 0x4d40c800 | uint32(base)<<5 | uint32(v)
}

// LoadNear encodes a load of vector register v from a distance in bytes behind the instruction.
func LoadNear(v, distance int) uint32 { return 0x9c000000 | Distance(distance) | uint32(v) }

// Distance returns the bits of a distance in bytes, a multiple of 4, in jumps and in LoadNear.
func Distance(bytes int) uint32 { return uint32(bytes/4) & (1<<19 - 1) << 5 }

// LoadWord encodes a load of general register r from base + offset, a multiple of 8 below 8*4096.
func LoadWord(r, base, offset int) uint32 {
	return 0xf9400000 | uint32(offset/8)<<10 | uint32(base)<<5 | uint32(r)
}

// StoreWord encodes the store.
func StoreWord(r, base, offset int) uint32 { return LoadWord(r, base, offset) &^ (1 << 22) }

// AddNumber encodes z = x + n, for n below 4096, and AddPages z = x + 4096*n.
func AddNumber(z, x, n int) uint32 { return 0x91000000 | uint32(n)<<10 | uint32(x)<<5 | uint32(z) }
func AddPages(z, x, n int) uint32  { return AddNumber(z, x, n) | 1<<22 }

// AddWord encodes z = x + y, and SetWord z = n, for n below 65536.
func AddWord(z, x, y int) uint32 { return 0x8b000000 | uint32(y)<<16 | uint32(x)<<5 | uint32(z) }
func SetWord(z, n int) uint32    { return 0xd2800000 | uint32(n)<<5 | uint32(z) }

// Decrement encodes z = x - 1, and sets the condition of jumps.
func Decrement(z, x int) uint32 { return 0xf1000400 | uint32(x)<<5 | uint32(z) }

// AndOnes encodes z = x & ones, which is below a power of 2.
func AndOnes(z, x, ones int) uint32 {
	return 0x92400000 | uint32(bits.Len(uint(ones))-1)<<10 | uint32(x)<<5 | uint32(z)
}

// Compare encodes a comparison of general registers.
func Compare(x, y int) uint32 { return 0xeb00001f | uint32(y)<<16 | uint32(x)<<5 }

// Condition is a condition of a jump: how what was compared stands, as numbers without a sign.
type Condition uint32

// Conditions.
const (
	NotEqual Condition = 1
	AtLeast  Condition = 2
	Below    Condition = 3
)

// Jump encodes a jump on a condition to a distance in bytes behind the instruction.
func Jump(c Condition, distance int) uint32 { return 0x54000000 | Distance(distance) | uint32(c) }

// Return encodes a return to the caller.
func Return() uint32 { return 0xd65f03c0 }

// Prefetch encodes a request for the memory at base in the second cache.
func Prefetch(base int) uint32 { return 0xf9800002 | uint32(base)<<5 }
