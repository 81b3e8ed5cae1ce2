package planner

import (
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// group fuses neighboring elementwise tasks: a batch of independent tasks of one operator, such as updates
// of weights, or a chain of tasks that pass tensors on.
func (p draft) group() {
	g := &grouper{p, make([]bool, len(p.Tasks)), make([]touch, len(p.Roots))}
	for r := range g.roots {
		g.roots[r].from = -1
	}
	for t := range p.Tasks {
		for _, m := range p.Tasks[t].After {
			g.fixed[t], g.fixed[m] = true, true
		}
	}
	number := make([]int, 0, len(p.Tasks)) // by old task: its number after fusion
	tasks := make([]plan.Task, 0, len(p.Tasks))
	for from := 0; from < len(p.Tasks); {
		form, to := g.run(from)
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

// maxParts bounds the parts of a fused task, and with it the size of the task and the memory live in a
// chain.
const maxParts = 1024

// grouper fuses the tasks of a draft. fixed marks tasks with explicit dependencies. roots records the
// accesses of the current run of tasks.
type grouper struct {
	draft
	fixed []bool
	roots []touch
}

// touch records how the run that begins at task from accesses a root. An entry of an earlier run is stale.
type touch struct {
	from   int
	writes bool
}

// run returns the longest run of fusible tasks from number from on, as a batch or a chain, and its end.
func (p *grouper) run(from int) (plan.Form, int) {
	end := min(len(p.Tasks), from+maxParts)
	usable := func(t int) bool {
		return t < len(p.Tasks) && !p.fixed[t] && p.Tasks[t].Device == p.Tasks[from].Device && p.fusible(&p.Tasks[t])
	}
	if !usable(from) {
		return "", from + 1
	}
	p.note(from, from)
	to := from + 1
	for to < end && usable(to) && p.sameTask(from, to) && !p.meets(from, to) {
		p.note(from, to)
		to++
	}
	if to > from+1 {
		return plan.Batch, to
	}
	for to < end && usable(to) && p.Tasks[to].Over == p.Tasks[from].Over && p.chains(from, to) &&
		!(usable(to+1) && p.sameTask(to, to+1) && !p.conflict(&p.Tasks[to], &p.Tasks[to+1])) {
		p.note(from, to)
		to++
	}
	return plan.Chain, to
}

// note adds the accesses of a task to the run that begins at task from.
func (p *grouper) note(from, t int) {
	for i := range p.Tasks[t].Access {
		a := &p.Tasks[t].Access[i]
		r := &p.roots[a.Root]
		if r.from != from {
			*r = touch{from: from}
		}
		r.writes = r.writes || a.Perm.Writes()
	}
}

// shared calls f for every root on which a task conflicts with the run that begins at task from: both access
// the root, and one of them writes.
func (p *grouper) shared(from, t int, f func(region.Root)) {
	for i := range p.Tasks[t].Access {
		a := &p.Tasks[t].Access[i]
		if r := &p.roots[a.Root]; r.from == from && (r.writes || a.Perm.Writes()) {
			f(a.Root)
		}
	}
}

// meets reports whether a task conflicts with the run.
func (p *grouper) meets(from, t int) bool {
	meets := false
	p.shared(from, t, func(region.Root) { meets = true })
	return meets
}

// fusible reports whether a task is elementwise, on whole tensors, with ranges of any size.
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

// conflict reports whether two tasks conflict: both access a root, and one of them writes.
func (p draft) conflict(t, u *plan.Task) bool {
	for i := range t.Access {
		a := &t.Access[i]
		for k := range u.Access {
			if b := &u.Access[k]; a.Root == b.Root && (a.Perm.Writes() || b.Perm.Writes()) {
				return true
			}
		}
	}
	return false
}

// chains reports whether a task can join the run as a chain: it conflicts with the run, and all conflicts
// are elementwise, on tensors with as many elements as the task has iterations.
func (p *grouper) chains(from, next int) bool {
	takes, fits := false, true
	p.shared(from, next, func(r region.Root) {
		takes = true
		fits = fits && shape.Prod(p.Roots[r].Shape) == p.Tasks[next].Over
	})
	return takes && fits
}

// chainGrain is how many elements a range of a chain has at most: 16 KiB of float32. A part finds what the
// part before it has written in the nearest cache.
const chainGrain = 4096

// batchRanges is into how many ranges a batch is cut at most, if its parts are small.
const batchRanges = 16

// fused returns the task that runs parts as a group.
func (p draft) fused(form plan.Form, parts []plan.Task) plan.Task {
	f := plan.Task{Call: -1, Device: parts[0].Device, Elementwise: true, Access: p.externalAccesses(parts), Group: &plan.Group{Form: form, Parts: slices.Clone(parts)}}
	if form == plan.Chain {
		f.Over, f.Grain = parts[0].Over, chainGrain
		for _, t := range parts {
			f.Grain = min(f.Grain, t.Grain)
		}
		return f
	}
	for _, t := range parts {
		f.Over, f.Grain = f.Over+t.Over, max(f.Grain, t.Grain)
	}
	f.Grain = max(f.Grain, chainGrain, shape.CeilDiv(f.Over, batchRanges))
	return f
}

// externalAccesses returns the accesses of a fused task. A read of a root that an earlier part wrote is
// internal, and omitted.
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
