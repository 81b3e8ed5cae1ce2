package derive

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Effect says what happens to results if a dimension is partitioned among devices: each device holds its
// part of the tensors with that dimension, and a replica of all others.
type Effect uint8

const (
	// Divided says that each device computes its part of the results.
	Divided Effect = iota
	// Partial says that each device computes a partial sum of the results without the dimension (an
	// all-reduce completes them).
	Partial
	// Undivided says that the dimension cannot be partitioned: a device would read parts of others.
	Undivided
)

// String describes the effect, as a verb phrase.
func (e Effect) String() string {
	return [...]string{"divides results", "leaves partial sums", "is not possible"}[e]
}

// state says how a value is distributed over devices. An operation has the greatest state of its operands,
// but sums and multiples of partial sums are partial sums.
type state uint8

const (
	same  state = iota // replicated: all devices hold the same value
	vary               // partitioned: each device holds its own part
	part               // a partial sum, to be added over all devices
	wrong              // not computable without other parts
)

// Divide returns the effect of partitioning the dimension named symbol, by data flow of states through the
// statements. The extents of p are symbols.
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

// divider propagates states through the statements of a program.
type divider struct {
	p      *program.Program
	symbol string
	states []state // by tensor
	seen   []bool  // by tensor: an earlier statement defines elements of it
}

// is reports whether n is the partitioned extent.
func (d *divider) is(n *term.Term) bool { return n.Op == term.Symbol && n.Name == d.symbol }

// depends reports whether n depends on the partitioned extent.
func (d *divider) depends(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || d.is(m) })
	return found
}

// own returns the state of a tensor according to its shape: partitioned if one dimension is the partitioned
// extent, and replicated if none depends on it.
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

// along reports whether v ranges over the whole partitioned dimension.
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
		got = wrong // the shape says partitioned, the value replicated, or the reverse
	}
	if d.seen[s.Target] && d.states[s.Target] != got {
		got = wrong
	}
	d.states[s.Target], d.seen[s.Target] = got, true
}

// value returns the state of a value.
func (d *divider) value(n *term.Term) state {
	switch n.Op {
	case term.Symbol:
		if d.is(n) {
			return wrong // the extent differs between devices
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

// element returns the state of an element.
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

// reduction returns the state of a reduction. A sum over the partitioned dimension is a partial sum.
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
	for _, i := range r.At { // a position in an argsort or a rank, which sorts all elements
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
