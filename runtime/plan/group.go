package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
)

// Group is what a fused task runs: tasks that work element by element.
type Group struct {
	Form Form `json:"form"`
	// Parts lists the tasks. Their accesses are those of each by itself; the fused task's are what others
	// see of them.
	Parts []Task `json:"parts"`
}

// Form says how the parts of a group share its indices.
type Form string

const (
	// Chain: all run over the same indices, and each range goes through all parts, one after the other.
	Chain Form = "chain"
	// Batch: the indices of the parts lie one after the other.
	Batch Form = "batch"
)

// group fuses neighbouring tasks that work element by element: first those of one operator that have
// nothing to do with each other, as updates of weights, then those that hand tensors on.
func (b *builder) group() {
	p := b.plan
	fixed := make([]bool, len(p.Tasks)) // in an explicit order, which numbers of tasks speak of
	for t := range p.Tasks {
		for _, m := range p.Tasks[t].After {
			fixed[t], fixed[m] = true, true
		}
	}
	number := make([]int, 0, len(p.Tasks)) // of each task, afterwards
	var tasks []Task
	for from := 0; from < len(p.Tasks); {
		form, to := p.run(from, fixed)
		for range to - from {
			number = append(number, len(tasks))
		}
		if to > from+1 {
			tasks = append(tasks, p.fused(form, p.Tasks[from:to]))
		} else {
			tasks = append(tasks, p.Tasks[from])
		}
		from = to
	}
	for t := range tasks {
		if after := tasks[t].After; len(after) > 0 {
			tasks[t].After = slices.Clone(after)
			for i, m := range after {
				tasks[t].After[i] = number[m]
			}
		}
	}
	p.Tasks = tasks
}

// run returns the end of the tasks that can be fused with the one at from, and how.
func (p *Plan) run(from int, fixed []bool) (Form, int) {
	usable := func(t int) bool { return t < len(p.Tasks) && !fixed[t] && p.wholly(&p.Tasks[t]) }
	if !usable(from) {
		return "", from + 1
	}
	to := from + 1
	for usable(to) && p.sameTask(from, to) && !slices.ContainsFunc(p.Tasks[from:to], func(t Task) bool { return p.meet(&t, &p.Tasks[to]) }) {
		to++
	}
	if to > from+1 {
		return Batch, to
	}
	for usable(to) && p.Tasks[to].Over == p.Tasks[from].Over && p.chains(p.Tasks[from:to], &p.Tasks[to]) &&
		!(usable(to+1) && p.sameTask(to, to+1) && !p.meet(&p.Tasks[to], &p.Tasks[to+1])) {
		to++
	}
	return Chain, to
}

// wholly reports whether a task works element by element, on whole tensors.
func (p *Plan) wholly(t *Task) bool {
	return t.Elementwise && t.Inner == nil && t.Tile == 0 && !slices.ContainsFunc(t.Access, func(a region.Access) bool {
		return a.Perm == perm.Scratch || a.Perm == perm.Reduce || !p.whole(&a)
	})
}

// sameTask reports whether two tasks are the same step of the same operator's task.
func (p *Plan) sameTask(a, b int) bool {
	t, u := &p.Tasks[a], &p.Tasks[b]
	return t.Builtin == nil && u.Builtin == nil && t.Step == u.Step && p.Calls[t.Call].ID == p.Calls[u.Call].ID
}

// meet reports whether one of two tasks writes what the other accesses.
func (p *Plan) meet(t, u *Task) bool {
	meets := false
	conflicting(t, u, func(region.Root) { meets = true })
	return meets
}

// conflicting calls f for every root that two tasks access and one of them writes.
func conflicting(t, u *Task, f func(region.Root)) {
	for _, a := range t.Access {
		for _, b := range u.Access {
			if a.Root == b.Root && (a.Perm.Writes() || b.Perm.Writes()) {
				f(a.Root)
			}
		}
	}
}

// chains reports whether a task can follow others range by range: it takes something from one of them,
// and all that one writes and another accesses has as many elements as there are indices.
func (p *Plan) chains(parts []Task, next *Task) bool {
	takes, fits := false, true
	for i := range parts {
		conflicting(&parts[i], next, func(r region.Root) {
			takes = true
			fits = fits && elements(p.Roots[r].Shape) == next.Over
		})
	}
	return takes && fits
}

