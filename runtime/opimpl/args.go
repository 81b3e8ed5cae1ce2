package opimpl

import (
	"fmt"
	"reflect"

	"github.com/opgen/opgen/runtime/task"
)

// Argument returns the value of an argument.
func Argument[T any, S ~int](a *Binder[S], slot S) (v T) {
	if arg := a.arg(slot); arg != nil {
		a.setArgument(arg, reflect.ValueOf(&v).Elem())
	}
	return v
}

// arg returns the argument of a slot; nil if there is an error.
func (a *Binder[S]) arg(slot S) *task.Arg {
	if a.err != nil {
		return nil
	}
	arg := a.acc.Signature.Arg(int(slot))
	if arg == nil {
		a.noArgument(slot)
	}
	return arg
}

// argument sets a field to the value of an argument, or to the state that an init task has made. What the
// caller passes, the field follows.
func (a *Binder[S]) argument(arg *task.Arg, field reflect.Value) {
	slot := S(arg.Slot)
	switch {
	case a.err != nil:
	case arg.From == task.FromCall:
		a.follow(arg, field, a.slot(slot).Variadic)
	case arg.From == task.FromInit:
		a.setState(slot, field)
	default:
		a.setArgument(arg, field)
	}
}

func (a *Binder[S]) setArgument(arg *task.Arg, field reflect.Value) {
	value := a.acc.Value(arg.Slot, arg)
	if !set(field, value) {
		a.fail(S(arg.Slot), whole, fmt.Sprintf("a value of type %v from %v", field.Type(), arg.From), fmt.Sprintf("%T", value))
	}
	if arg.From == task.FromExpression {
		own(field)
	}
}

// set sets a field to a value; it returns false if the value has another type. A field of an interface's type
// holds any value that implements it.
func set(field reflect.Value, value any) bool {
	v := reflect.ValueOf(value)
	if !v.IsValid() || !v.Type().AssignableTo(field.Type()) || field.Kind() != reflect.Interface && v.Type() != field.Type() {
		return false
	}
	field.Set(v)
	return true
}

// noArgument keeps an error about a slot that is no argument of the task.
func (a *Binder[S]) noArgument(slot S) {
	if a.slot(slot) == nil {
		a.noSlot(slot)
		return
	}
	a.fail(slot, whole, "an argument of the task", "one that it does not take")
}

// Follow keeps a field of a task's arguments at the value that the caller passes for a slot.
func Follow[T any, S ~int](a *Binder[S], slot S, field *T) {
	if arg := a.arg(slot); arg != nil {
		a.follow(arg, reflect.ValueOf(field).Elem(), false)
	}
}

// FollowAll keeps a field of a task's arguments at the values that the caller passes for a slot. There are
// always as many.
func FollowAll[T any, S ~int](a *Binder[S], slot S, field *[]T) {
	if arg := a.arg(slot); arg != nil {
		a.follow(arg, reflect.ValueOf(field).Elem(), true)
	}
}

// follow keeps a field at the value that the caller passes for an argument, or at the list of all its values.
func (a *Binder[S]) follow(arg *task.Arg, field reflect.Value, all bool) {
	slot := S(arg.Slot)
	if a.acc.Passed == nil {
		a.fail(slot, whole, "values that the caller passes", "none")
		return
	}
	if err := arg.Check(a.acc.Signature, a.acc.Passed.Values(arg.Slot)); err != nil {
		a.err = err
		return
	}
	a.acc.Passed.Follow(arg.Slot, func(values []any) {
		if all {
			field.Grow(max(0, len(values)-field.Len()))
			field.SetLen(len(values))
		} else if len(values) != 1 {
			return
		}
		for i, v := range values {
			to := field
			if all {
				to = field.Index(i)
			}
			if !set(to, v) {
				a.fail(slot, whole, fmt.Sprintf("a value of type %v", to.Type()), fmt.Sprintf("%T", v))
			}
		}
	})
}

// StateOf returns the state of a slot, which an init task has made. Other tasks use it.
func StateOf[T any, S ~int](a *Binder[S], slot S) (v T) {
	a.setState(slot, reflect.ValueOf(&v).Elem())
	return v
}

func (a *Binder[S]) setState(slot S, field reflect.Value) {
	s := a.state(slot)
	if s != nil && !set(field, s.Value()) {
		a.fail(slot, whole, fmt.Sprintf("state of type %v, made by an init task", field.Type()), fmt.Sprintf("%T", s.Value()))
	}
}

// state returns the place of the state of a slot.
func (a *Binder[S]) state(slot S) *task.State {
	if a.err != nil {
		return nil
	}
	switch of := a.slot(slot); {
	case of == nil:
		a.noSlot(slot)
		return nil
	case of.Role != task.RoleState:
		a.fail(slot, whole, "a slot of role state", "one of role "+of.Role.String())
		return nil
	}
	var s *task.State
	if a.acc.State != nil {
		s = a.acc.State(int(slot))
	}
	if s == nil {
		a.fail(slot, whole, "an engine that keeps state", "none")
	}
	return s
}
