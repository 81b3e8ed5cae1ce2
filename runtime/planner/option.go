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
