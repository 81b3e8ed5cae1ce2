package formula

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/cugen"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// RegisterCUDA registers CUDA kernels that are compiled from the formulas of operators, for all element
// types of the specs. A task that the CUDA compiler does not support runs on the host. An operator without a
// formula is an error.
func RegisterCUDA(r *task.Registry, operators ...*task.Operator) error {
	return registerFor(r, gpu.CUDA, operators, stored, func(s *task.Signature) binder {
		k := loopKernel{s, &compiledUses}
		return deviceKernel{k, folded(s, k)}
	})
}

// RegisterAll registers the tasks of operators for CPUs, as Register does, and for NVIDIA GPUs, as
// RegisterCUDA does.
func RegisterAll(r *task.Registry, operators ...*task.Operator) error {
	return errors.Join(Register(r, op.CPU, operators...), RegisterCUDA(r, operators...))
}

// stored returns the element types unchanged: device code loads and stores all of them.
func stored(types []dtype.Type) []dtype.Type { return types }

// deviceKernel compiles the operator's formula into device code for one task. host runs tasks that this
// cannot do.
type deviceKernel struct {
	loopKernel
	host binder
}

var _ gpu.Kernel = deviceKernel{}

func (k deviceKernel) bind(a *task.Accessor) ([]op.Body, error) { return k.host.bind(a) }

// Lower compiles the task into device code. An error that is gpu.ErrHost means that the task runs on the
// host.
func (k deviceKernel) Lower(a *task.Accessor) (*gpu.Unit, error) {
	s := k.signature
	if err := complete(s, a); err != nil {
		return nil, err
	}
	u, err := useOf(s.Operator, a.Attrs, a.Resolved, a.Seed, a.Passed)
	if err != nil {
		return nil, mistake(s.Operator.Name, err.Error())
	}
	return k.lower(a, u, cugen.LeastProduct)
}

// lower compiles u. Matrix products with least rows, columns and terms become calls of cuBLAS.
func (k deviceKernel) lower(a *task.Accessor, u *program.Use, least int) (*gpu.Unit, error) {
	s := k.signature
	l := &layout{kernel: k.loopKernel, accessor: a, task: slices.Index(s.Operator.Signatures, s)}
	p, err := program.Build(u)
	if err != nil {
		return nil, mistake(s.Operator.Name, err.Error())
	}
	l.program = p
	statements, gradients, err := l.statements()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", gpu.ErrHost, err)
	}
	statements = l.withOthers(gradients, statements)
	for i, t := range l.tensors {
		l.tensors[i].Local = t.Local && !t.Planned
	}
	code, err := cugen.Compile(entryName(s), l.program, statements, l.tensors, l.aligned, l.bounded(), l.folds(), least)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", gpu.ErrHost, err)
	}
	return l.unit(code)
}

// entryName returns the common prefix of the names of a task's device functions.
func entryName(s *task.Signature) string {
	return notWord.ReplaceAllString("opgen_"+s.Operator.Name+"_"+s.Task, "_")
}

var notWord = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// bounded lists the integer tensors that the task reads and whose spec bounds their elements.
func (l *layout) bounded() []cugen.Bounded {
	var out []cugen.Bounded
	for _, p := range l.kernel.signature.Params {
		bound, bounded := l.accessor.Resolved.Bound(p.Slot)
		if p.Grad || !p.Perm.Reads() || !bounded || !l.accessor.Resolved.Takes(l.task, p.Slot) {
			continue
		}
		for i, t := range l.program.Tensors {
			if t.Slot == p.Slot && !l.tensors[i].Local {
				out = append(out, cugen.Bounded{Tensor: i, Bound: bound})
			}
		}
	}
	return out
}

// aligned reports whether the memory of a tensor is aligned to 16 bytes. The host addresses at lowering have
// the alignment of the device addresses.
func (l *layout) aligned(t int) bool {
	return l.program.Tensors[t].Passed != nil || uintptr(unsafe.Pointer(unsafe.SliceData(l.memory[t])))%16 == 0
}

// folds lists the output tensors into which the task reduces its results, and the reduction operators.
func (l *layout) folds() []cugen.Into {
	var out []cugen.Into
	for i, t := range l.program.Tensors {
		at, ok := l.places[i]
		if !ok || t.Old >= 0 {
			continue
		}
		if p := l.kernel.signature.Params[at.param]; p.Perm == perm.Reduce {
			out = append(out, cugen.Into{Tensor: i, Redop: p.Redop})
		}
	}
	return out
}

// unit converts device code into a gpu.Unit, in which arguments are parameters of the task. It runs all
// launches in the first step whose grid is not empty.
func (l *layout) unit(code *cugen.Code) (*gpu.Unit, error) {
	s := l.kernel.signature
	u := &gpu.Unit{Source: code.Source, Scratch: code.Scratch, Steps: make([][]gpu.Launch, len(s.Steps))}
	for i := range code.Launches {
		args := code.Launches[i].Args
		for j, a := range args {
			if a.Kind != gpu.Tensor {
				continue
			}
			arg, ok := l.argument(a.Index)
			if !ok {
				return nil, fmt.Errorf("%w: %s has no memory", gpu.ErrHost, l.program.Tensors[a.Index].Name)
			}
			args[j] = arg
		}
	}
	for i := range u.Steps { // all launches run in the first step that has work
		if grid := l.accessor.Resolved.Work(l.task, i); grid.Tiles() > 0 {
			u.Steps[i] = code.Launches
			break
		}
	}
	if len(code.Faults) > 0 {
		u.Fault = func(r gpu.Record) error {
			if r.Code < 1 || int(r.Code) > len(code.Faults) {
				return mistake(s.Operator.Name, fmt.Sprintf("device code left the fault %d", r.Code))
			}
			f := &code.Faults[r.Code-1]
			if f.Below {
				return &op.Error{Operator: s.Operator.Name, Task: s.Task, Message: f.Error(r.Values).Error()}
			}
			return mistake(s.Operator.Name, f.Error(r.Values).Error())
		}
	}
	l.follow()
	return u, nil
}

// argument returns the launch argument for tensor t of the program; ok is false if t has no memory.
func (l *layout) argument(t int) (gpu.Arg, bool) {
	if l.program.Tensors[t].Passed != nil {
		return gpu.Arg{Kind: gpu.Host, Bytes: l.memory[t]}, true
	}
	if old := l.program.Tensors[t].Old; old >= 0 {
		t = old
	}
	if at, ok := l.places[t]; ok {
		return gpu.Arg{Kind: gpu.Tensor, Index: at.param, Number: at.number}, true
	}
	return gpu.Arg{}, false
}

// bufferPlace identifies a tensor of a task: the parameter of the signature and the tensor's number in that
// parameter.
type bufferPlace struct{ param, number int }
