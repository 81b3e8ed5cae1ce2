package formula

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// frame is the environment of a running closure: the values of index variables, and the tensors.
type frame struct {
	vars []int
	m    *memory
}

// failure is a panic value with which a closure reports an error. memory.run recovers it.
type failure struct{ err error }

// code is a program compiled into closures. While it compiles, it records the tensors that each part reads.
type code struct {
	p      *program.Program
	reads  map[int]bool
	slots  map[*term.Variable]int // frame slots of the variables of the current statement
	depth  int                    // the size of a frame
	weight int                    // number of operations of the current statement's value
	of     *program.Statement     // the statement whose adjoint is compiled
	hands  map[int]bool           // of adjoints: tensors to whose gradients the current statement contributes
	slopes *program.Slopes        // of adjoints: which elements may be unused, infinite or NaN
	result *term.Term             // of a derivative: the term for the value that known computes
	known  func() func(*frame) float64
	runs   []func(*frame) // by statement
	needs  []map[int]bool // by statement: the tensors that it reads
}

// compile compiles a program into closures.
func compile(p *program.Program) *code {
	c := &code{p: p}
	for i := 0; i < len(p.Statements); {
		block := program.Together(p.Statements, i)
		c.reads = map[int]bool{}
		c.runs = append(c.runs, c.statements(block))
		for range block[1:] { // the first one runs all
			c.runs = append(c.runs, func(*frame) {})
		}
		for range block {
			c.needs = append(c.needs, c.reads)
		}
		i += len(block)
	}
	return c
}

// forward runs all statements, for the values of slots that were set.
func (m *memory) forward() error {
	all := make([]bool, len(m.program.Statements))
	for i := range all {
		all[i] = true
	}
	return m.run(all)
}

// run runs the marked statements in order. An error of a closure ends the run.
func (m *memory) run(marked []bool) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v.err
		default:
			panic(v)
		}
	}()
	for i, t := range m.program.Tensors {
		if t.Old >= 0 {
			m.tensors[i] = m.tensors[t.Old].clone()
			m.computed[i] = m.computed[t.Old]
		}
	}
	f := &frame{make([]int, m.program.code.depth), m}
	for i, s := range m.program.Statements {
		if marked[i] {
			m.program.code.runs[i](f)
			m.computed[s.Target] = true
			if t := m.program.Tensors[s.Target]; t.Kind == term.Integer && t.Type != dtype.Invalid && t.Type.Size() < 8 {
				e := m.tensors[s.Target].integer // of 64 bits, where a statement runs in one pass
				copy(e, bounded(e, t.Type, m.program.ends(s.Target)))
				for k, v := range e {
					e[k] = held(t.Type, v)
				}
			}
		}
	}
	return nil
}

// held returns an integer as a tensor of a type holds it: its last bits.
func held(t dtype.Type, v int64) int64 {
	if t == dtype.Invalid { // no slot's: of 64 bits
		return v
	}
	unused := 64 - 8*t.Size()
	if t == dtype.I8 || t == dtype.I16 || t == dtype.I32 {
		return v << unused >> unused
	}
	return int64(uint64(v) << unused >> unused)
}

func (e elements) clone() elements {
	return elements{append([]float64(nil), e.real...), append([]int64(nil), e.integer...), append([]bool(nil), e.boolean...)}
}

// number assigns a slot of the frame to each variable of a statement.
func (c *code) number(s *program.Statement) {
	c.weight = max(s.Value.Size(1<<10), 1)
	c.slots = map[*term.Variable]int{}
	place := func(v *term.Variable) {
		if _, ok := c.slots[v]; !ok {
			c.slots[v] = len(c.slots)
		}
	}
	for _, v := range s.Vars {
		place(v)
	}
	s.Walk(func(n *term.Term) {
		if n.Op == term.Reduce {
			for _, v := range n.Reduction.Vars {
				place(v)
			}
		}
	})
	c.depth = max(c.depth, len(c.slots))
}

// statement compiles a statement into code that computes all of its elements.
func (c *code) statement(s *program.Statement) func(*frame) {
	c.number(s)
	if run := c.inOnePass(s); run != nil {
		return run
	}
	set := c.assignment(s)
	each := c.loop(s.Vars, s.Guard)
	return func(f *frame) { each(f, set) }
}

