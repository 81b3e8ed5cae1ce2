package derive

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
)

// Rows returns the footprints of rows of results, if the statements can be computed row by row. A row is an
// index of the first k axes, whose extents must be equal for all tensors that the statements define. The
// statements must compute the elements of a row from no other row of these tensors.
//
// If a temporary is not defined by rows, or a row reads other rows of it, it is computed before all rows. It
// then must not depend on tensors that are computed by rows. local reports whether a tensor is a temporary.
func Rows(p *program.Program, statements []*program.Statement, k int, local func(t int) bool) (*RowsOf, error) {
	before := map[int]bool{}
	for {
		r := &rows{p: p, local: local, given: map[int]bool{}, before: before, of: map[int]region.Footprint{}, boxes: map[int][][2]end{}}
		early, err := r.all(statements, k)
		if err == nil {
			for t, box := range r.boxes {
				r.of[t] = r.footprint(t, box)
			}
			return &RowsOf{r.over, r.of, before}, nil
		}
		if early < 0 || !local(early) || before[early] {
			return nil, err
		}
		before[early] = true
	}
}

// RowsOf describes the elements that the computation of one row reads and writes.
type RowsOf struct {
	Over []int // extents of the grid of rows
	// Of holds the footprints of all tensors that the statements read or define, for the grid.
	Of map[int]region.Footprint
	// Before holds the temporaries that are computed before all rows.
	Before map[int]bool
}

// rows is the state of the search for the footprints of rows.
type rows struct {
	p      *program.Program
	local  func(t int) bool
	given  map[int]bool // tensors that statements define
	before map[int]bool // tensors that are computed before all rows
	over   []int
	of     map[int]region.Footprint
	boxes  map[int][][2]end // of tensors that are read: by axis, inclusive lower and upper bounds
	vars   []*term.Variable // the indices of the row, in the current statement
	early  int              // the tensor that must be computed before all rows; -1 for none
}

// nested bounds the depth at which bounds of indices depend on other indices.
const nested = 8

// end is a bound that is an affine function of the row's indices: base + times[0] * i0 + times[1] * i1 + ....
// It is unknown unless ok is set.
type end struct {
	base  int
	times [op.MaxRank]int
	ok    bool
}

func (e end) plus(f end, factor int) end {
	e.base += factor * f.base
	for d := range e.times {
		e.times[d] += factor * f.times[d]
	}
	e.ok = e.ok && f.ok
	return e
}

// atMost reports whether e <= f for all rows.
func (r *rows) atMost(e, f end) bool {
	d := e.plus(f, -1)
	most := d.base
	for i, n := range r.over {
		most += max(d.times[i]*(n-1), 0)
	}
	return most <= 0
}

// all records the accesses of all statements. On an error, early is the tensor whose computation before all
// rows may avoid the error, or -1.
func (r *rows) all(statements []*program.Statement, k int) (early int, err error) {
	for _, s := range statements {
		r.given[s.Target] = true
	}
	for _, temporaries := range []bool{false, true} { // results say what the rows are
		for _, s := range statements {
			if r.local(s.Target) != temporaries {
				continue
			}
			if r.early = -1; r.before[s.Target] {
				err = r.first(s)
			} else if err = r.statement(s, k); err != nil && r.early < 0 {
				r.early = s.Target
			}
			if err != nil {
				return r.early, err
			}
		}
	}
	return -1, nil
}

// first records the reads of a statement that is computed before all rows: each tensor as a whole.
func (r *rows) first(s *program.Statement) (err error) {
	s.Reads(func(x *term.Read) {
		for t := x.Tensor; t < x.Tensor+x.Count; t++ {
			owner := r.owner(t)
			if r.given[owner] && !r.before[owner] && err == nil {
				r.early = owner
				err = fmt.Errorf("all rows read %s, which needs rows of %s", r.p.Tensors[s.Target].Name, r.p.Tensors[t].Name)
			}
			r.boxes[owner] = make([][2]end, len(r.p.Tensors[t].Shape))
		}
	})
	return err
}

