// Package jit compiles vectorized loops to machine code at run time.
//
// A Builder records a straight-line loop body as nodes in SSA form: loads, operations and stores of the
// elements at the same index of several slices. Each operation is rounded as in package simd, so that results
// are bit-identical to its block kernels. Intermediate values stay in registers.
//
// Code is generated on Linux, for AVX-512 and AVX2 on amd64 and for NEON on arm64. Elsewhere, and where the
// system does not allow executable memory, Compile returns nil, and the caller runs block kernels.
//
// A processor has two files. encode_*.go names its registers and encodes jumps and addresses. lower_*.go
// selects instructions for operations. Register allocation, scheduling and the loop nest are shared.
package jit

import "math"

// Value is the number of a node whose result is a vector of elements.
type Value int32

// Mask is the number of a node whose result is a vector of booleans.
type Mask int32

// none marks an absent operand, register or index.
const none = -1

// opcode is the operation of a node.
type opcode uint8

const (
	opInput    opcode = iota // load from a pointer
	opLanes                  // load of the accumulators at a pointer
	opScalar                 // broadcast argument
	opConstant               // broadcast constant
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
	opRound // rounding mode in the immediate
	opUp
	opDown
	opScale   // a * 2^b, AVX-512 only
	opCompare // predicate in the immediate, mask result
	opSigns   // mask of the sign bits
	opBoth
	opEither
	opTruth  // 1 where mask a is set, otherwise 0
	opChoose // b where mask a is set, otherwise c
	opStore  // a, to a pointer
	opFold   // a, to accumulators at a pointer
	opAhead  // prefetch some bytes behind a pointer
	opLoad   // load of another kind, with a conversion
	opNarrow // a rounded to float32, in a float64 loop
)

// Kind is a storage type of elements.
type Kind uint8

const (
	Same       Kind = iota // the element type of the loop
	Conditions             // bytes that are 1 or 0
	Int32                  // in 32 bits
	Int64                  // in 64 bits
	Single                 // in float32
)

// Bytes returns the size of an element in bytes; size is the size of the loop's elements.
func (k Kind) Bytes(size int) int { return [...]int{size, 1, 4, 8, 4}[k] }

// scale is the base-2 logarithm of Bytes for a kind other than Same.
func (k Kind) scale() byte { return [...]byte{0, 0, 2, 3, 2}[k] }

// Loads reports whether a loop can load elements of a kind: any kind for AVX-512, but 64-bit integers and
// float32 only into float64; otherwise none but the loop's own, since AVX2 has no masked loads of bytes.
func (b *Builder) Loads(k Kind) bool {
	return k == Same || b.wide && (b.double || k == Conditions || k == Int32)
}

// Stores reports whether a loop can store elements of a kind.
func (b *Builder) Stores(k Kind) bool {
	return k == Same || b.wide && (k == Conditions || k == Single && b.double)
}

// node is an operation in SSA form. Operands are numbers of earlier nodes.
type node struct {
	op      opcode
	a, b, c int32
	imm     uint8
	kind    Kind   // of the elements that are loaded or stored
	past    bool   // whether the store may be non-temporal
	at      int    // number of the pointer, of the argument or of the sum's accumulators
	bits    uint64 // bits of a constant, or prefetch distance in bytes
}

// gives reports whether a node has a result.
func (n *node) gives() bool { return n.op != opStore && n.op != opFold && n.op != opAhead }

// operands returns the nodes that are operands; none stands for an absent one.
func (n *node) operands() [3]int32 { return [3]int32{n.a, n.b, n.c} }

// masks reports whether the result of a node is a mask.
func (n *node) masks() bool {
	return n.op == opCompare || n.op == opSigns || n.op == opBoth || n.op == opEither
}

// Builder records the nodes of a loop body.
type Builder struct {
	double   bool
	wide     bool
	mixed    bool // whether elements of other kinds are loaded or stored
	nodes    []node
	known    map[node]int32
	pointers int
	scalars  int
	sums     int
}

// NewBuilder returns a Builder of a loop over float64 (double) or float32 elements, for AVX-512 (wide), or
// for AVX2 or NEON, whichever the processor has.
func NewBuilder(double, wide bool) *Builder {
	return &Builder{double: double, wide: wide, known: map[node]int32{}}
}

