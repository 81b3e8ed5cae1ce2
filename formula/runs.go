package formula

import (
	"errors"
	"slices"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/task"
)

// Run describes the code that runs a task of an operator without a hand-written kernel.
type Run struct {
	// Loops names the kinds of loop nests on CPUs, in the order in which they first run.
	Loops []string
	// Interpreter is the reason why the interpreter runs the task on CPUs: the statement that loops do not
	// support. It is nil if loops run the task.
	Interpreter error
	// Products reports whether device code contains matrix products, for which cuBLAS is used if they are
	// large enough.
	Products bool
	// Host is the reason why the host runs the task in plans for GPUs. It is nil if device code runs the
	// task.
	Host error

	code loops.Code // nil if the interpreter runs the task

	signature  *task.Signature
	use        *program.Use
	resolution *task.Resolution
}

// List returns a listing of the loops that compute the task on CPUs, with counts of instructions. It is empty
// if there are no loops. A ! marks an instruction that no fused machine code loop can contain. If portable is
// true, the listing is the same for all processors; otherwise it shows behind a | what this processor runs as
// machine code.
func (r *Run) List(portable bool) (string, Counts) {
	if r.code == nil {
		return "", Counts{}
	}
	return r.code.List(portable)
}

// Counts holds the numbers of instructions that are in no fused loop.
type Counts = loops.Counts

// RunOf compiles a task for one use of an operator, and returns a description of the code that runs it. It
// uses the tensors, grids, bounds and omitted slots of the resolution.
func RunOf(s *task.Signature, u *program.Use, r *task.Resolution) (*Run, error) {
	a := &task.Accessor{Signature: s, Resolved: r, Memory: memoryOf(r)}
	l := &layout{kernel: loopKernel{s, nil}, accessor: a, listed: true}
	l.task = slices.Index(s.Operator.Signatures, s)
	x, err := l.compiled(u)
	if err != nil {
		return nil, err
	}
	out := &Run{Interpreter: x.why, code: x.code, signature: s, use: u, resolution: r}
	if x.code != nil {
		out.Loops = x.code.Kinds()
	}
	unit, err := deviceKernel{l.kernel, nil}.lower(l.accessor, u, 2)
	if err != nil {
		if !errors.Is(err, gpu.ErrHost) {
			return nil, err
		}
		out.Host = err
		return out, nil
	}
	for _, step := range unit.Steps {
		for _, launch := range step {
			out.Products = out.Products || launch.Product != nil
		}
	}
	return out, nil
}

// memoryOf returns a function that allocates memory for the tensors of a resolution and their gradients.
func memoryOf(r *task.Resolution) func(slot int, grad bool) []task.Buffer {
	type key struct {
		slot int
		grad bool
	}
	made := map[key][]task.Buffer{}
	return func(slot int, grad bool) []task.Buffer {
		at := key{slot, grad}
		if out, ok := made[at]; ok {
			return out
		}
		var out []task.Buffer
		for _, o := range r.Operands(slot) {
			if o.Type = o.Type.Host(); grad && !o.Type.IsFloat() {
				out = append(out, task.Buffer{})
				continue
			}
			n := int(o.Bytes()) // aligned like the memory of engines
			out = append(out, task.Buffer{Operand: o, Bytes: make([]byte, n, (n+15)/16*16)})
		}
		made[at] = out
		return out
	}
}
