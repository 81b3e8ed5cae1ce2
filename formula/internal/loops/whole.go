package loops

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// wholes compiles an integer statement in integer strips. It returns nil if a subscript of the target selects
// the tensor, or if a guard may protect integers from a division by 0.
func (k *unitCompiler[T]) wholes(st *rewrite.Statement) unit[T] {
	vars, t := k.bundle.vars, k.tensors[st.Target]
	if len(k.bundle.statements) != 1 || k.bundle.folds != nil || len(vars) == 0 || st.Value.Kind != term.Integer || st.Left.Which != nil || !t.Type.IsInteger() ||
		st.Guard != nil && slices.ContainsFunc(append(slices.Clone(st.Left.Idx), st.Value, st.Guard), rewrite.DividesByZero) {
		return nil
	}
	k.lenient = st.Lenient || st.Skip || st.Guard != nil
	defer func() { k.lenient = false }()
	v := vars[len(vars)-1]
	z := newVectorizer(k.compiler, v)
	z.storeWhole(st, rewrite.AccessOf(st.Left))
	k.finish(&z.strip)
	return &pointwise[T]{outer: k.loops(k.free(), v), inner: k.loop(v), code: z.strip, elements: 1, last: k.place(v), length: z.strip.length}
}

// storeWhole emits the computation and the store of an integer statement.
func (z *vectorizer[T]) storeWhole(st *rewrite.Statement, a *rewrite.Access) {
	f := newIntegerCompiler(z)
	uniform, varying := z.guards(st)
	for _, x := range st.Left.Idx {
		z.fromMemory(x)
	}
	o := &integerStore[T]{guard: uniform, target: st.Target, find: z.c.target(st), step: a.Offset.Factor(z.v), elements: integersOf[T](z.c.tensors[st.Target].Type),
		mask: -1, place: z.at, skips: st.Skip}
	switch {
	case st.Joined():
		o.join = st.Fold.IntegerJoin()
	case z.c.tensors[st.Target].Add || st.Add:
		o.adds, o.join = true, reduction.Sum.IntegerJoin()
	}
	var uses []int
	if varying != nil {
		o.mask = z.vector(z.real(varying))
		uses = append(uses, o.mask)
	}
	apart := varying != nil || a.Offset.Hidden(z.v) || o.step == 0
	for _, d := range a.Open {
		apart = apart || a.Idx[d].Hidden(z.v) || a.Idx[d].Factor(z.v) != 0
	}
	if f.apart = apart; apart {
		var of []int
		o.places, of = z.found(a)
		uses = append(uses, of...)
	}
	o.x = f.value(st.Value, 0)
	o.least, o.most, o.narrow = z.c.boundsFor(st)
	o.narrow = o.narrow && o.join == nil
	o.code = f.finish()
	z.other(o, -1, append(uses, o.code.uses...)...)
}

// integerStore computes integers and stores them, at elements with a constant stride or at those that places
// finds.
type integerStore[T simd.Float] struct {
	code        integers[T]
	x           int // the strip of the integers
	guard       func(*state[T]) bool
	mask        int // the register of the part of the guard that differs within a strip, or -1
	target      int
	find        func(*state[T]) (tensor, at int, inside bool)
	places      *finder[T] // nil for a constant stride
	place       int        // slot of the vectorized index
	skips       bool       // whether elements out of bounds are skipped; otherwise they are an error
	step        int
	elements    integerStorage[T]
	join        func(x, y int) int // combines an element with an integer; nil for a plain store
	adds        bool               // whether join adds
	narrow      bool               // whether the least and the greatest int64 are stored as least and most
	least, most int
}

func (o *integerStore[T]) exec(s *state[T], _ *instruction[T], n int) {
	if !o.guard(s) {
		return
	}
	id, at, inside := o.target, 0, false
	if o.places == nil {
		if id, at, inside = o.find(s); !inside {
			return
		}
	}
	o.code.exec(s, n) // before the store: the code may load the same memory
	x := s.integerStrip(o.x)[:n]
	if o.narrow {
		boundAll(x, o.least, o.most)
	}
	if o.places == nil {
		o.elements.putWholes(&s.mem[id], at, o.step, x, o.join)
		return
	}
	places, inside := o.places.places(s, n)
	if o.mask >= 0 {
		for i, v := range s.regs[o.mask][:n] {
			if v == 0 {
				places[i] = excluded
			}
		}
	}
	if !inside && !o.skips {
		for i, k := range places {
			if k < 0 && k != excluded {
				locate(s, o.place, i, o.find) // fails
			}
		}
	}
	o.elements.scatterWholes(&s.mem[id], places, x, o.adds, o.join)
}