// assignment compiles a statement into code that computes one of its elements.
func (c *code) assignment(s *program.Statement) (set func(*frame)) {
	place := c.place(s.Left)
	id := s.Target
	switch c.p.Tensors[id].Kind {
	case term.Real:
		x := c.real(s.Value)
		set = func(f *frame) {
			v := x(f)
			_, at, _ := place(f)
			f.m.tensors[id].real[at] = v
		}
		if s.Add {
			set = func(f *frame) {
				v := x(f)
				_, at, _ := place(f)
				f.m.tensors[id].real[at] += v
			}
		}
	case term.Integer:
		x := c.integer(s.Value)
		set = func(f *frame) {
			v := x(f)
			_, at, _ := place(f)
			if v := int64(v); v == math.MinInt64 || v == math.MaxInt64 { // what an extreme of nothing is
				f.m.tensors[id].integer[at] = v
			} else {
				f.m.tensors[id].integer[at] = held(c.p.Tensors[id].Type, v)
			}
		}
	default:
		x := c.boolean(s.Value)
		set = func(f *frame) {
			v := x(f)
			_, at, _ := place(f)
			f.m.tensors[id].boolean[at] = v
		}
	}
	return set
}

// statements compiles a statement, or all statements of a recurrence.
func (c *code) statements(block []*program.Statement) func(*frame) {
	if block[0].Recurrence == nil {
		return c.statement(block[0])
	}
	steps := make([]step, len(block))
	for i, s := range block {
		c.number(s)
		set := c.assignment(s)
		each := c.loop(c.inner(s), s.Guard)
		steps[i] = c.step(s, func(f *frame) { each(f, set) })
	}
	return inSteps(steps, block[0].Recurrence.Down)
}

// step is code for one statement of a recurrence at one value of the recurrence's index.
type step struct {
	lo, hi func(*frame) int
	at     int // frame slot of the index
	run    func(*frame)
}

func (c *code) step(s *program.Statement, run func(*frame)) step {
	return step{c.integer(s.Over.Lo), c.integer(s.Over.Hi), c.slots[s.Over], run}
}

// inner returns the variables of a statement of a recurrence, without the index of the recurrence.
func (c *code) inner(s *program.Statement) []*term.Variable {
	return slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return v == s.Over })
}

// inSteps returns code for a recurrence: for each value of the index, upward or downward, it runs the steps
// in order.
func inSteps(steps []step, down bool) func(*frame) {
	return func(f *frame) {
		lo, hi := math.MaxInt, math.MinInt
		for _, s := range steps {
			lo, hi = min(lo, s.lo(f)), max(hi, s.hi(f))
		}
		f.m.take(hi-lo, len(steps))
		for i := lo; i < hi; i++ {
			v := i
			if down {
				v = lo + hi - 1 - i
			}
			for _, s := range steps {
				if s.lo(f) <= v && v < s.hi(f) {
					f.vars[s.at] = v
					s.run(f)
				}
			}
		}
	}
}

// inOnePass compiles an order, a scan or a segment reduction into one pass over its elements. It returns nil
// for other statements.
func (c *code) inOnePass(s *program.Statement) func(*frame) {
	for _, way := range []func(*program.Statement) func(*frame){c.orders, c.scans, c.buckets} {
		if run := way(s); run != nil {
			return run
		}
	}
	return nil
}

// loop returns code for a loop nest over vars, the last innermost, that visits the indices at which the
// guard holds.
func (c *code) loop(vars []*term.Variable, guard *term.Term) func(f *frame, visit func(*frame)) {
	if len(vars) == 0 {
		if guard == nil {
			return func(f *frame, visit func(*frame)) { visit(f) }
		}
		holds := c.boolean(guard)
		return func(f *frame, visit func(*frame)) {
			if holds(f) {
				visit(f)
			}
		}
	}
	lo, hi, at, weight := c.integer(vars[0].Lo), c.integer(vars[0].Hi), c.slots[vars[0]], c.weight
	if len(vars) == 1 && guard == nil {
		return func(f *frame, visit func(*frame)) {
			i, end := lo(f), hi(f)
			for f.m.take(end-i, weight); i < end; i++ {
				f.vars[at] = i
				visit(f)
			}
		}
	}
	inner := c.loop(vars[1:], guard)
	if len(vars) > 1 {
		weight = 1 // the inner loops count the rest
	}
	return func(f *frame, visit func(*frame)) {
		i, end := lo(f), hi(f)
		for f.m.take(end-i, weight); i < end; i++ {
			f.vars[at] = i
			inner(f, visit)
		}
	}
}

// place returns code for the address of an access: the tensor, and the row-major offset of the element in
// it. ok is false if an index is out of bounds and the access has a default. Without a default this is a
// failure.
func (c *code) place(r *term.Read) func(*frame) (tensor, at int, ok bool) {
	idx := make([]func(*frame) int, len(r.Idx))
	for i, x := range r.Idx {
		idx[i] = c.integer(x)
	}
	ext, first, count := extents(r.Ext), r.Tensor, r.Count
	which := func(*frame) int { return 0 }
	if r.Which != nil {
		which = c.integer(r.Which)
	}
	l := c.p.Tensors[r.Tensor]
	strict := r.Else == nil
	return func(f *frame) (int, int, bool) {
		w, at := which(f), 0
		ok := w >= 0 && w < count
		for i, x := range idx {
			v := x(f)
			if v < 0 || v >= ext[i] {
				ok = false
			}
			at = at*ext[i] + v
		}
		if !ok && strict {
			values := make([]int, len(idx))
			for i, x := range idx {
				values[i] = x(f)
			}
			panic(failure{mistake(c.p.Operator, outside(r, l, values).Error())})
		}
		return first + w, at, ok
	}
}

