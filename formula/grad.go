package formula

import (
	"maps"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// back adds g times the gradient of an expression to the gradients of the elements that the expression reads.
type back func(f *frame, g float64)

// gradientCode is the reverse-mode code of a program, specialized for the tensors that are available.
type gradientCode struct {
	given, computed []bool         // by tensor: whether it is available
	flows           []bool         // by tensor: whether a gradient reaches it
	marked          []bool         // statements to recompute
	hand            []func(*frame) // hand-written gradients
	adjoints        []func(*frame) // by statement; nil without a gradient
	depth           int
	derived         *derivedCode // replaces reverse mode if reverse mode reads a tensor that is not available
}

// backward computes the gradients of trainable tensors from the gradients of outputs, which setGrad sets. A
// missing output gradient is 0. It recomputes tensors that it needs and that are not available.
func (m *memory) backward() error {
	given := make([]bool, len(m.grads))
	for i := range given {
		given[i] = m.grads[i] != nil
	}
	if g := m.gradient; g == nil || !slices.Equal(g.given, given) || !slices.Equal(g.computed, m.computed) {
		var err error
		if m.gradient, err = m.program.gradient(given, slices.Clone(m.computed)); err != nil {
			return err
		}
	}
	g := m.gradient
	if g.derived != nil {
		return g.derived.run(m)
	}
	for i, t := range m.program.Tensors {
		if g.flows[i] && m.grads[i] == nil {
			m.grads[i] = make([]float64, count(t))
		}
	}
	if err := m.run(g.marked); err != nil {
		return err
	}
	if err := m.byHand(g); err != nil {
		return err
	}
	return m.adjoints(g)
}

// gradient compiles reverse mode. given says for which tensors a gradient is available, and computed which
// tensors are.
func (p *compiled) gradient(given, computed []bool) (*gradientCode, error) {
	c := &code{p: p.Program, slopes: p.Slopes()}
	g := &gradientCode{given: given, computed: computed, flows: slices.Clone(given),
		marked: make([]bool, len(p.Statements)), adjoints: make([]func(*frame), len(p.Statements))}
	need := map[int]bool{}
	for i := 0; i < len(p.Backward); i++ {
		block := program.Together(p.Backward, i)
		c.reads = map[int]bool{}
		g.hand = append(g.hand, c.statements(block))
		i += len(block) - 1
		for t := range c.reads {
			need[t] = true
		}
	}
	flows := func(t int) bool { return g.flows[t] }
	for i := len(p.Statements) - 1; i >= 0; i-- {
		s := p.Statements[i]
		block := program.Together(p.Statements, i)
		i -= len(block) - 1
		if s.Recurrence == nil && p.Tensors[s.Target].Kind != term.Real || !s.Needs(flows) || !slices.ContainsFunc(block, func(s *program.Statement) bool { return p.Depends(s.Value) }) {
			continue
		}
		c.reads, c.hands = map[int]bool{}, map[int]bool{}
		if g.adjoints[i] = c.adjoints(block); g.adjoints[i] == nil {
			continue
		}
		for t := range c.reads {
			need[t] = true
		}
		for t := range c.hands {
			g.flows[t] = true
		}
	}
	for i := len(p.Statements) - 1; i >= 0; i-- {
		if p.Statements[i].Needs(func(t int) bool { return need[t] && !computed[t] }) {
			g.marked[i] = true
			for r := range p.code.needs[i] {
				need[r] = true
			}
		}
	}
	for t, l := range p.Tensors {
		if need[t] && (l.Old < 0 && !computed[t] && !l.Given || p.Overwritten(l)) {
			var err error
			g.derived, err = p.derived(given, computed)
			err = opened(p.Program, err, func(q *program.Program) (err error) {
				if !slices.EqualFunc(p.Tensors, q.Tensors, func(x, y *program.Local) bool { return x.Name == y.Name }) {
					return missing{p.Operator, l.Name}
				}
				g.derived, err = (&compiled{q, p.code}).derived(given, computed)
				return err
			})
			return g, err
		}
	}
	g.depth = c.depth
	return g, nil
}

// adjoints runs the adjoints of all statements in reverse order.
func (m *memory) adjoints(g *gradientCode) error {
	back := slices.DeleteFunc(slices.Clone(g.adjoints), func(f func(*frame)) bool { return f == nil })
	slices.Reverse(back)
	return m.each(g.depth, back)
}

// each runs closures in order, and returns the first error.
func (m *memory) each(depth int, code []func(*frame)) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v.err
		default:
			panic(v)
		}
	}()
	f := &frame{make([]int, depth), m}
	for _, run := range code {
		run(f)
	}
	return nil
}