// excluded is the place of an element whose guard does not hold.
const excluded = -2

func (o *integerStore[T]) text(p *lister[T], _ []string) string {
	text := "store of " + o.code.text(p)
	if o.places != nil {
		text += " @" + o.places.text(p)
	}
	if o.mask >= 0 {
		text += " if " + p.register(o.mask)
	}
	return text
}

// convertEach compiles an integer, not affine in the vectorized index, that is converted to T. It returns the
// register.
func (z *vectorizer[T]) convertEach(n *term.Term) (reg int) {
	f := newIntegerCompiler(z)
	x := f.value(n, 0)
	o := &integerNumbers[T]{x: x, code: f.finish()}
	return z.other(o, z.register(false), o.code.uses...)
}

// integerNumbers converts integers to T.
type integerNumbers[T simd.Float] struct {
	code integers[T]
	x    int // the strip of the integers
}

func (o *integerNumbers[T]) exec(s *state[T], in *instruction[T], n int) {
	o.code.exec(s, n)
	out := s.regs[in.def][:n]
	for i, v := range s.integerStrip(o.x)[:n] {
		out[i] = T(v)
	}
}

func (o *integerNumbers[T]) text(p *lister[T], _ []string) string { return "numbers " + o.code.text(p) }

// compareEach compiles a comparison of integers that are not affine in the vectorized index. It returns a
// register of 1 and 0.
func (z *vectorizer[T]) compareEach(n *term.Term) (reg int) {
	f := newIntegerCompiler(z)
	x, y := f.value(n.Args[0], 0), f.value(n.Args[1], 1)
	o := &integerComparison[T]{op: n.Op, x: x, y: y, code: f.finish()}
	return z.other(o, z.register(false), o.code.uses...)
}

// integerComparison compares the integers of two strips.
type integerComparison[T simd.Float] struct {
	code integers[T]
	op   term.Op
	x, y int
}

func (o *integerComparison[T]) exec(s *state[T], in *instruction[T], n int) {
	o.code.exec(s, n)
	x, y, out := s.integerStrip(o.x)[:n], s.integerStrip(o.y)[:n], s.regs[in.def][:n]
	switch o.op {
	case term.Equal:
		for i, v := range x {
			out[i] = T(truth(v == y[i]))
		}
	case term.Unequal:
		for i, v := range x {
			out[i] = T(truth(v != y[i]))
		}
	case term.Less:
		for i, v := range x {
			out[i] = T(truth(v < y[i]))
		}
	default:
		for i, v := range x {
			out[i] = T(truth(v <= y[i]))
		}
	}
}

func (o *integerComparison[T]) text(p *lister[T], _ []string) string {
	return fmt.Sprintf("%s; i0 %s i1", o.code.text(p), relationNames[o.op])
}

// truth returns 1 or 0.
func truth(v bool) int {
	if v {
		return 1
	}
	return 0
}

// integerCompiler compiles integers to code on integer strips.
type integerCompiler[T simd.Float] struct {
	z      *vectorizer[T]
	out    integers[T]
	strips int // number of integer strips that are shared with other code
	// apart says that the code has strips of its own, since it may run while other code uses the shared ones.
	apart bool
	own   []int // the strips that are not shared
}

func newIntegerCompiler[T simd.Float](z *vectorizer[T]) *integerCompiler[T] {
	return &integerCompiler[T]{z: z, out: integers[T]{at: z.at}}
}

// finish reserves the shared integer strips of the code, and returns the code.
func (f *integerCompiler[T]) finish() integers[T] {
	f.z.c.integers = max(f.z.c.integers, f.strips)
	return f.out
}

// strip returns the number, in a state, of the code's strip k.
func (f *integerCompiler[T]) strip(k int) int {
	if !f.apart {
		f.strips = max(f.strips, k+1)
		return k
	}
	for len(f.own) <= k {
		f.own = append(f.own, ^f.z.c.apart)
		f.z.c.apart++
	}
	return f.own[k]
}

func (f *integerCompiler[T]) emit(k int, in integerInstruction[T]) {
	in.dst = f.strip(k)
	f.out.code = append(f.out.code, in)
}