// fused returns the task that runs others as a group.
func (p *Plan) fused(form Form, parts []Task) Task {
	f := Task{Call: -1, Elementwise: true, Access: p.outside(parts), Group: &Group{form, slices.Clone(parts)}}
	f.Over, f.Grain = parts[0].Over, parts[0].Grain
	for _, t := range parts[1:] {
		if form == Chain {
			f.Grain = min(f.Grain, t.Grain)
		} else {
			f.Over, f.Grain = f.Over+t.Over, max(f.Grain, t.Grain)
		}
	}
	return f
}

// outside returns what others see of the accesses of tasks that run one after the other: what the first
// of them writes, later ones read without anybody noticing.
func (p *Plan) outside(parts []Task) []region.Access {
	var access []region.Access
	at := map[region.Root]int{}
	for _, t := range parts {
		reads, writes := map[region.Root]bool{}, map[region.Root]bool{}
		for _, a := range t.Access {
			reads[a.Root] = reads[a.Root] || a.Perm.Reads()
			writes[a.Root] = writes[a.Root] || a.Perm.Writes()
		}
		for _, a := range t.Access {
			i, known := at[a.Root]
			if !known {
				at[a.Root] = len(access)
				a.Perm = perm.Read
				switch {
				case writes[a.Root] && reads[a.Root]:
					a.Perm = perm.ReadWrite
				case writes[a.Root]:
					a.Perm = perm.Write
				}
				access = append(access, a)
			} else if writes[a.Root] && access[i].Perm == perm.Read {
				access[i].Perm = perm.ReadWrite
			}
		}
	}
	return access
}

// groupLabel names a group by its parts.
func (p *Plan) groupLabel(g *Group) string {
	var nodes, tasks []string
	for i := range g.Parts {
		node, name, ok := strings.Cut(p.LabelOf(&g.Parts[i]), ": ")
		if !ok {
			name, node, _ = strings.Cut(node, " ") // a built-in operation: "fill loss"
		}
		nodes, tasks = append(nodes, node), append(tasks, name)
	}
	if g.Form == Batch && len(nodes) > 2 {
		nodes = append(nodes[:1], fmt.Sprintf("%d others", len(nodes)-1))
	}
	return strings.Join(nodes, ", ") + ": " + strings.Join(slices.Compact(tasks), " + ")
}

// checkGroup checks that a fused task does what its parts do, and that they may be fused.
func (p *Plan) checkGroup(t int) *Error {
	f := &p.Tasks[t]
	over := 0
	for i := range f.Group.Parts {
		part := &f.Group.Parts[i]
		switch {
		case part.Group != nil || part.Builtin == nil && (part.Call < 0 || part.Call >= len(p.Calls)) || len(part.After) > 0:
			return p.faultOf(t, "want calls and built-in operations as parts, got something else as part %d", i)
		case slices.ContainsFunc(part.Access, func(a region.Access) bool { return a.Root < 0 || int(a.Root) >= len(p.Roots) }):
			return p.faultOf(t, "want roots from 0 to %d in part %d, got another", len(p.Roots)-1, i)
		case !p.wholly(part):
			return p.faultOf(t, "want parts that work element by element on whole tensors, got part %d", i)
		case f.Group.Form == Chain && part.Over != f.Over:
			return p.faultOf(t, "want parts that run over %d indices, got %d in part %d", f.Over, part.Over, i)
		}
		over += part.Over
		for k := range i {
			var err *Error
			conflicting(&f.Group.Parts[k], part, func(r region.Root) {
				if f.Group.Form != Chain || elements(p.Roots[r].Shape) != part.Over {
					err = p.faultOf(t, "want parts that hand on nothing but elements of their indices, got parts %d and %d", k, i)
					err.Root = p.Roots[r].Name
				}
			})
			if err != nil {
				return err
			}
		}
	}
	switch {
	case f.Group.Form != Chain && f.Group.Form != Batch || len(f.Group.Parts) == 0:
		return p.faultOf(t, "want a chain or a batch of tasks, got %q of %d", f.Group.Form, len(f.Group.Parts))
	case f.Group.Form == Batch && over != f.Over:
		return p.faultOf(t, "want parts that have %d indices together, got %d", f.Over, over)
	case !slices.EqualFunc(f.Access, p.outside(f.Group.Parts), sameAccess):
		return p.faultOf(t, "want the accesses that its parts have together, got others")
	}
	return nil
}

func sameAccess(a, b region.Access) bool {
	return a.Root == b.Root && a.Perm == b.Perm && a.Redop == b.Redop && slices.Equal(a.Lo, b.Lo) && slices.Equal(a.Hi, b.Hi)
}
