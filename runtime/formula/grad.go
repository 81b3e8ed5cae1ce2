package formula

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/internal/program"
	"github.com/opgen/opgen/internal/term"
)

// back adds the gradient of a value, times g, to those of the tensors that it reads.
type back func(f *frame, g float64)

// gradientCode computes gradients for given gradients of outputs and given values.
type gradientCode struct {
	given, computed []bool         // by tensor, as they were when the code was made
	flows           []bool         // by tensor, whether it has a gradient
	marked          []bool         // the statements whose values are missing
	hand            []func(*frame) // the statements that give gradients by hand
	adjoints        []func(*frame) // by statement
	depth           int
}

// backward computes the gradients of trainable tensors from those of outputs that were set with setGrad. What it needs
// and was not set or computed, it computes. A gradient that was not set is 0.
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

// gradient returns the code for the gradients that follow from those of the given tensors.
func (p *compiled) gradient(given, computed []bool) (*gradientCode, error) {
	c := &code{p: p.Program}
	g := &gradientCode{given: given, computed: computed, flows: slices.Clone(given),
		marked: make([]bool, len(p.Statements)), adjoints: make([]func(*frame), len(p.Statements))}
	need := map[int]bool{}
	for _, s := range p.Backward {
		c.reads = map[int]bool{}
		g.hand = append(g.hand, c.statement(s))
		for t := range c.reads {
			need[t] = true
		}
	}
	for i := len(p.Statements) - 1; i >= 0; i-- {
		s := p.Statements[i]
		if p.Tensors[s.Target].Kind != term.Real || !g.flows[s.Target] || !p.Depends(s.Value) {
			continue
		}
		c.reads = map[int]bool{}
		g.adjoints[i] = c.adjoint(s)
		for t := range c.reads {
			need[t] = true
		}
		s.Value.Walk(func(n *term.Term) {
			if n.Op == term.Element && n.Kind == term.Real && p.Tensors[n.Read.Tensor].Varies {
				for k := range n.Read.Count {
					g.flows[n.Read.Tensor+k] = true
				}
			}
		})
	}
	for i := len(p.Statements) - 1; i >= 0; i-- {
		if t := p.Statements[i].Target; need[t] && !computed[t] {
			g.marked[i] = true
			for r := range p.code.needs[i] {
				need[r] = true
			}
		}
	}
	for t, l := range p.Tensors {
		if need[t] && !computed[t] && !l.Given && l.Old < 0 {
			return nil, mistake(p.Operator, fmt.Sprintf("gradients need %s, which is not there", l.Name))
		}
	}
	g.depth = c.depth
	return g, nil
}

// adjoints hands gradients on, from the last statement to the first.
func (m *memory) adjoints(g *gradientCode) error {
	back := slices.DeleteFunc(slices.Clone(g.adjoints), func(f func(*frame)) bool { return f == nil })
	slices.Reverse(back)
	return m.each(g.depth, back)
}

// each runs code. An error is that of the first part that fails.
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

// adjoint returns code that hands the gradient of what a statement gives on to what it reads.
func (c *code) adjoint(s *program.Statement) func(*frame) {
	c.number(s)
	for _, way := range []func(*program.Statement) func(*frame){c.backScan, c.backBuckets} {
		if run := way(s); run != nil {
			return run
		}
	}
	place, id := c.place(s.Left), s.Target
	result := func(f *frame) float64 {
		_, at, _ := place(f)
		return f.m.tensors[id].real[at]
	}
	c.of = s
	x := c.back(s.Value, func() func(*frame) float64 { c.reads[id] = true; return result })
	each := c.loop(s.Vars, nil)
	return func(f *frame) {
		each(f, func(f *frame) {
			_, at, _ := place(f)
			if g := f.m.grads[id][at]; g != 0 {
				x.add(f, g)
			}
		})
	}
}