// statement records the accesses of one row of a statement.
func (r *rows) statement(s *program.Statement, k int) error {
	name := r.p.Tensors[s.Target].Name
	if s.Left.ByNumber || len(s.Left.Idx) < k {
		return fmt.Errorf("%s has less than %d axes", name, k)
	}
	if s.Left.Which != nil {
		return fmt.Errorf("a value selects the tensor of %s", name)
	}
	r.vars = nil
	var over []int
	for d, i := range s.Left.Idx[:k] {
		n, known := s.Left.Ext[d].Known()
		if i.Op != term.Index || !i.Var.Lo.Is(0) || !known || slices.Contains(r.vars, i.Var) {
			return fmt.Errorf("%s is not defined for each index of axis %d", name, d)
		}
		if hi, ok := i.Var.Hi.Known(); !ok || hi != n {
			return fmt.Errorf("%s is not defined for each index of axis %d", name, d)
		}
		r.vars, over = append(r.vars, i.Var), append(over, n)
	}
	if r.over == nil {
		r.over = over
	}
	if !slices.Equal(r.over, over) {
		return fmt.Errorf("%s goes over %v, and not over %v", name, over, r.over)
	}
	own := make(region.Footprint, len(r.p.Tensors[s.Target].Shape))
	for d := range r.vars {
		own[d] = region.Along(d, 1, 0, 1)
	}
	r.of[s.Target] = own
	var facts []fact
	if s.Guard != nil {
		facts = holding(nil, s.Guard, true)
		if err := r.value(s.Guard, nil); err != nil {
			return err
		}
	}
	for _, i := range s.Left.Idx[k:] {
		if err := r.value(i, facts); err != nil {
			return err
		}
	}
	return r.value(s.Value, facts)
}

// fact says that an integer is at least 0 where a term is evaluated.
type fact struct{ number *term.Term }

// holding appends the facts that follow from the value of condition n, which is holds.
func holding(facts []fact, n *term.Term, holds bool) []fact {
	switch {
	case n.Op == term.Not:
		return holding(facts, n.Args[0], !holds)
	case n.Op == term.And && holds, n.Op == term.Or && !holds:
		return holding(holding(facts, n.Args[0], holds), n.Args[1], holds)
	case len(n.Args) != 2 || n.Args[0].Kind != term.Integer || n.Args[1].Kind != term.Integer || n.Args[0].Reads() || n.Args[1].Reads():
		return facts
	}
	x, y := n.Args[0], n.Args[1]
	least := func(x, y *term.Term, gap int) fact {
		return fact{term.Difference(term.Difference(y, x), term.Number(gap))}
	}
	switch {
	case n.Op == term.Less && holds:
		return append(slices.Clip(facts), least(x, y, 1))
	case n.Op == term.Less:
		return append(slices.Clip(facts), least(y, x, 0))
	case n.Op == term.AtMost && holds:
		return append(slices.Clip(facts), least(x, y, 0))
	case n.Op == term.AtMost:
		return append(slices.Clip(facts), least(y, x, 1))
	case n.Op == term.Equal && holds, n.Op == term.Unequal && !holds:
		return append(slices.Clip(facts), least(x, y, 0), least(y, x, 0))
	}
	return facts
}

