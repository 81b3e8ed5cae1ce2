package planner

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/target"
)

// Reschedule returns a plan with new dependencies and queues, for another number of workers. Everything else
// is shared with p, which is not modified.
func Reschedule(p *plan.Plan, opts ...Option) (*plan.Plan, error) {
	if p == nil {
		return nil, errors.New("planner: want a plan, got nil")
	}
	q := *p
	if err := (draft{&q}).schedule(apply(opts)); err != nil {
		return nil, err
	}
	return &q, nil
}

// schedule computes dependencies and queues.
func (p draft) schedule(o options) error {
	if err := verify.Program(p.Plan); err != nil {
		return err
	}
	g, err := p.depend()
	if err != nil {
		return err
	}
	if o.time == nil {
		o.time = p.estimate(&o.target)
	}
	costs := sched.Costs{Time: o.time, Latency: o.target.Latency, Ranges: make([]int, len(p.Tasks))}
	for i := range p.Tasks {
		costs.Ranges[i] = p.Tasks[i].Ranges()
	}
	of, order := g, p.wavefront(g, o.near)
	if len(o.time) != len(p.Tasks) {
		order = nil // sched.New refuses the times
	}
	if order != nil {
		of = permuted(g, order)
		ranges, times := costs.Ranges, costs.Time
		costs.Ranges, costs.Time = make([]int, len(order)), make([]float64, len(order))
		for i, t := range order {
			costs.Ranges[i], costs.Time[i] = ranges[t], times[t]
		}
	}
	s, err := sched.New(of, o.workers, costs)
	if err != nil {
		return fmt.Errorf("plan %s: %w", p.Name, err)
	}
	if order != nil {
		renumber(s, order)
	}
	p.Deps, p.Schedule = *g, *s
	return nil
}

// estimate returns the estimated time of each task in nanoseconds.
func (p draft) estimate(on *target.Target) []float64 {
	ns := make([]float64, len(p.Tasks))
	var box region.Box
	for t := range p.Tasks {
		ns[t] = on.TaskTime
		for i := range p.Tasks[t].Access {
			p.Tasks[t].On(i, &box)
			ns[t] += on.ByteTime * float64(box.Volume()*p.Roots[p.Tasks[t].Access[i].Root].Type.Size())
		}
	}
	return ns
}
