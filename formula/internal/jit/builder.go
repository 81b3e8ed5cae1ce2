// Package jit compiles loops over vectors to machine code while the program runs.
//
// A loop computes values from elements of slices that are at the same place, in the order in which a Builder
// is told: loads, operations and stores. Operations are those of package simd, rounded one by one, so results
// have the bits that its strips have. Values stay in registers.
//
// Code is made on amd64 with Linux, for AVX-512 and for AVX2. Elsewhere, and where the system does not allow
// memory that holds code, Compile returns nil, and the caller goes on with strips.
package jit

import "math"

// Value is a vector of a loop: one element for each of as many places as a register holds.
type Value int32

// Mask says for each element of a vector whether a condition holds.
type Mask int32

// none is in place of an operand that an operation does not have.
const none = -1

// opcode is what a node does.
type opcode uint8

const (
	opInput    opcode = iota // the elements at a pointer
	opLanes                  // the accumulators of a fold at a pointer
	opScalar                 // an argument in all elements
	opConstant               // bits in all elements
	opAdd
	opSub
	opMul
	opDiv
	opAbove
	opBelow
	opAnd
	opOr
	opXor
	opAddInt
	opSubInt
	opMulAdd
	opMulSubFrom
	opSqrt
	opRound // in the way that the immediate says
	opUp
	opDown
	opScale   // a * 2^b, AVX-512 only
	opCompare // by the predicate of the immediate, to a mask
	opSigns   // the mask of set signs
	opBoth
	opEither
	opTruth  // 1 where a mask is set, otherwise 0
	opChoose // b where mask a is set, otherwise c
	opStore  // a, to a pointer
	opFold   // a, to accumulators at a pointer
	opAhead  // asks for memory that lies some bytes behind a pointer
	opLoad   // the elements of another type at a pointer, as those of the loop
	opNarrow // a in float32, in a loop on float64
)

// Kind is how the elements of a slice are kept.
type Kind uint8

const (
	Same       Kind = iota // as elements of the loop
	Conditions             // in bytes that are 1 or 0
	Int32                  // in 32 bits
	Int64                  // in 64 bits
	Single                 // in float32
)

// Bytes is how many bytes an element takes, in a loop whose elements take size.
func (k Kind) Bytes(size int) int { return [...]int{size, 1, 4, 8, 4}[k] }

// scale is the binary logarithm of bytes.
func (k Kind) scale() byte { return [...]byte{0, 0, 2, 3, 2}[k] }

// Loads reports whether a loop can read elements of a kind. AVX2 has no instructions that leave out some
// bytes.
func (b *Builder) Loads(k Kind) bool {
	return k == Same || b.wide && (b.double || k == Conditions || k == Int32)
}

// Stores reports whether a loop can write elements of a kind.
func (b *Builder) Stores(k Kind) bool {
	return k == Same || b.wide && (k == Conditions || k == Single && b.double)
}

// node is an operation. Operands are numbers of earlier nodes.
type node struct {
	op      opcode
	a, b, c int32
	imm     uint8
	kind    Kind   // of the elements that are loaded or stored
	past    bool   // whether a store goes past the caches if the caller wants that
	at      int    // the number of a pointer or of an argument
	bits    uint64 // of a constant, or a number of bytes
}

// gives reports whether a node has a result that later nodes use.
func (n *node) gives() bool { return n.op != opStore && n.op != opFold && n.op != opAhead }

// operands returns the numbers of the nodes that a node uses, or none.
func (n *node) operands() [3]int32 { return [3]int32{n.a, n.b, n.c} }

// masks reports whether the result of a node is a mask.
func (n *node) masks() bool {
	return n.op == opCompare || n.op == opSigns || n.op == opBoth || n.op == opEither
}

// Builder notes what a loop computes.
type Builder struct {
	double   bool
	wide     bool
	mixed    bool // whether there are elements of other kinds
	nodes    []node
	known    map[node]int32
	pointers int
	scalars  int
	sums     int
}

// NewBuilder returns a Builder of a loop on float64 or float32 elements, for AVX-512 if wide is true and
// otherwise for AVX2.
func NewBuilder(double, wide bool) *Builder {
	return &Builder{double: double, wide: wide, known: map[node]int32{}}
}

// size is the number of bytes of an element.
func (b *Builder) size() int {
	if b.double {
		return 8
	}
	return 4
}