// saw records that the code reads the tensors of an access.
func (c *code) saw(r *term.Read) {
	for i := range r.Count {
		c.reads[r.Tensor+i] = true
	}
}

// element returns code for a load. get loads from a tensor. code compiles the default, which replaces an
// element out of bounds.
func element[T any](c *code, r *term.Read, code func(*term.Term) func(*frame) T, get func(elements, int) T) func(*frame) T {
	c.saw(r)
	place := c.place(r)
	var other func(*frame) T
	if r.Else != nil {
		other = code(r.Else)
	}
	return func(f *frame) T {
		t, at, ok := place(f)
		if !ok {
			return other(f)
		}
		return get(f.m.tensors[t], at)
	}
}

// choice returns code for a conditional expression. Only the selected operand is evaluated.
func choice[T any](c *code, n *term.Term, code func(*term.Term) func(*frame) T) func(*frame) T {
	holds, x, y := c.boolean(n.Args[0]), code(n.Args[1]), code(n.Args[2])
	return func(f *frame) T {
		if holds(f) {
			return x(f)
		}
		return y(f)
	}
}

// real returns code for the value of n, converted to float64.
func (c *code) real(n *term.Term) func(*frame) float64 {
	if n == c.result {
		return c.known()
	}
	switch n.Kind {
	case term.Integer:
		x := c.integer(n)
		if c.p.Unsigned(n) {
			return func(f *frame) float64 { return float64(uint64(x(f))) }
		}
		return func(f *frame) float64 { return float64(x(f)) }
	case term.Boolean:
		x := c.boolean(n)
		return func(f *frame) float64 { return term.Truth(x(f)) }
	}
	switch n.Op {
	case term.Constant:
		v := n.Float
		return func(*frame) float64 { return v }
	case term.Element:
		if c.p.Tensors[n.Read.Tensor].Unsigned {
			return element(c, n.Read, c.real, func(e elements, i int) float64 { return float64(uint64(e.integer[i])) })
		}
		return element(c, n.Read, c.real, elements.at)
	case term.Choose:
		return choice(c, n, c.real)
	case term.Reduce:
		return c.reduceReal(n.Reduction)
	case term.Negate:
		x := c.real(n.Args[0])
		return func(f *frame) float64 { return -x(f) }
	case term.Apply:
		return c.apply(n)
	}
	x, y := c.real(n.Args[0]), c.real(n.Args[1])
	switch n.Op {
	case term.Add:
		return func(f *frame) float64 { return x(f) + y(f) }
	case term.Subtract:
		return func(f *frame) float64 { return x(f) - y(f) }
	case term.Multiply:
		return func(f *frame) float64 { return x(f) * y(f) }
	case term.Divide:
		return func(f *frame) float64 { return x(f) / y(f) }
	}
	if n.Args[1].Op == term.Constant && n.Args[1].Value() == 2 {
		return func(f *frame) float64 { v := x(f); return v * v }
	}
	return func(f *frame) float64 { return math.Pow(x(f), y(f)) }
}

// apply returns code for a call of a function on real numbers.
func (c *code) apply(n *term.Term) func(*frame) float64 {
	if draw := n.Func.Draw; draw != nil {
		seed, stream, number := c.integer(n.Args[0]), c.integer(n.Args[1]), c.integer(n.Args[2])
		return func(fr *frame) float64 { return draw(seed(fr), stream(fr), number(fr)) }
	}
	f, args := n.Func.Real, c.reals(n.Args)
	switch len(args) {
	case 1:
		x := args[0]
		return func(fr *frame) float64 { return f(x(fr)) }
	case 2:
		x, y := args[0], args[1]
		return func(fr *frame) float64 { return f(x(fr), y(fr)) }
	}
	return func(fr *frame) float64 {
		v := make([]float64, len(args))
		for i, x := range args {
			v[i] = x(fr)
		}
		return f(v...)
	}
}

func (c *code) reals(nodes []*term.Term) []func(*frame) float64 {
	out := make([]func(*frame) float64, len(nodes))
	for i, n := range nodes {
		out[i] = c.real(n)
	}
	return out
}

