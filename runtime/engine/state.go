package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

// state is the per-device state of a node.
type state struct {
	task.State
	plan *plan.State
}

// makeStates runs the init tasks of the plan. After an error, dropStates frees what was made.
func (in *Instance) makeStates() error {
	in.states = map[string]*state{}
	for i := range in.plan.States {
		s := &state{plan: &in.plan.States[i]}
		in.states[s.plan.Node] = s
		in.order = append(in.order, s)
		if err := in.runOnce(&s.plan.Init); err != nil {
			return err
		}
		if !s.Set() {
			return in.stateError(&s.plan.Init, &op.Error{Operator: s.plan.Init.Operator, Task: s.plan.Init.Task, Want: "an init task that puts a state", Got: "none"})
		}
	}
	return nil
}

// dropStates runs the cleanup tasks of all states that were made, the latest first, also after an error.
func (in *Instance) dropStates() error {
	var errs []error
	for i := len(in.order) - 1; i >= 0; i-- {
		if s := in.order[i]; s.Set() && s.plan.Cleanup != nil {
			errs = append(errs, in.runOnce(s.plan.Cleanup))
		}
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
			err = in.stateError(c, err)
		}
	}()
	call, err := in.resolve(c)
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

func (in *Instance) stateError(c *plan.Call, err error) error {
	e := &TaskError{Plan: in.plan.Name, Label: fmt.Sprintf("%s: %s.%s", c.Node, c.Operator, c.Task), Range: op.Range{Lo: 0, Hi: 1}, Err: err}
	e.locate(c)
	return e
}
