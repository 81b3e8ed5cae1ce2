package plan

import (
	"slices"

	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Check proves that running the plan's queues gives what running its tasks one after the other gives. It
// knows nothing of how plans are made, and believes no more than what the executor sees: tasks, places,
// queues and waits. It proves that
//
//   - every task stands in one queue once, or, if it is shared, in each queue once;
//   - no queue waits for ever;
//   - of every two accesses that conflict, of one root or of bytes that two roots share, the first is
//     over before the second begins, and likewise what is explicit and what Deps holds;
//   - what is read was written before, and no two roots that are live together share a byte;
//   - roots lie within the arena, and variables outside.
//
// The error is an *Error.
//
// Shared tasks need care: their ranges go to any of the workers, so a task that waits for one knows only
// what all workers knew when they came to it. Check also demands that each worker can come to a shared
// task before any worker waits for it, so that none depends on the others' help.
func Check(p *Plan) error {
	for _, check := range []func() *Error{p.checkRoots, p.checkTasks, p.checkPairs, p.checkLives, p.checkWritten} {
		if err := check(); err != nil {
			return err
		}
	}
	q, err := p.checkQueues()
	if err != nil {
		return err
	}
	for _, check := range []func() *Error{q.run, q.checkExplicit, q.checkAccesses, q.checkReuse} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkRoots checks each root by itself.
func (p *Plan) checkRoots() *Error {
	if p.ArenaBytes < 0 || p.WorkerBytes < 0 {
		return p.fault("want sizes of 0 or more, got an arena of %d bytes and %d for each worker", p.ArenaBytes, p.WorkerBytes)
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		fail := func(format string, args ...any) *Error {
			e := p.fault(format, args...)
			e.Root = r.Name
			return e
		}
		pl := r.Place
		switch variable := r.Use == Variable; {
		case slices.ContainsFunc(r.Shape, func(n int) bool { return n < 0 }) || !shape.Fits(r.Shape, max(r.Type.Size(), 1)):
			return fail("want a shape that can be addressed, got %v", r.Shape)
		case variable != (pl.Space == region.Variable):
			return fail("want variables, and nothing else, outside of the arena, got a tensor (%v) in %v memory", r.Use, pl.Space)
		case pl.Bytes != r.Operand().Bytes():
			return fail("want %d bytes, got %d", r.Operand().Bytes(), pl.Bytes)
		case pl.Off < 0 || pl.Off%Align != 0:
			return fail("want an offset that is a multiple of %d, got %d", Align, pl.Off)
		case variable && pl.Off != 0:
			return fail("want a variable to begin its own memory, got offset %d", pl.Off)
		case !variable && r.First <= r.Last && (pl.Off > p.ArenaBytes || pl.Bytes > p.ArenaBytes-pl.Off):
			return fail("want a place within the %d bytes of the arena, got %d bytes at %d", p.ArenaBytes, pl.Bytes, pl.Off)
		}
	}
	return nil
}

// checkTasks checks each call and each task by itself.
func (p *Plan) checkTasks() *Error {
	for i := range p.Calls {
		for _, bound := range p.Calls[i].Params {
			for _, b := range bound {
				if b.Root != NoRoot && (b.Root < 0 || int(b.Root) >= len(p.Roots)) {
					return p.fault("want roots from 0 to %d, got %d in call %d", len(p.Roots)-1, b.Root, i)
				}
			}
		}
	}
	for t := range p.Tasks {
		task := &p.Tasks[t]
		switch {
		case task.Group == nil && task.Builtin == nil && (task.Call < 0 || task.Call >= len(p.Calls)):
			return p.fault("want calls from 0 to %d, got %d in task %d", len(p.Calls)-1, task.Call, t)
		case task.Builtin != nil && len(task.Access) == 0:
			return p.fault("want tensors for %s, got none in task %d", task.Builtin.Op, t)
		case task.Step < 0:
			return p.fault("want a step of 0 or more, got %d in task %d", task.Step, t)
		}
		if err := p.checkGrid(t); err != nil {
			return err
		}
		for i := range task.Access {
			if err := p.within(t, i); err != nil {
				return err
			}
		}
		if task.Group != nil {
			if err := p.checkGroup(t); err != nil {
				return err
			}
		}
		for _, before := range task.After {
			if before < 0 || before >= t {
				return p.faultOf(t, "want explicit dependencies on earlier tasks, got task %d for task %d", before, t)
			}
		}
	}
	return nil
}

// checkGrid checks the grid of a task. Only steps of calls have grids of several dimensions, or tasks for
// single tiles.
func (p *Plan) checkGrid(t int) *Error {
	task := &p.Tasks[t]
	g := task.Grid()
	if err := g.Check(); err != nil {
		return p.fault("task %d: %v", t, err)
	}
	if task.Tile < 0 || task.Tile > g.Tiles() {
		return p.faultOf(t, "want tile 1 to %d, or 0 for all, got %d", g.Tiles(), task.Tile)
	}
	if (task.Tile > 0 || g.Rank() > 1) && (task.Group != nil || task.Builtin != nil) {
		return p.faultOf(t, "want built-in operations and fused tasks over one dimension, got %v", &g)
	}
	return nil
}

// checkPairs checks that no task writes memory that it also accesses through another parameter, unless
// its operator says that it works in place there.
func (p *Plan) checkPairs() *Error {
	for t := range p.Tasks {
		parts := p.Tasks[t : t+1]
		if g := p.Tasks[t].Group; g != nil {
			parts = g.Parts
		}
		for k := range parts {
			if a := p.undeclared(&parts[k]); a != nil {
				e := p.faultOf(t, "want memory of its own for what a task writes, got a tensor that it accesses twice")
				e.Root = p.Roots[a.Root].Name
				return e
			}
		}
	}
	return nil
}

// undeclared returns an access to what a task writes through another parameter, unless its operator
// says that it may.
func (p *Plan) undeclared(t *Task) *region.Access {
	if t.Builtin != nil {
		return nil
	}
	call := &p.Calls[t.Call]
	params := call.accessed()
	for j := range t.Access {
		b := &t.Access[j]
		for i, a := range t.Access[:j] {
			if a.Root == b.Root && (a.Perm != perm.Read || b.Perm != perm.Read) && (j >= len(params) || !call.inPlace(params[i], params[j])) {
				return b
			}
		}
	}
	return nil
}

// checkLives checks that lifetimes hold all accesses, and that roots which are live together share no
// byte.
func (p *Plan) checkLives() *Error {
	n := len(p.Tasks)
	for t := range p.Tasks {
		for i, a := range p.Tasks[t].Access {
			if r := &p.Roots[a.Root]; t < r.First || t > r.Last {
				return p.about(p.faultOf(t, "want accesses within the tensor's lifetime, tasks %d to %d, got task %d", r.First, r.Last, t), t, i, region.Box{Lo: a.Lo, Hi: a.Hi})
			}
		}
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		if r.Use == Fed && r.First != -1 || r.Use == Fetched && r.Last != n {
			e := p.fault("want a fed tensor to live from -1 on and a fetched one until %d, got tasks %d to %d", n, r.First, r.Last)
			e.Root = r.Name
			return e
		}
	}
	var err *Error
	p.sharing(func(q, r region.Root) bool {
		a, b := &p.Roots[q], &p.Roots[r]
		meet := a.First <= b.Last && b.First <= a.Last
		// What is fed for the next run must not destroy what the last one left to be fetched.
		meet = meet || a.First < 0 && b.Last == n || b.First < 0 && a.Last == n
		if meet {
			err = p.fault("want roots that are live together in different memory, got %s at %d to %d and %s at %d to %d",
				a.Name, a.Place.Off, a.Place.Off+a.Place.Bytes, b.Name, b.Place.Off, b.Place.Off+b.Place.Bytes)
			err.Root = b.Name
		}
		return !meet
	})
	return err
}

// checkWritten checks that tasks, in their order, read only what earlier ones, or the caller, have
// written. Elements are told apart only where a root is accessed in parts.
func (p *Plan) checkWritten() *Error {
	type part struct {
		box     region.Box
		written bool
	}
	parts := make([][]part, len(p.Roots)) // the newest last; what none holds is as at first
	find := func(a region.Access, from int, visit func(box region.Box)) {
		// Walk back until the boxes found cover the access.
		var walk func(box region.Box, i int)
		walk = func(box region.Box, i int) {
			if box.Empty() {
				return
			}
			if i < 0 {
				if use := p.Roots[a.Root].Use; use == Internal || use == Fetched {
					visit(box)
				}
				return
			}
			k := parts[a.Root][i]
			common := box.Intersect(k.box)
			if common.Empty() {
				walk(box, i-1)
				return
			}
			if !k.written {
				visit(common)
			}
			for d := range box.Lo { // the rest of the box: slabs before and after common, axis by axis
				below, above := box.Intersect(box), box.Intersect(box)
				below.Hi[d], above.Lo[d] = common.Lo[d], common.Hi[d]
				walk(below, i-1)
				walk(above, i-1)
				box = box.Intersect(box)
				box.Lo[d], box.Hi[d] = common.Lo[d], common.Hi[d]
			}
		}
		walk(region.Box{Lo: a.Lo, Hi: a.Hi}, from)
	}
	for t := range p.Tasks {
		for i, a := range p.Tasks[t].Access {
			if a.Perm != perm.Read && a.Perm != perm.ReadWrite && a.Perm != perm.Reduce {
				continue
			}
			var err *Error
			find(a, len(parts[a.Root])-1, func(box region.Box) {
				if err == nil {
					err = p.about(p.faultOf(t, "want elements that an earlier task has written, got some that none has"), t, i, box)
				}
			})
			if err != nil {
				return err
			}
		}
		for _, a := range p.Tasks[t].Access {
			if !a.Perm.Writes() && a.Perm != perm.Scratch || a.Empty() {
				continue
			}
			if p.whole(&a) {
				parts[a.Root] = parts[a.Root][:0]
			}
			parts[a.Root] = append(parts[a.Root], part{region.Box{Lo: a.Lo, Hi: a.Hi}, a.Perm != perm.Scratch})
		}
	}
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Use == Fetched {
			a := region.Access{Region: region.Whole(region.Root(i), r.Shape)}
			var err *Error
			find(a, len(parts[i])-1, func(box region.Box) {
				if err == nil {
					err = p.fault("want tasks that write all of a fetched tensor, got none for some elements")
					err.Root, err.Range = r.Name, ranges(box)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// queues is the plan's schedule as Check sees it.
type queues struct {
	*Plan
	at     []int   // per task: its place in the queue of its worker; not of shared ones
	worker []int   // per task; shared for a shared one
	number []int   // per task: its number among the shared ones
	places [][]int // per shared task and worker: its place in the worker's queue
	// state and shares are what workers know when tasks begin: filled in by run.
	state  []*knowledge   // per task
	shares [][]*knowledge // per shared task and worker
}

// shared stands for all workers.
const shared = -1

// checkQueues checks that the queues hold every task as often as they must.
func (p *Plan) checkQueues() (*queues, *Error) {
	s := &p.Schedule
	n, W := len(p.Tasks), s.Workers()
	if s.Tasks != n || W < 1 {
		return nil, p.fault("want a schedule of %d tasks for at least one worker, got %d for %d", n, s.Tasks, W)
	}
	q := &queues{Plan: p, at: make([]int, n), worker: make([]int, n), number: make([]int, n), state: make([]*knowledge, n)}
	const nobody = -2
	for t := range q.worker {
		q.worker[t] = nobody
	}
	for k, t := range s.Shared {
		if t < 0 || int(t) >= n || q.worker[t] == shared {
			return nil, p.fault("want each shared task once, from 0 to %d, got task %d", n-1, t)
		}
		q.worker[t], q.number[t] = shared, k
		q.places = append(q.places, make([]int, W))
		q.shares = append(q.shares, make([]*knowledge, W))
		for w := range W {
			q.places[k][w] = nobody
		}
	}
	for w, queue := range s.Queues {
		for i, op := range queue {
			kind, k := op.Decode()
			switch kind {
			case sched.Run:
				if k >= n || q.worker[k] != nobody {
					return nil, p.fault("want every task once, got task %d again, or shared, in the queue of worker %d", k, w)
				}
				q.worker[k], q.at[k] = w, i
			case sched.Share, sched.WaitShared:
				if k < 0 || k >= n || q.worker[k] != shared {
					return nil, p.fault("want a shared task, got task %d in the queue of worker %d", k, w)
				}
				if kind == sched.WaitShared {
					continue
				}
				if q.places[q.number[k]][w] != nobody {
					return nil, p.faultOf(k, "want a shared task once in each queue, got it again in that of worker %d", w)
				}
				q.places[q.number[k]][w] = i
			case sched.WaitFor:
				if k < 0 || k >= len(s.Waits) {
					return nil, p.fault("want waits from 0 to %d, got %d in the queue of worker %d", len(s.Waits)-1, k, w)
				}
				if v := s.Waits[k]; v.Worker < 0 || int(v.Worker) >= W {
					return nil, p.fault("want workers from 0 to %d, got %d to wait for", W-1, v.Worker)
				}
			}
		}
	}
	for t := range n {
		if q.worker[t] == nobody {
			return nil, p.faultOf(t, "want every task in a queue, got none for task %d", t)
		}
		if q.worker[t] == shared {
			for w, at := range q.places[q.number[t]] {
				if at == nobody {
					return nil, p.faultOf(t, "want a shared task in each queue, got none in that of worker %d", w)
				}
			}
		}
	}
	return q, nil
}
