package verify

import (
	"maps"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// checkGroup checks that a fused task does what its parts do, and that they may be fused. The accesses of the
// fused task have been checked to lie within their roots.
func (c checker) checkGroup(t int) *plan.Error {
	f := &c.Tasks[t]
	parts := f.Group.Parts
	if f.Group.Form != plan.Chain && f.Group.Form != plan.Batch || len(parts) == 0 {
		return c.TaskErrorf(t, "want a chain or a batch of tasks, got %q of %d", f.Group.Form, len(parts))
	}
	over := 0
	touched := map[region.Root]parting{}
	for i := range parts {
		if err := c.checkPart(t, i); err != nil {
			return err
		}
		over += parts[i].Over
		if err := c.checkMeeting(t, i, touched); err != nil {
			return err
		}
	}
	if f.Group.Form == plan.Batch && over != f.Over {
		return c.TaskErrorf(t, "want parts that have %d indices together, got %d", f.Over, over)
	}
	return c.checkTogether(t)
}

// checkPart checks part i of a fused task by itself.
func (c checker) checkPart(t, i int) *plan.Error {
	f := &c.Tasks[t]
	part := &f.Group.Parts[i]
	switch {
	case part.Group != nil || len(part.After) > 0 || !c.runnable(part):
		return c.TaskErrorf(t, "want calls and built-in operations as parts, got something else as part %d", i)
	case !part.Elementwise || part.Inner != nil || part.Tile != 0:
		return c.TaskErrorf(t, "want elementwise parts, got part %d", i)
	case part.Grain < 1 || part.Step < 0 || part.Builtin != nil && len(part.Access) == 0:
		return c.TaskErrorf(t, "want parts with a step of 0 or more, a grain of 1 or more and tensors, got something else as part %d", i)
	case part.Over < 0 || part.Over > f.Over:
		return c.TaskErrorf(t, "want parts within %d indices, got %d in part %d", f.Over, part.Over, i)
	case f.Group.Form == plan.Chain && part.Over != f.Over:
		return c.TaskErrorf(t, "want parts that run over %d indices, got %d in part %d", f.Over, part.Over, i)
	}
	for k := range part.Access {
		a := &part.Access[k]
		switch {
		case !c.has(a.Root):
			return c.TaskErrorf(t, "want roots from 0 to %d in part %d, got %d", len(c.Roots)-1, i, a.Root)
		case !c.inside(a) || !c.covers(a) || a.Perm != perm.Read && a.Perm != perm.Write && a.Perm != perm.ReadWrite:
			err := c.TaskErrorf(t, "want parts that read and write whole tensors, got part %d", i)
			err.Root = c.Roots[a.Root].Name
			return err
		}
	}
	return nil
}

// parting is what the parts so far of a fused task do with a root: the first part that accesses it, and the
// first that writes it, or none.
type parting struct{ access, write int }

// checkMeeting checks that part i of a fused task and the parts before it may run as one task: in a chain,
// what one of them writes and the other accesses has an element for each index, and in a batch there is no
// such tensor. It adds the part to what is touched.
func (c checker) checkMeeting(t, i int, touched map[region.Root]parting) *plan.Error {
	f := &c.Tasks[t]
	for k := range f.Group.Parts[i].Access {
		a := &f.Group.Parts[i].Access[k]
		before, ok := touched[a.Root]
		other := before.write
		if a.Perm != perm.Read {
			other = before.access
		}
		if ok && other != none && (f.Group.Form != plan.Chain || shape.Prod(c.Roots[a.Root].Shape) != f.Over) {
			err := c.TaskErrorf(t, "want parts that share only elements of their indices, got parts %d and %d", other, i)
			err.Root = c.Roots[a.Root].Name
			return err
		}
	}
	for k := range f.Group.Parts[i].Access {
		a := &f.Group.Parts[i].Access[k]
		u, ok := touched[a.Root]
		if !ok {
			u = parting{i, none}
		}
		if u.write == none && a.Perm != perm.Read {
			u.write = i
		}
		touched[a.Root] = u
	}
	return nil
}

// checkTogether checks that the accesses of a fused task are those of its parts: to each root one access.
// That reads if the first part that accesses the root reads it, and writes if any part does. What a part
// writes first, later parts read within the group.
func (c checker) checkTogether(t int) *plan.Error {
	type use struct {
		part          int // the first
		reads, writes bool
	}
	want := map[region.Root]use{}
	for i, part := range c.Tasks[t].Group.Parts {
		for _, a := range part.Access {
			u, known := want[a.Root]
			if !known {
				u.part = i
			}
			u.reads = u.reads || u.part == i && a.Perm != perm.Write
			u.writes = u.writes || a.Perm != perm.Read
			want[a.Root] = u
		}
	}
	for i := range c.Tasks[t].Access {
		a := &c.Tasks[t].Access[i]
		u, ok := want[a.Root]
		delete(want, a.Root) // so that a second access is one too many
		p := perm.Read
		switch {
		case !ok:
			p = perm.None
		case u.reads && u.writes:
			p = perm.ReadWrite
		case u.writes:
			p = perm.Write
		}
		if a.Perm != p || a.Redop != perm.NoRedop || !c.covers(a) {
			err := c.TaskErrorf(t, "want the accesses that its parts have together, which %s all of a tensor, got one to %s", p, a.Perm)
			err.Root, err.Range = c.Roots[a.Root].Name, a.Box.String()
			return err
		}
	}
	if len(want) > 0 {
		least := slices.Min(slices.Collect(maps.Keys(want))) // the error does not depend on the order of the map
		return c.RootErrorf(least, "want the accesses that its parts have together in %s, got none to a tensor", c.Label(t))
	}
	return nil
}
