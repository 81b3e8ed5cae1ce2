package task

import "fmt"

// State is the per-device state of a node: what its init task made, and what its other tasks find.
//
// An operator whose tasks need descriptors, handles or tables has a slot of role RoleState, a task of
// KindInit that takes the slot with permission write, and, if there is something to free, one of
// KindCleanup. Neither takes tensors. An engine keeps one State for each node and each device, and
//
//   - when a plan is loaded, and before other tasks are bound, runs the steps of the init tasks, in the
//     plan's order, each once, as range [0, 1); their binding functions take the place of the state with
//     StateTo, and their bodies put the state there;
//   - binds all other tasks of the node, to which StateOf hands the state;
//   - when the plan is unloaded, or cannot be loaded after all, runs the cleanup tasks of those nodes
//     whose init has put a state, in reverse order, also if a task or another cleanup failed.
//
// The value is opaque to engines. It lives as long as the loaded plan, is shared by the workers of its
// device, and is not part of results: running a plan twice must not depend on it.
type State struct{ value any }

// Set reports whether a value was put.
func (s *State) Set() bool { return s.value != nil }

// StatePlace is where an init task puts the state that it makes, a T.
type StatePlace[T any] struct{ state *State }

// Put puts the state. What was there before is replaced.
func (p StatePlace[T]) Put(v T) {
	if p.state != nil {
		p.state.value = v
	}
}

// StateTo returns the place for the state of a slot. Init tasks use it.
func StateTo[T any, S ~int](a *Accessor, slot S) StatePlace[T] {
	return StatePlace[T]{a.state(int(slot))}
}

// StateOf returns the state of a slot, which an init task has made. Other tasks use it.
func StateOf[T any, S ~int](a *Accessor, slot S) T {
	var none T
	s := a.state(int(slot))
	if s == nil {
		return none
	}
	v, ok := s.value.(T)
	if !ok {
		a.fail(int(slot), fmt.Sprintf("state of type %T, made by an init task", none), fmt.Sprintf("%T", s.value))
	}
	return v
}

func (a *Accessor) state(slot int) *State {
	if a.err != nil {
		return nil
	}
	var s *State
	if a.State != nil {
		s = a.State(slot)
	}
	if s == nil {
		a.fail(slot, "an engine that keeps state", "none")
	}
	return s
}