// bytes is the number of bytes of a register, and width that of its elements.
func (b *Builder) bytes() int {
	if b.wide {
		return 64
	}
	return 32
}

func (b *Builder) width() int { return b.bytes() / b.size() }

// add adds a node, or returns an earlier one that gives the same.
func (b *Builder) add(n node) int32 {
	if n.gives() {
		if i, ok := b.known[n]; ok {
			return i
		}
	}
	i := int32(len(b.nodes))
	b.nodes = append(b.nodes, n)
	if n.gives() {
		b.known[n] = i
	}
	return i
}

// Pointer returns the number of a new pointer, which the caller sets to the address of the first element of a
// slice, or of accumulators.
func (b *Builder) Pointer() int {
	b.pointers++
	return b.pointers - 1
}

// Scalar returns the number of a new argument: a number that is the same for all elements.
func (b *Builder) Scalar() int {
	b.scalars++
	return b.scalars - 1
}

// Input returns the elements of the slice at a pointer as they are before anything is stored there.
func (b *Builder) Input(pointer int) Value {
	return Value(b.add(node{op: opInput, a: none, b: none, c: none, at: pointer}))
}

// LoadKind returns the elements of a kind at a pointer, as they are where the loop comes to this place.
func (b *Builder) LoadKind(pointer int, k Kind) Value {
	b.mixed = true
	return Value(b.add(node{op: opLoad, a: none, b: none, c: none, at: pointer, kind: k}))
}

// StoreKind writes elements of a kind to the slice at a pointer: a condition that is not 0 as 1.
func (b *Builder) StoreKind(pointer int, v Value, k Kind) {
	b.mixed = true
	switch k {
	case Conditions:
		v = Value(b.add(node{op: opTruth, a: int32(b.Compare(v, unequal, b.Number(0))), b: int32(b.Word(1)), c: none}))
	case Single:
		v = Value(b.add(node{op: opNarrow, a: int32(v), b: none, c: none}))
	}
	b.add(node{op: opStore, a: int32(v), b: none, c: none, at: pointer, kind: k})
}

// Ahead asks for the memory that lies some bytes behind the elements at a pointer, so that it is in the
// second cache when the loop, or another one, comes there. There may be no such memory.
func (b *Builder) Ahead(pointer, bytes int) {
	b.add(node{op: opAhead, a: none, b: none, c: none, at: pointer, bits: uint64(bytes)})
}

// Argument returns an argument in all elements.
func (b *Builder) Argument(scalar int) Value {
	return Value(b.add(node{op: opScalar, a: none, b: none, c: none, at: scalar}))
}

// Store writes elements to the slice at a pointer. If past is true, they may be written past the caches.
func (b *Builder) Store(pointer int, v Value, past bool) {
	b.add(node{op: opStore, a: int32(v), b: none, c: none, at: pointer, past: past})
}

// Lanes returns the accumulators at a pointer. There are 64 of them, and the element at place i goes to
// number i%64.
func (b *Builder) Lanes(pointer int) Value {
	return Value(b.add(node{op: opLanes, a: none, b: none, c: none, at: pointer}))
}

// Fold writes accumulators.
func (b *Builder) Fold(pointer int, v Value) {
	b.add(node{op: opFold, a: int32(v), b: none, c: none, at: pointer})
}

// Sum adds up a value of all elements, in the order of the sums of package simd, and returns the number of
// the sum.
func (b *Builder) Sum(v Value) int {
	n := b.sums
	b.sums++
	lanes := Value(b.add(node{op: opLanes, a: none, b: none, c: none, at: firstSum + n}))
	b.Fold(firstSum+n, b.Add(lanes, v))
	return n
}

// firstSum is the number of the accumulators of the first sum. Those of folds have the numbers of pointers,
// which are below.
const firstSum = 1 << 10

// Number returns a constant. It is rounded to the element type.
func (b *Builder) Number(v float64) Value {
	if b.double {
		return b.Word(math.Float64bits(v))
	}
	return b.Word(uint64(math.Float32bits(float32(v))))
}

// Word returns a constant with the given bits, of which those beyond the size of an element do not count.
func (b *Builder) Word(bits uint64) Value {
	if !b.double {
		bits = uint64(uint32(bits))
	}
	return Value(b.add(node{op: opConstant, a: none, b: none, c: none, bits: bits}))
}

// Load returns a constant that may be any operand. All may be.
func (b *Builder) Load(constant Value) Value { return constant }

