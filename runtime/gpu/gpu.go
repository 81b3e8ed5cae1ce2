// Package gpu describes the device code of tasks: CUDA C++ source and the launches of its functions. Formulas
// and kernels by hand give such code, and backends of package engine compile and launch it. The package
// itself needs no GPU.
package gpu

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Prelude is the CUDA C++ that precedes all units of a plan: types of fixed size, conversions of 16-bit
// numbers, faults, what formulas use, and the views of device code by hand.
var Prelude = prelude + formulas + views

//go:embed prelude.cuh
var prelude string

//go:embed formula.cuh
var formulas string

//go:embed views.cuh
var views string

// ErrHost is the error of Lower if there is no device code for a use of a task. The backend then runs the
// variant's Go kernel on the host.
var ErrHost = errors.New("there is no device code")

// CUDA is the target of kernels for NVIDIA GPUs.
const CUDA op.Target = "cuda"

// Kernel is a kernel that runs on a GPU. A variant for the target CUDA has one, or a Go kernel, which the
// backend runs on the host.
type Kernel interface {
	// Lower returns the device code of the task for one use. The buffers of the accessor have addresses of
	// their own, which tell tensors apart that have memory of their own, but their bytes must not be read or
	// written. The error is an *op.Error, or wraps ErrHost.
	Lower(a *task.Accessor) (*Unit, error)
}

// Unit is the device code of a task for one use of its operator.
type Unit struct {
	// Source is CUDA C++. Backends compile it behind Prelude, with other units, so names of its own carry a
	// hash of what they name. Equal units have equal sources.
	Source string
	// Steps lists the launches of each step of the task. Each launch needs all of the one before.
	Steps [][]Launch
	// Scratch lists the bytes of buffers that the launches share. They hold nothing when the first step
	// begins.
	Scratch []int64
	// Fault returns the error that a record means which device code left; nil if the code leaves none.
	Fault func(Record) error
}

// Launch runs a function of a unit on a grid of blocks of threads.
type Launch struct {
	Entry string // the name of a function with C linkage
	// Body, unless "", is the name of a device function that computes one block of the grid and that the
	// entry calls, too: void Body(const opgen_grid &, const u64 *args). Memory is the type of the variables
	// in shared memory to which the grid points. A kernel that computes a whole plan calls bodies.
	Body, Memory string
	Grid         [3]int // blocks
	Block        [3]int // threads of a block
	Shared       int    // bytes of dynamic shared memory
	Args         []Arg  // of 8 bytes each
	// Product, unless nil, says that the launch computes products of matrices and nothing else, so that a
	// library may do it instead.
	Product *Product
}

// Product is products of matrices, one for each of a batch: C[i][j] is, or with Add grows by, the sum of
// A[i][k] * B[k][j] over all k.
type Product struct {
	Rows, Cols, Sum, Batch int // how many values i, j and k have, and how many products there are
	A, B, C                Matrix
	Add                    bool // whether the sums are added to what C holds
}

// Matrix describes where the elements of matrices are: element (i, j) of matrix b is element Offset + i*Down
// + j*Right + b*Next of its memory. Right or Down is 1; Right is 1 for C.
type Matrix struct {
	Arg                       int // the argument of the launch that is the address of the memory
	Type                      dtype.Type
	Offset, Down, Right, Next int
}

// ArgKind says what an argument of a function is.
type ArgKind uint8

// The kinds of arguments.
const (
	Tensor  ArgKind = iota // the address of a tensor: of parameter Index of the signature, the one of number Number
	Scratch                // the address of buffer Index of the unit
	Host                   // the address of a copy of Bytes, which the backend makes before each run
	Step                   // the number of the training step, an unsigned integer
	Value                  // Value itself
	Fault                  // the address of a Record, or of memory that holds one: see Record
	State                  // the address of the memory of a *task.Block, which is the state of slot Index
)

// Arg is an argument of a launch.
type Arg struct {
	Kind          ArgKind
	Index, Number int
	Bytes         []byte // of kind Host
	Value         uint64 // of kind Value
}

// Record is where device code records an index outside of a tensor, or an integer division by 0. The first
// thread that swaps Code from 0 writes the values. A run fails if a record of one of its tasks has a code
// after the run.
type Record struct {
	Code   int64 // 0 if there is no fault
	Values [3]int64
}

// RecordBytes is the size of a record in the memory of a device.
const RecordBytes = 32

// Limits holds the limits of a device.
type Limits struct {
	Threads int    // of a block
	Block   [3]int // of each dimension of a block
	Grid    [3]int // of each dimension of a grid
	Shared  int    // bytes of shared memory of a block
}

// Least holds limits that all devices of compute capability 8.0 and above have.
var Least = Limits{Threads: 1024, Block: [3]int{1024, 1024, 64}, Grid: [3]int{1<<31 - 1, 65535, 65535}, Shared: 99 << 10}

// Check returns an error if a launch is beyond limits.
func (l *Launch) Check(limits Limits) error {
	threads := 1
	for d := range 3 {
		if l.Grid[d] < 1 || l.Grid[d] > limits.Grid[d] {
			return fmt.Errorf("%s: want 1 to %d blocks along dimension %d, got %d", l.Entry, limits.Grid[d], d, l.Grid[d])
		}
		if l.Block[d] < 1 || l.Block[d] > limits.Block[d] {
			return fmt.Errorf("%s: want 1 to %d threads along dimension %d of a block, got %d", l.Entry, limits.Block[d], d, l.Block[d])
		}
		threads *= l.Block[d]
	}
	if threads > limits.Threads {
		return fmt.Errorf("%s: want at most %d threads in a block, got %d", l.Entry, limits.Threads, threads)
	}
	if l.Shared < 0 || l.Shared > limits.Shared {
		return fmt.Errorf("%s: want at most %d bytes of shared memory, got %d", l.Entry, limits.Shared, l.Shared)
	}
	return nil
}

// Check returns an error if a unit does not fit a signature with this number of steps, or if one of its
// launches exceeds limits.
func (u *Unit) Check(s *task.Signature, limits Limits) error {
	fail := func(message string) error {
		return &op.Error{Operator: s.Operator.Name, Task: s.Task, Message: message}
	}
	if len(u.Steps) != len(s.Steps) {
		return fail(fmt.Sprintf("want device code for %d steps, got %d", len(s.Steps), len(u.Steps)))
	}
	for _, step := range u.Steps {
		for i := range step {
			l := &step[i]
			if err := l.Check(limits); err != nil {
				return fail(err.Error())
			}
			if slices.ContainsFunc(l.Args, func(a Arg) bool {
				return a.Kind == Tensor && (a.Index < 0 || a.Index >= len(s.Params)) || a.Kind == Scratch && (a.Index < 0 || a.Index >= len(u.Scratch)) ||
					a.Kind == State && (a.Index < 0 || a.Index >= len(s.Operator.Slots) || s.Operator.Slots[a.Index].Role != task.RoleState)
			}) {
				return fail(l.Entry + ": an argument refers to a tensor, a buffer or a state that is not there")
			}
		}
	}
	return nil
}
