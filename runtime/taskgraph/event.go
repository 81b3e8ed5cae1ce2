package taskgraph

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/plan"
)

// Event is something for which tasks wait: that some other tasks are over.
type Event struct {
	Triggers  []int32 // tasks that trigger the event; NumTriggers is their number
	Dependent []int32 // tasks that wait for it, ascending
}

// NumTriggers returns the number of tasks that must be complete before tasks that wait for the event begin.
func (e *Event) NumTriggers() int { return len(e.Triggers) }

// Events are the dependencies of a plan as events: tasks with the same predecessors wait for one event.
type Events struct {
	// List is the events, in the order of the first task that waits for each.
	List []Event
	// Dependent is, by task, the event for which the task waits; -1 if it waits for none.
	Dependent []int32
	start     []int32 // by task: where its events begin in trigger
	trigger   []int32
}

// Trigger returns the events that a task triggers. MPK's tasks trigger one event at most, so its graphs need
// rules about forks and joins; a task may trigger any number here.
func (e *Events) Trigger(task int) []int32 { return e.trigger[e.start[task]:e.start[task+1]] }

// EventsOf returns the events of a plan. Workers wait for positions in queues, which are fewer: events are a
// view of Plan.Deps for those who read or draw a graph.
func EventsOf(p *plan.Plan) *Events {
	n := p.Deps.Len()
	e := &Events{Dependent: make([]int32, n), start: make([]int32, n+1)}
	byHash := map[uint64][]int32{} // events with predecessors of one hash
	var sorted []int32
	for t := range n {
		sorted = append(sorted[:0], p.Deps.Preds(t)...)
		if e.Dependent[t] = -1; len(sorted) == 0 {
			continue
		}
		if !slices.IsSorted(sorted) {
			slices.Sort(sorted)
		}
		hash := uint64(14695981039346656037) // FNV-1a, of whole numbers
		for _, v := range sorted {
			hash = (hash ^ uint64(v)) * 1099511628211
		}
		same := byHash[hash]
		k := slices.IndexFunc(same, func(i int32) bool { return slices.Equal(e.List[i].Triggers, sorted) })
		if k < 0 {
			k = len(same)
			same = append(same, int32(len(e.List)))
			byHash[hash] = same
			e.List = append(e.List, Event{Triggers: slices.Clone(sorted)})
			for _, v := range sorted {
				e.start[v+1]++
			}
		}
		e.Dependent[t] = same[k]
		e.List[same[k]].Dependent = append(e.List[same[k]].Dependent, int32(t))
	}
	for t := range n {
		e.start[t+1] += e.start[t]
	}
	e.trigger = make([]int32, e.start[n])
	next := slices.Clone(e.start)
	for i := range e.List {
		for _, v := range e.List[i].Triggers {
			e.trigger[next[v]] = int32(i)
			next[v]++
		}
	}
	return e
}

// Pairs returns the number of pairs of tasks that are ordered by an event, which is that of all dependencies.
func (e *Events) Pairs() int {
	n := 0
	for i := range e.List {
		n += len(e.List[i].Triggers) * len(e.List[i].Dependent)
	}
	return n
}

// MaxFanIn returns the largest number of triggers of an event; 0 if there are none.
func (e *Events) MaxFanIn() int {
	if len(e.List) == 0 {
		return 0
	}
	most := slices.MaxFunc(e.List, func(a, b Event) int { return cmp.Compare(len(a.Triggers), len(b.Triggers)) })
	return most.NumTriggers()
}
