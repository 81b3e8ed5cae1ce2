package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

// state is the per-device state of a node. Loaded plans that have the node share it.
type state struct {
	values task.States
	made   bool // whether init has put all of them
	plan   *plan.State
	key    string
	number int // in the order in which states are made
	users  int // loaded plans
	memory *stateMemory
	took   time.Duration // by init
}

// stateKey returns all that a state depends on: node, device, attributes, and the types and shapes of what
// the operator is applied to.
func stateKey(c *plan.Call) (string, error) {
	key, err := json.Marshal(c)
	return string(key), err
}

// StateUse is the memory of the per-device state of a node.
type StateUse struct {
	Node  string
	Bytes int64         // of memory that its init task allocated
	Init  time.Duration // how long the init task took
}

// States returns the memory of the states of the plan's nodes, in the order of the plan.
func (in *Instance) States() []StateUse {
	mustLock(in.lock())
	defer in.engine.mu.Unlock()
	var out []StateUse
	for _, s := range in.order {
		out = append(out, StateUse{s.plan.Node, s.memory.bytes(), s.took})
	}
	return out
}

// makeStates runs the init tasks of the plan, but not for nodes whose state another loaded plan has. After an
// error, dropStates frees what was made.
func (in *Instance) makeStates() error {
	in.states = map[string]*state{}
	if err := in.checkStates(); err != nil {
		return err
	}
	for i := range in.plan.States {
		p := &in.plan.States[i]
		key, err := stateKey(&p.Init)
		if err != nil {
			return in.stateError(&p.Init, err)
		}
		s := in.engine.states[key]
		if s == nil {
			in.engine.made++
			s = &state{plan: p, key: key, number: in.engine.made, memory: in.engine.newStateMemory(&p.Init)}
			if reg := in.engine.registry.Task(p.Init.ID); reg != nil { // resolving reports a task that is not registered
				s.values = task.NewStates(reg.Signature.Operator)
			}
			in.engine.states[key] = s
		}
		s.users++
		in.states[p.Node] = s
		in.order = append(in.order, s)
		if s.made {
			continue
		}
		begin := time.Now()
		if err := in.runOnce(&p.Init); err != nil {
			return err
		}
		s.took = time.Since(begin)
		for i, slot := range in.engine.registry.Task(p.Init.ID).Signature.Operator.Slots {
			if slot.Role == task.RoleState && !s.values[i].Set() {
				return in.stateError(&p.Init, &op.Error{Operator: p.Init.Operator, Task: p.Init.Task, Slot: slot.Name, Want: "an init task that puts a state", Got: "none"})
			}
		}
		s.made = true
	}
	return nil
}

// dropStates runs the cleanup tasks of the states that no other loaded plan has, the latest first, also after
// an error. It frees their memory.
func (in *Instance) dropStates() error {
	var errs []error
	slices.SortFunc(in.order, func(a, b *state) int { return b.number - a.number })
	for _, s := range in.order {
		if s.users--; s.users > 0 {
			continue
		}
		if s.made && s.plan.Cleanup != nil {
			errs = append(errs, in.runOnce(s.plan.Cleanup))
		}
		for _, r := range s.memory.blocks {
			errs = append(errs, in.engine.alloc.free(r))
		}
		delete(in.engine.states, s.key)
	}
	in.order, in.states = nil, nil
	return errors.Join(errs...)
}

// runOnce binds an init or cleanup task, and runs each of its steps once, as range [0, 1).
func (in *Instance) runOnce(c *plan.Call) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			err = in.stateError(c, exec.Plain(err))
		}
	}()
	call, err := in.resolve(c)
	if err != nil {
		return err
	}
	call.memory = in.states[c.Node].memory
	call.memory.open = true
	defer func() { call.memory.open = false }()
	free, err := in.trial(call, c.Node)
	defer func() { err = errors.Join(err, free()) }()
	if err != nil {
		return err
	}
	steps, err := in.engine.backend.BindCall(call)
	if err != nil {
		return err
	}
	for _, l := range steps {
		if err := l.Launch(); err != nil {
			return err
		}
	}
	return nil
}

// trial allocates the tensors on which an init task tries algorithms: scratch memory of the shapes of slots.
// free frees it.
func (in *Instance) trial(c *Call, node string) (free func() error, err error) {
	var regions []Region
	free = func() error {
		var errs []error
		for _, r := range regions {
			errs = append(errs, in.engine.alloc.free(r))
		}
		return errors.Join(errs...)
	}
	for i, p := range c.Signature.Params {
		if p.Perm != perm.Scratch {
			continue
		}
		for _, o := range c.Resolved.Operands(p.Slot) {
			o = in.engine.target.Operand(o)
			r, err := in.engine.alloc.allocate(c.Device, fmt.Sprintf("tensors on which %s of node %s tries algorithms", c.Signature.Task, node), o.Bytes())
			if err != nil {
				return free, err
			}
			regions = append(regions, r)
			c.Params[i] = append(c.Params[i], Tensor{Operand: o, Region: r})
		}
	}
	return free, nil
}

func (in *Instance) stateError(c *plan.Call, err error) error {
	e := &TaskError{Plan: in.plan.Name, Label: fmt.Sprintf("%s: %s.%s", c.Node, c.Operator, c.Task), Range: op.Range{Lo: 0, Hi: 1}, Err: err}
	e.locate(c)
	return e
}
