package derive

import (
	"slices"

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
	// Partial says that results without the dimension are partial sums.
	Partial
	// Undivided says that a device needs more than its part.
	Undivided
)

// String describes the effect, as a verb phrase.
func (e Effect) String() string {
	return [...]string{"divides results", "leaves partial sums", "is not possible"}[e]
}

// state is the distribution of a value over devices. An operation has the greatest state of its operands, but
// sums and multiples of partial sums are partial sums.
type state uint8

const (
	same  state = iota // each device has the whole value
	vary               // each device has its part of the value
	part               // the value is the sum of the values of all devices
	wrong              // the value on a device is none of these
)

// Divide returns the effect of partitioning the dimension named symbol, by data flow of states through the
// statements. The extents of p are symbols.
func Divide(p *program.Program, symbol string) Effect {
	d := newDivider(p)
	d.symbols[symbol] = true
	return d.run()
}

// divider computes the state of each tensor by data flow, for a partition of the axes, variables and symbols
// in its sets.
type divider struct {
	p       *program.Program
	symbols map[string]bool
	vars    map[*term.Variable]bool
	axes    map[Axis]bool
	derived map[string]bool // symbols outside of the sets whose values may differ between devices
	joined  bool            // whether the sets come from Divisions
	inside  []bool          // by tensor: whether blocks of an axis may be divided
	once    int             // 1 + the tensor that one device has while others have zeros; 0 for none
	states  []state         // by tensor
	seen    []bool          // by tensor: whether a statement has defined elements
}

func newDivider(p *program.Program) *divider {
	return &divider{p: p, symbols: map[string]bool{}, vars: map[*term.Variable]bool{}, axes: map[Axis]bool{},
		states: make([]state, len(p.Tensors)), seen: make([]bool, len(p.Tensors))}
}

func (d *divider) run() Effect {
	clear(d.seen)
	for i := range d.p.Tensors {
		d.states[i] = d.own(i)
	}
	if d.once > 0 {
		d.states[d.once-1] = part
	}
	for i := 0; i < len(d.p.Statements); {
		block := program.Together(d.p.Statements, i)
		d.block(block)
		i += len(block)
	}
	partial, whole := 0, 0
	for i, l := range d.p.Tensors {
		if l.Slot < 0 || !l.Given && l.Old < 0 && d.states[i] != wrong {
			continue
		}
		switch d.states[i] {
		case wrong:
			return Undivided
		case part:
			partial++
		case same:
			whole++
		}
	}
	switch {
	case partial > 0 && whole > 0:
		return Undivided // a result that all devices have would be taken for a partial sum
	case partial > 0:
		return Partial
	}
	return Divided
}

// symbol reports whether an extent is the symbol of a partitioned dimension.
func (d *divider) symbol(n *term.Term) bool { return n.Op == term.Symbol && d.symbols[n.Name] }

// is reports whether dimension dim of a tensor, with the given extent, is partitioned.
func (d *divider) is(tensor, dim int, extent *term.Term) bool {
	return d.symbol(extent) || d.axes[Axis{tensor, dim}]
}

// depends reports whether n depends on the partitioned extent.
func (d *divider) depends(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || d.symbol(m) })
	return found
}

// own returns the state of a tensor according to its shape: divided if one of its dimensions is partitioned,
// else replicated.
func (d *divider) own(tensor int) state {
	out := same
	for i, n := range d.p.Tensors[tensor].Shape {
		switch {
		case d.is(tensor, i, n) && out == same && n.Op != term.Constant:
			out = vary
		case d.is(tensor, i, n) || d.depends(n):
			return wrong
		}
	}
	return out
}

// along reports whether v ranges over the whole partitioned dimension.
func (d *divider) along(v *term.Variable) bool {
	return v.Lo.Is(0) && (d.vars[v] || d.symbol(v.Hi))
}

// block computes the states of the tensors that a statement defines, or all statements of a recurrence. In a
// recurrence, the tensors are assumed to have the states that follow from their shapes. If the result
// differs, all of them are wrong.
func (d *divider) block(block []*program.Statement) {
	assumed := slices.Clone(d.states)
	for _, s := range block {
		d.statement(s)
	}
	if block[0].Recurrence == nil || !slices.ContainsFunc(block, func(s *program.Statement) bool { return d.states[s.Target] != assumed[s.Target] }) {
		return
	}
	for _, s := range block {
		d.states[s.Target] = wrong
	}
}

func (d *divider) statement(s *program.Statement) {
	t := d.p.Tensors[s.Target]
	own := d.own(s.Target)
	got := d.value(s.Value)
	for _, v := range s.Vars {
		if !d.along(v) && (d.depends(v.Lo) || d.depends(v.Hi)) {
			got = wrong
		}
	}
	left, byNumber := s.Left.Idx, s.Left.ByNumber
	if idx := d.subscripts(s.Left); idx != nil {
		left, byNumber = idx, false
	}
	numbers := own == vary && d.numbers(s.Left)
	for i, x := range left {
		if numbers {
			break
		}
		divided := !byNumber && d.is(s.Target, i, t.Shape[i])
		v, _ := indexOf(x, d.joined && d.inside[s.Target])
		plain := v != nil && d.along(v)
		if divided != plain && (divided || d.value(x) != same) {
			got = wrong
		}
	}
	if s.Add || byNumber && own != same && !numbers {
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

// value returns the state of a term: how its value is distributed over devices.
func (d *divider) value(n *term.Term) state {
	switch n.Op {
	case term.Symbol:
		if d.symbol(n) || d.derived[n.Name] {
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

// element returns the state of a load of an element.
func (d *divider) element(r *term.Read) state {
	out := d.states[r.Tensor]
	idx, ext, byNumber := r.Idx, r.Ext, r.ByNumber
	if x := d.subscripts(r); x != nil {
		idx, ext, byNumber = x, d.p.Tensors[r.Tensor].Shape, false
	}
	if out == vary && d.numbers(r) && r.Which == nil && r.Else == nil {
		return vary
	}
	if out == wrong || byNumber && out != same {
		return wrong
	}
	if r.Which != nil && d.value(r.Which) != same {
		return wrong
	}
	for i, x := range idx {
		switch {
		case !byNumber && d.is(r.Tensor, i, ext[i]):
			if v, _ := indexOf(x, d.joined && d.inside[r.Tensor]); v == nil || !d.along(v) || out == part {
				return wrong
			}
		case d.depends(ext[i]):
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

// numbers reports whether an index counts all elements of a tensor in row-major order, and the set has the
// index and the first dimension of the tensor alone: the elements of a part then follow each other.
func (d *divider) numbers(r *term.Read) bool {
	v := counted(r)
	if v == nil || !d.joined || !d.vars[v] || !d.axes[Axis{r.Tensor, 0}] {
		return false
	}
	for i, extent := range d.p.Tensors[r.Tensor].Shape[1:] {
		if d.is(r.Tensor, i+1, extent) || d.value(extent) != same {
			return false
		}
	}
	return true
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

// subscripts returns the subscripts of an element x[#(i, j)] with a flat index, if i and j range over the
// dimensions of x (but for those of extent 1). Otherwise, and outside of Divisions, it returns nil.
func (d *divider) subscripts(r *term.Read) []*term.Term {
	if !d.joined || !r.ByNumber {
		return nil
	}
	return subscripts(d.p, r)
}
