// Package cuda runs plans on NVIDIA GPUs. It is a backend of package engine. It is part of programs that are built with the tag
// cuda, which takes cgo, a C compiler and the headers of the CUDA toolkit, up to version 12. Such programs also start on machines
// without a GPU or a driver. In other programs, New returns an error.
//
// A stream runs each queue of a plan, and events order streams as the plan says. The host waits for a run at its end, and for the
// inputs of kernels that are written in Go, which run on the host.
package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Config configures a backend.
type Config struct {
	// Devices is the number of devices; 0 means one. They are the first ones that the driver lists.
	Devices int
	// Queues is the number of streams of a device, for which plans are scheduled; 0 means one.
	Queues int
	// Library, unless nil, returns what tasks of a device get as the library of their argument from "handle". It is called
	// once for each device.
	Library func(device int) any
}

// Fallback registers, for each task of a registry without a kernel for GPUs, its kernel for CPUs. The backend runs it on the host:
// it copies tensors there and back. Elements of 16 bits are converted to f32 there.
func Fallback(r *task.Registry) error {
	var errs []error
	for _, o := range r.Operators() {
		for _, s := range o.Signatures {
			if reg := r.Task(s.ID); reg != nil { // init and cleanup tasks are optional
				errs = append(errs, fallback(r, reg))
			}
		}
	}
	return errors.Join(errs...)
}

// fallback registers the kernels of a task.
func fallback(r *task.Registry, t *task.Registered) error {
	var variants []task.Variant
	for _, types := range choices(t.Signature.Operator.Types) {
		if slices.ContainsFunc(t.Variants, func(v task.Variant) bool { return v.Target == gpu.CUDA && slices.Equal(v.Types, types) }) {
			continue
		}
		hosts := make([]dtype.Type, len(types))
		for i, typ := range types {
			hosts[i] = typ.Host()
		}
		if v, err := t.Variant(op.CPU, hosts); err == nil {
			v.Target, v.Types = gpu.CUDA, types
			variants = append(variants, v)
		}
	}
	if len(variants) == 0 {
		return nil
	}
	if err := r.RegisterTask(t.ID, t.Name, t.Signature, variants...); err != nil {
		return fmt.Errorf("kernels of %s on the host: %w", t.Name, err)
	}
	return nil
}

// choices returns all choices of types of dtype variables.
func choices(variables []task.TypeVar) [][]dtype.Type {
	all := [][]dtype.Type{nil}
	for _, v := range variables {
		var longer [][]dtype.Type
		for _, c := range all {
			for _, t := range v.Types {
				longer = append(longer, append(slices.Clip(c), t))
			}
		}
		all = longer
	}
	return all
}
