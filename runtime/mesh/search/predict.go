package search

import (
	"container/heap"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/project"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/simulate"
)

// Machine is a model of ranks that have a device and a worker each.
type Machine struct {
	Rate      float64 // floating-point operations a second of a device
	Bandwidth float64 // bytes a second from and to its memory
	Link      float64 // bytes a second of a message
	Latency   float64 // seconds that a message takes besides
}

// check returns an error for a machine on which time does not pass as it should.
func (m *Machine) check() error {
	if !(m.Rate > 0 && m.Bandwidth > 0 && m.Link > 0 && m.Latency >= 0) {
		return fmt.Errorf("search: want a rate, a bandwidth and a link above 0 and no negative latency, got %+v", *m)
	}
	return nil
}

// Seconds returns the time of a task by the roofline: its operations or its bytes, whichever takes longer.
func (m *Machine) Seconds(w simulate.Work) float64 { return max(w.Flops/m.Rate, w.Bytes/m.Bandwidth) }

// Prediction is a predicted run of the parts of a plan.
type Prediction struct {
	Seconds    float64 // to the end of the last rank
	Work, Wait float64 // seconds of all ranks together, with tasks and with waiting for messages
	Messages   int
	Sent       []float64 // bytes, by rank
}

// Run runs the queues of all ranks by events. The work is that of the tasks of the whole plan. A rank goes on
// when it has sent a message. The message takes the link from its rank and then that to the other, each of
// which moves one message at a time, and its receiver waits for it.
func (m *Machine) Run(whole *plan.Plan, parts []*plan.Part, work []simulate.Work) (*Prediction, error) {
	out := &Prediction{Sent: make([]float64, len(parts))}
	now, at := make([]float64, len(parts)), make([]int, len(parts))
	leaves, enters := make([]float64, len(parts)), make([]float64, len(parts)) // when the links of ranks are free
	mail := map[[2]int][]float64{}                                             // by sender and receiver: when messages arrive
	next := func(rank int) (task int) {
		queue := parts[rank].Plan.Schedule.Queues[0]
		if at[rank] == len(queue) {
			return -1
		}
		_, task = queue[at[rank]].Decode()
		return task
	}
	// The rank whose time is least goes on first, so that messages come to links in the order of time.
	ready := &clocks{now: now, has: make([]bool, len(parts))}
	for rank := range parts {
		heap.Push(ready, rank)
	}
	for ready.Len() > 0 {
		rank := heap.Pop(ready).(int)
		task := next(rank)
		if task < 0 {
			continue
		}
		p := parts[rank].Plan
		switch t := &p.Tasks[task]; {
		case !t.Talks():
			took := m.Seconds(work[parts[rank].Tasks[task]])
			if t.Builtin != nil && t.Builtin.Op == "all_reduce" { // perhaps of some elements
				took *= float64(t.Over) / float64(whole.Tasks[parts[rank].Tasks[task]].Over)
			}
			now[rank], out.Work = now[rank]+took, out.Work+took
		case t.Builtin.Op == "receive":
			line := [2]int{t.Builtin.Peer, rank}
			if len(mail[line]) == 0 {
				continue // its send wakes the rank
			}
			out.Wait += max(0, mail[line][0]-now[rank])
			now[rank], mail[line] = max(now[rank], mail[line][0]), mail[line][1:]
		default:
			peer := t.Builtin.Peer
			bytes := float64(t.Over * p.Roots[t.Access[0].Root].Type.Size())
			leaves[rank] = max(now[rank], leaves[rank]) + bytes/m.Link
			enters[peer] = max(leaves[rank], enters[peer]+bytes/m.Link)
			line := [2]int{rank, peer}
			mail[line] = append(mail[line], enters[peer]+m.Latency)
			out.Messages++
			out.Sent[rank] += bytes
			if task := next(peer); len(mail[line]) == 1 && task >= 0 {
				if w := parts[peer].Plan.Tasks[task].Builtin; w != nil && w.Op == "receive" && w.Peer == rank && !ready.has[peer] {
					heap.Push(ready, peer)
				}
			}
		}
		at[rank]++
		heap.Push(ready, rank)
	}
	for rank := range parts {
		if task := next(rank); task >= 0 {
			return nil, fmt.Errorf("search: rank %d waits for ever at %s", rank, parts[rank].Plan.Label(task))
		}
		out.Seconds = max(out.Seconds, now[rank])
	}
	return out, nil
}

// clocks is a heap of ranks by their times.
type clocks struct {
	now  []float64
	rank []int
	has  []bool
}

func (c *clocks) Len() int           { return len(c.rank) }
func (c *clocks) Less(i, k int) bool { return c.now[c.rank[i]] < c.now[c.rank[k]] }
func (c *clocks) Swap(i, k int)      { c.rank[i], c.rank[k] = c.rank[k], c.rank[i] }
func (c *clocks) Push(rank any) {
	c.rank, c.has[rank.(int)] = append(c.rank, rank.(int)), true
}
func (c *clocks) Pop() any {
	rank := c.rank[len(c.rank)-1]
	c.rank, c.has[rank] = c.rank[:len(c.rank)-1], false
	return rank
}

// divide plans a program for ranks with a device and a worker each, and returns the plan, the ranks of
// devices and the parts of ranks.
func divide(p *graph.Program, ranks int) (whole *plan.Plan, owner []int, parts []*plan.Part, err error) {
	if whole, err = planner.Build(p, planner.Workers(1)); err != nil {
		return nil, nil, nil, err
	}
	if owner, err = project.Owners(ranks, ranks); err != nil {
		return nil, nil, nil, err
	}
	parts, err = project.Ranks(whole, owner, slices.Repeat([]int{1}, ranks))
	return whole, owner, parts, err
}

// Predict predicts a run of a program for devices, each of which is on a rank of its own, and returns the
// bytes of the tensors of the rank with most of them, too.
func (m *Machine) Predict(p *graph.Program, devices int) (*Prediction, int64, error) {
	whole, _, parts, err := divide(p, devices)
	if err != nil {
		return nil, 0, err
	}
	work, err := cost.Work(p, whole)
	if err != nil {
		return nil, 0, err
	}
	var most int64
	for _, part := range parts {
		most = max(most, part.Plan.ArenaBytes+part.Plan.VariableBytes())
	}
	out, err := m.Run(whole, parts, work)
	return out, most, err
}