func (b *Builder) operation(op opcode, x, y Value) Value {
	return Value(b.add(node{op: op, a: int32(x), b: int32(y), c: none}))
}

func (b *Builder) Add(x, y Value) Value { return b.operation(opAdd, x, y) }
func (b *Builder) Sub(x, y Value) Value { return b.operation(opSub, x, y) }
func (b *Builder) Mul(x, y Value) Value { return b.operation(opMul, x, y) }
func (b *Builder) Div(x, y Value) Value { return b.operation(opDiv, x, y) }

// Above returns x where x > y, and otherwise y, which may be a NaN. Below returns x where x < y.
func (b *Builder) Above(x, y Value) Value { return b.operation(opAbove, x, y) }
func (b *Builder) Below(x, y Value) Value { return b.operation(opBelow, x, y) }

func (b *Builder) And(x, y Value) Value { return b.operation(opAnd, x, y) }
func (b *Builder) Or(x, y Value) Value  { return b.operation(opOr, x, y) }
func (b *Builder) Xor(x, y Value) Value { return b.operation(opXor, x, y) }

// AddInt and SubInt add and subtract bits as integers.
func (b *Builder) AddInt(x, y Value) Value { return b.operation(opAddInt, x, y) }
func (b *Builder) SubInt(x, y Value) Value { return b.operation(opSubInt, x, y) }

// MulAdd returns x*y + z, and MulSubFrom z - x*y, both rounded once.
func (b *Builder) MulAdd(x, y, z Value) Value     { return b.fused(opMulAdd, x, y, z) }
func (b *Builder) MulSubFrom(x, y, z Value) Value { return b.fused(opMulSubFrom, x, y, z) }

func (b *Builder) fused(op opcode, x, y, z Value) Value {
	return Value(b.add(node{op: op, a: int32(x), b: int32(y), c: int32(z)}))
}

func (b *Builder) Sqrt(x Value) Value { return b.operation(opSqrt, x, none) }

// Round rounds to integers in a way that instructions number: 8 to the nearest, 9 down, 10 up.
func (b *Builder) Round(x Value, way uint8) Value {
	return Value(b.add(node{op: opRound, a: int32(x), b: none, c: none, imm: way}))
}

// Up and Down move bits by n places.
func (b *Builder) Up(x Value, n uint) Value {
	return Value(b.add(node{op: opUp, a: int32(x), b: none, c: none, imm: uint8(n)}))
}

func (b *Builder) Down(x Value, n uint) Value {
	return Value(b.add(node{op: opDown, a: int32(x), b: none, c: none, imm: uint8(n)}))
}

// Scale returns x * 2^n, rounded once, or false if there is no instruction for it.
func (b *Builder) Scale(x, n Value) (Value, bool) {
	if !b.wide {
		return none, false
	}
	return b.operation(opScale, x, n), true
}

// unequal is the predicate of numbers that differ or cannot be compared.
const unequal = 4

// Compare tells where x stands in a relation to y. Predicates are those that instructions number. Where 1 and
// 0, which stand for a mask, differ from 0 is where the mask is set.
func (b *Builder) Compare(x Value, predicate uint8, y Value) Mask {
	if n, zero := b.nodes[x], b.nodes[y]; predicate == unequal && n.op == opTruth && b.nodes[n.b].bits != 0 && zero.op == opConstant && zero.bits == 0 {
		return Mask(n.a)
	}
	return Mask(b.add(node{op: opCompare, a: int32(x), b: int32(y), c: none, imm: predicate}))
}

// Signs tells where the sign bit is set. AVX2 chooses by sign bits, so the number is the mask.
func (b *Builder) Signs(x Value) Mask {
	if !b.wide {
		return Mask(x)
	}
	return Mask(b.operation(opSigns, x, none))
}

func (b *Builder) Both(x, y Mask) Mask   { return Mask(b.operation(opBoth, Value(x), Value(y))) }
func (b *Builder) Either(x, y Mask) Mask { return Mask(b.operation(opEither, Value(x), Value(y))) }

// Truth returns 1 where a mask is set, and otherwise 0.
func (b *Builder) Truth(m Mask) Value {
	return Value(b.add(node{op: opTruth, a: int32(m), b: int32(b.Number(1)), c: none}))
}

// Choose returns x where a mask is set, and otherwise y.
func (b *Builder) Choose(m Mask, x, y Value) Value {
	return Value(b.add(node{op: opChoose, a: int32(m), b: int32(x), c: int32(y)}))
}
