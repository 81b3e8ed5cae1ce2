package verify

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/shape"
)

// Ranks proves that running the parts of a plan, each on a rank of its own, gives what running the plan
// gives. owner holds the rank of each device, also of those that the plan leaves out. It proves Plan for each
// part, and that
//
//   - each task and each call of the plan is in one part, with the same tensors, and only copies and
//     collectives run on another device than theirs; a collective may be in several parts, which have each
//     element once together;
//   - inputs, variables and results of the plan are on the rank of their device, and copies of results on
//     others have the same elements at the end;
//   - the n-th message from one rank to another is received as the n-th one, as the same elements of a tensor
//     of the same type, and messages of such a pair have one order in the queues of both;
//   - a task begins after those that Task.After of the plan names: on another rank, a message that is sent
//     after such a task comes in between;
//   - whatever a task touches holds, when the task begins, what the tasks before it in the plan left there;
//   - all queues come to their ends, where a rank waits for messages to come and not for those that it sends.
//
// The error is a *plan.Error.
func Ranks(whole *plan.Plan, owner []int, parts []*plan.Part) error {
	if err := Program(whole); err != nil {
		return err
	}
	if len(owner) < whole.DeviceCount() {
		return whole.Errorf("want the ranks of at least %d devices, got those of %d", whole.DeviceCount(), len(owner))
	}
	r := &ranks{whole: whole, owner: owner, parts: parts}
	for i, part := range parts {
		if part == nil || part.Plan == nil || part.Rank != i {
			return whole.Errorf("want the part of rank %d, got another or none", i)
		}
		if err := Plan(part.Plan); err != nil {
			return fault(i, err.(*plan.Error))
		}
		q, err := checker{part.Plan}.queues()
		if err == nil {
			err = q.run()
		}
		if err != nil {
			return fault(i, err)
		}
		r.queues = append(r.queues, q)
	}
	return first(r.checkParts, r.checkHomes, r.checkWhole, r.checkMessages, r.checkOrder, r.checkValues, r.checkEnds)
}

// ranks is a plan and its parts that are checked.
type ranks struct {
	whole  *plan.Plan
	owner  []int
	parts  []*plan.Part
	queues []*queues
	home   []map[region.Root]region.Root // per rank, per root of the whole plan that the caller sees: where it is
	// The tasks of parts that are messages, in their order.
	sent, received map[pair][]int
}

// fault says of an error in a part which rank it is about.
func fault(rank int, err *plan.Error) *plan.Error {
	e := *err
	e.Message = fmt.Sprintf("rank %d: %s", rank, e.Message)
	return &e
}

// taskErrorf returns an error about a task of a part.
func (r *ranks) taskErrorf(rank, t int, format string, args ...any) *plan.Error {
	return fault(rank, r.parts[rank].Plan.TaskErrorf(t, format, args...))
}

// checkParts checks the devices, roots and calls of each part against those of the whole plan.
func (r *ranks) checkParts() *plan.Error {
	n := 0
	for rank, p := range r.parts {
		q := p.Plan
		if q.Target != r.whole.Target || len(p.Devices) < q.DeviceCount() || len(p.Roots) != len(q.Roots) || len(p.From) != len(q.Roots) || len(p.Calls) != len(q.Calls) || len(p.Tasks) != len(q.Tasks) {
			return r.whole.Errorf("rank %d: want a device, a root, a call or a task of the whole plan for each of the part, and the same target, got others", rank)
		}
		for i, d := range p.Devices {
			if d < 0 || d >= len(r.owner) || r.owner[d] != rank || slices.Contains(p.Devices[:i], d) {
				return r.whole.Errorf("rank %d: want devices of the rank, each once, got %d", rank, d)
			}
		}
		if n += len(p.Devices); len(p.Devices) == 0 {
			return r.whole.Errorf("rank %d: want a device, got none", rank)
		}
		if err := r.checkRoots(rank); err != nil {
			return err
		}
		for i, k := range p.Calls {
			if k < 0 || k >= len(r.whole.Calls) || !r.sameCall(rank, &q.Calls[i], &r.whole.Calls[k]) {
				return r.whole.Errorf("rank %d: want calls of the whole plan, got one of %s that is none", rank, q.Calls[i].Node)
			}
		}
	}
	if n != len(r.owner) {
		return r.whole.Errorf("want each of %d devices on a rank, got %d", len(r.owner), n)
	}
	return nil
}

