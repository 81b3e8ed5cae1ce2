package opimpl

import (
	"iter"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Below bounds the values of an integer input, which lie in [0, bound).
func (r *Resolver[S]) Below(slot S, bound int) { r.below(int(slot), task.Bound{Below: bound}) }

// BelowOr bounds the values of an integer input, which lie in [0, bound) or are the exception.
func (r *Resolver[S]) BelowOr(slot S, bound, exception int) {
	r.below(int(slot), task.Bound{Below: bound, Except: exception, HasExcept: true})
}

// Has reports whether a slot has a tensor, or an argument a value.
func (r *Resolver[S]) Has(slot S) bool { return r.has(int(slot)) }

// Len returns how many tensors a slot has, or how many values the caller passes for an argument.
func (r *Resolver[S]) Len(slot S) int { return r.len(int(slot)) }

// Places returns the places of a slot's tensors in the list that the caller passes.
func (r *Resolver[S]) Places(slot S) []int { return r.places(int(slot)) }

// Requested reports whether the caller requests an output.
func (r *Resolver[S]) Requested(slot S) bool { return r.requested(int(slot)) }

// Asked returns the number of tensors of a variadic output that the caller requests.
func (r *Resolver[S]) Asked(slot S) int { return r.asked(int(slot)) }

// Tensor returns the tensor of a slot, which may be absent.
func (r *Resolver[S]) Tensor(slot S) Operand { return r.tensor(int(slot)) }

// Each yields the tensors of a variadic slot and their numbers, until the first error.
func (r *Resolver[S]) Each(slot S) iter.Seq2[int, Operand] { return r.each(int(slot)) }

// BindType sets a dtype variable to the common element type of the given slots, which must be one of the
// variable's types. Absent slots do not count.
func (r *Resolver[S]) BindType(name string, slots ...S) dtype.Type {
	return r.bindType(name, numbers(slots))
}

// FixedType requires that a slot's tensors have element type t.
func (r *Resolver[S]) FixedType(slot S, t dtype.Type) { r.fixedType(int(slot), t) }

// Count returns n, the number of tensors that a variadic slot is to have, if that is possible, and otherwise
// 0.
func (r *Resolver[S]) Count(slot S, n int) int { return r.count(int(slot), n) }

// Set adds a tensor to a slot. A slot that is not variadic has one. No extent may be negative.
func (r *Resolver[S]) Set(slot S, t dtype.Type, dims ...int) { r.set(int(slot), t, dims) }

// Arg sets an argument that comes from an expression to its value.
func (r *Resolver[S]) Arg(slot S, v any) { r.arg(int(slot), v) }

// Unused tells that a task does not take the tensors of a slot.
func (r *Resolver[S]) Unused(id task.ID, slot S) { r.unused(id, int(slot)) }

// Divide tells that tensors of a slot may be divided along axes lo to hi-1, which are the dimension dim of
// the operator's shards.
func (r *Resolver[S]) Divide(dim string, slot S, lo, hi int) { r.divide(dim, int(slot), lo, hi) }

// Footprint states which elements of a slot's tensor an index of a step with tiles accesses.
func (r *Resolver[S]) Footprint(id task.ID, step string, slot S, parts ...Part) {
	r.footprint(id, step, int(slot), parts)
}

// numbers returns the numbers of slots.
func numbers[S ~int](slots []S) []int {
	out := make([]int, len(slots))
	for i, s := range slots {
		out[i] = int(s)
	}
	return out
}
