package formula

import (
	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// derivedCode computes gradients by the simplified statements of package derive, on which the spec's saved
// tensors are based. Reverse mode on closures may read more tensors, such as the condition of a choice
// between two equal values.
type derivedCode struct {
	of      *derive.Gradient
	program *compiled // the statements on which gradients depend
}

// derived returns code for the gradients of all tensors by derived statements. given says which gradients are
// available, and computed which tensors. It returns missing if the statements read an element that is not
// available.
func (p *compiled) derived(given, computed []bool) (*derivedCode, error) {
	var from []int
	for t, is := range given {
		if is && p.HasGradient(t) && p.Tensors[t].Kind == term.Real {
			from = append(from, t)
		}
	}
	g, err := derive.Gradients(p.Program, from)
	if err != nil {
		return nil, mistake(p.Operator, err.Error())
	}
	g.Program.Settle()
	d := &derivedCode{of: g}
	there := make([]bool, len(g.Program.Tensors))
	copy(there, computed)
	need := make([]bool, len(there))
	for t, id := range g.Of {
		there[id], need[id] = given[t], !given[t]
	}
	q := *g.Program
	if q.Statements, err = program.Needed(q.Statements, need, func(t int) bool { return there[t] }); err != nil {
		return nil, mistake(p.Operator, err.Error())
	}
	for t, l := range g.Program.Tensors {
		if need[t] && (l.Old < 0 && !there[t] && !l.Given && count(l) > 0 || p.Overwritten(l)) {
			return nil, missing{p.Operator, l.Name}
		}
	}
	d.program = &compiled{&q, compile(&q)}
	return d, nil
}

// run computes the gradients from the tensors and output gradients in m.
func (d *derivedCode) run(m *memory) error {
	n := d.program.newMemory()
	n.step = m.step
	copy(n.tensors, m.tensors)
	copy(n.computed, m.computed)
	for t, id := range d.of.Of {
		if g := m.grads[t]; g != nil {
			n.tensors[id].real, n.computed[id] = g, true
		}
	}
	if err := n.forward(); err != nil {
		return err
	}
	for t, id := range d.of.Of {
		m.grads[t] = n.tensors[id].real
	}
	return nil
}
