package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Code is device code that was written by hand, with what opgen generates around it. For generated code.
type Code struct {
	Source  string // CUDA C++
	Hash    string // of the source, which ends the names of its functions
	Numbers func(*task.Accessor) *Numbers
	Tasks   []Task
}

// Task says how device code of a task is launched.
type Task struct {
	ID       task.ID
	PerBlock bool                     // whether a block computes an index of a step; otherwise a thread does
	Block    int                      // threads of a block
	Shared   func(*task.Accessor) int // bytes of shared memory of a block; nil for none
}

// Register registers device code by hand for tasks of an operator, for all element types that are stored.
// What backends run on the host, such as tiles that are tasks, takes the kernels for CPUs that the registry
// has.
func Register(r *task.Registry, o *task.Operator, c Code) error {
	if r == nil {
		return fmt.Errorf("device code of %s: want a registry, got nil", o.Name)
	}
	var errs []error
	for i := range c.Tasks {
		t := &c.Tasks[i]
		s := o.Signatures[slices.IndexFunc(o.Signatures, func(s *task.Signature) bool { return s.ID == t.ID })]
		var variants []task.Variant
		for _, types := range choices(o.Types) {
			if s.Supports(types) {
				variants = append(variants, task.Variant{Target: CUDA, Types: types, Kernel: &hand{&c, t, s, types}, Bind: bindOf(r, s, types)})
			}
		}
		errs = append(errs, r.RegisterTask(t.ID, o.FullName()+" "+s.Task, s, variants...))
	}
	return errors.Join(errs...)
}

// bindOf returns what binds the kernel for CPUs of a task, or an error.
func bindOf(r *task.Registry, s *task.Signature, types []dtype.Type) func(*task.Accessor) ([]op.Body, error) {
	err := error(&op.Error{Operator: s.Operator.Name, Task: s.Task, Message: "there is no kernel for CPUs, which the host could run"})
	if t := r.Task(s.ID); t != nil {
		var v task.Variant
		if v, err = t.Variant(op.CPU, hosts(types)); err == nil {
			return v.Bind
		}
	}
	return func(*task.Accessor) ([]op.Body, error) { return nil, err }
}

// DimsOf returns the dimensions of a task's node. For generated code.
func DimsOf[D any](a *task.Accessor) D { return *a.Resolved.Dims.(*D) }

// AttrsOf returns the attributes of a task's node. For generated code.
func AttrsOf[A task.Attrs](a *task.Accessor) A { return a.Attrs.(A) }

// maxRank is how many extents opgen_extents has.
const maxRank = 8

// Numbers are the dimensions and the attributes that device code gets, packed as its struct has them: in
// words of 8 bytes. For generated code.
type Numbers struct {
	words []byte
	err   error
}

// Bytes returns what was packed.
func (n *Numbers) Bytes() []byte { return n.words }

// Int adds an integer.
func (n *Numbers) Int(v int) *Numbers {
	n.words = binary.LittleEndian.AppendUint64(n.words, uint64(v))
	return n
}

// Float adds a real number.
func (n *Numbers) Float(v float64) *Numbers {
	n.words = binary.LittleEndian.AppendUint64(n.words, math.Float64bits(v))
	return n
}

// Bool adds a condition, as 1 or 0.
func (n *Numbers) Bool(v bool) *Numbers {
	if v {
		return n.Int(1)
	}
	return n.Int(0)
}

// Extents adds a run of dimensions: their number, their product, and eight extents, of which unused ones are
// 1.
func (n *Numbers) Extents(dims ...int) *Numbers {
	if len(dims) > maxRank {
		n.err = fmt.Errorf("want at most %d dimensions in a run, got %d", maxRank, len(dims))
		return n
	}
	n.Int(len(dims)).Int(shape.Prod(dims))
	for i := range maxRank {
		if i < len(dims) {
			n.Int(dims[i])
		} else {
			n.Int(1)
		}
	}
	return n
}

// hand is device code by hand for a task and a choice of element types.
type hand struct {
	code      *Code
	task      *Task
	signature *task.Signature
	types     []dtype.Type
}

