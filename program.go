package opgen

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
)

// Program is a program that a session has loaded.
type Program struct {
	session  *Session
	graph    *graph.Program
	instance *engine.Instance
	counter  *counter
}

// Value is an operand of a run: a tensor with its elements, or an argument of a node with its values.
type Value struct {
	tensor graph.Tensor
	node   *graph.Node // of an argument
	slot   string      // of an argument
	feed   func(*engine.Instance) error
	// An argument of optimizers, and its values.
	updates string
	values  []any
}

// device returns the device of the tensor or of the node that gets the value.
func (v *Value) device() int {
	if v.node != nil {
		return v.node.Device
	}
	return v.tensor.Device()
}

// With sets an input or a variable to its elements, in row-major order. A tensor of f16 or bf16 takes
// float32, which are rounded.
func With[T dtype.Element](t graph.Tensor, elements []T) Value {
	return Value{tensor: t, feed: func(in *engine.Instance) error { return engine.Feed(in, t.Name(), elements) }}
}

// Set gives an argument of a node, from "call" in the spec, new values, as many as the node has and of the
// same types. They hold from this run on, for all tasks of the node. What Apply was given holds until then,
// and in other programs. A slot of another operator stands for the argument of its name.
func Set[S ~int](n *graph.Node, slot S, values ...any) Value {
	name := fmt.Sprint(slot)
	if _, constant := any(slot).(fmt.Stringer); !constant && n != nil {
		name = n.Op.SlotName(int(slot)) // of a number
	}
	return Value{node: n, slot: name, feed: func(in *engine.Instance) error { return in.SetArg(n.Name, name, values...) }}
}

// SetUpdates sets an argument of an optimizer to new values, as Set does, in the updates of all weights: a
// learning rate, for example.
func SetUpdates[S interface {
	~int
	String() string
}](slot S, values ...any) Value {
	return Value{updates: slot.String(), values: values}
}

// Run runs the program once. Every input needs a value in every run; variables keep theirs from run to run.
// It is an error if a tensor is of another graph, or if the elements do not have its type and number. An
// error of a kernel is a
// *engine.TaskError. After it, what the program wrote is undefined, but the session remains usable.
func (p *Program) Run(ctx context.Context, values ...Value) (err error) {
	if err := p.lock(); err != nil {
		return err
	}
	defer p.session.mu.Unlock()
	defer func() { err = p.session.ranks.fail(err) }()
	for _, v := range values {
		if v.updates != "" {
			if err := p.setUpdates(v); err != nil {
				return err
			}
			continue
		}
		if err := p.takes(v); err != nil {
			return err
		}
		if p.session.ranks.elsewhere(v.device()) {
			if v.node == nil && v.tensor.Variable() {
				p.session.ranks.note(v.tensor)
			}
			continue
		}
		if err := v.feed(p.instance); err != nil {
			return err
		}
	}
	p.instance.SetStep(p.counter.steps)
	if err := p.session.run(ctx, p.instance); err != nil {
		return err
	}
	p.counter.steps++
	return nil
}

// lock locks the session of the program.
func (p *Program) lock() error {
	if p == nil {
		return errors.New("opgen: want a program that a session has loaded, got nil")
	}
	return p.session.lock()
}

// Shape returns the shape of the tensor that Fetch returns. It is the tensor's shape unless values decide how
// many rows count, as in the output of nonzero: then the first extent is that number.
func (p *Program) Shape(t graph.Tensor) ([]int, error) {
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer p.session.mu.Unlock()
	if err := p.has(t, "a fetched tensor or a variable", p.graph.Fetched, p.graph.Variables); err != nil {
		return nil, err
	}
	if err := p.here(t); err != nil {
		return nil, err
	}
	return p.instance.Shape(t.Name())
}

// Fetch returns the elements of a tensor in row-major order, after a run. The tensor is one that the program
// was made to fetch, such as the loss, or a variable. A tensor of f16 or bf16 gives float32.
func Fetch[T dtype.Element](p *Program, t graph.Tensor) ([]T, error) {
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer p.session.mu.Unlock()
	if err := p.has(t, "a fetched tensor or a variable", p.graph.Fetched, p.graph.Variables); err != nil {
		return nil, err
	}
	if err := p.here(t); err != nil {
		return nil, err
	}
	return engine.Fetch[T](p.instance, t.Name())
}

// takes checks that a run of the program may get a value.
func (p *Program) takes(v Value) error {
	if v.node == nil && v.slot != "" {
		return fmt.Errorf("opgen: program %s: want a node for Set of %s, got nil", p.graph.Name, v.slot)
	}
	if v.node == nil {
		return p.has(v.tensor, "an input or a variable", p.graph.Fed, p.graph.Variables)
	}
	for _, s := range p.graph.Steps {
		if s.Invocation != nil && s.Invocation.Node.Origin() == v.node.Origin() {
			return nil
		}
	}
	return fmt.Errorf("opgen: program %s: want a node that it runs, got node %s", p.graph.Name, v.node.Name)
}

// setUpdates gives an argument of optimizers its values, in all updates that have it.
func (p *Program) setUpdates(v Value) error {
	found := false
	for _, s := range p.graph.Steps {
		if s.Phase != graph.Update || s.Invocation == nil || s.Invocation.Node.Op.SlotNamed(v.updates) < 0 {
			continue
		}
		if found = true; p.session.ranks.elsewhere(s.Invocation.Node.Device) {
			continue
		}
		if err := p.instance.SetArg(s.Invocation.Node.Name, v.updates, v.values...); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("opgen: program %s: want an optimizer with the argument %s, got none", p.graph.Name, v.updates)
	}
	return nil
}

// here returns an error if a tensor is on another rank. Fetched tensors that are no variables are on all
// ranks, but for those of which a kernel decides how many rows count.
func (p *Program) here(t graph.Tensor) error {
	r := p.session.ranks
	if !r.elsewhere(t.Device()) || p.instance.Uses(t.Name()) && !counted(t) {
		return nil
	}
	return fmt.Errorf("opgen: program %s: want a tensor of rank %d, got %v, which rank %d has", p.graph.Name, r.Rank(), t, r.owner[t.Device()])
}

// counted reports whether a kernel decides how many rows of a tensor count.
func counted(t graph.Tensor) bool {
	n := t.Node()
	if n == nil {
		return false
	}
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].CountedBy != "" && slices.Contains(n.Tensors(slot), t) {
			return true
		}
	}
	return false
}

// has checks that a tensor is among those of the program. Another graph may have one of the same name.
func (p *Program) has(t graph.Tensor, want string, among ...[]graph.Tensor) error {
	for _, tensors := range among {
		if slices.Contains(tensors, t) {
			return nil
		}
	}
	return fmt.Errorf("opgen: program %s: want %s of its graph, got %v", p.graph.Name, want, t)
}

// Close unloads the program and frees its memory. Its variables stay with the session.
func (p *Program) Close() error {
	if err := p.lock(); err != nil {
		return err
	}
	defer p.session.mu.Unlock()
	p.counter.used = false
	return p.instance.Close()
}

// Plan returns the plan of the program, for tools such as draw.DOT.
func (p *Program) Plan() *plan.Plan { return p.instance.Plan() }

// Graph returns the program from which the plan was made, for tools such as cost.Work: that which was loaded,
// with its operators fused if the session was opened with Fuse.
func (p *Program) Graph() *graph.Program { return p.graph }

// Timings returns the time of every task; nil unless the session was opened with Profile.
func (p *Program) Timings() []Timing { return p.instance.Timings() }
