package planner

import (
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// group fuses neighboring elementwise tasks: independent ones of one operator, such as updates of weights,
// and ones that pass tensors on.
func (p draft) group() {
	fixed := make([]bool, len(p.Tasks)) // in an explicit order
	for t := range p.Tasks {
		for _, m := range p.Tasks[t].After {
			fixed[t], fixed[m] = true, true
		}
	}
	number := make([]int, 0, len(p.Tasks)) // of each task after fusing
	tasks := make([]plan.Task, 0, len(p.Tasks))
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

// run returns the form in which tasks from number from on can be fused, and the end of these tasks.
func (p draft) run(from int, fixed []bool) (plan.Form, int) {
	usable := func(t int) bool {
		return t < len(p.Tasks) && !fixed[t] && p.Tasks[t].Device == p.Tasks[from].Device && p.fusible(&p.Tasks[t])
	}
	if !usable(from) {
		return "", from + 1
	}
	to := from + 1
	for usable(to) && p.sameTask(from, to) && !slices.ContainsFunc(p.Tasks[from:to], func(t plan.Task) bool { return p.conflict(&t, &p.Tasks[to]) }) {
		to++
	}
	if to > from+1 {
		return plan.Batch, to
	}
	for usable(to) && p.Tasks[to].Over == p.Tasks[from].Over && p.chains(p.Tasks[from:to], &p.Tasks[to]) &&
		!(usable(to+1) && p.sameTask(to, to+1) && !p.conflict(&p.Tasks[to], &p.Tasks[to+1])) {
		to++
	}
	return plan.Chain, to
}

// fusible reports whether a task is elementwise, on whole tensors, and cut as it likes.
func (p draft) fusible(t *plan.Task) bool {
	return t.Elementwise && t.Inner == nil && t.Tile == 0 && !slices.ContainsFunc(t.Access, func(a region.Access) bool {
		return a.Perm == perm.Scratch || a.Perm == perm.Reduce || a.Least != nil || !p.whole(a.Root, &a.Box)
	})
}

// sameTask reports whether two tasks are the same step of the same operator's task.
func (p draft) sameTask(a, b int) bool {
	t, u := &p.Tasks[a], &p.Tasks[b]
	return t.Builtin == nil && u.Builtin == nil && t.Step == u.Step && p.Calls[t.Call].ID == p.Calls[u.Call].ID
}

// conflict reports whether one of two tasks writes a root that the other accesses.
func (p draft) conflict(t, u *plan.Task) bool {
	meets := false
	conflicting(t, u, func(region.Root) { meets = true })
	return meets
}

// conflicting calls f for every root that two tasks access and one of them writes.
func conflicting(t, u *plan.Task, f func(region.Root)) {
	for _, a := range t.Access {
		for _, b := range u.Access {
			if a.Root == b.Root && (a.Perm.Writes() || b.Perm.Writes()) {
				f(a.Root)
			}
		}
	}
}

// chains reports whether a task can follow others range by range: it accesses a tensor that one of them
// writes, or the other way round, and every such tensor has as many elements as there are indices.
func (p draft) chains(parts []plan.Task, next *plan.Task) bool {
	takes, fits := false, true
	for i := range parts {
		conflicting(&parts[i], next, func(r region.Root) {
			takes = true
			fits = fits && shape.Prod(p.Roots[r].Shape) == next.Over
		})
	}
	return takes && fits
}

// fused returns the task that runs others as a group.
func (p draft) fused(form plan.Form, parts []plan.Task) plan.Task {
	f := plan.Task{Call: -1, Device: parts[0].Device, Elementwise: true, Access: p.externalAccesses(parts), Group: &plan.Group{Form: form, Parts: slices.Clone(parts)}}
	f.Over, f.Grain = parts[0].Over, parts[0].Grain
	for _, t := range parts[1:] {
		if form == plan.Chain {
			f.Grain = min(f.Grain, t.Grain)
		} else {
			f.Over, f.Grain = f.Over+t.Over, max(f.Grain, t.Grain)
		}
	}
	return f
}

// externalAccesses returns the accesses of tasks that run one after the other as one task. A read is
// internal, and left out, if an earlier part wrote the root.
func (p draft) externalAccesses(parts []plan.Task) []region.Access {
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
