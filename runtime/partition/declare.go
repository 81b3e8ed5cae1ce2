package partition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/op"
)

// DeclaredSlot is a slot of a declaration. Its arguments are counted, and constraints may name it.
type DeclaredSlot struct {
	Name  string
	Group Group
	Arity Arity
	// Provided says that the engine fills the slot, so that launches do not.
	Provided bool
}

// single reports whether the slot has at most one tensor, so that terms need no index. Slots that denote
// groups always have an index.
func (s *DeclaredSlot) single() bool {
	_, group := ParseGroup(s.Name)
	return !group && (s.Arity == Exactly(1) || s.Arity == Between(0, 1))
}

// Declaration declares the launches of a task: the number of arguments of each slot, and the constraints on
// the partitions of stores. It corresponds to a TaskSignature of [Legate].
//
// Generated signatures contain the declaration of the spec. Tools build one step by step; Err returns the
// first error. The zero Declaration has one slot for each group, with the group's name, checks no counts,
// and allows launches to add constraints.
//
// [Legate]: https://docs.nvidia.com/legate/latest/
type Declaration struct {
	// Task names the task in errors.
	Task string

	slots       []DeclaredSlot
	constraints []Constraint
	// declared says that SetConstraints was called, maybe with no constraints: launches may not add any.
	declared bool
	err      error
}

// groupSlots are the slots of a declaration without named slots.
var groupSlots = []DeclaredSlot{{Name: "inputs", Group: Inputs}, {Name: "outputs", Group: Outputs}, {Name: "redops", Group: Redops}, {Name: "scalars", Group: Scalars}}

// NewDeclaration returns the declaration of a task with named slots. The arguments of a group are numbered
// in the order of the slots.
func NewDeclaration(task string, slots ...DeclaredSlot) *Declaration {
	return &Declaration{Task: task, slots: slots}
}

// Slots returns the slots. The caller must not change them.
func (d *Declaration) Slots() []DeclaredSlot {
	if d.slots == nil {
		return groupSlots
	}
	return d.slots
}

// Err returns the first error, or nil.
func (d *Declaration) Err() error { return d.err }

func (d *Declaration) keep(err error) *Declaration {
	if d.err == nil {
		d.err = err
	}
	return d
}

// SetCount sets the arity of a slot or, in a declaration without named slots, of a group. The last call for
// a slot wins.
func (d *Declaration) SetCount(slot string, a Arity) *Declaration {
	if err := a.check(d.Task, slot); err != nil {
		return d.keep(err)
	}
	if d.slots == nil {
		d.slots = slices.Clone(groupSlots)
	}
	for i := range d.slots {
		if d.slots[i].Name == slot {
			d.slots[i].Arity = a
			return d
		}
	}
	return d.keep(&op.Error{Task: d.Task, Slot: slot, Want: "a slot of the task", Got: "none of this name"})
}

// SetConstraints declares the constraints of every launch, maybe none. Launches may add constraints only if
// SetConstraints was not called, or UnsetConstraints was called later.
func (d *Declaration) SetConstraints(cs ...Constraint) *Declaration {
	for _, c := range cs {
		if err := d.CheckForm(c); err != nil {
			return d.keep(err)
		}
	}
	d.constraints, d.declared = slices.Clone(cs), true
	return d
}

// UnsetConstraints reverts SetConstraints.
func (d *Declaration) UnsetConstraints() *Declaration {
	d.constraints, d.declared = nil, false
	return d
}

// CheckForm returns an error if the constraint does not have the form of its kind, or if a term names no
// store argument.
func (d *Declaration) CheckForm(c Constraint) error {
	return c.check(d.Task, func(name string) bool { return len(d.named(name)) > 0 })
}

// named returns the indices of the slots that a term's name denotes: a slot of stores, or all slots of a
// group.
func (d *Declaration) named(name string) []int {
	var out []int
	g, isGroup := ParseGroup(name)
	for i, s := range d.Slots() {
		switch {
		case s.Group == Scalars:
		case s.Name == name:
			return []int{i}
		case isGroup && s.Group == g:
			out = append(out, i)
		}
	}
	if isGroup && g != Scalars && out == nil {
		return []int{} // a known group without slots
	}
	return out
}

// arityOf returns the arity of a slot, or the sum of the arities of a group's slots.
func (d *Declaration) arityOf(name string) Arity {
	slots := d.named(name)
	if len(slots) == 1 {
		return d.Slots()[slots[0]].Arity
	}
	sum := Exactly(0)
	for _, i := range slots {
		a := d.Slots()[i].Arity
		switch {
		case !a.isChecked():
			return Arity{}
		case a.form == exact && sum.form == exact:
			sum = Exactly(sum.lo + a.lo)
		case a.form == atLeast || sum.form == atLeast:
			sum = AtLeast(sum.lo + a.lo)
		default:
			sum = Between(sum.lo+a.lo, sum.hi+a.hi)
		}
	}
	return sum
}

// Clone returns an independent copy.
func (d *Declaration) Clone() *Declaration {
	c := *d
	c.slots, c.constraints = slices.Clone(d.slots), slices.Clone(d.constraints)
	return &c
}

// Equal reports whether two declarations are equivalent.
func (d *Declaration) Equal(e *Declaration) bool {
	return slices.Equal(d.Slots(), e.Slots()) && d.declared == e.declared && slices.EqualFunc(d.constraints, e.constraints, Constraint.Equal)
}

