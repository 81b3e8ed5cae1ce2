package gpu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// RegisterHost registers, for each task of a registry without a kernel for GPUs, its kernel for CPUs.
// Backends run it on the host: they copy tensors there and back. Elements of 16 bits are converted to f32
// there.
func RegisterHost(r *task.Registry) error {
	if r == nil {
		return fmt.Errorf("kernels on the host: want a registry, got nil")
	}
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
		if slices.ContainsFunc(t.Variants, func(v task.Variant) bool { return v.Target == CUDA && slices.Equal(v.Types, types) }) {
			continue
		}
		if v, err := t.Variant(op.CPU, hosts(types)); err == nil {
			v.Target, v.Types = CUDA, types
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

// hosts returns the types in which the host computes with elements.
func hosts(types []dtype.Type) []dtype.Type {
	out := make([]dtype.Type, len(types))
	for i, t := range types {
		out[i] = t.Host()
	}
	return out
}
