package check

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// gradTerm is the prefix of a slot's name that refers to its gradient.
const gradTerm = "grad."

// operands returns the declaration of a task's tensors, as in its signature, and the slot of each tensor by
// name.
func (o *operator) operands(t *spec.Task) (*partition.Declaration, map[string]*spec.Slot) {
	var slots []partition.DeclaredSlot
	of := map[string]*spec.Slot{}
	for _, p := range rules.Params(o.s, t) {
		g, ok := task.GroupOf(p.Perm)
		if !ok {
			continue
		}
		name := p.Slot.Name
		if p.Grad {
			name = gradTerm + name
		}
		r := task.Slot{Optional: p.Slot.Present.Set(), Variadic: p.Slot.Variadic != nil}
		if r.Variadic {
			r.Min, r.Max = rules.Limits(o.s, p.Slot.Variadic)
		}
		of[name] = p.Slot
		slots = append(slots, partition.DeclaredSlot{Name: name, Group: g, Arity: r.Holds(p.Optional || p.Grad && p.Perm.Writes())})
	}
	return partition.NewDeclaration(o.s.Name.V+"."+t.Name, slots...), of
}

// constraints checks that the constraints of a task fit its tensors and each other.
func (o *operator) constraints(t *spec.Task) {
	if o.s.Unread["slots"] || len(t.Constraints) == 0 {
		return
	}
	d, of := o.operands(t)
	var good []partition.Constraint
	for _, c := range t.Constraints {
		if !o.terms(t, c, d, of) {
			continue
		}
		if !o.expressions(c) {
			continue
		}
		v := c.Sample()
		if err := d.CheckForm(v); err != nil {
			o.constraintError(diag.BadConstraint, c, err)
			continue
		}
		if !o.fitsRanks(c, d, of) {
			continue
		}
		// Each constraint is checked together with the valid ones before it.
		if err := d.SetConstraints(append(slices.Clone(good), v)...).Validate(); err != nil {
			code := diag.Contradiction
			var e *op.Error
			if errors.As(err, &e) && e.Code == partition.IndexOutOfRange {
				code = diag.BadConstraint
			}
			o.constraintError(code, c, err)
			continue
		}
		good = append(good, v)
	}
}

// expressions checks the expressions among the numbers of a constraint.
func (o *operator) expressions(c *spec.Constraint) bool {
	before := o.list.Len()
	for _, f := range c.Kind.Form().Fields {
		if l := c.Lists[f.Name]; l != nil {
			for _, x := range l.Exprs {
				o.sc.Extent(x)
			}
		}
	}
	return o.list.Len() == before
}

func (o *operator) constraintError(code diag.Code, c *spec.Constraint, err error) {
	var e *op.Error
	if !errors.As(err, &e) {
		return
	}
	about := ""
	if e.Slot != "" {
		about = e.Slot + ": "
	}
	o.list.Add(code, c.Span, "%swant %s, got %s", about, e.Want, e.Got)
}

// terms checks that each term of a constraint names a tensor or a group of the task.
func (o *operator) terms(t *spec.Task, c *spec.Constraint, d *partition.Declaration, of map[string]*spec.Slot) bool {
	ok := true
	if c.Kind == partition.Bloat && len(c.Terms) == 2 && partition.ParseTerm(c.Terms[0].V).Name == partition.ParseTerm(c.Terms[1].V).Name {
		o.list.Add(diag.BadConstraint, c.Terms[1].Span(), "want a bloat from one tensor to another, got %s twice: no launch gives a tensor other partitions than its own", c.Terms[1].V)
		return false
	}
	for _, term := range c.Terms {
		name := partition.ParseTerm(term.V).Name
		g, group := partition.ParseGroup(name)
		if group && of[name] != nil && slices.ContainsFunc(d.Slots(), func(s partition.DeclaredSlot) bool { return s.Group == g && s.Name != name }) {
			o.list.Add(diag.BadConstraint, term.Span(), "in task %s, %s is a slot and the name of a group that holds more", t.Name, name)
			ok = false
			continue
		}
		if of[name] != nil || group && g != partition.Scalars {
			continue
		}
		ok = false
		slot := strings.TrimPrefix(name, gradTerm)
		switch what := o.sc.What(slot); {
		case what == "argument" || name == partition.Scalars.String():
			o.list.Add(diag.BadConstraint, term.Span(), "constraints are about tensors, and %s is not a tensor", name)
		case what == "slot" && slot != name:
			o.list.Add(diag.BadConstraint, term.Span(), "task %s has no gradient of %s", t.Name, slot)
		case what == "slot":
			o.list.Add(diag.BadConstraint, term.Span(), "task %s does not get %s", t.Name, name)
		default:
			var names []string
			for _, s := range d.Slots() {
				names = append(names, s.Name)
			}
			f := o.list.Add(diag.Undefined, term.Span(), "there is no slot %s", name)
			f.Suggest(name, "tensors of "+t.Name, names)
		}
	}
	return ok
}

