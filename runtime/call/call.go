// Package call binds an operator to memory of the program, to run it at once: without a graph, a plan and
// workers.
package call

import (
	"fmt"
	"runtime/debug"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Operand is the content of a slot: a tensor in memory, or the values of an argument.
type Operand struct {
	Slot int
	// Name is the name of the slot, or "" if it is unknown.
	Name     string
	Tensor   task.Operand
	Elements int    // of Bytes
	Bytes    []byte // elements in row-major order
	Values   []any  // of an argument; otherwise nil
}

// Call is a task that is bound to memory.
type Call struct {
	name  string // of the task, for people
	steps []step
	ctx   op.Ctx
}

// step is a step of a task, with its whole domain.
type step struct {
	body  op.Body
	whole op.Range
}

// Bind binds the task of an operator that forward runs, or the update of an optimizer, to its inputs, weights
// and outputs. The error names the operator and the slot.
func Bind(tasks *task.Registry, o *task.Operator, attrs task.Attrs, operands []Operand) (*Call, error) {
	b := &binder{o: o, memory: make([][]task.Buffer, len(o.Slots)), passed: map[int][]any{}, places: map[int][]int{}, listed: map[int]int{}}
	for i := range operands {
		if err := b.take(&operands[i]); err != nil {
			return nil, err
		}
	}
	return b.bind(tasks, attrs)
}

// binder binds a call.
type binder struct {
	o      *task.Operator
	sig    *task.Signature
	memory [][]task.Buffer // by slot
	passed map[int][]any   // by slot
	places map[int][]int   // by slot whose tensors may be absent: the places of those that are there
	listed map[int]int     // by slot: how many tensors its list has, with absent ones
}

func (b *binder) fail(slot int, want, got string) error {
	e := &op.Error{Operator: b.o.FullName(), Want: want, Got: got}
	if b.sig != nil {
		e.Task = b.sig.Task
	}
	if slot >= 0 {
		e.Slot = b.o.Slots[slot].Name
	}
	return e
}

// take notes what a slot is given.
func (b *binder) take(x *Operand) error {
	if x.Slot < 0 || x.Slot >= len(b.o.Slots) || x.Name != "" && x.Name != b.o.Slots[x.Slot].Name {
		return b.fail(-1, "slots of the operator", fmt.Sprintf("slot %d %s", x.Slot, x.Name))
	}
	role := b.o.Slots[x.Slot].Role
	if x.Values != nil {
		if role != task.RoleArgument {
			return b.fail(x.Slot, "values for an argument that the caller passes", "values for a slot of role "+role.String())
		}
		if b.passed[x.Slot] != nil {
			return b.fail(x.Slot, "the values of an argument once", "them twice")
		}
		b.passed[x.Slot] = x.Values
		return nil
	}
	if role != task.RoleInput && role != task.RoleWeight && role != task.RoleOutput {
		return b.fail(x.Slot, "a tensor for an input, a weight or an output", "one for a slot of role "+role.String())
	}
	at := b.listed[x.Slot]
	b.listed[x.Slot]++
	if b.o.Slots[x.Slot].Gaps && x.Bytes == nil && x.Elements == 0 && len(x.Tensor.Shape) == 0 {
		return nil // left out
	}
	if slices.ContainsFunc(x.Tensor.Shape, func(n int) bool { return n < 0 }) || shape.Prod(x.Tensor.Shape) != x.Elements {
		return b.fail(x.Slot, fmt.Sprintf("as many elements as shape %v has", x.Tensor.Shape), fmt.Sprint(x.Elements))
	}
	b.memory[x.Slot] = append(b.memory[x.Slot], task.Buffer{Operand: x.Tensor, Bytes: x.Bytes, Mode: tensor.Store})
	b.places[x.Slot] = append(b.places[x.Slot], at)
	return nil
}

// bind resolves the operator, and binds its kernel.
func (b *binder) bind(tasks *task.Registry, attrs task.Attrs) (*Call, error) {
	at := slices.IndexFunc(b.o.Signatures, func(s *task.Signature) bool { return s.Kind == task.KindForward || s.Kind == task.KindUpdate })
	if at < 0 {
		return nil, b.fail(-1, "an operator with a forward or an update task", "one with neither")
	}
	b.sig = b.o.Signatures[at]
	registered := tasks.Task(b.sig.ID)
	if registered == nil || registered.Signature.Operator != b.o {
		return nil, b.fail(-1, "an operator that the session has", "another; register its catalogue")
	}
	res, err := b.resolve(attrs)
	if err != nil {
		return nil, err
	}
	for i := range res.Types {
		if t := res.Types[i]; t != t.Host() {
			return nil, b.fail(-1, fmt.Sprintf("element type %v, in which kernels compute", t.Host()), t.String())
		}
	}
	if err := b.check(res); err != nil {
		return nil, err
	}
	variant, err := registered.Variant(op.CPU, res.Types)
	if err != nil {
		return nil, err
	}
	bodies, err := variant.Bind(&task.Accessor{Signature: b.sig, Attrs: attrs, Resolved: res, Passed: task.NewPassed(b.passed),
		Memory:  func(slot int, _ bool) []task.Buffer { return b.memory[slot] },
		Workers: func(slot int) []task.Buffer { return b.memory[slot] }})
	if err != nil {
		return nil, err
	}
	c := &Call{name: b.o.FullName() + "." + b.sig.Task}
	for i, body := range bodies {
		if g := res.Work(at, i); g.Tiles() > 0 {
			c.steps = append(c.steps, step{body, g.Whole()})
		}
	}
	return c, nil
}

// resolve applies the operator to what it is given.
func (b *binder) resolve(attrs task.Attrs) (*task.Resolution, error) {
	given := task.NoneGiven(b.o)
	given.Pass(b.passed)
	for i, s := range b.o.Slots {
		if places := task.Gaps(b.places[i]); places != nil {
			if given.Places == nil {
				given.Places = map[int][]int{}
			}
			given.Places[i] = places
		}
		if s.Role != task.RoleInput && !s.Provided {
			if s.OnRequest {
				given.Requested[i] = len(b.memory[i])
			}
			continue
		}
		for _, m := range b.memory[i] {
			given.Operands[i] = append(given.Operands[i], m.Operand)
		}
	}
	for i := range b.sig.Args {
		a := &b.sig.Args[i]
		switch a.From {
		case task.FromCall:
			values, err := a.Complete(b.sig, b.passed[a.Slot])
			if err != nil {
				return nil, err
			}
			if values != nil {
				b.passed[a.Slot] = values
			}
			if err := a.Check(b.sig, values); err != nil {
				return nil, err
			}
		case task.FromInit:
			return nil, b.fail(a.Slot, "an operator without a state for each device, or a graph", "one with such a state")
		}
	}
	for slot := range b.passed {
		if a := b.sig.Arg(slot); a == nil || a.From != task.FromCall {
			return nil, b.fail(slot, "an argument that the caller passes", "one that no caller does")
		}
	}
	return task.Resolve(b.o, attrs, given)
}

// check compares the memory of each slot with the tensors that the operator has there, and allocates what
// only the call needs.
func (b *binder) check(res *task.Resolution) error {
	for i, s := range b.o.Slots {
		want := res.Operands(i)
		switch s.Role {
		case task.RoleSaved, task.RoleScratch:
			b.memory[i] = nil
			for _, o := range want {
				b.memory[i] = append(b.memory[i], task.Buffer{Operand: o, Bytes: aligned(int(o.Bytes())), Mode: tensor.Store})
			}
			continue
		case task.RoleInput, task.RoleWeight, task.RoleOutput:
		default:
			continue
		}
		if len(want) != len(b.memory[i]) {
			return b.fail(i, fmt.Sprintf("%d tensors", len(want)), fmt.Sprint(len(b.memory[i])))
		}
		for k, m := range b.memory[i] {
			if w := want[k]; m.Type != w.Type || !shape.Equal(m.Shape, w.Shape) {
				return b.fail(i, fmt.Sprintf("a tensor of %v of shape %v", w.Type, w.Shape), fmt.Sprintf("one of %v of shape %v", m.Type, m.Shape))
			}
		}
	}
	return b.apart()
}

// apart returns an error if memory that the task writes is also that of another tensor, unless the spec says
// that one may lie where the other lies.
func (b *binder) apart() error {
	type part struct {
		slot   int
		tensor int // its number in the slot
		lo, hi uintptr
		writes bool
	}
	var parts []part
	for _, p := range b.sig.Params {
		for k, m := range b.memory[p.Slot] {
			if len(m.Bytes) > 0 {
				lo := uintptr(unsafe.Pointer(unsafe.SliceData(m.Bytes)))
				parts = append(parts, part{p.Slot, k, lo, lo + uintptr(len(m.Bytes)), p.Perm.Writes()})
			}
		}
	}
	for i, p := range parts {
		for _, q := range parts[:i] {
			if !p.writes && !q.writes || p.lo >= q.hi || q.lo >= p.hi {
				continue
			}
			same := p.lo == q.lo && p.hi == q.hi && p.tensor == q.tensor && slices.ContainsFunc(b.sig.InPlace, func(x task.InPlace) bool {
				return x.Slot == p.slot && x.Of == q.slot || x.Slot == q.slot && x.Of == p.slot
			})
			if !same {
				return b.fail(p.slot, "memory of its own", "memory of "+b.o.Slots[q.slot].Name)
			}
		}
	}
	return nil
}

// aligned returns memory that is aligned for all element types.
func aligned(bytes int) []byte {
	words := make([]uint64, (bytes+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), bytes)
}

// Run runs the task with what the memory holds now, in the calling goroutine. One run at a time may use the
// call. A kernel that panics gives an *exec.Panic.
func (c *Call) Run() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = c.failed(&exec.Panic{Value: v, Stack: debug.Stack()})
		}
	}()
	c.ctx.Run = op.NextRun()
	for i := range c.steps {
		s := &c.steps[i]
		if err := s.body.Run(&c.ctx, s.whole); err != nil {
			return c.failed(err)
		}
	}
	c.ctx.Step++
	return nil
}

func (c *Call) failed(err error) error { return fmt.Errorf("%s: %w", c.name, err) }
