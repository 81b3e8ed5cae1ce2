package loops

import (
	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// opcode is the operation of an instruction. In the comments, x, y and w are the registers uses[0], uses[1]
// and uses[2], and a and b the scalars numbers[0] and numbers[1].
type opcode uint8

const (
	opOther  opcode = iota // an operation with operands of its own, in field other
	opBranch               // skips instructions if a condition fails
	opLoop                 // a fused loop

	opView // makes the register a view of memory at from
	opKeep // copies view x before its memory is overwritten, and makes x the copy
	opLoad // loads strided elements of any type at from

	opFill           // a
	opCopy           // x
	opUnary          // a function of x
	opBinary         // a function of x and y
	opBinaryNumber   // a function of x and a
	opNumberBinary   // a function of a and x
	opMulAdd         // x*y + w
	opMulAddNumber   // x*a + y
	opMulSub         // x*y - w
	opMulSubFrom     // w - x*y
	opAffine         // (x - less - low)*times + plus; absent operands are skipped
	opSelect         // y where x is not 0, otherwise w
	opSelectPositive // y where x is above 0, otherwise w
	opNarrow         // x rounded to float32
	opCount          // integers with a constant stride, from the one at from
	opStretch        // a where an affine integer satisfies relation, otherwise b
	opRests          // rounding errors, in float32, of float64 elements at from
	opFunction       // a scalar function, called for each element
	opNumbers        // a, evaluated for each element

	opSumLanes  // adds x to the lanes
	opDotLanes  // adds x*y to the lanes
	opExpLanes  // adds exp(x - a) to the lanes
	opFoldLanes // reduces x into the lanes
	opFoldRows  // reduces rows of x into an accumulator

	opStore       // stores x at to
	opStoreNumber // stores a at to
	opMove        // copies elements at from to elements at to, without a conversion
)

// instruction is one operation on strips. A register is the number of a strip of the state. Three switches
// interpret instructions: exec runs one on a strip, value generates it in a fused loop, and text prints it.
type instruction[T simd.Float] struct {
	op     opcode
	unary  simd.Unary
	binary simd.Binary
	// relation is the comparison of opStretch, and sides are its operands.
	relation term.Op
	sides    *[2]address[T]
	// folds says that def is an accumulator, which keeps its value from one execution of the code to the
	// next.
	folds bool
	add   bool // whether a store adds to memory
	past  bool // whether a store may be non-temporal
	alone bool // whether it must not be fused

	uses    []int       // the registers that it reads
	numbers []number[T] // the scalar operands, uniform in a strip
	def     int         // the register that it defines, or -1
	defs    []int       // the registers that a fused loop defines
	holds   []int       // registers whose buffers no other register may share
	from    *address[T]
	to      *address[T] // destination of the result; def is then a view of it
	lane    int         // number of the reduction whose lanes are updated
	at      int         // opFunction: offset of its arguments in state.numbers; opNumbers: slot of the index; opFoldRows: row length
	of      *term.Function
	simd    primitive[T]  // the function of package simd
	other   operation[T]  // of opOther
	loop    *fusedLoop[T] // of opLoop
	sums    int           // number of sums that the fused loop accumulates in machine registers
	// when and skip are those of a branch: if when returns false, the next skip instructions are skipped.
	when func(*state[T]) bool
	test *term.Term // the condition of the branch
	not  bool       // whether when is the negation of test
	skip int
}

// primitive is a function of package simd on slices; one field is set.
type primitive[T simd.Float] struct {
	unary  func(z, x []T)
	binary func(z, x, y []T)
	second func(z, x []T, y T) // with a scalar second operand
	first  func(z []T, x T, y []T)
}

// address is where the elements of a strip are in memory.
type address[T simd.Float] struct {
	tensor, memory int
	typ            dtype.Type
	place          string       // text of the offset, equal for equal addresses
	offset         rewrite.Form // of the first element
	step           int          // distance of elements
	at             func(*state[T]) int
	// kind is the storage type in fused loops. known is false if they do not support it.
	kind  jit.Kind
	known bool
	fixed bool // whether the offset depends on indices only

	storage storage[T] // of typ
	put     func(b *block[T], i int, v float64)
}

// address returns the address of an access to tensor t.
func (z *vectorizer[T]) address(t int, a *rewrite.Access) *address[T] {
	tensor := z.c.tensors[t]
	out := &address[T]{tensor: t, memory: tensor.Memory, typ: tensor.Type, storage: storageOf[T](tensor.Type), place: z.placeOf(a), offset: a.Offset, step: a.Offset.Factor(z.v), at: z.c.value(a.Offset)}
	out.kind, out.known = z.c.kindOf(tensor.Type)
	// A fused loop may compute what a data-dependent offset reads.
	out.known = out.known && out.step == 1 && (out.kind == jit.Same || len(a.Offset.Rest) == 0)
	return out
}

// count returns an integer that is affine in the vectorized index, in the form of an address: at computes its
// first value.
func (z *vectorizer[T]) count(f rewrite.Form, at func(*state[T]) int) *address[T] {
	return &address[T]{tensor: -1, offset: f, step: f.Factor(z.v), at: at}
}

// kindOf returns the kind as which fused loops load a storage type. It returns false if they do not support
// it.
func (c *compiler[T]) kindOf(t dtype.Type) (k jit.Kind, ok bool) {
	switch t {
	case c.own:
		return jit.Same, true
	case dtype.Bool:
		return jit.Conditions, true
	case dtype.I32:
		return jit.Int32, true
	case dtype.I64:
		return jit.Int64, true
	case dtype.F32:
		return jit.Single, true
	}
	return 0, false
}

// emit appends an instruction, with its function of package simd.
func (z *vectorizer[T]) emit(in instruction[T]) {
	switch in.op {
	case opUnary:
		in.simd.unary = simd.UnaryOf[T](in.unary)
	case opBinary, opFoldRows:
		in.simd.binary = simd.BinaryOf[T](in.binary)
	case opBinaryNumber:
		in.simd.second = simd.BinaryScalarOf[T](in.binary)
	case opNumberBinary:
		in.simd.first = simd.ScalarBinaryOf[T](in.binary)
	case opStore:
		in.to.put = in.to.storage.putReal(in.add)
	}
	z.strip.code = append(z.strip.code, in)
}

// give appends an instruction that defines a new register, and returns the register.
func (z *vectorizer[T]) give(in instruction[T]) int {
	in.def = z.register(false)
	z.emit(in)
	return in.def
}

// effect appends an instruction that defines no register.
func (z *vectorizer[T]) effect(in instruction[T]) {
	in.def = -1
	z.emit(in)
}

// operation is an operation with operands of its own, such as a gather. It does not run in fused loops.
type operation[T simd.Float] interface {
	// exec runs the operation on n elements; in holds its registers.
	exec(s *state[T], in *instruction[T], n int)
	// text describes the operation for a listing; x are the names of the registers that it reads.
	text(p *lister[T], x []string) string
}

// other appends an operation with operands of its own that reads registers uses and defines register def, or
// none if def is -1. It returns def.
func (z *vectorizer[T]) other(o operation[T], def int, uses ...int) int {
	z.emit(instruction[T]{op: opOther, other: o, uses: uses, def: def})
	return def
}

// toLanes reports whether an operation updates lanes. summed reports whether it adds to them.
func (op opcode) toLanes() bool { return op >= opSumLanes && op <= opFoldLanes }
func (op opcode) summed() bool  { return op >= opSumLanes && op < opFoldLanes }

// stores reports whether an instruction stores to memory.
func (in *instruction[T]) stores() bool { return in.to != nil && in.op != opMove }
