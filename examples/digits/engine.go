package main

import (
	"errors"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/task"
)

// engines lists what may run programs.
var engines = []string{"auto", "cpu", "cuda"}

// choose returns what registers kernels, and the options of a session, for the engine of the flags.
func (o *options) choose() (register func(*task.Registry) error, opts []opgen.Option, err error) {
	opts = []opgen.Option{opgen.Workers(o.workers), opgen.Devices(o.devices)}
	if o.engine != "auto" && o.engine != "cuda" {
		return catalogue.Register, opts, nil
	}
	gpu, err := cuda.New(cuda.Config{Devices: o.devices, Queues: o.workers})
	if err != nil {
		if o.engine == "auto" {
			return catalogue.Register, opts, nil
		}
		return nil, nil, err
	}
	return withGPU, []opgen.Option{opgen.Backend(gpu)}, nil
}

// withGPU registers the kernels of the catalogue. Those without device code run on the host.
func withGPU(r *task.Registry) error { return errors.Join(catalogue.Register(r), cuda.Fallback(r)) }