// value emits code that computes an integer, or a condition as 1 or 0, in the code's strip k. It may
// overwrite strips behind k. It returns the number of the strip in a state.
func (f *integerCompiler[T]) value(n *term.Term, k int) int {
	z := f.z
	switch {
	case !n.Uses(z.v):
		z.fromMemory(n)
		f.emit(k, integerInstruction[T]{op: integerUniform, of: n, value: z.c.integer(n)})
		return f.strip(k)
	case n.Kind == term.Boolean && !rewrite.Fails(n):
		f.truth(n, k)
		return f.strip(k)
	case n.Kind == term.Integer:
		sum := rewrite.Linear(n)
		if len(sum.Rest) != 1 || sum.Rest[0].Factor != 1 || sum.Base != 0 || len(sum.Vars) > 0 || f.table(sum.Rest[0].Of) != nil {
			f.sum(sum, k)
			return f.strip(k)
		}
		if n = sum.Rest[0].Of; n.Kind != term.Integer {
			return f.value(n, k)
		}
		if f.operation(n, k) {
			return f.strip(k)
		}
	}
	z.fromMemory(n)
	f.emit(k, integerInstruction[T]{op: integerEach, of: n, value: z.c.integer(n)})
	return f.strip(k)
}

// register returns a register with a value that code of the vectorizer computes before this code runs.
func (f *integerCompiler[T]) register(n *term.Term) int {
	r := f.z.vector(f.z.real(n))
	f.out.uses = append(f.out.uses, r)
	return r
}

// truth emits code that copies a condition to strip k.
func (f *integerCompiler[T]) truth(n *term.Term, k int) {
	f.emit(k, integerInstruction[T]{op: integerTruth, reg: f.register(n)})
}

// sum emits code that computes an affine form in strip k.
func (f *integerCompiler[T]) sum(sum rewrite.Form, k int) {
	same := rewrite.Form{Base: sum.Base, Vars: sum.Vars}
	var parts []rewrite.Addend
	for _, p := range sum.Rest {
		if p.Of.Uses(f.z.v) {
			parts = append(parts, p)
			continue
		}
		f.z.fromMemory(p.Of)
		same.Rest = append(same.Rest, p)
	}
	f.emit(k, integerInstruction[T]{op: integerCount, from: f.z.count(same, f.z.c.value(same))})
	var table []int // of all parts that depend on the vectorized index only
	of := term.Number(0)
	for _, p := range parts {
		if values := f.table(p.Of); values != nil {
			if table == nil {
				table = make([]int, len(values))
			}
			addElements(table, values, 0, 1, p.Factor)
			of = term.Sum(of, term.Product(p.Of, term.Number(p.Factor)))
		} else if in := f.elements(p.Of); in != nil {
			in.op, in.factor = integerAddElements, p.Factor
			f.emit(k, *in)
		} else if in := f.digits(p.Of); in != nil {
			in.factor = p.Factor
			f.emit(k, *in)
		} else {
			y := f.value(p.Of, k+1)
			f.emit(k, integerInstruction[T]{op: integerAdd, y: y, factor: p.Factor})
		}
	}
	if table != nil {
		f.emit(k, integerInstruction[T]{op: integerAddTable, table: table, of: of})
	}
}

// table returns the values of an integer, by value of the vectorized index. It returns nil if the integer
// depends on anything else, if the index has more values than a strip has elements, or if the integer may
// fail.
func (f *integerCompiler[T]) table(n *term.Term) []int {
	v := f.z.v
	if _, known := v.Hi.Known(); !known || !v.Lo.Is(0) || rewrite.Extent(v) > stripLength || rewrite.Fails(n) {
		return nil
	}
	constant := n.Kind == term.Integer
	n.Walk(func(m *term.Term) {
		constant = constant && (m.Op != term.Index || m.Var == v) && m.Op != term.Element && m.Op != term.Step && m.Op != term.Apply
	})
	if !constant {
		return nil
	}
	value, out := f.z.c.integer(n), make([]int, rewrite.Extent(v))
	s := &state[T]{vars: make([]int, len(f.z.c.places)), numbers: make([]float64, f.z.c.numbers)}
	for i := range out {
		s.vars[f.z.at] = i
		out[i] = value(s)
	}
	return out
}

// elements returns an instruction that loads strided integers. It returns nil if n is no such load.
func (f *integerCompiler[T]) elements(n *term.Term) *integerInstruction[T] {
	if n.Op != term.Element || n.Read.Which != nil || !f.z.c.tensors[n.Read.Tensor].Type.IsInteger() {
		return nil
	}
	a := rewrite.AccessOf(n.Read)
	if a.Offset.Hidden(f.z.v) || len(a.Open) > 0 {
		return nil
	}
	f.z.fromMemory(n)
	return &integerInstruction[T]{op: integerElements, from: f.z.address(n.Read.Tensor, a), elements: integersOf[T](f.z.c.tensors[n.Read.Tensor].Type)}
}