// argumentTerm returns the term for argument i of a slot, as messages show it.
func (d *Declaration) argumentTerm(slot, i int) Term {
	s := &d.Slots()[slot]
	if s.single() {
		return Whole(s.Name)
	}
	return At(s.Name, i)
}

// locate resolves a term with an index to a slot and the argument's number in the slot; counts returns the
// number of arguments of a slot. ok is false if there is no such argument.
func (d *Declaration) locate(t Term, counts func(slot int) int) (slot, i int, ok bool) {
	i = t.Index
	if i < 0 {
		return 0, 0, false
	}
	for _, slot := range d.named(t.Name) {
		n := counts(slot)
		if i < n {
			return slot, i, true
		}
		i -= n
	}
	return 0, 0, false
}

// canonical returns the normal form of a term for one argument, as far as it is known before a launch. ok is
// false if the term denotes several arguments.
func (d *Declaration) canonical(t Term) (Term, bool) {
	slots := d.named(t.Name)
	if t.Index == All {
		if len(slots) == 1 && d.Slots()[slots[0]].single() {
			return d.argumentTerm(slots[0], 0), true
		}
		return t, false
	}
	i := t.Index
	for _, slot := range slots {
		a := d.Slots()[slot].Arity
		if len(slots) == 1 || a.form == exact && i < a.hi {
			return d.argumentTerm(slot, i), true
		}
		if a.form != exact {
			return t, true
		}
		i -= a.hi
	}
	return t, true
}

// Validate makes the checks that need no launch: every index of a term may exist, and the constraints on
// single arguments are consistent. It runs when a task is registered.
func (d *Declaration) Validate() error {
	if d.err != nil {
		return d.err
	}
	for _, c := range d.constraints {
		for _, t := range c.Terms {
			if a := d.arityOf(t.Name); t.Index != All && !a.hasIndex(t.Index) {
				return &op.Error{Code: IndexOutOfRange, Task: d.Task, Slot: t.String(),
					Want: fmt.Sprintf("an index that %v %s can have, for %v", a, t.Name, c.Kind), Got: fmt.Sprint(t.Index)}
			}
		}
	}
	var single []Constraint
	for _, c := range d.constraints {
		all := true
		terms := slices.Clone(c.Terms)
		for i, t := range terms {
			var one bool
			terms[i], one = d.canonical(t)
			all = all && one
		}
		c.Terms = terms
		if !all || c.Kind.dependent() && allSame(terms) {
			continue // groups are expanded at launch; a self-reference is no constraint
		}
		single = append(single, c)
	}
	if err := checkDependents(d.Task, single); err != nil {
		return err
	}
	for _, c := range d.constraints {
		if !c.grows() || c.Terms[0].Index != All && allSame(c.Terms) {
			continue
		}
		for _, slot := range d.named(c.Terms[1].Name) {
			if d.Slots()[slot].Group == Outputs {
				return overlapping(d.Task, c.Terms[1].String())
			}
		}
	}
	return nil
}

func overlapping(task, output string) error {
	return &op.Error{Code: OverlappingWrite, Task: task, Slot: output, Want: "an output whose tiles do not overlap", Got: "one that a bloat grows"}
}

// checkDependents checks constraints whose terms each denote one argument or, at launch, one store. A target
// has exactly one source, no align and no min_extents. The source of a scale or bloat is not the target of
// an image. Dependences are acyclic.
func checkDependents(task string, cs []Constraint) error {
	targets := map[Term]Constraint{}
	for _, c := range cs {
		if !c.Kind.dependent() {
			continue
		}
		t := c.Terms[1]
		if first, ok := targets[t]; ok && !first.Equal(c) {
			return &op.Error{Code: DependentConflict, Task: task, Slot: t.String(), Want: "one constraint that derives its tiles", Got: first.String() + " and " + c.String()}
		}
		targets[t] = c
	}
	for _, c := range cs {
		aligns := c.Kind.Form().Terms == AnyTerms
		if c.Kind != MinExtents && (!aligns || len(c.Terms) < 2) {
			continue
		}
		for _, t := range c.Terms {
			if dep, ok := targets[t]; ok && !(aligns && allSame(c.Terms)) {
				return &op.Error{Code: DependentConflict, Task: task, Slot: t.String(), Want: "no " + c.Kind.String() + " beside " + dep.String(), Got: c.String()}
			}
		}
	}
	for _, c := range cs {
		if kinds[c.Kind].box == nil {
			continue
		}
		if from, ok := targets[c.Terms[0]]; ok && kinds[from.Kind].box == nil {
			return &op.Error{Code: UnsupportedSource, Task: task, Slot: c.Terms[0].String(),
				Want: "a source for " + c.Kind.String() + " that is not itself an image", Got: from.String()}
		}
	}
	return checkCycle(task, cs, targets)
}

func allSame(terms []Term) bool {
	return !slices.ContainsFunc(terms, func(t Term) bool { return t != terms[0] })
}

// checkCycle follows every target to its source, transitively, and returns an error for a cycle.
func checkCycle(task string, cs []Constraint, targets map[Term]Constraint) error {
	for _, c := range cs {
		if !c.Kind.dependent() {
			continue
		}
		start := c.Terms[1]
		trail := []string{start.String()}
		for at := c.Terms[0]; len(trail) <= len(targets); at = targets[at].Terms[0] {
			if at == start {
				return &op.Error{Code: DependentCycle, Task: task, Slot: start.String(), Want: "sources that do not depend on their targets", Got: strings.Join(trail, " from ") + " from " + start.String()}
			}
			if _, ok := targets[at]; !ok {
				break
			}
			trail = append(trail, at.String())
		}
	}
	return nil
}
