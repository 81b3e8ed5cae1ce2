package planner

import (
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/tuned"
)

// Option configures Build.
type Option func(*options)

type options struct {
	workers int
	target  target.Target
	time    []float64
	plain   bool
	tiled   bool
	paying  bool
	near    int64 // nearBytes, but in tests
	choices *tuned.Choices
}

// Workers sets the number of workers of the schedule. The default is 1, so that plans do not depend on the
// machine. Engines reschedule plans for their own number of workers.
func Workers(n int) Option { return func(o *options) { o.workers = n } }

// Times sets the time of each task in nanoseconds, by which tasks are assigned to workers. The default is an
// estimate from the bytes that tasks access.
func Times(ns []float64) Option { return func(o *options) { o.time = ns } }

// For sets the target. The default is target.CPU.
func For(t target.Target) Option { return func(o *options) { o.target = t } }

// Plain disables in-place outputs, views and fusion. Tensors with disjoint lifetimes still share memory.
// Results are the same.
func Plain() Option { return func(o *options) { o.plain = true } }

func apply(opts []Option) options {
	o := options{workers: 1, target: target.CPU, near: nearBytes}
	for _, f := range opts {
		f(&o)
	}
	return o
}