// digits returns an instruction that adds quotients or remainders of an affine form by a constant. It returns
// nil for other integers.
func (f *integerCompiler[T]) digits(n *term.Term) *integerInstruction[T] {
	if n.Op != term.Quotient && n.Op != term.Modulo {
		return nil
	}
	d, known := n.Args[1].Known()
	of := rewrite.Linear(n.Args[0])
	if !known || d <= 0 || of.Hidden(f.z.v) {
		return nil
	}
	f.z.fromMemory(n)
	in := &integerInstruction[T]{op: integerAddQuotients, from: f.z.count(of, f.z.c.value(of)), divisor: d, factor: 1}
	if n.Op == term.Modulo {
		in.op = integerAddRests
	}
	return in
}

// operation emits code that computes an opaque integer in strip k. It returns false if only scalar code can
// compute it.
func (f *integerCompiler[T]) operation(n *term.Term, k int) bool {
	switch n.Op {
	case term.Element:
		if in := f.elements(n); in != nil {
			f.emit(k, *in)
			return true
		}
		a := rewrite.AccessOf(n.Read)
		if n.Read.Which != nil || len(a.Open) > 0 || !f.z.c.tensors[n.Read.Tensor].Type.IsInteger() {
			return false
		}
		f.z.fromMemory(n)
		f.sum(a.Offset, k)
		f.emit(k, integerInstruction[T]{op: integerLookup, from: f.z.address(n.Read.Tensor, a), elements: integersOf[T](f.z.c.tensors[n.Read.Tensor].Type)})
	case term.Choose:
		if rewrite.Fails(n) {
			return false // only the selected operand may be evaluated
		}
		f.chosen(n, k)
	case term.Apply:
		convert := n.Func.Has(term.Conversion)
		switch {
		case convert && n.Args[0].Kind == term.Boolean && !rewrite.Fails(n):
			f.truth(n.Args[0], k)
		case convert && f.z.c.strictly(n.Args[0]) && !rewrite.Fails(n):
			f.converted(n, k)
		case convert || n.Args[0].Kind != term.Integer:
			return false
		case n.Func == term.Abs:
			f.value(n.Args[0], k)
			f.emit(k, integerInstruction[T]{op: integerAbs})
		case n.Func == term.Min || n.Func == term.Max:
			f.both(n, k)
		default:
			return false
		}
	case term.Multiply, term.Power:
		f.both(n, k)
	case term.Quotient, term.Truncate, term.Modulo:
		if f.digits(n) != nil {
			f.sum(rewrite.Form{Rest: []rewrite.Addend{{Of: n, Factor: 1}}}, k)
			return true
		}
		f.z.c.fails = true
		f.both(n, k)
	default:
		return false
	}
	return true
}

// both emits code for the operands of a binary operation, and for the operation.
func (f *integerCompiler[T]) both(n *term.Term, k int) {
	f.value(n.Args[0], k)
	y := f.value(n.Args[1], k+1)
	f.emit(k, integerInstruction[T]{op: integerBinary, of: n, y: y})
}

// converted emits code that converts real numbers to integers.
func (f *integerCompiler[T]) converted(n *term.Term, k int) {
	least, end := math.Inf(1), math.Inf(-1) // conversions of numbers in [least, end) truncate
	switch n.Func.To {
	case dtype.I64:
		least, end = -1<<63, 1<<63
	case dtype.U64: // and greater numbers one by one: they have other bits than int
		least, end = 0, 1<<63
	default:
		if lo, hi, ok := n.Func.To.Bounds(); ok {
			least, end = float64(lo), float64(hi+1)
		}
	}
	f.emit(k, integerInstruction[T]{op: integerConverted, real: f.z.double(n.Args[0], true), of: n, least: least, end: end})
}

// folded returns code that calls visit for strips of an integer reduction's values, over the last reduced
// index. It returns nil if the values need strips of T, such as those of conditions on real numbers.
func (c *compiler[T]) folded(r *term.Reduction) func(s *state[T], visit func(first int, values []int)) {
	if r.Guard != nil || r.Body.Kind != term.Integer || len(r.Vars) == 0 {
		return nil
	}
	v := r.Vars[len(r.Vars)-1]
	z := newVectorizer(c, v)
	f := newIntegerCompiler(z)
	f.apart = true
	x, code := f.value(r.Body, 0), f.finish()
	if len(z.strip.code) > 0 {
		return nil
	}
	lo, hi, at := c.integer(v.Lo), c.integer(v.Hi), c.place(v)
	return func(s *state[T], visit func(first int, values []int)) {
		for i, end := lo(s), hi(s); i < end; i += stripLength {
			s.vars[at] = i
			n := min(stripLength, end-i)
			code.exec(s, n)
			visit(i, s.integerStrip(x)[:n])
		}
	}
}
