package task

// State is the per-device state of a node, which its init task makes and its other tasks use.
//
// An operator whose tasks need descriptors, handles or tables has a slot of role RoleState, a task of
// KindInit that takes the slot with permission write, and, if there is something to free, one of KindCleanup.
// Neither takes tensors, but init may take scratch memory of the shapes of slots, to try algorithms on. An
// engine keeps one State for each node and each device, which its plans share, and
//
//   - when the first plan with the node is loaded, and before other tasks are bound, runs the steps of the
//     init tasks, in the plan's order, each once, as range [0, 1); their bodies put the state;
//   - binds all other tasks of the node, to which it hands the state;
//   - when the last plan with the node is unloaded, or cannot be loaded after all, runs the cleanup tasks of
//     those nodes whose init has put a state, in reverse order, also if a task or another cleanup failed.
//
// The value is opaque to engines. It lives as long as the plans that have the node, is shared by the workers
// of its device, and is not part of results: running a plan twice must not depend on it.
type State struct{ value any }

// Put puts the state. What was there before is replaced.
func (s *State) Put(v any) { s.value = v }

// Value returns the state that was put last, or nil.
func (s *State) Value() any { return s.value }

// Set reports whether a value was put.
func (s *State) Set() bool { return s.value != nil }

// States is the per-device state of a node, by slot. Only those of slots of role RoleState are used. Nil is
// that of a node that has none.
type States []State

// NewStates returns the states of a node of an operator, of which none has been put.
func NewStates(o *Operator) States { return make(States, len(o.Slots)) }

// Slot returns the state of a slot, nil if the node has none.
func (s States) Slot(slot int) *State {
	if slot < 0 || slot >= len(s) {
		return nil
	}
	return &s[slot]
}