// back returns code for the gradient of n; nil if nothing flows. result, unless it is nil, returns code that reads the value
// of n where it was stored.
func (c *code) back(n *term.Term, result func() func(*frame) float64) back {
	if n.Kind != term.Real || !c.p.Depends(n) {
		return nil
	}
	switch n.Op {
	case term.Element:
		return c.backElement(n.Read)
	case term.Negate:
		x := c.back(n.Args[0], nil)
		return func(f *frame, g float64) { x(f, -g) }
	case term.Choose:
		holds, x, y := c.boolean(n.Args[0]), c.back(n.Args[1], result), c.back(n.Args[2], result)
		return func(f *frame, g float64) {
			if holds(f) {
				x.add(f, g)
			} else {
				y.add(f, g)
			}
		}
	case term.Reduce:
		return c.backReduce(n)
	case term.Apply:
		return c.backApply(n, result)
	case term.Add, term.Subtract:
		x, y := c.back(n.Args[0], nil), c.back(n.Args[1], nil)
		sign := 1.0
		if n.Op == term.Subtract {
			sign = -1
		}
		return func(f *frame, g float64) {
			x.add(f, g)
			y.add(f, sign*g)
		}
	case term.Multiply:
		x, y := c.back(n.Args[0], nil), c.back(n.Args[1], nil)
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
		x, y := c.back(n.Args[0], nil), c.back(n.Args[1], nil)
		d := c.real(n.Args[1])
		v := c.factor(n.Args[0], y)
		return func(f *frame, g float64) {
			q := d(f)
			x.add(f, g/q)
			if y != nil {
				y(f, -g*(v(f)/q)/q) // q*q may overflow
			}
		}
	}
	power := &term.Function{Name: "pow", Args: 2, Slope: term.PowerSlope, Real: term.Functions["pow"].Real}
	return c.backApply(&term.Term{Op: term.Apply, Kind: term.Real, Func: power, Args: n.Args}, nil)
}

func (b back) add(f *frame, g float64) {
	if b != nil {
		b(f, g)
	}
}

// factor returns code for a number if something is to be multiplied by it.
func (c *code) factor(n *term.Term, of back) func(*frame) float64 {
	if of == nil {
		return nil
	}
	return c.real(n)
}

// backElement returns code that adds to the gradient of an element, or hands on to the value in its place.
func (c *code) backElement(r *term.Read) back {
	place := c.place(r)
	var other back
	if r.Else != nil {
		other = c.back(r.Else, nil)
	}
	if !c.p.Tensors[r.Tensor].Varies {
		return func(f *frame, g float64) {
			if _, _, ok := place(f); !ok {
				other.add(f, g)
			}
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

// backApply returns code for the gradient of a function's arguments.
func (c *code) backApply(n *term.Term, result func() func(*frame) float64) back {
	args := make([]back, len(n.Args))
	for i, a := range n.Args {
		args[i] = c.back(a, nil)
	}
	if n.Func.Name == "max" || n.Func.Name == "min" {
		return c.backExtreme(n, args, result)
	}
	slope := n.Func.Slope
	if n.Func.Name == "convert" {
		return args[0]
	}
	if slope == nil {
		return func(*frame, float64) {}
	}
	if n.Func.OfResult {
		y := c.resultOf(n, result)
		return func(f *frame, g float64) { args[0](f, g*slope(0, nil, y(f))) }
	}
	values, apply := c.reals(n.Args), n.Func.Real
	return func(f *frame, g float64) {
		x := make([]float64, len(values))
		for i, v := range values {
			x[i] = v(f)
		}
		y := apply(x...)
		for i, a := range args {
			if a != nil {
				a(f, g*slope(i, x, y))
			}
		}
	}
}

// resultOf returns code for a value: where it was stored, if that is known.
func (c *code) resultOf(n *term.Term, result func() func(*frame) float64) func(*frame) float64 {
	if result != nil {
		return result()
	}
	return c.real(n)
}

// backExtreme returns code for the gradient of the larger or smaller of two numbers: equal ones share it. If only one of
// them varies it gets all, and nothing where they are equal: max(x, 0) has the slope 0 at 0.
func (c *code) backExtreme(n *term.Term, args []back, result func() func(*frame) float64) back {
	least := n.Func.Name == "min"
	for i, a := range args {
		if a == nil || args[1-i] != nil {
			continue
		}
		// Where the result differs from the other number, it is this one.
		y, other := c.resultOf(n, result), c.real(n.Args[1-i])
		return func(f *frame, g float64) {
			if v, o := y(f), other(f); v != o && !math.IsNaN(o) {
				a(f, g)
			}
		}
	}
	x, y := c.real(n.Args[0]), c.real(n.Args[1])
	return func(f *frame, g float64) {
		a, b := x(f), y(f)
		if least {
			a, b = -a, -b
		}
		switch {
		case a == b:
			args[0](f, g/2)
			args[1](f, g/2)
		case a > b || math.IsNaN(a):
			args[0](f, g)
		default:
			args[1](f, g)
		}
	}
}