// size is the size of an element in bytes.
func (b *Builder) size() int {
	if b.double {
		return 8
	}
	return 4
}

// bytes is the size of a vector register in bytes. width is the number of its elements.
func (b *Builder) bytes() int {
	if b.wide {
		return 64
	}
	return vectorBytes
}

func (b *Builder) width() int { return b.bytes() / b.size() }

// add appends a node, or returns an equal earlier one (value numbering).
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

// Pointer adds a pointer argument, and returns its number. The caller of the loop sets it to the first
// element of a slice, or to accumulators.
func (b *Builder) Pointer() int {
	b.pointers++
	return b.pointers - 1
}

// Scalar adds a scalar argument, and returns its number.
func (b *Builder) Scalar() int {
	b.scalars++
	return b.scalars - 1
}

// Input returns the elements at a pointer, as they are before any store of the loop's body.
func (b *Builder) Input(pointer int) Value {
	return Value(b.add(node{op: opInput, a: none, b: none, c: none, at: pointer}))
}

// LoadKind returns the elements at a pointer, converted from kind k. The load keeps its order with stores.
func (b *Builder) LoadKind(pointer int, k Kind) Value {
	b.mixed = true
	return Value(b.add(node{op: opLoad, a: none, b: none, c: none, at: pointer, kind: k}))
}

// StoreKind stores elements at a pointer, converted to kind k. The condition of an element is 1 if the
// element is not 0.
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

// Ahead prefetches into the L2 cache what is bytes bytes behind the current elements at a pointer. The
// address may be invalid.
func (b *Builder) Ahead(pointer, bytes int) {
	b.add(node{op: opAhead, a: none, b: none, c: none, at: pointer, bits: uint64(bytes)})
}

// Argument returns a scalar argument, broadcast to a vector.
func (b *Builder) Argument(scalar int) Value {
	return Value(b.add(node{op: opScalar, a: none, b: none, c: none, at: scalar}))
}

// Store stores elements at a pointer. If past is true, the store may be non-temporal.
func (b *Builder) Store(pointer int, v Value, past bool) {
	b.add(node{op: opStore, a: int32(v), b: none, c: none, at: pointer, past: past})
}

// Lanes returns the accumulators at a pointer. There are 64. An element with index i belongs to accumulator
// i%64.
func (b *Builder) Lanes(pointer int) Value {
	return Value(b.add(node{op: opLanes, a: none, b: none, c: none, at: pointer}))
}

// Fold stores the accumulators at a pointer.
func (b *Builder) Fold(pointer int, v Value) {
	b.add(node{op: opFold, a: int32(v), b: none, c: none, at: pointer})
}

// Sum adds up a value over all elements of a row, in the order of sums in package simd. It returns the number
// of the sum, for the function Sum.
func (b *Builder) Sum(v Value) int {
	n := b.sums
	b.sums++
	lanes := Value(b.add(node{op: opLanes, a: none, b: none, c: none, at: firstSum + n}))
	b.Fold(firstSum+n, b.Add(lanes, v))
	return n
}

// firstSum is the number of the first sum's accumulators. Accumulators of folds are numbered by their
// pointers, which are smaller.
const firstSum = 1 << 10

// Number returns a constant, rounded to the element type.
func (b *Builder) Number(v float64) Value {
	if b.double {
		return b.Word(math.Float64bits(v))
	}
	return b.Word(uint64(math.Float32bits(float32(v))))
}

// Word returns a constant with the given bits, truncated to the size of an element.
func (b *Builder) Word(bits uint64) Value {
	if !b.double {
		bits = uint64(uint32(bits))
	}
	return Value(b.add(node{op: opConstant, a: none, b: none, c: none, bits: bits}))
}

// Load returns the constant itself, since any instruction can take a constant from memory. It is part of
// elementary.Machine.
func (b *Builder) Load(constant Value) Value { return constant }

func (b *Builder) operation(op opcode, x, y Value) Value {
	return Value(b.add(node{op: op, a: int32(x), b: int32(y), c: none}))
}

func (b *Builder) Add(x, y Value) Value { return b.operation(opAdd, x, y) }
func (b *Builder) Sub(x, y Value) Value { return b.operation(opSub, x, y) }
func (b *Builder) Mul(x, y Value) Value { return b.operation(opMul, x, y) }
func (b *Builder) Div(x, y Value) Value { return b.operation(opDiv, x, y) }