// checkRoots checks that the roots of a part are alike those of the whole plan, and that what the caller sees
// is where its device is. Copies of results may be elsewhere, too.
func (r *ranks) checkRoots(rank int) *plan.Error {
	p := r.parts[rank]
	home := map[region.Root]region.Root{}
	r.home = append(r.home, home)
	for i, k := range p.Roots {
		root := &p.Plan.Roots[i]
		if k < 0 || int(k) >= len(r.whole.Roots) {
			return fault(rank, p.Plan.RootErrorf(region.Root(i), "want a root of the whole plan, got %d", k))
		}
		of := &r.whole.Roots[k]
		some := root.Use == plan.Internal && p.From[i] >= 0 && p.From[i]+shape.Prod(root.Shape) <= shape.Prod(of.Shape)
		if root.Type != of.Type || !some && (p.From[i] != 0 || !slices.Equal(root.Shape, of.Shape)) {
			return fault(rank, p.Plan.RootErrorf(region.Root(i), "want %v, as in the whole plan, or some elements of it, got %v from %d on", of.Operand(), root.Operand(), p.From[i]))
		}
		if root.Use == plan.Internal {
			continue
		}
		here := p.Devices[root.Device] == of.Device
		if _, twice := home[k]; twice || root.Use != of.Use || root.Name != of.Name || !here && (root.Use != plan.Fetched || r.owner[of.Device] == rank) {
			return fault(rank, p.Plan.RootErrorf(region.Root(i), "want what the caller sees as in the whole plan, on device %d, each once, got another", of.Device))
		}
		home[k] = region.Root(i)
	}
	return nil
}

// checkHomes checks that each root that the caller sees is on the rank of its device.
func (r *ranks) checkHomes() *plan.Error {
	for k := range r.whole.Roots {
		of := &r.whole.Roots[k]
		rank := r.owner[of.Device]
		if _, ok := r.home[rank][region.Root(k)]; of.Use != plan.Internal && !ok {
			return fault(rank, r.whole.RootErrorf(region.Root(k), "want it in the part of its rank, got none"))
		}
	}
	return nil
}

// sameCall reports whether a call of a part is one of the whole plan.
func (r *ranks) sameCall(rank int, mine, of *plan.Call) bool {
	p := r.parts[rank]
	if mine.Device < 0 || mine.Device >= len(p.Devices) || p.Devices[mine.Device] != of.Device || len(mine.Params) != len(of.Params) {
		return false
	}
	for i := range mine.Params {
		if len(mine.Params[i]) != len(of.Params[i]) {
			return false
		}
		for k, b := range mine.Params[i] {
			if b.Root != plan.NoRoot {
				if !r.entire(p, b.Root) {
					return false
				}
				b.Root = p.Roots[b.Root]
			}
			if !reflect.DeepEqual(b, of.Params[i][k]) {
				return false
			}
		}
	}
	c := *mine
	c.Device, c.Params = of.Device, of.Params
	return reflect.DeepEqual(&c, of)
}

// entire reports whether a root of a part stands for a whole one.
func (r *ranks) entire(p *plan.Part, i region.Root) bool {
	return p.From[i] == 0 && slices.Equal(p.Plan.Roots[i].Shape, r.whole.Roots[p.Roots[i]].Shape)
}

// run is a range of elements of a tensor of the whole plan, in row-major order.
type run struct{ lo, hi int }

// of returns the elements of a root of the whole plan that an access of a part touches, which must follow
// each other.
func (r *ranks) of(p *plan.Part, a *region.Access) (out run, ok bool) {
	lo, hi, ok := a.Run(p.Plan.Roots[a.Root].Shape)
	return run{lo + p.From[a.Root], hi + p.From[a.Root]}, ok
}

