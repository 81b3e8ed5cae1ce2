package opimpl

import (
	"fmt"
	"iter"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Resolver computes the types and shapes of an operator's slots: it starts with what the caller passes, and
// the operator's rules fill in the rest. It keeps its first error; later calls do nothing. S is the
// operator's slot type.
type Resolver[S ~int] struct {
	op  *task.Operator
	res *task.Resolution
	err error

	usual [][2]int // tasks and steps with usual grains
}

// Resolve returns the function that applies an operator's rules, written for its attributes A and dimensions
// D.
func Resolve[S ~int, A task.Attrs, D any](rules func(r *Resolver[S], a A, d *D)) func(*task.Operator, task.Attrs, task.Given) (*task.Resolution, error) {
	return func(o *task.Operator, attrs task.Attrs, given task.Given) (*task.Resolution, error) {
		a, ok := attrs.(A)
		if !ok {
			return nil, &op.Error{Operator: o.FullName(), Want: fmt.Sprintf("attributes of type %T", a), Got: fmt.Sprintf("%T", attrs)}
		}
		d := new(D)
		r := newResolver[S](o, given)
		r.res.Dims = d
		if r.err == nil {
			rules(r, a, d)
		}
		if r.err != nil {
			return nil, r.err
		}
		r.keepSmall()
		return r.res, nil
	}
}

// newResolver returns a resolver that has the inputs, whose number it checks.
func newResolver[S ~int](o *task.Operator, given task.Given) *Resolver[S] {
	r := &Resolver[S]{op: o, res: &task.Resolution{
		Types:  make([]dtype.Type, len(o.Types)),
		Inputs: given,
		Slots:  make([][]task.Operand, len(o.Slots)),
		Grids:  make([][]op.Grid, len(o.Signatures)),
		Costs:  make([]task.Cost, len(o.Signatures)),
		Shards: make([][]task.ShardAxes, len(o.Shards)),
		Unused: make([]map[int]bool, len(o.Signatures)),
	}}
	for i, s := range o.Signatures {
		for range s.Steps {
			r.res.Grids[i] = append(r.res.Grids[i], *op.Line(0, 1))
		}
	}
	for i := range o.Slots {
		s, ops := &o.Slots[i], given.Operands[i]
		if n := given.Requested[i]; n != 0 || s.OnRequest {
			r.checkRequest(S(i), n)
		}
		if s.Role != task.RoleInput && !s.Provided {
			continue
		}
		r.res.Slots[i] = ops
		switch {
		case s.Variadic && (len(ops) < s.Min || len(ops) > s.Max):
			r.fail(S(i), whole, arity(s), fmt.Sprint(len(ops)))
		case !s.Variadic && len(ops) == 0 && !s.Optional:
			r.fail(S(i), 0, "a tensor", "none")
		case !s.Variadic && len(ops) > 1:
			r.fail(S(i), 0, "one tensor", fmt.Sprint(len(ops)))
		}
	}
	return r
}

// checkRequest checks how many tensors of an output the caller asks for.
func (r *Resolver[S]) checkRequest(slot S, n int) {
	s := &r.op.Slots[slot]
	switch {
	case !s.OnRequest:
		r.fail(slot, whole, "an output that is made on request", fmt.Sprintf("a request of %d tensors", n))
	case s.Variadic && (n < s.Min || n > min(s.Max, maxTensors)):
		r.fail(slot, whole, arity(s)+" that the caller asks for", fmt.Sprint(n))
	case !s.Variadic && n > 1:
		r.fail(slot, whole, "at most one tensor", fmt.Sprint(n))
	}
}

// arity says in words how many tensors a variadic slot holds.
func arity(s *task.Slot) string {
	switch {
	case s.Max == task.Unbounded && s.Min == 1:
		return "one or more tensors"
	case s.Max == task.Unbounded:
		return fmt.Sprintf("at least %d tensors", s.Min)
	case s.Min == s.Max:
		return fmt.Sprintf("%d tensors", s.Min)
	}
	return fmt.Sprintf("%d to %d tensors", s.Min, s.Max)
}

// whole stands for a slot as a whole, rather than for one of its tensors, and none for no slot.
const (
	whole = -1
	none  = -1
)

// fail keeps an error about tensor number i of a slot, unless there is one already.
func (r *Resolver[S]) fail(slot S, i int, want, got string) {
	if r.err == nil {
		e := &op.Error{Operator: r.op.FullName(), Want: want, Got: got}
		if slot >= 0 {
			e.Slot = tensorName(&r.op.Slots[slot], i)
		}
		r.err = e
	}
}

// tensorName names a slot in messages or, if the slot is variadic, one of its tensors: "input[2]".
func tensorName(s *task.Slot, i int) string {
	if !s.Variadic || i == whole {
		return s.Name
	}
	return fmt.Sprintf("%s[%d]", s.Name, i)
}

// task returns the number of a task.
func (r *Resolver[S]) task(id task.ID) int {
	for t, s := range r.op.Signatures {
		if s.ID == id {
			return t
		}
	}
	panic(fmt.Sprintf("opimpl: operator %s has no task %v", r.op.FullName(), id)) // which a registry has checked
}

// Below bounds the values of an integer input, which lie in [0, bound).
func (r *Resolver[S]) Below(slot S, bound int) {
	if r.res.Bounds == nil {
		r.res.Bounds = map[int]int{}
	}
	r.res.Bounds[int(slot)] = bound
}

// Has reports whether a slot has a tensor, or an argument a value.
func (r *Resolver[S]) Has(slot S) bool { return r.Len(slot) > 0 }

// Len returns how many tensors a slot has, or how many values the caller passes for an argument.
func (r *Resolver[S]) Len(slot S) int {
	if r.op.Slots[slot].Role == task.RoleArgument {
		return r.res.Inputs.Values[slot]
	}
	return len(r.res.Slots[slot])
}

// Requested reports whether the caller requests an output.
func (r *Resolver[S]) Requested(slot S) bool { return r.res.Inputs.Requested[slot] > 0 }

// Asked returns how many tensors of a variadic output the caller asks for.
func (r *Resolver[S]) Asked(slot S) int { return r.res.Inputs.Requested[slot] }

// Tensor returns the tensor of a slot, which may be absent.
func (r *Resolver[S]) Tensor(slot S) Operand[S] { return Operand[S]{r, slot, 0} }

// Each yields the tensors of a variadic slot and their numbers, until the first error.
func (r *Resolver[S]) Each(slot S) iter.Seq2[int, Operand[S]] {
	return func(yield func(int, Operand[S]) bool) {
		for i := range r.res.Slots[slot] {
			if r.err != nil || !yield(i, Operand[S]{r, slot, i}) {
				return
			}
		}
	}
}

// BindType gives a dtype variable the element type that the given slots have in common, which must be one of
// the variable's types. Absent slots do not count.
func (r *Resolver[S]) BindType(name string, slots ...S) dtype.Type {
	tv, t := r.variable(name)
	for _, s := range slots {
		for i, o := range r.res.Slots[s] {
			switch {
			case r.err != nil:
			case !dtype.Contains(tv.Types, o.Type):
				r.fail(s, i, fmt.Sprintf("element type %s in %s", tv.Name, dtype.Format(tv.Types)), o.Type.String())
			case *t == dtype.Invalid:
				*t = o.Type
			case *t != o.Type:
				r.fail(s, i, fmt.Sprintf("element type %s = %s", tv.Name, *t), o.Type.String())
			}
		}
	}
	return *t
}

// TypeFrom gives a dtype variable, unless an input has bound it, the first of the candidates that is given,
// that is, not dtype.Invalid. It must be one of the variable's types.
func (r *Resolver[S]) TypeFrom(name string, candidates ...dtype.Type) dtype.Type {
	tv, bound := r.variable(name)
	for _, t := range candidates {
		switch {
		case r.err != nil || *bound != dtype.Invalid || t == dtype.Invalid:
		case !dtype.Contains(tv.Types, t):
			r.fail(none, 0, fmt.Sprintf("element type %s in %s", tv.Name, dtype.Format(tv.Types)), t.String())
		default:
			*bound = t
		}
	}
	if *bound == dtype.Invalid {
		r.fail(none, 0, "an input or an attribute that says the element type "+tv.Name, "none")
	}
	return *bound
}

// variable returns a dtype variable and the place of its type.
func (r *Resolver[S]) variable(name string) (*task.TypeVar, *dtype.Type) {
	for i := range r.op.Types {
		if r.op.Types[i].Name == name {
			return &r.op.Types[i], &r.res.Types[i]
		}
	}
	panic(fmt.Sprintf("opimpl: operator %s has no element type %s", r.op.FullName(), name))
}

// Type returns the type of a dtype variable, dtype.Invalid before it is bound.
func (r *Resolver[S]) Type(name string) dtype.Type {
	_, t := r.variable(name)
	return *t
}

// TypeIf returns t if it is given, and otherwise dtype.Invalid.
func TypeIf(given bool, t dtype.Type) dtype.Type {
	if !given {
		return dtype.Invalid
	}
	return t
}

// FixedType requires that a slot's tensors have element type t.
func (r *Resolver[S]) FixedType(slot S, t dtype.Type) {
	for i, o := range r.res.Slots[slot] {
		if o.Type != t {
			r.fail(slot, i, "element type "+t.String(), o.Type.String())
		}
	}
}

// Require fails with the spec's message, in which the values of what it names stand, unless ok.
func (r *Resolver[S]) Require(ok bool, format string, values ...any) {
	if ok || r.err != nil {
		return
	}
	for i, v := range values {
		switch v := v.(type) {
		case []int:
			values[i] = shape.Format(v)
		case interface{ Values() []int }:
			values[i] = shape.Format(v.Values())
		}
	}
	r.err = &op.Error{Operator: r.op.FullName(), Message: fmt.Sprintf(format, values...)}
}

// maxTensors is how many tensors a slot has at most whose number an expression gives.
const maxTensors = 1 << 16

// Count returns n, the number of tensors that a variadic slot is to have, if that is possible, and otherwise
// 0.
func (r *Resolver[S]) Count(slot S, n int) int {
	if n < 0 || n > maxTensors {
		r.fail(slot, whole, fmt.Sprintf("0 to %d tensors", maxTensors), fmt.Sprint(n))
		return 0
	}
	return n
}

// Set gives a slot its tensor, or a variadic one its next. No extent may be negative.
func (r *Resolver[S]) Set(slot S, t dtype.Type, dims ...int) {
	i := len(r.res.Slots[slot])
	for _, n := range dims {
		if n < 0 {
			r.fail(slot, i, "extents of 0 or more", shape.Format(dims))
			return
		}
	}
	o := task.Operand{Type: t, Shape: dims}
	if !shape.Fits(dims, t.Size()) {
		r.fail(slot, i, "a size that can be addressed", o.String())
		return
	}
	r.res.Slots[slot] = append(r.res.Slots[slot], o)
}

// Arg gives an argument from an expression its value.
func (r *Resolver[S]) Arg(slot S, v any) {
	if r.res.Args == nil {
		r.res.Args = map[int]any{}
	}
	r.res.Args[int(slot)] = v
}

// Numbers gives constraint number i of a task the numbers of a list that has expressions.
func (r *Resolver[S]) Numbers(id task.ID, i int, list string, numbers ...int) {
	if r.res.Numbers == nil {
		r.res.Numbers = map[[2]int]map[string][]int{}
	}
	at := [2]int{r.task(id), i}
	if r.res.Numbers[at] == nil {
		r.res.Numbers[at] = map[string][]int{}
	}
	r.res.Numbers[at][list] = numbers
}

// Unused tells that a task does not take the tensors of a slot.
func (r *Resolver[S]) Unused(id task.ID, slot S) {
	unused := &r.res.Unused[r.task(id)]
	if *unused == nil {
		*unused = map[int]bool{}
	}
	(*unused)[int(slot)] = true
}

// Cost gives a task its floating-point operations, and the bytes that it moves if these are not those of the
// tensors that it reads and writes.
func (r *Resolver[S]) Cost(id task.ID, flops float64, bytes ...float64) {
	c := task.Cost{Known: true, Flops: flops}
	if len(bytes) > 0 {
		c.Bytes = bytes[0]
	}
	r.res.Costs[r.task(id)] = c
}

// Divide tells that tensors of a slot may be divided along axes lo to hi-1, which are the dimension dim of
// the operator's shards.
func (r *Resolver[S]) Divide(dim string, slot S, lo, hi int) {
	if len(r.res.Slots[slot]) == 0 || lo >= hi {
		return
	}
	for k := range r.op.Shards {
		if r.op.Shards[k].Dim == dim {
			r.res.Shards[k] = append(r.res.Shards[k], task.ShardAxes{Slot: int(slot), Lo: lo, Hi: hi})
		}
	}
}
