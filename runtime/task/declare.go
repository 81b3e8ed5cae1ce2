package task

import (
	"fmt"
	"slices"
	"strings"
)

// Declaration is what a task declares about its launches: how many arguments each group has, and how
// stores are divided. It is the part of a signature that Legate calls a TaskSignature.
//
// Generated signatures carry one that follows from the spec. Tools build one step by step; the first
// mistake is kept, and Err returns it. The zero Declaration checks no counts and lets launches add
// constraints.
type Declaration struct {
	// Task names the task in errors.
	Task string

	counts      [numGroups]Arity
	constraints []Constraint
	// declared tells that constraints were given, even if none: launches may not add any.
	declared bool
	err      error
}

// Err returns the first mistake, or nil.
func (d *Declaration) Err() error { return d.err }

// SetCount sets the arity of a group. The last call for a group counts.
func (d *Declaration) SetCount(g Group, a Arity) *Declaration {
	if err := a.check(d.Task, g); err != nil {
		if d.err == nil {
			d.err = err
		}
		return d
	}
	d.counts[g] = a
	return d
}

// SetConstraints declares the constraints of every launch; none is a declaration, too. After
// UnsetConstraints, or without either, launches may add constraints.
func (d *Declaration) SetConstraints(cs ...Constraint) *Declaration {
	for _, c := range cs {
		if err := c.check(d.Task, storeGroup); err != nil {
			if d.err == nil {
				d.err = err
			}
			return d
		}
	}
	d.constraints, d.declared = slices.Clone(cs), true
	return d
}

// UnsetConstraints takes back what SetConstraints declared.
func (d *Declaration) UnsetConstraints() *Declaration {
	d.constraints, d.declared = nil, false
	return d
}

// storeGroup reports whether a name is that of a group of stores.
func storeGroup(name string) bool {
	g, ok := ParseGroup(name)
	return ok && g != Scalars
}

// Count returns the arity of a group.
func (d *Declaration) Count(g Group) Arity { return d.counts[g] }

// Constraints returns the declared constraints, and whether any were declared: if not, launches may
// add some.
func (d *Declaration) Constraints() (list []Constraint, declared bool) {
	return slices.Clone(d.constraints), d.declared
}

// Clone returns a copy that later changes of d do not touch.
func (d *Declaration) Clone() *Declaration {
	c := *d
	c.constraints = slices.Clone(d.constraints)
	return &c
}

// Equal reports whether two declarations say the same.
func (d *Declaration) Equal(e *Declaration) bool {
	return d.counts == e.counts && d.declared == e.declared && slices.EqualFunc(d.constraints, e.constraints, Constraint.Equal)
}

// Validate checks what can be checked before a launch: that every index of a term can exist, and that
// the constraints on single arguments do not contradict each other. It is called when a task is
// registered.
func (d *Declaration) Validate() error {
	if d.err != nil {
		return d.err
	}
	for _, c := range d.constraints {
		for _, t := range c.Terms {
			g, _ := ParseGroup(t.Name)
			if t.Index != All && !d.counts[g].HasIndex(t.Index) {
				return &Error{Code: IndexOutOfRange, Task: d.Task, Slot: t.String(),
					Want: fmt.Sprintf("an index that %v %s can have, for %v", d.counts[g], g, c.Kind), Got: fmt.Sprint(t.Index)}
			}
		}
	}
	var single []Constraint
	for _, c := range d.constraints {
		if slices.ContainsFunc(c.Terms, func(t Term) bool { return t.Index == All }) || c.Kind.Dependent() && allSame(c.Terms) {
			continue // groups are known at launch; an argument does not constrain itself
		}
		single = append(single, c)
	}
	if err := CheckDependents(d.Task, single); err != nil {
		return err
	}
	for _, c := range d.constraints {
		if c.Grows() && c.Terms[1].Name == Outputs.String() && !(c.Terms[0].Index != All && allSame(c.Terms)) {
			return overlapping(d.Task, c.Terms[1].String())
		}
	}
	return nil
}

func overlapping(task, output string) error {
	return &Error{Code: OverlappingWrite, Task: task, Slot: output, Want: "an output whose tiles do not overlap", Got: "one that a bloat grows"}
}

// CheckDependents checks constraints whose terms each stand for one thing: an argument, or, at launch,
// a store. A target has one source, and neither an align nor a min_extents; nothing is scaled or
// bloated from an image; dependent constraints form no cycle.
func CheckDependents(task string, cs []Constraint) error {
	targets := map[Term]Constraint{}
	for _, c := range cs {
		if !c.Kind.Dependent() {
			continue
		}
		t := c.Terms[1]
		if first, ok := targets[t]; ok && !first.Equal(c) {
			return &Error{Code: DependentConflict, Task: task, Slot: t.String(), Want: "one constraint that derives its tiles", Got: first.String() + " and " + c.String()}
		}
		targets[t] = c
	}
	for _, c := range cs {
		if c.Kind != MinExtents && (c.Kind != Align || len(c.Terms) < 2) {
			continue
		}
		for _, t := range c.Terms {
			if dep, ok := targets[t]; ok && !(c.Kind == Align && allSame(c.Terms)) {
				return &Error{Code: DependentConflict, Task: task, Slot: t.String(), Want: "no " + c.Kind.String() + " beside " + dep.String(), Got: c.String()}
			}
		}
	}
	for _, c := range cs {
		if c.Kind != Scale && c.Kind != Bloat {
			continue
		}
		if from, ok := targets[c.Terms[0]]; ok && from.Kind == Image {
			return &Error{Code: UnsupportedSource, Task: task, Slot: c.Terms[0].String(), Want: "a source for " + c.Kind.String() + " that is not itself an image", Got: from.String()}
		}
	}
	return checkCycle(task, cs, targets)
}

func allSame(terms []Term) bool {
	return !slices.ContainsFunc(terms, func(t Term) bool { return t != terms[0] })
}

// checkCycle follows every target to its source, and so on.
func checkCycle(task string, cs []Constraint, targets map[Term]Constraint) error {
	for _, c := range cs {
		if !c.Kind.Dependent() {
			continue
		}
		start := c.Terms[1]
		trail := []string{start.String()}
		for at := c.Terms[0]; len(trail) <= len(targets); at = targets[at].Terms[0] {
			if at == start {
				return &Error{Code: DependentCycle, Task: task, Slot: start.String(), Want: "sources that do not depend on their targets", Got: strings.Join(trail, " from ") + " from " + start.String()}
			}
			if _, ok := targets[at]; !ok {
				break
			}
			trail = append(trail, at.String())
		}
	}
	return nil
}
