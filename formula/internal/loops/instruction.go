package loops

import (
	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// opcode says what an instruction does. Comments call registers that it uses x, y and w, in their order, and
// numbers a and b.
type opcode uint8

const (
	opStep   opcode = iota // what run does
	opBranch               // skips instructions unless a condition holds
	opLoop                 // a compiled loop

	opView // the strip of memory at from
	opKeep // a copy of a view, to which the register of the view leads from then on
	opLoad // elements of any type, or at equal distances, at from

	opFill           // a
	opCopy           // x
	opUnary          // a function of x
	opBinary         // a function of x and y
	opBinaryNumber   // of x and a
	opNumberBinary   // of a and x
	opMulAdd         // x*y + w
	opMulAddNumber   // x*a + y
	opMulSub         // x*y - w
	opMulSubFrom     // w - x*y
	opAffine         // (x - less - low)*times + plus, of which some are left out
	opSelect         // y where x is not 0, otherwise w
	opSelectPositive // y where x is above 0, otherwise w
	opNarrow         // x rounded to float32
	opCount          // integers from the number at from on, at equal distances
	opStretch        // a where a comparison of integers that are linear in the index holds, otherwise b
	opRests          // what elements of float64 at from have beyond numbers of the strip
	opFunction       // a function without vector code, element by element
	opNumbers        // a, computed for each element

	opSumLanes  // adds x to lanes
	opDotLanes  // adds x*y to lanes
	opExpLanes  // adds exp(x - a) to lanes
	opFoldLanes // folds x into lanes
	opFoldRows  // folds rows of x into an accumulator

	opStore       // writes x to to
	opStoreNumber // writes a to to
	opMove        // copies elements from from to to, which are of one type
)

// instruction is a step of the code of a strip. Its registers are numbers of strips that a state holds. A
// switch runs it on a strip (exec), another one makes operations of compiled loops of it (value), a third one
// prints it (text).
type instruction[T simd.Float] struct {
	op     opcode
	unary  simd.Unary
	binary simd.Binary
	// relation is the comparison of opStretch.
	relation term.Op
	// folds says that def is a register of its own, which lasts: an accumulator, most often one of uses, too.
	folds bool
	add   bool // whether a store adds to what is there
	past  bool // whether what is stored may be written past the caches
	alone bool // whether it stays out of compiled loops

	uses    []int       // the registers that it reads
	numbers []number[T] // the operands that are the same in all of a strip
	def     int         // the register that it defines, or -1
	defs    []int       // the registers that a fused loop defines
	holds   []int       // registers with buffers that outlive one execution
	from    *address[T]
	to      *address[T] // where the result goes; the register is then this part of memory
	lane    int         // the number of the fold to whose lanes the result goes
	at      int         // opFunction: its first argument in a state; opNumbers: the place of the index; opFoldRows: a row's length
	of      *term.Function
	simd    primitive[T] // the function of package simd for unary or binary
	run     func(s *state[T], n int)
	what    string        // what run does, for people
	loop    *fusedLoop[T] // of opLoop
	sums    int           // how many sums the loop gives, without accumulators of the state
	// when and skip are a branch: if the condition fails, the next skip instructions are skipped.
	when func(*state[T]) bool
	test *term.Term // the condition
	not  bool       // whether its opposite counts
	skip int
}

// primitive is a function of package simd, or one that copies.
type primitive[T simd.Float] struct {
	unary  func(z, x []T)
	binary func(z, x, y []T)
	second func(z, x []T, y T) // with a number as its second operand
	first  func(z []T, x T, y []T)
	move   func(to *block[T], at, stride int, from *block[T], start, step, n int)
}

// address says where in memory the elements of a strip lie.
type address[T simd.Float] struct {
	tensor, memory int
	typ            dtype.Type
	place          string // key of the offset; equal keys mean equal addresses
	offset         form   // the place of the first element
	step           int    // how far elements lie apart
	at             func(*state[T]) int
	// kind is how compiled loops read and write the elements, if known is true.
	kind  jit.Kind
	known bool
	fixed bool // whether the place does not depend on values of tensors

	read func(b *block[T], z []T, start, stride int)
	put  func(b *block[T], i int, v float64)
}

// address returns where elements of a tensor lie.
func (z *vectorizer[T]) address(t int, a *access) *address[T] {
	tensor := z.c.tensors[t]
	out := &address[T]{tensor: t, memory: tensor.Memory, typ: tensor.Type, place: z.placeOf(a), offset: a.offset, step: a.offset.factor(z.v), at: z.c.value(a.offset)}
	out.kind, out.known = z.c.kindOf(tensor.Type)
	// The loop may compute what another place depends on.
	out.known = out.known && out.step == 1 && (out.kind == jit.Same || len(a.offset.rest) == 0)
	return out
}

// count returns the integers from a number on.
func (z *vectorizer[T]) count(f form, at func(*state[T]) int) *address[T] {
	return &address[T]{tensor: -1, offset: f, step: f.factor(z.v), at: at}
}

// kindOf returns how fused loops load a storage type; false if they do not support it.
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

// emit adds an instruction.
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
	case opLoad:
		in.from.read = strided[T](in.from.typ)
	case opStore:
		in.to.put = putReal[T](in.to.typ, in.add)
	case opMove:
		in.simd.move = mover[T](in.from.typ)
	}
	z.strip.code = append(z.strip.code, in)
}

// give adds an instruction that sets a new register, and returns the register.
func (z *vectorizer[T]) give(in instruction[T]) int {
	in.def = z.register(false)
	z.emit(in)
	return in.def
}

// effect adds an instruction that sets no register.
func (z *vectorizer[T]) effect(in instruction[T]) {
	in.def = -1
	z.emit(in)
}

// step adds code for which there is no opcode. It sets register def, unless that is -1.
func (z *vectorizer[T]) step(what string, def int, run func(s *state[T], n int), uses ...int) {
	z.emit(instruction[T]{op: opStep, what: what, run: run, uses: uses, def: def})
}

// toLanes reports whether the result goes to lanes, and summed whether lanes begin with zeros and the result
// is added.
func (op opcode) toLanes() bool { return op >= opSumLanes && op <= opFoldLanes }
func (op opcode) summed() bool  { return op >= opSumLanes && op < opFoldLanes }

// stores reports whether the instruction writes to memory, instead of a register or as well.
func (in *instruction[T]) stores() bool { return in.to != nil && in.op != opMove }