// adjoints compiles the adjoint of a statement or of a recurrence, which runs along the index in the opposite
// direction. It returns nil if no gradient flows.
func (c *code) adjoints(block []*program.Statement) func(*frame) {
	if block[0].Recurrence == nil {
		return c.adjoint(block[0])
	}
	var steps []step
	for _, s := range slices.Backward(block) {
		if c.p.Tensors[s.Target].Kind != term.Real || !c.p.Depends(s.Value) {
			continue
		}
		c.number(s)
		if run := c.adjointOver(s, c.inner(s)); run != nil {
			c.hands[s.Target] = true
			steps = append(steps, c.step(s, run))
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return inSteps(steps, !block[0].Recurrence.Down)
}

// adjoint compiles the adjoint of a statement, which propagates the gradient of the target to the elements
// that the statement reads. It returns nil if no gradient flows.
func (c *code) adjoint(s *program.Statement) func(*frame) {
	c.number(s)
	for _, way := range []func(*program.Statement) func(*frame){c.backScan, c.backBuckets} {
		if run := way(s); run != nil {
			return run
		}
	}
	return c.adjointOver(s, s.Vars)
}

// adjointOver compiles the adjoint of a statement as a loop over vars.
func (c *code) adjointOver(s *program.Statement, vars []*term.Variable) func(*frame) {
	place, id := c.place(s.Left), s.Target
	result := func(f *frame) float64 {
		_, at, _ := place(f)
		return f.m.tensors[id].real[at]
	}
	c.of = s
	x := c.back(s.Value, func() func(*frame) float64 { c.reads[id] = true; return result })
	if x == nil {
		return nil
	}
	each := c.loop(vars, nil)
	masked := c.slopes.Masks(s)
	return func(f *frame) {
		each(f, func(f *frame) {
			_, at, _ := place(f)
			if g := f.m.grads[id][at]; g != 0 || !masked { // masked: 0 times an infinite slope is 0
				x.add(f, g)
			}
		})
	}
}

// back returns the reverse-mode code of n, or nil if no gradient flows; it then records no reads. result
// returns code that loads the stored value of n; it is nil if none is stored.
func (c *code) back(n *term.Term, result func() func(*frame) float64) back {
	if n.Kind != term.Real || !c.p.Depends(n) {
		return nil
	}
	reads, hands := maps.Clone(c.reads), maps.Clone(c.hands)
	out := c.backOf(n, result)
	if out == nil {
		c.reads, c.hands = reads, hands
	}
	return out
}

func (c *code) backOf(n *term.Term, result func() func(*frame) float64) back {
	switch n.Op {
	case term.Element:
		return c.backElement(n.Read)
	case term.Reduce:
		return c.backReduce(n)
	case term.Apply:
		return c.backApply(n.Func, n, result)
	case term.Choose:
		holds, x, y := c.boolean(n.Args[0]), c.back(n.Args[1], result), c.back(n.Args[2], result)
		if x == nil && y == nil {
			return nil
		}
		return func(f *frame, g float64) {
			if holds(f) {
				x.add(f, g)
			} else {
				y.add(f, g)
			}
		}
	}
	args := make([]back, len(n.Args))
	flows := false
	for i, a := range n.Args {
		if n.Op == term.Multiply && n.Args[1-i].IsZero() || n.Op == term.Divide && i == 1 && n.Args[0].IsZero() {
			continue // a factor that is the constant 0 blocks the gradient
		}
		args[i] = c.back(a, nil)
		flows = flows || args[i] != nil
	}
	if !flows {
		return nil
	}
	x := args[0]
	switch n.Op {
	case term.Negate:
		return func(f *frame, g float64) { x(f, -g) }
	case term.Add, term.Subtract:
		y, sign := args[1], 1.0
		if n.Op == term.Subtract {
			sign = -1
		}
		return func(f *frame, g float64) {
			x.add(f, g)
			y.add(f, sign*g)
		}
	case term.Multiply:
		y := args[1]
		a, b := c.factor(n.Args[1], x), c.factor(n.Args[0], y)
		return func(f *frame, g float64) {
			if x != nil {
				x(f, g*a(f))
			}
			if y != nil {
				y(f, g*b(f))
			}
		}
	case term.Divide:
		y, d := args[1], c.real(n.Args[1])
		v := c.factor(n.Args[0], y)
		return func(f *frame, g float64) {
			q := d(f)
			x.add(f, g/q)
			if y != nil {
				y(f, -g*(v(f)/q)/q) // q*q may overflow
			}
		}
	}
	return c.backApply(term.Pow, n, nil)
}

func (b back) add(f *frame, g float64) {
	if b != nil {
		b(f, g)
	}
}

// factor returns code for the value of factor n of a product. It returns nil if of, the other factor, has no
// gradient, so that the value is not needed.
func (c *code) factor(n *term.Term, of back) func(*frame) float64 {
	if of == nil {
		return nil
	}
	return c.real(n)
}

// backElement returns the adjoint of a load: it adds to the gradient of the element, or continues in the
// default value if the access is out of bounds.
func (c *code) backElement(r *term.Read) back {
	place := c.place(r)
	var other back
	if r.Else != nil {
		other = c.back(r.Else, nil)
	}
	varies := false
	for k := range r.Count {
		varies = varies || c.p.Tensors[r.Tensor+k].Varies
	}
	if !varies {
		if other == nil {
			return nil
		}
		return func(f *frame, g float64) {
			if _, _, ok := place(f); !ok {
				other.add(f, g)
			}
		}
	}
	for k := range r.Count {
		if c.p.Tensors[r.Tensor+k].Varies {
			c.hands[r.Tensor+k] = true
		}
	}
	return func(f *frame, g float64) {
		t, at, ok := place(f)
		if !ok {
			other.add(f, g)
		} else if f.m.grads[t] != nil {
			f.m.grads[t][at] += g
		}
	}
}

// backApply returns the adjoint of n, a call of function f, with respect to all arguments.
func (c *code) backApply(f *term.Function, n *term.Term, result func() func(*frame) float64) back {
	if f.Has(term.Extreme) {
		return c.backExtreme(n, result)
	}
	var out back
	for i, a := range n.Args {
		x := c.back(a, nil)
		if x == nil || f.Derivative == nil {
			continue
		}
		first, slope := out, c.slope(f, i, n, result)
		out = func(f *frame, g float64) {
			first.add(f, g)
			x(f, g*slope(f))
		}
	}
	return out
}

// slope returns code for the partial derivative of n, a call of function f, with respect to argument i. If
// result is not nil, the value of n is loaded and not recomputed.
func (c *code) slope(f *term.Function, i int, n *term.Term, result func() func(*frame) float64) func(*frame) float64 {
	y := *n
	c.result, c.known = &y, func() func(*frame) float64 {
		if result != nil {
			return result()
		}
		return c.real(n)
	}
	defer func() { c.result = nil }()
	return c.real(f.Derivative(i, n.Args, &y))
}

// backExtreme returns the adjoint of a min or max. Operands that equal the extreme share its gradient, and
// operands that are NaN do if the extreme is NaN. If a constant operand equals the extreme, the gradient is
// 0: max(x, 0) has the slope 0 at 0.
func (c *code) backExtreme(n *term.Term, result func() func(*frame) float64) back {
	var varying []back
	var values, fixed []func(*frame) float64
	var own []*term.Term
	same := true // whether all fixed operands are constants that the stored result does not round
	for _, x := range term.Operands(n, n.Func) {
		if b := c.back(x, nil); b != nil {
			varying, own = append(varying, b), append(own, x)
		} else {
			same = same && x.Short()
			fixed = append(fixed, c.real(x))
		}
	}
	switch {
	case len(varying) == 0:
		return nil
	case len(varying) == 1 && result != nil && same: // the operand is the extreme unless a constant is
		values = append(values, result())
	default:
		values = c.reals(own)
	}
	least := n.Func == term.Min
	top := func(f *frame) float64 {
		extreme := math.Inf(-1)
		for _, x := range slices.Concat(values, fixed) {
			if v := x(f); least {
				extreme = max(extreme, -v)
			} else {
				extreme = max(extreme, v)
			}
		}
		if least {
			return -extreme
		}
		return extreme
	}
	return func(f *frame, g float64) {
		extreme := top(f)
		for _, x := range fixed {
			if isExtreme(x(f), extreme) {
				return
			}
		}
		n := 0.0
		for _, x := range values {
			n += term.Truth(isExtreme(x(f), extreme))
		}
		for i, x := range values {
			if isExtreme(x(f), extreme) {
				varying[i](f, g/n)
			}
		}
	}
}

// isExtreme reports whether operand x attains the extreme. A NaN does: the extreme is NaN then.
func isExtreme(x, extreme float64) bool { return x == extreme || math.IsNaN(x) }
