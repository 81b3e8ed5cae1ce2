package derive

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Effect is what dividing a dimension among devices does: each has a part of the tensors with that dimension,
// and all of the others.
type Effect uint8

const (
	// Divided says that each device computes its part of the results.
	Divided Effect = iota
	// Partial says that results without the dimension are partial sums.
	Partial
	// Undivided says that a device needs more than its part.
	Undivided
)

// String names the effect in words.
func (e Effect) String() string {
	return [...]string{"divides results", "leaves partial sums", "is not possible"}[e]
}

// state is what a device has of a value.
type state uint8

const (
	same  state = iota // all of it, and all devices have the same
	vary               // its own part
	part               // a term of a sum over all devices
	wrong              // something else
)

// Divide returns the effect of dividing the dimension that a symbol stands for, in a program whose extents
// are open.
func Divide(p *program.Program, symbol string) Effect {
	d := &divider{p: p, symbol: symbol, states: make([]state, len(p.Tensors)), seen: make([]bool, len(p.Tensors))}
	for i, l := range p.Tensors {
		d.states[i] = d.own(l.Shape)
	}
	for _, s := range p.Statements {
		d.statement(s)
	}
	partial := 0
	for i, l := range p.Tensors {
		if l.Slot < 0 || !l.Given && l.Old < 0 && d.states[i] != wrong {
			continue
		}
		switch d.states[i] {
		case wrong:
			return Undivided
		case part:
			partial++
		}
	}
	if partial > 0 {
		return Partial
	}
	return Divided
}

type divider struct {
	p      *program.Program
	symbol string
	states []state // by tensor
	seen   []bool  // whether a statement gave elements
}

// is reports whether an extent is the one that is divided.
func (d *divider) is(n *term.Term) bool { return n.Op == term.Symbol && n.Name == d.symbol }

// depends reports whether a value depends on the extent that is divided.
func (d *divider) depends(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || d.is(m) })
	return found
}

// own returns what a device has of a tensor, as its shape says.
func (d *divider) own(shape []*term.Term) state {
	out := same
	for _, n := range shape {
		switch {
		case d.is(n) && out == same:
			out = vary
		case d.depends(n):
			return wrong
		}
	}
	return out
}

// along reports whether a variable goes over the dimension that is divided.
func (d *divider) along(v *term.Variable) bool { return v.Lo.Is(0) && d.is(v.Hi) }

func (d *divider) statement(s *program.Statement) {
	t := d.p.Tensors[s.Target]
	own := d.own(t.Shape)
	got := d.value(s.Value)
	for _, v := range s.Vars {
		if !d.along(v) && (d.depends(v.Lo) || d.depends(v.Hi)) {
			got = wrong
		}
	}
	for i, x := range s.Left.Idx {
		divided := !s.Left.ByNumber && d.is(t.Shape[i])
		plain := x.Op == term.Index && d.along(x.Var)
		if divided != plain && (divided || d.value(x) != same) {
			got = wrong
		}
	}
	if s.Add || s.Left.ByNumber && own != same {
		got = wrong
	}
	switch {
	case own == wrong || got == wrong:
		got = wrong
	case own == vary && got != part:
		got = vary
	case own == vary || got == vary:
		got = wrong // a sum of parts where each device should have its own, or a part where all should have the same
	}
	if d.seen[s.Target] && d.states[s.Target] != got {
		got = wrong
	}
	d.states[s.Target], d.seen[s.Target] = got, true
}

// value returns what a device has of a value.
func (d *divider) value(n *term.Term) state {
	switch n.Op {
	case term.Symbol:
		if d.is(n) {
			return wrong // the extent itself is another on each device
		}
		return same
	case term.Index:
		if d.along(n.Var) {
			return wrong // a device does not know where its part begins
		}
		return same
	case term.Element:
		return d.element(n.Read)
	case term.Reduce:
		return d.reduction(n.Reduction)
	case term.Choose:
		return d.choice(n)
	}
	states := make([]state, len(n.Args))
	out := same
	for i, a := range n.Args {
		states[i] = d.value(a)
		out = max(out, states[i])
	}
	if out != part {
		return out
	}
	switch n.Op {
	case term.Negate:
		return part
	case term.Add, term.Subtract:
		if states[0] == part && states[1] == part {
			return part
		}
	case term.Multiply:
		if states[0] == same || states[1] == same {
			return part
		}
	case term.Divide:
		if states[1] == same {
			return part
		}
	}
	return wrong
}

// element returns what a device has of an element.
func (d *divider) element(r *term.Read) state {
	out := d.states[r.Tensor]
	if out == wrong || r.ByNumber && out != same {
		return wrong
	}
	if r.Which != nil && d.value(r.Which) != same {
		return wrong
	}
	for i, x := range r.Idx {
		switch {
		case d.is(r.Ext[i]):
			if x.Op != term.Index || !d.along(x.Var) || out == part {
				return wrong
			}
		case d.depends(r.Ext[i]):
			return wrong
		default:
			s := d.value(x)
			if s >= part || s == vary && out == part {
				return wrong
			}
			out = max(out, s)
		}
	}
	if r.Else != nil && d.value(r.Else) != same {
		return wrong
	}
	return out
}

// reduction returns what a device has of a reduction. A sum over the dimension that is divided is a partial
// sum.
func (d *divider) reduction(r *term.Reduction) state {
	over := false
	for _, v := range r.Vars {
		if d.along(v) {
			over = true
			continue
		}
		if d.depends(v.Lo) || d.depends(v.Hi) || d.value(v.Lo) >= part || d.value(v.Hi) >= part {
			return wrong
		}
	}
	if r.Guard != nil && d.value(r.Guard) >= part {
		return wrong
	}
	body := same
	if r.Body != nil {
		body = d.value(r.Body)
	}
	for _, i := range r.At { // a place in an order, which goes over all elements
		body = max(body, d.value(i))
	}
	switch {
	case body == wrong:
		return wrong
	case over && (r.Kind == reduction.Sum || r.Kind == reduction.Count) && body != part:
		return part
	case over || body == part && r.Kind != reduction.Sum:
		return wrong
	}
	return body
}

func (d *divider) choice(n *term.Term) state {
	c, x, y := d.value(n.Args[0]), d.value(n.Args[1]), d.value(n.Args[2])
	switch {
	case max(c, x, y) == wrong || c == part:
		return wrong
	case x == part || y == part:
		if c == same && (x == y || n.Args[1].IsZero() || n.Args[2].IsZero()) {
			return part
		}
		return wrong
	}
	return max(c, x, y)
}