// sameSlice reports whether a task of a part is a collective of the whole plan on some elements, the same
// ones of all tensors. It returns which.
func (r *ranks) sameSlice(p *plan.Part, mine, of *plan.Task) (out run, ok bool) {
	if of.Builtin == nil || of.Builtin.Op != "all_reduce" || mine.Group != nil || mine.Call != of.Call || len(mine.Access) != len(of.Access) {
		return run{}, false
	}
	for i := range mine.Access {
		a := &mine.Access[i]
		at, follow := r.of(p, a)
		if i == 0 {
			out = at
		}
		if !follow || at != out || p.Roots[a.Root] != of.Access[i].Root || a.Perm != of.Access[i].Perm || a.Redop != of.Access[i].Redop || a.Footprint != nil || a.Least != nil {
			return run{}, false
		}
	}
	t := *mine
	t.Device, t.Access, t.After, t.Over = of.Device, of.Access, of.After, of.Over
	return out, mine.Over == out.hi-out.lo && reflect.DeepEqual(&t, of)
}

// checkWhole checks that all of the whole plan is in the parts, each task and call once, in its order. Parts
// of a collective have each of its elements once.
func (r *ranks) checkWhole() *plan.Error {
	tasks, calls := make([]int, len(r.whole.Tasks)), make([]int, len(r.whole.Calls))
	sliced := map[int][]run{} // by task
	for rank, p := range r.parts {
		last := -1 // task of the whole plan
		for i, t := range p.Tasks {
			if t == plan.Message {
				continue
			}
			if t <= last || t >= len(tasks) {
				return r.taskErrorf(rank, i, "want tasks of the whole plan in their order, got one that is none")
			}
			if !r.sameTask(rank, &p.Plan.Tasks[i], &r.whole.Tasks[t]) {
				if slice, ok := r.sameSlice(p, &p.Plan.Tasks[i], &r.whole.Tasks[t]); ok {
					sliced[t] = append(sliced[t], slice)
					last = t
					continue
				}
				return r.taskErrorf(rank, i, "want tasks of the whole plan in their order, got one that is none")
			}
			last = t
			tasks[t]++
		}
		for _, k := range p.Calls {
			calls[k]++
		}
		var states []plan.State
		for _, s := range r.whole.States {
			if r.owner[s.Init.Device] == rank {
				states = append(states, s)
			}
		}
		if len(states) != len(p.Plan.States) {
			return r.whole.Errorf("rank %d: want %d states, got %d", rank, len(states), len(p.Plan.States))
		}
		for i, of := range states {
			mine := p.Plan.States[i]
			if mine.Node != of.Node || !r.sameCall(rank, &mine.Init, &of.Init) || (mine.Cleanup == nil) != (of.Cleanup == nil) || of.Cleanup != nil && !r.sameCall(rank, mine.Cleanup, of.Cleanup) {
				return r.whole.Errorf("rank %d: want the state of node %s, got another", rank, of.Node)
			}
		}
	}
	for t, parts := range sliced {
		slices.SortFunc(parts, func(a, b run) int { return a.lo - b.lo })
		next := 0
		for _, slice := range parts {
			if slice.lo != next {
				return r.whole.TaskErrorf(t, "want each element of a collective on one rank, got none or several from element %d on", min(next, slice.lo))
			}
			next = slice.hi
		}
		if tasks[t]++; next != r.whole.Tasks[t].Over {
			return r.whole.TaskErrorf(t, "want each of %d elements of a collective on one rank, got %d", r.whole.Tasks[t].Over, next)
		}
	}
	for t, n := range tasks {
		if n != 1 {
			return r.whole.TaskErrorf(t, "want each task on one rank, got %d ranks", n)
		}
	}
	for k, n := range calls {
		if n != 1 {
			return r.whole.Errorf("want each call on one rank, got that of %s on %d", r.whole.Calls[k].Node, n)
		}
	}
	return nil
}

