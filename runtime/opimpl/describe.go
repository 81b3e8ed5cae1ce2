package opimpl

import (
	"reflect"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// The functions below describe an operator with slots of its own type, which are numbers in package task. A
// slot of another operator does not compile.

// Params joins the parameters of a task.
func Params(lists ...[]task.Param) []task.Param { return slices.Concat(lists...) }

// Take returns the parameters of a task that are the tensors of slots.
func Take[S ~int](p perm.Perm, slots ...S) []task.Param { return params(task.Param{Perm: p}, slots) }

// TakeIf returns parameters as Take does, of slots that the task is given under a condition.
func TakeIf[S ~int](p perm.Perm, slots ...S) []task.Param {
	return params(task.Param{Perm: p, Optional: true}, slots)
}

// TakeGrads returns the parameters of a task that are the gradients of slots.
func TakeGrads[S ~int](p perm.Perm, slots ...S) []task.Param {
	return params(task.Param{Grad: true, Perm: p}, slots)
}

// AddToGrads returns the parameters of a task that are gradients to which it adds, element by element.
func AddToGrads[S ~int](slots ...S) []task.Param {
	return params(task.Param{Grad: true, Perm: perm.Write, Scatter: true}, slots)
}

// FoldInto returns the parameters of a task that are tensors into which it folds values with an operator.
func FoldInto[S ~int](r perm.Redop, slots ...S) []task.Param {
	return params(task.Param{Perm: perm.Reduce, Redop: r}, slots)
}

func params[S ~int](like task.Param, slots []S) []task.Param {
	out := make([]task.Param, len(slots))
	for i, slot := range slots {
		out[i] = like
		out[i].Slot = int(slot)
	}
	return out
}

// Arg returns an argument of type T. The options say more about it.
func Arg[T any, S ~int](slot S, from task.Source, options ...func(*task.Arg)) task.Arg {
	a := task.Arg{Slot: int(slot), Type: reflect.TypeFor[T](), From: from}
	for _, set := range options {
		set(&a)
	}
	return a
}

// Unchecked is the option of an argument that may hold pointers.
func Unchecked(a *task.Arg) { a.Unchecked = true }

// Default returns the option of an argument that has values, a list in JSON, if the caller passes none.
func Default(values string) func(*task.Arg) { return func(a *task.Arg) { a.Default = values } }

// PartitionOf returns the option of an argument that is the partition of a slot.
func PartitionOf[S ~int](slot S) func(*task.Arg) { return func(a *task.Arg) { a.Of = int(slot) } }

// InPlace says that the tensor of a slot may reuse the memory of the tensor of another slot.
func InPlace[S ~int](slot, of S) task.InPlace { return task.InPlace{Slot: int(slot), Of: int(of)} }

// ViewOf says that the tensor of a slot is a view of the tensor of another slot.
func ViewOf[S ~int](slot, of S) task.InPlace {
	return task.InPlace{Slot: int(slot), Of: int(of), View: true}
}

// Pair is a slot of another operator, and the own slot to which a fusion maps it.
func Pair[S ~int](other string, own S) task.FusionSlot {
	return task.FusionSlot{Other: other, Own: int(own)}
}

// Slots returns the numbers of slots.
func Slots[S ~int](slots ...S) []int {
	out := make([]int, len(slots))
	for i, slot := range slots {
		out[i] = int(slot)
	}
	return out
}

// Initializers returns the operators that initialize weights, by the number of the slot.
func Initializers[S ~int](of map[S]*graph.Operator) map[int]*graph.Operator {
	out := make(map[int]*graph.Operator, len(of))
	for slot, o := range of {
		out[int(slot)] = o
	}
	return out
}
