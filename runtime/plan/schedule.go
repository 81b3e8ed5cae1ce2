package plan

import (
	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/target"
)

// Option changes how Build makes a plan.
type Option func(*options)

type options struct {
	workers int
	target  target.Target
	time    []float64
	plain   bool
}

// Workers sets the number of workers for which the plan is scheduled. The usual one is 1, so that plans
// do not depend on the machine that made them; engines schedule plans anew for their own number.
func Workers(n int) Option { return func(o *options) { o.workers = n } }

// Times gives the time of each task in nanoseconds, for example as measured, by which the tasks are
// divided among workers. Without them they are estimated from the memory that tasks touch.
func Times(ns []float64) Option { return func(o *options) { o.time = ns } }

// For makes the plan for a target, which is otherwise target.CPU.
func For(t target.Target) Option { return func(o *options) { o.target = t } }

// Plain gives every tensor memory of its own and lets every task run by itself, as if operators had
// declared nothing about memory in place and element by element. The plan computes the same.
func Plain() Option { return func(o *options) { o.plain = true } }

func apply(opts []Option) options {
	o := options{workers: 1, target: target.CPU}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Reschedule returns the plan with dependencies and queues made anew, for another number of workers.
// Everything else is shared with p, which is not changed.
func (p *Plan) Reschedule(opts ...Option) (*Plan, error) {
	q := *p
	if err := q.schedule(apply(opts)); err != nil {
		return nil, err
	}
	return &q, nil
}

// schedule fills in dependencies and queues.
func (p *Plan) schedule(o options) error {
	if err := p.checkTasks(); err != nil {
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
	s, err := sched.New(g, o.workers, costs)
	if err != nil {
		return p.fault("%v", err)
	}
	p.Deps, p.Schedule = *g, *s
	return nil
}

// estimate returns the estimated time of each task in nanoseconds.
func (p *Plan) estimate(on *target.Target) []float64 {
	ns := make([]float64, len(p.Tasks))
	for t := range p.Tasks {
		ns[t] = on.TaskTime
		for i := range p.Tasks[t].Access {
			a := &p.Tasks[t].Access[i]
			ns[t] += on.ByteTime * float64(region.Box{Lo: a.Lo, Hi: a.Hi}.Volume()*p.Roots[a.Root].Type.Size())
		}
	}
	return ns
}