// integer returns code for the value of n, converted to int.
func (c *code) integer(n *term.Term) func(*frame) int {
	if n.Kind != term.Integer {
		x := c.real(n)
		return func(f *frame) int { return int(x(f)) }
	}
	switch n.Op {
	case term.Constant, term.Symbol:
		v := n.Int
		return func(*frame) int { return v }
	case term.Index:
		slot := c.slots[n.Var]
		return func(f *frame) int { return f.vars[slot] }
	case term.Step:
		return func(f *frame) int { return int(f.m.step) }
	case term.Element:
		return element(c, n.Read, c.integer, func(e elements, i int) int { return int(e.integer[i]) })
	case term.Choose:
		return choice(c, n, c.integer)
	case term.Reduce:
		return c.reduceInteger(n.Reduction)
	case term.Negate:
		x := c.integer(n.Args[0])
		return func(f *frame) int { return -x(f) }
	case term.Apply:
		return c.applyInteger(n)
	}
	if run := c.unsigned(n); run != nil {
		return run
	}
	x, y, op := c.integer(n.Args[0]), c.integer(n.Args[1]), n.Op
	if term.Divides(op) {
		return func(f *frame) int {
			d := y(f)
			if !term.Divisor(op, d) {
				panic(failure{mistake(c.p.Operator, fmt.Sprintf("an integer is divided by %d", d))})
			}
			return term.IntegerOf(op, x(f), d)
		}
	}
	switch op {
	case term.Add:
		return func(f *frame) int { return x(f) + y(f) }
	case term.Subtract:
		return func(f *frame) int { return x(f) - y(f) }
	case term.Power:
		return func(f *frame) int { return term.IntegerPower(x(f), y(f)) }
	}
	return func(f *frame) int { return x(f) * y(f) }
}

func (c *code) applyInteger(n *term.Term) func(*frame) int {
	if n.Func.Has(term.Conversion) { // of a real number or a condition
		x, whole := c.real(n.Args[0]), n.Func.Whole
		return func(f *frame) int { return whole(x(f)) }
	}
	if run := c.unsigned(n); run != nil {
		return run
	}
	x := c.integer(n.Args[0])
	if n.Func == term.Abs {
		if c.p.Unsigned(n.Args[0]) {
			return x
		}
		return func(f *frame) int { return max(x(f), -x(f)) }
	}
	y := c.integer(n.Args[1])
	if n.Func == term.Min {
		return func(f *frame) int { return min(x(f), y(f)) }
	}
	return func(f *frame) int { return max(x(f), y(f)) }
}

// boolean returns code for the value of n, converted to bool.
func (c *code) boolean(n *term.Term) func(*frame) bool {
	if n.Kind != term.Boolean {
		x := c.real(n)
		return func(f *frame) bool { return x(f) != 0 }
	}
	switch n.Op {
	case term.Constant:
		v := n.Int != 0
		return func(*frame) bool { return v }
	case term.Element:
		return element(c, n.Read, c.boolean, func(e elements, i int) bool { return e.boolean[i] })
	case term.Choose:
		return choice(c, n, c.boolean)
	case term.Apply: // isnan, convert
		x := c.apply(n)
		return func(f *frame) bool { return x(f) != 0 }
	case term.Reduce:
		all := n.Reduction.Kind == reduction.All
		each, x := c.loop(n.Reduction.Vars, n.Reduction.Guard), c.boolean(n.Reduction.Body)
		return func(f *frame) bool {
			out := all
			each(f, func(f *frame) { out = out && x(f) || !all && (out || x(f)) })
			return out
		}
	case term.Not:
		x := c.boolean(n.Args[0])
		return func(f *frame) bool { return !x(f) }
	}
	if n.Op == term.And || n.Op == term.Or || n.Args[0].Kind == term.Boolean && n.Args[1].Kind == term.Boolean {
		return c.logic(n)
	}
	if n.Args[0].Kind == term.Integer && n.Args[1].Kind == term.Integer {
		return c.compared(n)
	}
	return comparison(n.Op, c.real(n.Args[0]), c.real(n.Args[1]))
}

// comparison returns code for a comparison of two signed integers or two real numbers.
func comparison[N int | float64](op term.Op, x, y func(*frame) N) func(*frame) bool {
	switch op {
	case term.Equal:
		return func(f *frame) bool { return x(f) == y(f) }
	case term.Unequal:
		return func(f *frame) bool { return x(f) != y(f) }
	case term.Less:
		return func(f *frame) bool { return x(f) < y(f) }
	}
	return func(f *frame) bool { return x(f) <= y(f) }
}

// logic returns code for a logical operation on two conditions.
func (c *code) logic(n *term.Term) func(*frame) bool {
	x, y := c.boolean(n.Args[0]), c.boolean(n.Args[1])
	switch n.Op {
	case term.And:
		return func(f *frame) bool { return x(f) && y(f) }
	case term.Or:
		return func(f *frame) bool { return x(f) || y(f) }
	case term.Equal:
		return func(f *frame) bool { return x(f) == y(f) }
	}
	return func(f *frame) bool { return x(f) != y(f) }
}