// rank is the rank of a tensor as far as a spec gives it: n, or at least n if it is open.
type rank struct {
	n    int
	open bool
}

// rankOf returns the rank of a slot's tensors.
func rankOf(s *spec.Slot) rank {
	r := rank{open: !s.HasShape}
	for _, n := range s.Shape {
		if e, ok := n.(*source.Scalar); ok {
			if text, isText := e.Value.(string); isText && strings.HasSuffix(strings.TrimSpace(text), "...") {
				r.open = true
				continue
			}
		}
		r.n++
	}
	return r
}

// has reports whether a tensor may have n dimensions.
func (r rank) has(n int) bool { return n == r.n || r.open && n > r.n }

func (r rank) String() string {
	s := strconv.Itoa(r.n)
	if r.open {
		s = "at least " + s
	}
	return s
}

// operand is a slot that a term of a constraint denotes, by itself or in a group.
type operand struct {
	*spec.Slot
	name string
	term spec.Str
}

// operandsOf returns the slots that the terms of a constraint denote. single reports whether each term is a
// slot.
func operandsOf(c *spec.Constraint, d *partition.Declaration, of map[string]*spec.Slot) (slots []operand, single bool) {
	single = true
	for _, t := range c.Terms {
		x := partition.ParseTerm(t.V)
		if s := of[x.Name]; s != nil {
			slots = append(slots, operand{s, t.V, t})
			continue
		}
		single = false
		for _, s := range d.Slots() {
			if s.Group.String() == x.Name && x.Index == partition.All {
				slots = append(slots, operand{of[s.Name], s.Name, t})
			}
		}
	}
	return slots, single
}

// fitsRanks checks the numbers of a constraint against the ranks of its tensors.
func (o *operator) fitsRanks(c *spec.Constraint, d *partition.Declaration, of map[string]*spec.Slot) bool {
	before := o.list.Len()
	slots, single := operandsOf(c, d, of)
	form := c.Kind.Form()
	if single {
		first := rankOf(slots[0].Slot)
		for _, f := range form.Fields {
			if l := c.Lists[f.Name]; l != nil && f.Required && c.Lists["axes"] == nil && !first.has(len(l.V)) {
				o.list.Add(diag.BadConstraint, l.Span, "want a number for each dimension, %v of %s, got %d", first, c.Terms[0].V, len(l.V))
			}
		}
		o.axes(c, slots[0].Slot, first)
		if form.Points {
			o.points(c, slots)
		}
	} else if l := c.Lists["axes"]; l != nil && len(l.Names) > 0 { // the tensors of a group are known at launch
		o.list.Add(diag.BadConstraint, l.Names[0].Span(), "%s is a group, whose axes have numbers only", c.Terms[0].V)
	}
	for i := 1; i < len(slots) && o.list.Len() == before; i++ {
		a, b := slots[0], slots[i]
		first, r := rankOf(a.Slot), rankOf(b.Slot)
		if form.SameRank && (!first.open && !r.has(first.n) || !r.open && !first.has(r.n)) {
			o.list.Add(diag.BadConstraint, b.term.Span(), "%s has %v dimensions, %s has %v", a.name, first, b.name, r).See(a.ShapeSpan, "the shape of %s", a.name)
		} else if form.SameExtents {
			o.alignedExtents(a, b)
		}
	}
	return o.list.Len() == before
}