// value records the reads of a term that is evaluated where facts hold.
func (r *rows) value(n *term.Term, facts []fact) error {
	if n == nil {
		return nil
	}
	all := func(facts []fact, list ...*term.Term) error {
		for _, x := range list {
			if err := r.value(x, facts); err != nil {
				return err
			}
		}
		return nil
	}
	switch n.Op {
	case term.Element:
		if err := r.read(n.Read, facts); err != nil {
			return err
		}
		if err := all(facts, n.Read.Which, n.Read.Else); err != nil {
			return err
		}
		return all(facts, n.Read.Idx...)
	case term.Choose:
		if err := r.value(n.Args[0], facts); err != nil {
			return err
		}
		if err := r.value(n.Args[1], holding(facts, n.Args[0], true)); err != nil {
			return err
		}
		return r.value(n.Args[2], holding(facts, n.Args[0], false))
	case term.Reduce:
		x := n.Reduction
		for _, v := range x.Vars {
			if err := all(facts, v.Lo, v.Hi); err != nil {
				return err
			}
		}
		inner := facts
		if x.Guard != nil {
			inner = holding(facts, x.Guard, true)
		}
		if err := all(facts, x.Guard); err != nil {
			return err
		}
		if err := all(inner, x.Body, x.Number); err != nil {
			return err
		}
		return all(inner, x.At...)
	}
	return all(facts, n.Args...)
}

// read records a load of a row: an interval along each axis, as a function of the row. It returns an error if
// the load reads other rows.
func (r *rows) read(x *term.Read, facts []fact) error {
	for t := x.Tensor; t < x.Tensor+x.Count; t++ {
		l := r.p.Tensors[t]
		if r.before[t] {
			continue
		}
		if r.given[t] || l.Old >= 0 && r.given[l.Old] {
			for d, v := range r.vars {
				if x.ByNumber || d >= len(x.Idx) || x.Idx[d].Op != term.Index || x.Idx[d].Var != v {
					r.early = t
					return fmt.Errorf("a row needs other rows of %s", l.Name)
				}
			}
			if l.Old >= 0 && r.given[l.Old] {
				continue
			}
		}
		box := make([][2]end, len(l.Shape))
		if !x.ByNumber && len(x.Idx) == len(box) {
			for d, i := range x.Idx {
				box[d] = [2]end{r.bound(i, false, facts, nested), r.bound(i, true, facts, nested)}
			}
		}
		owner := r.owner(t)
		if r.boxes[owner] == nil {
			r.boxes[owner] = box
			continue
		}
		for d, b := range r.boxes[owner] {
			r.boxes[owner][d] = [2]end{r.outer(b[0], box[d][0], false), r.outer(b[1], box[d][1], true)}
		}
	}
	return nil
}

// owner returns the tensor in whose memory the elements of t are: that of NAME for old.NAME, and t itself
// otherwise.
func (r *rows) owner(t int) int {
	if l := r.p.Tensors[t]; l.Old >= 0 {
		return l.Old
	}
	return t
}

// outer returns a bound that is valid for both a and b: the greater one if upper is set, else the lesser one.
// It is a constant if neither is the greater one for all rows.
func (r *rows) outer(a, b end, upper bool) end {
	switch {
	case !a.ok || !b.ok:
		return end{}
	case upper && r.atMost(a, b), !upper && r.atMost(b, a):
		return b
	case upper && r.atMost(b, a), !upper && r.atMost(a, b):
		return a
	}
	return r.constant(a, b, upper)
}

// constant returns a constant bound that is valid for both a and b in all rows.
func (r *rows) constant(a, b end, upper bool) end {
	x, y := r.extreme(a, upper), r.extreme(b, upper)
	if upper == (x < y) {
		x = y
	}
	return end{base: x, ok: true}
}

// extreme returns the greatest value (upper) or the least value of e over all rows.
func (r *rows) extreme(e end, upper bool) int {
	n := e.base
	for d, over := range r.over {
		if m := e.times[d] * (over - 1); (m > 0) == upper {
			n += m
		}
	}
	return n
}

// bound returns an upper or a lower bound of an integer as an affine function of the row. It substitutes the
// bounds of all other indices, which come from their ranges and from facts, whichever is tighter.
func (r *rows) bound(n *term.Term, upper bool, facts []fact, depth int) end {
	if depth == 0 {
		return end{}
	}
	out := end{ok: true}
	for _, m := range term.Monomials(n) {
		switch {
		case len(m.Factors) == 0:
			out.base += m.Coefficient
		case len(m.Factors) == 1:
			out = out.plus(r.factor(m.Factors[0], upper == (m.Coefficient > 0), facts, depth-1), m.Coefficient)
		default:
			return end{}
		}
	}
	return out
}