// sameTask reports whether a task of a part is one of the whole plan. Copies and collectives may run on other
// devices.
func (r *ranks) sameTask(rank int, mine, of *plan.Task) bool {
	p := r.parts[rank]
	if mine.Talks() || !r.sameAccess(p, mine.Access, of.Access) || (mine.Call >= 0) != (of.Call >= 0) || mine.Call >= 0 && p.Calls[mine.Call] != of.Call {
		return false
	}
	if !of.Crosses() && p.Devices[mine.Device] != of.Device {
		return false
	}
	t := *mine
	if (t.Group != nil) != (of.Group != nil) || t.Group != nil && (t.Group.Form != of.Group.Form || len(t.Group.Parts) != len(of.Group.Parts)) {
		return false
	}
	if t.Group != nil {
		for i := range t.Group.Parts {
			if !r.sameTask(rank, &t.Group.Parts[i], &of.Group.Parts[i]) {
				return false
			}
		}
	}
	t.Call, t.Device, t.Access, t.Group, t.After = of.Call, of.Device, of.Access, of.Group, of.After
	return reflect.DeepEqual(&t, of)
}

// sameAccess reports whether accesses of a part are those of the whole plan, to roots that stand for the
// same.
func (r *ranks) sameAccess(p *plan.Part, mine, of []region.Access) bool {
	if len(mine) != len(of) {
		return false
	}
	for i, a := range mine {
		if !r.entire(p, a.Root) {
			return false
		}
		if a.Root = p.Roots[a.Root]; !reflect.DeepEqual(a, of[i]) {
			return false
		}
	}
	return true
}

// pair is a rank that sends and one that receives.
type pair struct{ from, to int }

