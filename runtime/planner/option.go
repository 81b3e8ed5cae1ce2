package planner

import "github.com/opgen/opgen/runtime/target"

// Option changes how Build makes a plan.
type Option func(*options)

type options struct {
	workers int
	target  target.Target
	time    []float64
	plain   bool
	tiled   bool
}

// Workers sets the number of workers for which the plan is scheduled. The default is 1, so that plans
// do not depend on the machine that made them. Engines schedule plans again for their own number.
func Workers(n int) Option { return func(o *options) { o.workers = n } }

// Times gives the time of each task in nanoseconds, by which the tasks are divided among workers. Without it,
// times are estimated from the memory that tasks touch.
func Times(ns []float64) Option { return func(o *options) { o.time = ns } }

// For makes the plan for a target. The default is target.CPU.
func For(t target.Target) Option { return func(o *options) { o.target = t } }

// Plain lets no tensor lie in the place of another that a task reads, and fuses no tasks. Tensors that are
// not needed at the same time still share memory. The plan computes the same.
func Plain() Option { return func(o *options) { o.plain = true } }

func apply(opts []Option) options {
	o := options{workers: 1, target: target.CPU}
	for _, f := range opts {
		f(&o)
	}
	return o
}