// factor is bound for a factor of a product: an index, a min, a max or a conditional.
func (r *rows) factor(f *term.Term, upper bool, facts []fact, depth int) end {
	switch {
	case f.Op == term.Index && slices.Contains(r.vars, f.Var):
		out := end{ok: true}
		out.times[slices.Index(r.vars, f.Var)] = 1
		return out
	case f.Op == term.Index:
		return r.index(f.Var, upper, facts, depth)
	case f.Op == term.Apply && (f.Func == term.Min || f.Func == term.Max):
		a, b := r.bound(f.Args[0], upper, facts, depth), r.bound(f.Args[1], upper, facts, depth)
		if (f.Func == term.Min) == upper {
			return r.closer(a, b, upper)
		}
		return r.outer(a, b, upper)
	case f.Op == term.Choose:
		return r.outer(r.bound(f.Args[1], upper, holding(facts, f.Args[0], true), depth), r.bound(f.Args[2], upper, holding(facts, f.Args[0], false), depth), upper)
	}
	lo, hi, ok := spanOf(f)
	if !upper {
		hi = lo
	}
	return end{base: hi, ok: ok}
}

// index is bound for an index that is not one of the row's.
func (r *rows) index(v *term.Variable, upper bool, facts []fact, depth int) end {
	limit := v.Lo
	if upper {
		limit = term.Difference(v.Hi, term.Number(1))
	}
	out := r.bound(limit, upper, facts, depth)
	for i, f := range facts {
		c, rest, ok := term.Linear(f.number, v)
		if !ok || upper && !c.Is(-1) || !upper && !c.Is(1) {
			continue
		}
		if !upper { // v + rest >= 0
			rest = term.Opposite(rest)
		}
		others := slices.Delete(slices.Clone(facts), i, i+1)
		out = r.closer(out, r.bound(rest, upper, others, depth-1), upper)
	}
	return out
}

// closer returns the tighter one of two bounds of the same integer.
func (r *rows) closer(a, b end, upper bool) end {
	switch {
	case !a.ok:
		return b
	case !b.ok:
		return a
	case upper && r.atMost(b, a), !upper && r.atMost(a, b):
		return b
	}
	return a
}

// footprint returns the footprint of a tensor from its bounds along each axis. A span of a footprint moves
// with one index of the row only. If a bound depends on several, the whole ranges of the others are added to
// the span.
func (r *rows) footprint(t int, box [][2]end) region.Footprint {
	out := make(region.Footprint, len(box))
	for d, b := range box {
		n, known := r.p.Tensors[t].Shape[d].Known()
		if !b[0].ok || !b[1].ok || !known {
			continue
		}
		of := -1
		for i := range b[0].times {
			if b[0].times[i] != 0 || b[1].times[i] != 0 {
				if of < 0 || size(b[0].times[i])+size(b[1].times[i]) > size(b[0].times[of])+size(b[1].times[of]) {
					of = i
				}
			}
		}
		alone := func(e end, upper bool) [2]int {
			c := 0
			if of >= 0 {
				c, e.times[of] = e.times[of], 0
			}
			return [2]int{c, r.extreme(e, upper)}
		}
		lo, hi := alone(b[0], false), alone(b[1], true)
		if hi[1]++; of < 0 && lo[1] <= 0 && hi[1] >= n {
			continue
		}
		if s := region.Between(max(of, 0), lo, hi); s.Grow != 0 || s.Size > 0 {
			out[d] = s
		}
	}
	if own := r.of[t]; own != nil { // it is read and defined
		return own
	}
	return out
}

func size(n int) int { return max(n, -n) }
