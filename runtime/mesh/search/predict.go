package search

import (
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
	Work, Talk float64 // seconds of all ranks together, with tasks and with messages
	Messages   int
	Sent       []float64 // bytes, by rank
}

// Run runs the queues of all ranks by events. The work is that of the tasks of the whole plan. A message
// takes both ranks, from when the later one is there.
func (m *Machine) Run(whole *plan.Plan, parts []*plan.Part, work []simulate.Work) (*Prediction, error) {
	out := &Prediction{Sent: make([]float64, len(parts))}
	now, at := make([]float64, len(parts)), make([]int, len(parts))
	next := func(rank int) (task int) {
		queue := parts[rank].Plan.Schedule.Queues[0]
		if at[rank] == len(queue) {
			return -1
		}
		_, task = queue[at[rank]].Decode()
		return task
	}
	ready := make([]int, len(parts))
	for rank := range ready {
		ready[rank] = rank
	}
	for len(ready) > 0 {
		rank := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for task := next(rank); task >= 0; task = next(rank) {
			p := parts[rank].Plan
			t := &p.Tasks[task]
			if !t.Talks() {
				took := m.Seconds(work[parts[rank].Tasks[task]])
				if t.Builtin != nil && t.Builtin.Op == "all_reduce" { // perhaps of some elements
					took *= float64(t.Over) / float64(whole.Tasks[parts[rank].Tasks[task]].Over)
				}
				now[rank], out.Work, at[rank] = now[rank]+took, out.Work+took, at[rank]+1
				continue
			}
			peer := t.Builtin.Peer
			other := next(peer)
			if other < 0 || !parts[peer].Plan.Tasks[other].Talks() || parts[peer].Plan.Tasks[other].Builtin.Message != t.Builtin.Message {
				break // the peer comes to it later
			}
			bytes := float64(t.Over * p.Roots[t.Access[0].Root].Type.Size())
			took := m.Latency + bytes/m.Link
			end := max(now[rank], now[peer]) + took
			now[rank], now[peer], out.Talk = end, end, out.Talk+2*took
			at[rank], at[peer] = at[rank]+1, at[peer]+1
			from := rank
			if t.Builtin.Op == "receive" {
				from = peer
			}
			out.Messages++
			out.Sent[from] += bytes
			ready = append(ready, peer)
		}
	}
	for rank := range parts {
		if task := next(rank); task >= 0 {
			return nil, fmt.Errorf("search: rank %d waits for ever at %s", rank, parts[rank].Plan.Label(task))
		}
		out.Seconds = max(out.Seconds, now[rank])
	}
	return out, nil
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