// axes checks the axes of a constraint: numbers, which count from the end if they are negative, dimensions of
// the slot's shape, and attributes that are axes.
func (o *operator) axes(c *spec.Constraint, s *spec.Slot, r rank) {
	l := c.Lists["axes"]
	if l == nil {
		return
	}
	for _, axis := range l.V {
		if !r.open && (axis >= r.n || axis < -r.n) {
			o.list.Add(diag.BadConstraint, l.Span, "%s has %v dimensions, so there is no axis %d", c.Terms[0].V, r, axis)
		}
	}
	several := false // a name may stand for several axes
	for _, n := range l.Names {
		attribute := slices.IndexFunc(o.s.Attrs, func(a *spec.Attr) bool {
			return a.Name == n.V && (a.Type.V == "axis" || a.Type.V == "axes") && !a.Optional.V
		})
		switch {
		case scope.HasDim(s, n.V):
			several = several || rankOf(s).open
		case attribute >= 0:
			several = several || o.s.Attrs[attribute].Type.V == "axes"
		case o.sc.Lenient():
		default:
			d := o.list.Add(diag.Undefined, n.Span(), "%s has no dimension %s", c.Terms[0].V, n.V)
			d.Suggest(n.V, "axes", o.axisNames(s))
		}
	}
	for _, f := range c.Kind.Form().Fields {
		if m := c.Lists[f.Name]; m != nil && f.Required && !several && len(m.V) != len(l.V)+len(l.Names) {
			o.list.Add(diag.BadConstraint, m.Span, "want a number for each of %d axes, got %d", len(l.V)+len(l.Names), len(m.V))
		}
	}
}

// axisNames returns the names that stand for axes of a slot.
func (o *operator) axisNames(s *spec.Slot) []string {
	var names []string
	for _, n := range s.Shape {
		if name := scope.DimName(n); name != "" {
			names = append(names, name)
		}
	}
	for _, a := range o.s.Attrs {
		if a.Type.V == "axis" || a.Type.V == "axes" {
			names = append(names, a.Name)
		}
	}
	return names
}

// points checks that the source holds integers, which point into a target of one dimension.
func (o *operator) points(c *spec.Constraint, slots []operand) {
	if !o.certain(slots[0].Slot) {
		return
	}
	types := []spec.Str{slots[0].Type}
	for _, v := range o.s.Types {
		if v.Name == slots[0].Type.V {
			types = v.Types
		}
	}
	for _, t := range types {
		if d, err := dtype.Parse(t.V); err != nil || d != dtype.I32 && d != dtype.I64 {
			o.list.Add(diag.BadConstraint, c.Terms[0].Span(), "an image follows integers that point to elements, and %s holds %s", c.Terms[0].V, t.V).
				Hinted("sources hold i32 or i64")
			return
		}
	}
	if r := rankOf(slots[1].Slot); !r.has(1) {
		o.list.Add(diag.BadConstraint, c.Terms[1].Span(), "an integer points into one dimension, %s has %v", c.Terms[1].V, r)
	}
}

// alignedExtents checks that aligned tensors have equal extents where the spec gives numbers.
func (o *operator) alignedExtents(a, b operand) {
	if rankOf(a.Slot).open || rankOf(b.Slot).open {
		return
	}
	for i := range a.Shape {
		x, okX := rules.Extent(a.Shape[i])
		y, okY := rules.Extent(b.Shape[i])
		if okX && okY && x != y {
			o.list.Add(diag.BadConstraint, b.term.Span(), "dimension %d of %s is %d, that of %s is %d", i, a.name, x, b.name, y)
			return
		}
	}
}