// Above returns x > y ? x : y, and Below x < y ? x : y. If an operand is NaN, both return y.
func (b *Builder) Above(x, y Value) Value { return b.operation(opAbove, x, y) }
func (b *Builder) Below(x, y Value) Value { return b.operation(opBelow, x, y) }

func (b *Builder) And(x, y Value) Value { return b.operation(opAnd, x, y) }
func (b *Builder) Or(x, y Value) Value  { return b.operation(opOr, x, y) }
func (b *Builder) Xor(x, y Value) Value { return b.operation(opXor, x, y) }

// AddInt and SubInt add and subtract the bits of elements as integers.
func (b *Builder) AddInt(x, y Value) Value { return b.operation(opAddInt, x, y) }
func (b *Builder) SubInt(x, y Value) Value { return b.operation(opSubInt, x, y) }

// MulAdd returns x*y + z, and MulSubFrom returns z - x*y, each rounded once (FMA).
func (b *Builder) MulAdd(x, y, z Value) Value     { return b.fused(opMulAdd, x, y, z) }
func (b *Builder) MulSubFrom(x, y, z Value) Value { return b.fused(opMulSubFrom, x, y, z) }

func (b *Builder) fused(op opcode, x, y, z Value) Value {
	return Value(b.add(node{op: op, a: int32(x), b: int32(y), c: int32(z)}))
}

func (b *Builder) Sqrt(x Value) Value { return b.operation(opSqrt, x, none) }

// Round rounds elements to integers. way is a rounding mode of vroundps: 8 to nearest even, 9 down, 10 up.
func (b *Builder) Round(x Value, way uint8) Value {
	return Value(b.add(node{op: opRound, a: int32(x), b: none, c: none, imm: way}))
}

// Up shifts the bits of elements left by n, and Down shifts them right. Both fill with zeros.
func (b *Builder) Up(x Value, n uint) Value {
	return Value(b.add(node{op: opUp, a: int32(x), b: none, c: none, imm: uint8(n)}))
}

func (b *Builder) Down(x Value, n uint) Value {
	return Value(b.add(node{op: opDown, a: int32(x), b: none, c: none, imm: uint8(n)}))
}

// Scale returns x * 2^n with one rounding, or false if the target has no such instruction.
func (b *Builder) Scale(x, n Value) (Value, bool) {
	if !b.wide {
		return none, false
	}
	return b.operation(opScale, x, n), true
}

// unequal is the predicate "not equal or unordered" of vcmpps.
const unequal = 4

// Compare returns the mask of elements for which a predicate of vcmpps holds of x and y. Truth(m) != 0 is
// simplified to m.
func (b *Builder) Compare(x Value, predicate uint8, y Value) Mask {
	if n, zero := b.nodes[x], b.nodes[y]; predicate == unequal && n.op == opTruth && b.nodes[n.b].bits != 0 && zero.op == opConstant && zero.bits == 0 {
		return Mask(n.a)
	}
	return Mask(b.add(node{op: opCompare, a: int32(x), b: int32(y), c: none, imm: predicate}))
}

// Signs returns the mask of elements whose sign bit is set. AVX2 blends by sign bits, so there x is the mask
// itself.
func (b *Builder) Signs(x Value) Mask {
	if !b.wide && onSigns {
		return Mask(x)
	}
	return Mask(b.operation(opSigns, x, none))
}

func (b *Builder) Both(x, y Mask) Mask   { return Mask(b.operation(opBoth, Value(x), Value(y))) }
func (b *Builder) Either(x, y Mask) Mask { return Mask(b.operation(opEither, Value(x), Value(y))) }

// Truth returns 1 where mask m is set, and 0 elsewhere.
func (b *Builder) Truth(m Mask) Value {
	return Value(b.add(node{op: opTruth, a: int32(m), b: int32(b.Number(1)), c: none}))
}

// Choose returns x where mask m is set, and y elsewhere.
func (b *Builder) Choose(m Mask, x, y Value) Value {
	return Value(b.add(node{op: opChoose, a: int32(m), b: int32(x), c: int32(y)}))
}