// Lower returns the launches of the task's steps.
func (h *hand) Lower(a *task.Accessor) (*Unit, error) {
	s := h.signature
	fail := func(message string) error {
		return &op.Error{Operator: s.Operator.Name, Task: s.Task, Message: message}
	}
	number := slices.Index(s.Operator.Signatures, s)
	args, err := h.args(a, number)
	if err != nil {
		return nil, err
	}
	shared := 0
	if h.task.Shared != nil {
		shared = h.task.Shared(a)
	}
	u := &Unit{Source: h.code.Source, Steps: make([][]Launch, len(s.Steps))}
	for i := range s.Steps {
		grid := a.Resolved.Work(number, i)
		work := 1
		for d := range grid.Rank() { // the index of a step is its place in the grid
			work *= grid.Dim(d).Over
		}
		if grid.Tiles() == 0 || work == 0 {
			continue
		}
		numbers := h.code.Numbers(a).Int(work)
		if numbers.err != nil {
			return nil, fail(numbers.err.Error())
		}
		blocks := work
		if !h.task.PerBlock {
			blocks = (work + h.task.Block - 1) / h.task.Block
		}
		entry := h.entry(s.Steps[i].Name)
		l := Launch{Entry: entry, Grid: [3]int{min(blocks, mostBlocks), 1, 1}, Block: [3]int{h.task.Block, 1, 1}, Shared: shared,
			Args: append(slices.Clip(args), Arg{Kind: Host, Bytes: numbers.Bytes()})}
		if !strings.Contains(h.code.Source, "blockIdx") && !strings.Contains(h.code.Source, "gridDim") { // it computes any block
			l.Body, l.Memory = entry+"_on", entry+"_memory"
		}
		u.Steps[i] = []Launch{l}
	}
	return u, nil
}

// mostBlocks is how many blocks a grid has at most; further indices come in turn.
const mostBlocks = 1 << 16

// entry returns the name of the function of a step.
func (h *hand) entry(step string) string {
	name := "opgen_" + h.signature.Operator.Name + "_" + h.signature.Task
	if step != "" {
		name += "_" + step
	}
	for _, t := range h.types {
		name += "_" + t.String()
	}
	return name + "_" + h.code.Hash
}

// args returns the tensors of the task, in the order of its signature, and blocks of the state with their
// sizes. Tensors that are absent have no address.
func (h *hand) args(a *task.Accessor, number int) ([]Arg, error) {
	var args []Arg
	for i, p := range h.signature.Params {
		var memory []task.Buffer
		if p.Grad || a.Resolved.Takes(number, p.Slot) {
			memory = a.Memory(p.Slot, p.Grad)
		}
		mode := tensor.Discard
		if len(memory) > 0 && len(memory[0].Bytes) > 0 {
			args = append(args, Arg{Kind: Tensor, Index: i})
			mode = memory[0].Mode
		} else {
			args = append(args, Arg{Kind: Value})
		}
		if p.Grad && p.Perm.Writes() {
			args = append(args, Arg{Kind: Value, Value: uint64(mode)})
		}
	}
	for _, x := range h.signature.Args {
		if x.From != task.FromInit || x.Type != reflect.TypeFor[*task.Block]() {
			continue
		}
		b, err := blockOf(a, x.Slot)
		if err != nil {
			return nil, err
		}
		args = append(args, Arg{Kind: State, Index: x.Slot}, Arg{Kind: Value, Value: uint64(b.Bytes())})
	}
	return args, nil
}

// blockOf returns the block that is the state of a slot.
func blockOf(a *task.Accessor, slot int) (*task.Block, error) {
	var state *task.State
	if a.State != nil {
		state = a.State(slot)
	}
	if state != nil {
		if b, ok := state.Value().(*task.Block); ok && b != nil {
			return b, nil
		}
	}
	got := "none"
	if state != nil {
		got = fmt.Sprintf("%T", state.Value())
	}
	s := a.Signature
	return nil, &op.Error{Operator: s.Operator.Name, Task: s.Task, Slot: s.Operator.Slots[slot].Name, Want: "a block that init allocated", Got: got}
}
