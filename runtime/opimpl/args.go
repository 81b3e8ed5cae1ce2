package opimpl

import (
	"fmt"
	"reflect"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Argument returns the value of an argument.
func Argument[T any, S ~int](a *Binder[S], slot S) T {
	var zero T
	if a.err != nil {
		return zero
	}
	arg := a.acc.Signature.Arg(int(slot))
	if arg == nil {
		a.noArgument(slot)
		return zero
	}
	value := a.acc.Value(int(slot), arg)
	v, ok := value.(T)
	if arg.From == task.FromExpression {
		own(reflect.ValueOf(&v).Elem())
	}
	if !ok {
		a.fail(slot, whole, fmt.Sprintf("a value of type %T from %v", zero, arg.From), fmt.Sprintf("%T", value))
	}
	return v
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
	follow(a, slot, func(values []T) {
		if len(values) == 1 {
			*field = values[0]
		}
	})
}

// FollowAll keeps a field of a task's arguments at the values that the caller passes for a slot. There are
// always as many.
func FollowAll[T any, S ~int](a *Binder[S], slot S, field *[]T) {
	follow(a, slot, func(values []T) { *field = append((*field)[:0], values...) })
}

func follow[T any, S ~int](a *Binder[S], slot S, set func([]T)) {
	arg := a.acc.Signature.Arg(int(slot))
	switch {
	case a.err != nil:
		return
	case arg == nil:
		a.noArgument(slot)
		return
	case a.acc.Passed == nil:
		a.fail(slot, whole, "values that the caller passes", "none")
		return
	}
	if err := arg.Check(a.acc.Signature, a.acc.Passed.Values(int(slot))); err != nil {
		a.err = err
		return
	}
	a.acc.Passed.Follow(int(slot), func(values []any) {
		list := make([]T, len(values))
		for i, v := range values {
			var ok bool
			if list[i], ok = v.(T); !ok {
				a.fail(slot, whole, fmt.Sprintf("a value of type %T", list[i]), fmt.Sprintf("%T", v))
			}
		}
		set(list)
	})
}

// StateOf returns the state of a slot, which an init task has made. Other tasks use it.
func StateOf[T any, S ~int](a *Binder[S], slot S) T {
	var none T
	s := a.state(slot)
	if s == nil {
		return none
	}
	v, ok := s.Value().(T)
	if !ok {
		a.fail(slot, whole, fmt.Sprintf("state of type %T, made by an init task", none), fmt.Sprintf("%T", s.Value()))
	}
	return v
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

// once is a body that does the same for every range.
type once func(ctx *op.Ctx) error

func (f once) Run(ctx *op.Ctx, _ op.Range) error { return f(ctx) }

// Init returns the body of a task that makes the states of slots. make returns a value for each slot, in
// their order.
func Init[S ~int](a *Binder[S], make func(*op.Ctx) ([]any, error), slots ...S) op.Body {
	var places []*task.State
	for _, slot := range slots {
		places = append(places, a.state(slot))
	}
	return once(func(ctx *op.Ctx) error {
		values, err := make(ctx)
		if err == nil {
			for i, place := range places {
				place.Put(values[i])
			}
		}
		return err
	})
}

// Cleanup returns the body of a task that frees state.
func Cleanup(free func(*op.Ctx) error) op.Body { return once(free) }