// checkMessages checks that each message that is sent is received, and that both ends have them in one order.
func (r *ranks) checkMessages() *plan.Error {
	r.sent, r.received = map[pair][]int{}, map[pair][]int{}
	for rank, p := range r.parts {
		for i, t := range p.Tasks {
			if t != plan.Message {
				continue
			}
			task := &p.Plan.Tasks[i]
			if !task.Talks() || len(task.Access) != 1 || task.Ranges() != 1 {
				return r.taskErrorf(rank, i, "want a message of a tensor in one range, got another task")
			}
			if at, ok := r.of(p, &task.Access[0]); !ok || at.hi-at.lo != task.Over {
				return r.taskErrorf(rank, i, "want a message of elements that follow each other, %d of them, got others", task.Over)
			}
			peer, list, between := task.Builtin.Peer, r.sent, pair{rank, task.Builtin.Peer}
			reads, writes := task.Access[0].Perm.Reads(), task.Access[0].Perm.Writes()
			if task.Builtin.Op == "receive" {
				list, between = r.received, pair{peer, rank}
				reads, writes = writes, reads
			}
			if peer < 0 || peer >= len(r.parts) || peer == rank || !reads || writes {
				return r.taskErrorf(rank, i, "want a message between two ranks from 0 to %d that reads or writes a tensor, got one with rank %d", len(r.parts)-1, peer)
			}
			if before := list[between]; len(before) > 0 && !r.queues[rank].before(before[len(before)-1], i) {
				return r.taskErrorf(rank, i, "want messages between two ranks one after the other, got no such order")
			}
			list[between] = append(list[between], i)
		}
	}
	for from := range r.parts {
		for to := range r.parts {
			s, t := r.sent[pair{from, to}], r.received[pair{from, to}]
			if len(s) != len(t) {
				return r.whole.Errorf("want as many messages received as sent, got %d from rank %d to rank %d, of which %d are received", len(s), from, to, len(t))
			}
			for n := range s {
				if err := r.checkMessage(pair{from, to}, s[n], t[n]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkMessage checks that a message is received as what it is.
func (r *ranks) checkMessage(between pair, s, t int) *plan.Error {
	a, b := r.parts[between.from], r.parts[between.to]
	send, receive := &a.Plan.Tasks[s], &b.Plan.Tasks[t]
	from, _ := r.of(a, &send.Access[0])
	to, _ := r.of(b, &receive.Access[0])
	if from != to || a.Plan.Roots[send.Access[0].Root].Type != b.Plan.Roots[receive.Access[0].Root].Type || send.Builtin.Message != receive.Builtin.Message || send.Builtin.Message < 1 {
		e := r.taskErrorf(between.to, t, "want message %d from rank %d as it is sent, got another", send.Builtin.Message, between.from)
		e.Other = a.Plan.Label(s)
		return e
	}
	return nil
}

// place is a task of a part.
type place struct{ rank, task int }

// checkOrder checks that tasks come after those that the whole plan asks for, wherever these run.
func (r *ranks) checkOrder() *plan.Error {
	asked := map[int][]place{} // per task of the whole plan that another one comes after: where it runs
	for t := range r.whole.Tasks {
		for _, before := range r.whole.Tasks[t].After {
			asked[before] = nil
		}
	}
	for rank, p := range r.parts {
		for i, t := range p.Tasks {
			if at, ok := asked[t]; ok {
				asked[t] = append(at, place{rank, i})
			}
		}
	}
	for rank, p := range r.parts {
		for i, t := range p.Tasks {
			if t == plan.Message {
				continue
			}
			for _, before := range r.whole.Tasks[t].After {
				for _, at := range asked[before] {
					if !r.follows(place{rank, i}, at) {
						return r.taskErrorf(rank, i, "want it after the task that is asked for, %s on rank %d, got no such order", r.whole.Label(before), at.rank)
					}
				}
			}
		}
	}
	return nil
}

// follows reports whether a task names another one as one that it comes after, or the end of a message whose
// other end names that.
func (r *ranks) follows(t, before place) bool {
	after := r.parts[t.rank].Plan.Tasks[t.task].After
	if t.rank == before.rank {
		return slices.Contains(after, before.task)
	}
	between := pair{before.rank, t.rank}
	return slices.ContainsFunc(after, func(k int) bool {
		n, ok := slices.BinarySearch(r.received[between], k)
		return ok && slices.Contains(r.parts[before.rank].Plan.Tasks[r.sent[between][n]].After, before.task)
	})
}

// value is what elements of a root hold: what a task of the whole plan left in a root of it. A collective
// leaves the same in all of its tensors, of which the first stands for all. Elements keep their number in the
// root, so equal values of elements with equal numbers are the same.
type value struct {
	task int // that wrote it last, or one of the following
	root region.Root
}

// never stands for a tensor that nothing has written, and begin for what the caller or an earlier run left.
const (
	never = -2
	begin = -1
)

// segment is a range of elements that hold one value.
type segment struct {
	run
	value
}

// contents says what the elements of a root hold, in the order of elements.
type contents []segment

// all reports whether all elements of a range hold a value.
func (c contents) all(at run, v value) bool {
	for _, s := range c {
		if s.lo < at.hi && at.lo < s.hi && s.value != v {
			return false
		}
	}
	return true
}

// set returns the contents after some elements were replaced.
func (c contents) set(now ...segment) contents {
	if len(now) == 0 {
		return c
	}
	lo, hi := now[0].lo, now[len(now)-1].hi
	if len(c) == 0 || lo <= c[0].lo && c[len(c)-1].hi <= hi {
		return append(c[:0], now...)
	}
	var out contents
	for _, s := range c {
		if s.lo < lo {
			out = append(out, segment{run{s.lo, min(s.hi, lo)}, s.value})
		}
	}
	for _, s := range now {
		if n := len(out); n > 0 && out[n-1].value == s.value {
			out[n-1].hi = s.hi
		} else {
			out = append(out, s)
		}
	}
	for _, s := range c {
		if s.hi <= hi {
			continue
		}
		s.lo = max(s.lo, hi)
		if n := len(out); out[n-1].value == s.value {
			out[n-1].hi = s.hi
		} else {
			out = append(out, s)
		}
	}
	return out
}

// get returns what some elements hold.
func (c contents) get(at run) (out []segment) {
	for _, s := range c {
		if s.lo < at.hi && at.lo < s.hi {
			out = append(out, segment{run{max(s.lo, at.lo), min(s.hi, at.hi)}, s.value})
		}
	}
	return out
}

// checkValues runs all parts, each one task after the other, where what an element holds is the task of the
// whole plan that wrote it last. It compares that with the whole plan before each task that needs what was
// there, and at the end.
func (r *ranks) checkValues() *plan.Error {
	holds := make([][]contents, len(r.parts)) // elements have the numbers of the whole plan
	all := func(p *plan.Part, i region.Root) run {
		return run{p.From[i], p.From[i] + shape.Prod(p.Plan.Roots[i].Shape)}
	}
	for rank, p := range r.parts {
		holds[rank] = make([]contents, len(p.Plan.Roots))
		for i := range p.Plan.Roots {
			first := value{never, p.Roots[i]}
			if use := p.Plan.Roots[i].Use; use == plan.Fed || use == plan.Variable {
				first.task = begin
			}
			if at := all(p, region.Root(i)); at.lo < at.hi {
				holds[rank][i] = contents{{at, first}}
			}
		}
	}
	last := r.writers()
	at := make([]int, len(r.parts))
	// touched returns the elements that a task may touch: those of a slice of a collective, or all.
	touched := func(p *plan.Part, task *plan.Task, a *region.Access) run {
		if task.Builtin != nil && task.Builtin.Op == "all_reduce" {
			if of, ok := r.of(p, a); ok {
				return of
			}
		}
		return all(p, a.Root)
	}
	step := func(rank int) (moved bool, err *plan.Error) {
		p := r.parts[rank]
		for ; at[rank] < len(p.Tasks) && p.Tasks[at[rank]] != plan.Message; at[rank]++ {
			moved = true
			i := at[rank]
			t := p.Tasks[i]
			task := &p.Plan.Tasks[i]
			for k := range task.Access {
				a := &task.Access[k]
				needs := a.Perm.Reads() || a.Perm == perm.Reduce || a.Perm == perm.Write && (task.Tile > 0 || !(checker{p.Plan}).covers(a))
				if needs && !a.Empty() && !holds[rank][a.Root].all(touched(p, task, a), last[t][k]) {
					return false, r.taskErrorf(rank, i, "want tensors as the tasks before it left them, got %s that is older or newer", p.Plan.Roots[a.Root].Name)
				}
			}
			for k := range task.Access {
				if a := &task.Access[k]; (a.Perm.Writes() || a.Perm == perm.Scratch) && len(holds[rank][a.Root]) > 0 {
					holds[rank][a.Root] = holds[rank][a.Root].set(segment{touched(p, task, a), r.left(t, k)})
				}
			}
		}
		return moved, nil
	}
	next := func(rank int) *plan.Task { // the message to which a rank has come
		if p := r.parts[rank]; at[rank] < len(p.Tasks) {
			return &p.Plan.Tasks[at[rank]]
		}
		return nil
	}
	mail := map[pair][][]segment{} // what was sent and not received yet
	// talk runs the message to which a rank has come, unless it waits.
	talk := func(rank int) bool {
		task := next(rank)
		if task == nil {
			return false
		}
		a := &task.Access[0]
		held := &holds[rank][a.Root]
		if between := (pair{rank, task.Builtin.Peer}); task.Builtin.Op == "send" {
			elements, _ := r.of(r.parts[rank], a)
			mail[between] = append(mail[between], held.get(elements))
		} else {
			between = pair{task.Builtin.Peer, rank}
			if len(mail[between]) == 0 {
				return false
			}
			*held = held.set(mail[between][0]...)
			mail[between] = mail[between][1:]
		}
		at[rank]++
		return true
	}
	for moved := true; moved; {
		moved = false
		for rank := range r.parts {
			for more := true; more; {
				ran, err := step(rank)
				if err != nil {
					return err
				}
				more = talk(rank)
				moved = moved || ran || more
			}
		}
	}
	for rank, p := range r.parts {
		if at[rank] < len(p.Tasks) {
			return r.taskErrorf(rank, at[rank], "want messages that are sent before they are received, got ranks that wait for each other")
		}
		for k, i := range r.home[rank] {
			if use := r.whole.Roots[k].Use; use != plan.Fed && !holds[rank][i].all(all(p, i), last[len(r.whole.Tasks)][k]) {
				return fault(rank, p.Plan.RootErrorf(i, "want what the last task left at the end, got another value"))
			}
		}
	}
	return nil
}

// left returns what a task of the whole plan leaves in the tensor of an access.
func (r *ranks) left(t, access int) value {
	task := &r.whole.Tasks[t]
	if task.Builtin != nil && task.Builtin.Op == "all_reduce" {
		access = 0
	}
	return value{t, task.Access[access].Root}
}

// writers returns, for each access of each task of the whole plan, what the tasks before it left in the root.
// Behind the last task stands what all roots hold at the end.
func (r *ranks) writers() [][]value {
	now := make([]value, len(r.whole.Roots))
	for i := range now {
		now[i] = value{begin, region.Root(i)}
		if use := r.whole.Roots[i].Use; use != plan.Fed && use != plan.Variable {
			now[i].task = never
		}
	}
	out := make([][]value, 0, len(r.whole.Tasks)+1)
	for t := range r.whole.Tasks {
		task := &r.whole.Tasks[t]
		before := make([]value, len(task.Access))
		for k := range task.Access {
			before[k] = now[task.Access[k].Root]
		}
		for k := range task.Access {
			if a := &task.Access[k]; a.Perm.Writes() || a.Perm == perm.Scratch {
				now[a.Root] = r.left(t, k)
			}
		}
		out = append(out, before)
	}
	return append(out, now)
}

// checkEnds runs the queues of all ranks: a message comes when its rank has sent it.
func (r *ranks) checkEnds() *plan.Error {
	type worker struct {
		rank, number int
		queue        []schedule.Op
		at           int
	}
	var workers []*worker
	signals := make([][]int, len(r.parts)) // per rank and worker: the position that it signaled last
	over := make([]map[int]bool, len(r.parts))
	for rank, p := range r.parts {
		over[rank] = map[int]bool{} // shared tasks
		signals[rank] = make([]int, p.Plan.Schedule.Workers())
		for w, queue := range p.Plan.Schedule.Queues {
			workers = append(workers, &worker{rank, w, queue, 0})
		}
	}
	come := map[pair]int{} // how many messages were sent and not received yet
	step := func(w *worker) bool {
		p := r.parts[w.rank]
		switch kind, n := w.queue[w.at].Decode(); kind {
		case schedule.Run:
			task := &p.Plan.Tasks[n]
			if !task.Talks() {
				break
			}
			if task.Builtin.Op == "send" {
				come[pair{w.rank, task.Builtin.Peer}]++
				break
			}
			between := pair{task.Builtin.Peer, w.rank}
			if come[between] == 0 {
				return false
			}
			come[between]--
		case schedule.Share:
			over[w.rank][n] = true
		case schedule.Signal:
			signals[w.rank][w.number] = w.at + 1
		case schedule.WaitFor:
			if wait := p.Plan.Schedule.Waits[n]; signals[w.rank][wait.Worker] < int(wait.Position) {
				return false
			}
		case schedule.WaitShared:
			if !over[w.rank][n] {
				return false
			}
		}
		w.at++
		return true
	}
	for moved := true; moved; {
		moved = false
		for _, w := range workers {
			for w.at < len(w.queue) && step(w) {
				moved = true
			}
		}
	}
	for _, w := range workers {
		if w.at < len(w.queue) {
			return r.whole.Errorf("want queues that come to their ends, got worker %d of rank %d waiting at %d", w.number, w.rank, w.at)
		}
	}
	return nil
}
