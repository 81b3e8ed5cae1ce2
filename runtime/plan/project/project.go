// Package project divides a plan for several devices among ranks: processes, each of which has some of the
// devices. Every rank makes the same whole plan and the same parts of it, and runs its own part.
package project

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Owners divides devices among ranks as evenly as it can be: it returns the rank of each device. Devices with
// neighboring numbers are on the same rank or on neighboring ones.
func Owners(devices, ranks int) ([]int, error) {
	if ranks < 1 || devices < ranks {
		return nil, fmt.Errorf("project: want at least one device for each rank, got %d devices for %d ranks", devices, ranks)
	}
	owner := make([]int, devices)
	for d := range owner {
		owner[d] = d * ranks / devices
	}
	return owner, nil
}

// Ranks returns the part of a plan for each rank. owner holds the rank of each device, also of those that the
// plan leaves out, and workers the number of workers of each rank. The options are those of planner.Complete,
// but for the workers.
//
// A task runs where its device is. A copy or a collective of tensors of several ranks runs on one of them as
// it does on one machine: those of other ranks come as messages before, and what the task writes goes back.
// So its result has the same bits for any number of ranks. Of the ranks that have one of the tensors of a
// collective, that runs it through which the fewest bytes have gone so far. Results of the plan go to all
// ranks.
//
// A collective of large tensors runs in slices: each rank that has one of the tensors gets some of the
// elements of all tensors, adds them in the order of tensors, and sends the sums to all.
//
// Where Task.After names a task of another rank, that rank sends an element of a tensor when the task is
// over, and the other task waits for it.
//
// Messages have an order in which each is sent before it is received. A rank sends as soon as it has the
// elements, and comes to a receive when a task needs them, or those of a later message of the same rank. So
// messages move while ranks compute, and none waits for ever, since sends do not wait.
func Ranks(p *plan.Plan, owner, workers []int, opts ...planner.Option) ([]*plan.Part, error) {
	d, err := divide(p, owner, len(workers))
	if err != nil {
		return nil, err
	}
	parts := make([]*plan.Part, len(workers))
	for rank := range parts {
		if parts[rank], err = d.part(rank, append(slices.Clone(opts), planner.Workers(workers[rank]))...); err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return parts, nil
}

// division says which rank runs each task of a plan, and which messages go when.
type division struct {
	*plan.Plan
	owner  []int         // per device
	events []event       // tasks and messages: these where they are needed
	byRank [][]int       // per rank: the numbers of its events, in the order in which it comes to them
	runs   [][]int       // per task: its rank, or those of its slices
	orders map[int]order // by event
}

// order says that a message tells another rank that tasks are over. It has an element that one of them
// touched.
type order struct {
	before  []int
	element region.Region
}

// event is a task on a rank, or a message: a tensor for an access of a task, or of what that has written.
type event struct {
	task, access int // task is len(Tasks) for messages with results, and access ordering for those with orders
	message      bool
	number       int // of a message, among all, in an order in which they may be sent; 0 before it is known
	rank, to     int // to is the receiver of a message, which rank sends
	back         bool
	slice        slice // of the tensors of a collective; the zero slice stands for all elements
}

// ordering stands for the access of a message after which a task begins, and of which it needs no element.
const ordering = -1

// slice is a part of equally large ones, but for one index, of the tensors of a collective.
type slice struct{ number, of int }

// sliceBytes is the least size of a slice. A smaller message takes hardly less time.
const sliceBytes = 64 << 10

// along returns the dimension along which tensors of a shape have slices, the first that has several indices,
// and the indices of the slice.
func (s slice) along(shape []int) (dim, lo, hi int) {
	for dim < len(shape)-1 && shape[dim] == 1 {
		dim++
	}
	return dim, shape[dim] * s.number / s.of, shape[dim] * (s.number + 1) / s.of
}

// box returns the elements of a slice of a tensor of a shape.
func (s slice) box(shape []int) region.Box {
	b := region.Whole(0, shape).Box
	if s.of > 0 {
		dim, lo, hi := s.along(shape)
		b.Lo[dim], b.Hi[dim] = lo, hi
	}
	return b
}

// divide decides which rank runs each task, and lists the messages.
func divide(p *plan.Plan, owner []int, ranks int) (*division, error) {
	if p == nil {
		return nil, fmt.Errorf("project: want a plan, got nil")
	}
	if len(owner) < p.DeviceCount() {
		return nil, p.Errorf("want the ranks of at least %d devices, got those of %d", p.DeviceCount(), len(owner))
	}
	for rank := range ranks {
		if !slices.Contains(owner, rank) {
			return nil, p.Errorf("want a device for each of %d ranks, got none for rank %d", ranks, rank)
		}
	}
	if slices.Max(owner) >= ranks || slices.Min(owner) < 0 {
		return nil, p.Errorf("want devices on ranks from 0 to %d, got %v", ranks-1, owner)
	}
	d := &division{Plan: p, owner: owner, runs: make([][]int, len(p.Tasks)), orders: map[int]order{}}
	var late []event             // what goes back when a task needs it
	load := make([]int64, ranks) // bytes that come to a rank and go from it
	for t := range p.Tasks {
		task := &p.Tasks[t]
		late = slices.DeleteFunc(late, func(e event) bool {
			root := p.Tasks[e.task].Access[e.access].Root
			// An order needs a tensor whose rank has its elements.
			now := len(task.After) > 0 || slices.ContainsFunc(task.Access, func(a region.Access) bool { return a.Root == root })
			if now {
				d.events = append(d.events, e)
			}
			return now
		})
		group, on := d.slicers(task, load)
		if len(on) == 0 {
			on = []int{d.runner(task, load)}
		}
		d.runs[t] = on
		if err := d.order(t); err != nil {
			return nil, err
		}
		if len(on) > 1 {
			late = append(late, d.slices(t, group, on, load)...)
			continue
		}
		move := func(access int, back bool) {
			r := &p.Roots[task.Access[access].Root]
			from, to := d.owner[r.Device], on[0]
			if from == to || r.Place.Bytes == 0 {
				return
			}
			load[from] += r.Place.Bytes
			load[to] += r.Place.Bytes
			if !back {
				d.events = append(d.events, event{task: t, access: access, message: true, rank: from, to: to})
				return
			}
			late = append(late, event{task: t, access: access, message: true, rank: to, to: from, back: true})
		}
		for i := range task.Access {
			if task.Access[i].Perm.Reads() {
				move(i, false)
			}
		}
		d.events = append(d.events, event{task: t, rank: on[0]})
		for i := range task.Access {
			if task.Access[i].Perm.Writes() {
				move(i, true)
			}
		}
	}
	d.events = append(d.events, late...)
	for i := range p.Roots {
		r := &p.Roots[i]
		for to := range ranks {
			if from := owner[r.Device]; r.Use == plan.Fetched && r.Place.Bytes > 0 && to != from {
				d.events = append(d.events, event{task: len(p.Tasks), access: i, message: true, rank: from, to: to})
			}
		}
	}
	d.arrange(ranks)
	return d, nil
}

// arrange lists the events of each rank. Messages are sent as soon as they can be, and received when they are
// needed, in the order in which the other rank sends them.
func (d *division) arrange(ranks int) {
	d.byRank = make([][]int, ranks)
	messages := 0
	early := d.senders()
	lines := make([][]int, ranks*ranks) // per pair: messages that are sent and not received yet
	send := func(i int) {
		e := &d.events[i]
		messages++
		e.number = messages
		d.byRank[e.rank] = append(d.byRank[e.rank], i)
		line := &lines[e.rank*ranks+e.to]
		*line = append(*line, i)
	}
	for _, i := range early[beginning] {
		send(i)
	}
	for i := range d.events {
		e := &d.events[i]
		if !e.message {
			d.byRank[e.rank] = append(d.byRank[e.rank], i)
			for _, m := range early[i] {
				send(m)
			}
			continue
		}
		if e.number == 0 {
			send(i)
		}
		line := &lines[e.rank*ranks+e.to]
		n := slices.Index(*line, i) + 1 // 0 if a later message was needed before
		d.byRank[e.to] = append(d.byRank[e.to], (*line)[:n]...)
		*line = (*line)[n:]
	}
}

// beginning stands for the event behind which messages with elements go that no task has written.
const beginning = -1

// senders returns the messages that may go earlier than where they are needed, by the event behind which they
// go: the task that wrote the elements last on the rank that sends them. Elements that came in a message
// themselves, and messages that tell an order, go where they are needed.
func (d *division) senders() map[int][]int {
	const message = -2
	early := map[int][]int{}
	writer := make([]int, len(d.Roots)) // per root: the event that wrote it last where its device is, or message
	for r := range writer {
		writer[r] = beginning
	}
	wrote := map[[2]int]int{} // per task and rank: the event
	for i := range d.events {
		e := &d.events[i]
		switch {
		case !e.message:
			wrote[[2]int{e.task, e.rank}] = i
			for _, a := range d.Tasks[e.task].Access {
				if a.Perm.Writes() || a.Perm == perm.Scratch {
					writer[a.Root] = i
					if d.owner[d.Roots[a.Root].Device] != e.rank || e.slice.of > 0 {
						writer[a.Root] = message // what follows brings it there
					}
				}
			}
		case e.access == ordering:
		case e.back:
			after := wrote[[2]int{e.task, e.rank}]
			early[after] = append(early[after], i)
		default:
			root := region.Root(e.access)
			if e.task < len(d.Tasks) {
				root = d.Tasks[e.task].Access[e.access].Root
			}
			if after := writer[root]; after != message {
				early[after] = append(early[after], i)
			}
		}
	}
	return early
}

// order lists the messages that a task waits for since it is asked to come after tasks of other ranks: one
// from each of these to each of its own.
func (d *division) order(t int) error {
	before := map[int][]int{} // by rank
	for _, b := range d.Tasks[t].After {
		for _, rank := range d.runs[b] {
			before[rank] = append(before[rank], b)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(before)) {
		for _, to := range d.runs[t] {
			if from == to {
				continue
			}
			on, ok := d.element(from, before[from])
			if !ok {
				e := d.TaskErrorf(t, "want it after a task that touches an element on rank %d, so that rank %d learns of its end, got none", from, to)
				e.Other = d.Label(before[from][0])
				return e
			}
			d.orders[len(d.events)] = order{before[from], on}
			d.events = append(d.events, event{task: t, access: ordering, message: true, rank: from, to: to})
		}
	}
	return nil
}

// element returns an element on a rank that one of some tasks reads or writes.
func (d *division) element(rank int, tasks []int) (on region.Region, ok bool) {
	for _, t := range tasks {
		for i := range d.Tasks[t].Access {
			a := &d.Tasks[t].Access[i]
			d.Tasks[t].On(i, &on.Box)
			if d.owner[d.Roots[a.Root].Device] != rank || !a.Perm.Reads() && !a.Perm.Writes() || on.Empty() {
				continue
			}
			on.Root = a.Root
			for dim, lo := range on.Lo {
				on.Hi[dim] = lo + 1
			}
			return on, true
		}
	}
	return on, false
}

// runner returns the rank that runs a task. load holds the bytes that go through each rank so far.
func (d *division) runner(t *plan.Task, load []int64) int {
	rank := d.owner[t.Device]
	if !t.Crosses() || t.Builtin.Op == "copy" {
		return rank
	}
	for i := range t.Access {
		if other := d.owner[d.Roots[t.Access[i].Root].Device]; load[other] < load[rank] || load[other] == load[rank] && other < rank {
			rank = other
		}
	}
	return rank
}

// slicers returns the ranks that have tensors of a collective, and those of them that run a slice of it; none
// if it runs on one rank.
func (d *division) slicers(t *plan.Task, load []int64) (group, ranks []int) {
	if t.Builtin == nil || t.Builtin.Op != "all_reduce" {
		return nil, nil
	}
	for i := range t.Access {
		if rank := d.owner[d.Roots[t.Access[i].Root].Device]; !slices.Contains(group, rank) {
			group = append(group, rank)
		}
	}
	root := &d.Roots[t.Access[0].Root]
	n := min(len(group), int(root.Place.Bytes/sliceBytes))
	for _, extent := range root.Shape {
		if extent > 1 {
			n = min(n, extent)
			break
		}
	}
	for i := range t.Access {
		if !slices.Equal(d.Roots[t.Access[i].Root].Shape, root.Shape) {
			return nil, nil
		}
	}
	if n < 2 {
		return nil, nil
	}
	slices.Sort(group)
	ranks = slices.Clone(group)
	slices.SortStableFunc(ranks, func(a, b int) int { return cmp.Compare(load[a], load[b]) })
	ranks = ranks[:n]
	slices.Sort(ranks)
	return group, ranks
}

// slices appends the events of a collective in slices, one on each of some ranks: messages with slices of the
// tensors, and the task on each rank. It returns the messages back.
//
// Ranks exchange messages in pairs, so that each has a partner in each round: those that stand across from
// each other on a circle on which all but the first move on after each round.
func (d *division) slices(t int, group, ranks []int, load []int64) (back []event) {
	task := &d.Tasks[t]
	circle := slices.Clone(group)
	if len(circle)%2 > 0 {
		circle = append(circle, -1) // whose partner has none
	}
	for range len(circle) - 1 {
		for i := range len(circle) / 2 {
			a, b := circle[i], circle[len(circle)-1-i]
			for _, pair := range [][2]int{{a, b}, {b, a}} {
				s := slice{slices.Index(ranks, pair[1]), len(ranks)}
				if pair[0] < 0 || pair[1] < 0 || s.number < 0 {
					continue
				}
				for k := range task.Access {
					r := &d.Roots[task.Access[k].Root]
					if d.owner[r.Device] == pair[0] {
						d.events = append(d.events, event{task: t, access: k, message: true, rank: pair[0], to: pair[1], slice: s})
						back = append(back, event{task: t, access: k, message: true, rank: pair[1], to: pair[0], back: true, slice: s})
						load[pair[0]] += 2 * r.Place.Bytes / int64(s.of)
						load[pair[1]] += 2 * r.Place.Bytes / int64(s.of)
					}
				}
			}
		}
		last := circle[len(circle)-1]
		copy(circle[2:], circle[1:])
		circle[1] = last
	}
	for i, rank := range ranks {
		d.events = append(d.events, event{task: t, rank: rank, slice: slice{i, len(ranks)}})
	}
	return back
}

// maker makes the part of a rank.
type maker struct {
	*division
	*plan.Part
	device []int         // of the rank, per device of the whole plan; -1 on other ranks
	root   []region.Root // of the rank, per root of the whole plan; plan.NoRoot on other ranks
	call   []int         // per call of the whole plan
	task   []int         // per task of the whole plan; -1 on other ranks
	awaits map[int][]int // per task of the whole plan: the messages that it comes after
	last   map[[2]int]int
	// The accesses of the last task, whole and as the rank has them: those that the tiles of a step share.
	whole, mine []region.Access
}

// part returns the part of a rank.
func (d *division) part(rank int, opts ...planner.Option) (*plan.Part, error) {
	p := d.Plan
	m := &maker{division: d, Part: &plan.Part{Rank: rank, Plan: &plan.Plan{Format: p.Format, Name: p.Name, Target: p.Target}},
		device: make([]int, len(d.owner)), root: make([]region.Root, len(p.Roots)), call: make([]int, len(p.Calls)), task: slices.Repeat([]int{-1}, len(p.Tasks)), awaits: map[int][]int{}, last: map[[2]int]int{}}
	for i := range m.device {
		if m.device[i] = -1; d.owner[i] == rank {
			m.device[i] = len(m.Devices)
			m.Devices = append(m.Devices, i)
		}
	}
	input := []region.Root{} // that can be fetched
	for i := range p.Roots {
		r := &p.Roots[i]
		switch here := d.owner[r.Device] == rank; {
		case here:
			m.root[i] = m.add(region.Root(i), r.Name, r.Use, m.device[r.Device], region.Box{})
			if r.Use == plan.Fed && r.Last == len(p.Tasks) {
				input = append(input, m.root[i])
			}
		case r.Use == plan.Fetched:
			m.root[i] = m.add(region.Root(i), r.Name, r.Use, 0, region.Box{})
		default:
			m.root[i] = plan.NoRoot
		}
	}
	local := m.Part.Plan
	for i := range p.Calls {
		if d.owner[p.Calls[i].Device] == rank {
			m.call[i] = len(local.Calls)
			m.Calls = append(m.Calls, i)
			local.Calls = append(local.Calls, m.localCall(&p.Calls[i]))
			local.WorkerBytes = max(local.WorkerBytes, p.Calls[i].WorkerBytes)
		}
	}
	for i := range p.States {
		s := &p.States[i]
		if d.owner[s.Init.Device] != rank {
			continue
		}
		mine := plan.State{Node: s.Node, Init: m.localCall(&s.Init)}
		if s.Cleanup != nil {
			cleanup := m.localCall(s.Cleanup)
			mine.Cleanup = &cleanup
		}
		local.States = append(local.States, mine)
	}
	m.tasks()
	for _, r := range input {
		local.Roots[r].Last = len(local.Tasks)
	}
	return m.Part, planner.Complete(local, opts...)
}

// add adds a root that holds what a root of the whole plan does, or elements of it that follow each other.
func (m *maker) add(of region.Root, name string, use plan.Use, device int, some region.Box) region.Root {
	r := &m.division.Roots[of]
	extents, from := r.Shape, 0
	if some.Lo != nil {
		extents = slices.Clone(r.Shape)
		for dim, lo := range some.Lo {
			extents[dim] = some.Hi[dim] - lo
			from += lo * shape.Prod(r.Shape[dim+1:])
		}
	}
	m.Part.Roots, m.From = append(m.Part.Roots, of), append(m.From, from)
	local := m.Part.Plan
	local.Roots = append(local.Roots, plan.Root{Name: name, Type: r.Type, Shape: extents, Use: use, Device: device})
	return region.Root(len(local.Roots) - 1)
}

// localCall returns a call as the rank has it.
func (m *maker) localCall(c *plan.Call) plan.Call {
	out := *c
	out.Device, out.Params = m.device[c.Device], make([][]plan.Bound, len(c.Params))
	for i, bound := range c.Params {
		out.Params[i] = slices.Clone(bound)
		for k := range out.Params[i] {
			if b := &out.Params[i][k]; b.Root != plan.NoRoot {
				b.Root = m.root[b.Root]
			}
		}
	}
	return out
}

// tasks appends the tasks and the messages of the rank.
func (m *maker) tasks() {
	copies := map[[2]int]region.Root{} // by task and access: where tensors of other ranks are
	stage := func(e event) region.Root {
		key := [2]int{e.task, e.access}
		if _, ok := copies[key]; !ok {
			of := m.division.Tasks[e.task].Access[e.access].Root
			copies[key] = m.stage(of, e.slice.box(m.division.Roots[of].Shape))
		}
		return copies[key]
	}
	for _, i := range m.byRank[m.Rank] {
		e := m.events[i]
		if !e.message {
			m.run(e, stage)
			continue
		}
		if e.access == ordering {
			m.order(e, m.orders[i])
			continue
		}
		var r region.Root
		switch there := e.rank == m.Rank == e.back; { // whether this rank runs the task for which the message is
		case e.task == len(m.division.Tasks):
			r = m.root[e.access]
		case there && e.back && e.slice.of > 0: // all tensors have the sum
			r = m.first(e.task)
		case there:
			r = stage(e)
		default:
			r = m.root[m.division.Tasks[e.task].Access[e.access].Root]
		}
		m.message(e, m.elements(r, e.slice))
	}
}

// stage adds a root for elements of one on another rank.
func (m *maker) stage(of region.Root, some region.Box) region.Root {
	r := &m.division.Roots[of]
	return m.add(of, fmt.Sprintf("%s of rank %d", r.Name, m.owner[r.Device]), plan.Internal, 0, some)
}

// order appends a message that tells the rank, or that the rank tells another one, that tasks are over.
func (m *maker) order(e event, o order) {
	if e.rank == m.Rank {
		t := m.message(e, region.Region{Root: m.root[o.element.Root], Box: o.element.Box})
		for _, before := range o.before {
			t.After = append(t.After, m.task[before])
		}
		return
	}
	r := m.stage(o.element.Root, o.element.Box)
	m.awaits[e.task] = append(m.awaits[e.task], len(m.Part.Tasks))
	m.message(e, region.Whole(r, m.Part.Plan.Roots[r].Shape))
}

// first returns the first tensor of a collective that is on the rank.
func (m *maker) first(t int) region.Root {
	access := m.division.Tasks[t].Access
	i := slices.IndexFunc(access, func(a region.Access) bool { return m.owner[m.division.Roots[a.Root].Device] == m.Rank })
	return m.root[access[i].Root]
}

// message appends a message with some elements, which comes after the one before it to or from the same rank.
func (m *maker) message(e event, on region.Region) *plan.Task {
	b, p := plan.Builtin{Op: "send", Peer: e.to, Message: e.number}, perm.Read
	if e.to == m.Rank {
		b, p = plan.Builtin{Op: "receive", Peer: e.rank, Message: e.number}, perm.Write
	}
	local := m.Part.Plan
	n := on.Volume()
	t := plan.Task{Call: -1, Builtin: &b, Device: local.Roots[on.Root].Device, Over: n, Grain: n, Access: []region.Access{{Region: on, Perm: p}}}
	key := [2]int{b.Peer, int(p)}
	if before, ok := m.last[key]; ok {
		t.After = []int{before}
	}
	m.last[key] = len(local.Tasks)
	m.Part.Tasks = append(m.Part.Tasks, plan.Message)
	local.Tasks = append(local.Tasks, t)
	return &local.Tasks[len(local.Tasks)-1]
}

// elements returns the elements of a slice in a root, which may itself be that slice.
func (m *maker) elements(r region.Root, s slice) region.Region {
	extents := m.Part.Plan.Roots[r].Shape
	if slices.Equal(extents, m.division.Roots[m.Part.Roots[r]].Shape) {
		return region.Region{Root: r, Box: s.box(extents)}
	}
	return region.Whole(r, extents)
}

// run appends a task of the whole plan. stage returns the copies of tensors of other ranks.
func (m *maker) run(e event, stage func(event) region.Root) {
	whole := &m.division.Tasks[e.task]
	t := *whole
	t.Access = m.accesses(whole, e, stage)
	if t.After != nil {
		t.After = slices.Clone(m.awaits[e.task])
		for _, before := range whole.After {
			if k := m.task[before]; k >= 0 {
				t.After = append(t.After, k)
			}
		}
	}
	if e.slice.of > 0 {
		for i := range t.Access {
			t.Access[i].Region = m.elements(t.Access[i].Root, e.slice)
		}
		t.Over = t.Access[0].Volume()
	}
	switch {
	case t.Crosses():
		t.Device = m.Part.Plan.Roots[t.Access[0].Root].Device
	default:
		t.Device = m.device[t.Device]
	}
	if t.Call >= 0 {
		t.Call = m.call[t.Call]
	}
	if t.Group != nil {
		g := plan.Group{Form: t.Group.Form, Parts: slices.Clone(t.Group.Parts)}
		for i := range g.Parts {
			part := &g.Parts[i]
			if part.Access = m.accesses(part, e, stage); part.Call >= 0 {
				part.Call = m.call[part.Call]
			}
			part.Device = m.device[part.Device]
		}
		t.Group = &g
	}
	m.task[e.task] = len(m.Part.Plan.Tasks)
	m.Part.Tasks = append(m.Part.Tasks, e.task)
	m.Part.Plan.Tasks = append(m.Part.Plan.Tasks, t)
}

// accesses returns the accesses of a task to roots of the rank. Tiles of a step share theirs.
func (m *maker) accesses(t *plan.Task, e event, stage func(event) region.Root) []region.Access {
	if t.Tile > 0 && len(t.Access) > 0 && len(m.whole) > 0 && &t.Access[0] == &m.whole[0] {
		return m.mine
	}
	out := slices.Clone(t.Access)
	m.whole, m.mine = t.Access, out
	for i := range out {
		if here := m.owner[m.division.Roots[out[i].Root].Device] == m.Rank; here {
			out[i].Root = m.root[out[i].Root]
		} else {
			out[i].Root = stage(event{task: e.task, access: i, slice: e.slice})
		}
	}
	return out
}
