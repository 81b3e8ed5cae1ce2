package task

import (
	"fmt"
	"iter"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// Operand is the type and shape of a tensor.
type Operand struct {
	Type  dtype.Type
	Shape []int
}

// Bytes returns the size of the tensor.
func (o Operand) Bytes() int64 { return int64(shape.Prod(o.Shape)) * int64(o.Type.Size()) }

// String formats the operand as f32[2, 3].
func (o Operand) String() string { return o.Type.String() + shape.Format(o.Shape) }

// Cost is what a task takes according to its spec.
type Cost struct {
	Known bool    // whether the spec says
	Flops float64 // floating-point operations
	// Bytes is how many bytes it moves; 0 if the spec leaves that to the tensors that the task reads
	// and writes.
	Bytes float64
}

// Resolution is an operator applied to operands: it starts with what the caller passes, and the
// operator's generated Resolve fills in the rest. The first thing that does not fit is kept as the
// error, and later calls do nothing.
type Resolution struct {
	// Dims is the operator's generated Dims: the dimensions that its shapes bind.
	Dims any
	// Types holds the element type of each dtype variable.
	Types []dtype.Type

	op       *Operator
	given    Given
	operands [][]Operand // per slot; nil is absent
	grids    [][]op.Grid // per signature and step
	tiles    map[[2]int]*Tiles
	costs    []Cost        // per signature
	below    map[int]int   // per integer input: its values lie in [0, below)
	at       int           // of a variadic slot: the tensor that is looked at, the first unless Each says another
	shards   [][]ShardAxes // per shard of the operator
	args     map[int]any   // per argument from an expression
	err      error
}

// Given is what a caller passes to an operator, by slot number.
type Given struct {
	// Operands of the input slots, and of outputs that the caller provides; none where a slot is
	// left out.
	Operands [][]Operand
	// Requested tells which of the outputs that are made on request are wanted.
	Requested []bool
}

// NoneGiven returns a Given for op in which every slot is left out.
func NoneGiven(op *Operator) Given {
	return Given{make([][]Operand, len(op.Slots)), make([]bool, len(op.Slots))}
}

// Resolve applies op to what is given. The error is an *Error or comes from attrs.Validate.
func Resolve(op *Operator, attrs Attrs, given Given) (*Resolution, error) {
	if err := attrs.Validate(); err != nil {
		return nil, err
	}
	r := &Resolution{
		op:       op,
		given:    given,
		Types:    make([]dtype.Type, len(op.Types)),
		operands: make([][]Operand, len(op.Slots)),
		grids:    grids(op),
		shards:   make([][]ShardAxes, len(op.Shards)),
		costs:    make([]Cost, len(op.Signatures)),
	}
	for i := range op.Slots {
		s, ops := &op.Slots[i], given.Operands[i]
		if s.Role != RoleInput && !s.Provided {
			continue
		}
		r.operands[i] = ops
		switch {
		case s.Variadic && (len(ops) < s.Min || len(ops) > s.Max):
			r.failWhole(i, s.arity(), fmt.Sprint(len(ops)))
		case !s.Variadic && len(ops) == 0 && !s.Optional:
			r.fail(i, "a tensor", "none")
		case !s.Variadic && len(ops) > 1:
			r.fail(i, "one tensor", fmt.Sprint(len(ops)))
		}
	}
	if r.err == nil {
		op.Resolve(attrs, r)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r, nil
}

// grids returns an empty grid for each step of an operator.
func grids(operator *Operator) [][]op.Grid {
	out := make([][]op.Grid, len(operator.Signatures))
	for i, s := range operator.Signatures {
		for range s.Steps {
			out[i] = append(out[i], *op.Line(0, 1))
		}
	}
	return out
}

// arity says in words how many tensors a variadic slot holds.
func (s *Slot) arity() string {
	switch {
	case s.Max == Unbounded:
		return fmt.Sprintf("at least %d tensors", s.Min)
	case s.Min == s.Max:
		return fmt.Sprintf("%d tensors", s.Min)
	}
	return fmt.Sprintf("%d to %d tensors", s.Min, s.Max)
}

func (r *Resolution) fail(slot int, want, got string) {
	if r.err == nil {
		e := &op.Error{Operator: r.op.Name, Want: want, Got: got}
		if slot >= 0 {
			e.Slot = r.op.Slots[slot].tensor(r.at)
		}
		r.err = e
	}
}

// tensor names the slot in messages or, if the slot is variadic, one of its tensors: "input[2]".
func (s *Slot) tensor(i int) string {
	if !s.Variadic || i < 0 {
		return s.Name
	}
	return fmt.Sprintf("%s[%d]", s.Name, i)
}

// failWhole is fail for what is wrong with a slot as a whole rather than with one of its tensors.
func (r *Resolution) failWhole(slot int, want, got string) {
	at := r.at
	r.at = -1
	r.fail(slot, want, got)
	r.at = at
}

// Given returns what the caller passed.
func (r *Resolution) Given() Given { return r.given }

// Operands returns the tensors of a slot: none if it is absent, one, or several if it is variadic.
func (r *Resolution) Operands(slot int) []Operand { return r.operands[slot] }

// Work returns what a step of the operator's task number t runs over. It follows from shapes alone, so that results
// do not depend on the number of workers.
func (r *Resolution) Work(t, step int) op.Grid { return r.grids[t][step] }

// Cost returns what the operator's task number t takes.
func (r *Resolution) Cost(t int) Cost { return r.costs[t] }

// Below returns the bound of an integer input, whose values lie in [0, bound); ok is false if the
// spec gives none.
func (r *Resolution) Below(slot int) (bound int, ok bool) {
	bound, ok = r.below[slot]
	return bound, ok
}

// The functions and methods below are called by generated Resolve functions.

// SetBelow bounds the values of an integer input.
func SetBelow[S ~int](r *Resolution, slot S, bound int) {
	if r.below == nil {
		r.below = map[int]int{}
	}
	r.below[int(slot)] = bound
}

// Has reports whether a slot has a tensor.
func Has[S ~int](r *Resolution, slot S) bool { return len(r.operands[slot]) > 0 }

// Tensors returns how many tensors a slot has.
func Tensors[S ~int](r *Resolution, slot S) int { return len(r.operands[slot]) }

// Requested reports whether the caller wants an output that is made on request.
func Requested[S ~int](r *Resolution, slot S) bool { return r.given.Requested[slot] }

// Each yields the numbers of a variadic slot's tensors. While it does, the functions that look at a
// slot's tensor look at the one of that number.
func Each[S ~int](r *Resolution, slot S) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer func() { r.at = 0 }()
		for i := range r.operands[slot] {
			if r.at = i; r.err != nil || !yield(i) {
				return
			}
		}
	}
}

// shape returns the shape of a slot's tensor, of a variadic slot that of the tensor that Each is at.
func (r *Resolution) shape(slot int) []int { return r.operands[slot][r.at].Shape }

// Rank returns the shape of a slot's tensor if it has exactly n dimensions.
func Rank[S ~int](r *Resolution, slot S, n int) ([]int, bool) {
	if r.err != nil || len(r.operands[slot]) == 0 {
		return nil, false
	}
	s := r.shape(int(slot))
	if len(s) != n {
		r.fail(int(slot), fmt.Sprintf("%d dimensions %s", n, r.op.Slots[slot].Shape), shape.Format(s))
		return nil, false
	}
	return s, true
}

// RankAtLeast returns the shape of a slot's tensor if it has n dimensions or more.
func RankAtLeast[S ~int](r *Resolution, slot S, n int) ([]int, bool) {
	if r.err != nil || len(r.operands[slot]) == 0 {
		return nil, false
	}
	s := r.shape(int(slot))
	if len(s) < n {
		r.fail(int(slot), fmt.Sprintf("at least %d dimensions %s", n, r.op.Slots[slot].Shape), shape.Format(s))
		return nil, false
	}
	return s, true
}

// Equal requires that a dimension of a slot has the extent that its name was bound to before.
func Equal[S ~int](r *Resolution, slot S, name string, want, got int) {
	if want != got {
		r.fail(int(slot), fmt.Sprintf("%s = %d in %s", name, want, r.op.Slots[slot].Shape), fmt.Sprintf("%d in %s", got, shape.Format(r.shape(int(slot)))))
	}
}

// EqualDims requires that dimensions of a slot have the extents that their name was bound to before.
func EqualDims[S ~int](r *Resolution, slot S, name string, want, got []int) {
	if !shape.Equal(want, got) {
		r.fail(int(slot), fmt.Sprintf("%s... = %s in %s", name, shape.Format(want), r.op.Slots[slot].Shape), shape.Format(r.shape(int(slot))))
	}
}

// Axis returns attribute value axis, which counts from the end if negative, as a dimension of a
// slot's tensor: 0 to rank-1.
func Axis[S ~int](r *Resolution, slot S, attr string, axis int) int {
	return r.axis(int(slot), attr, axis, 0)
}

// AxisEnd is Axis for the end of a range of dimensions: 0 to rank.
func AxisEnd[S ~int](r *Resolution, slot S, attr string, axis int) int {
	return r.axis(int(slot), attr, axis, 1)
}

// Axes is Axis for several dimensions.
func Axes[S ~int](r *Resolution, slot S, attr string, axes []int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = r.axis(int(slot), attr, a, 0)
	}
	return out
}

func (r *Resolution) axis(slot int, attr string, axis, past int) int {
	if r.err != nil || len(r.operands[slot]) == 0 {
		return 0
	}
	dims := r.shape(slot)
	rank := len(dims)
	a := axis
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank+past {
		r.fail(slot, fmt.Sprintf("attribute %s between %d and %d for %s", attr, -rank, rank+past-1, shape.Format(dims)), fmt.Sprint(axis))
		return 0
	}
	return a
}

// BindType gives dtype variable v the element type that the given slots have in common, which must
// be one of the variable's types. Absent slots do not count.
func BindType[S ~int](r *Resolution, v int, slots ...S) dtype.Type {
	tv := r.op.Types[v]
	for _, s := range slots {
		for i, o := range r.operands[s] {
			r.at = i
			switch {
			case r.err != nil:
			case !dtype.Contains(tv.Types, o.Type):
				r.fail(int(s), fmt.Sprintf("element type %s in %s", tv.Name, dtype.Format(tv.Types)), o.Type.String())
			case r.Types[v] == dtype.Invalid:
				r.Types[v] = o.Type
			case r.Types[v] != o.Type:
				r.fail(int(s), fmt.Sprintf("element type %s = %s", tv.Name, r.Types[v]), o.Type.String())
			}
		}
	}
	r.at = 0
	return r.Types[v]
}

// TypeFrom gives dtype variable v, unless an input has bound it, the first of the candidates that is
// given, that is, not dtype.Invalid. It must be one of the variable's types.
func TypeFrom(r *Resolution, v int, candidates ...dtype.Type) dtype.Type {
	tv := r.op.Types[v]
	for _, t := range candidates {
		switch {
		case r.Types[v] != dtype.Invalid || t == dtype.Invalid:
		case !dtype.Contains(tv.Types, t):
			r.fail(-1, fmt.Sprintf("element type %s in %s", tv.Name, dtype.Format(tv.Types)), t.String())
		default:
			r.Types[v] = t
		}
		if r.err != nil {
			break
		}
	}
	if r.Types[v] == dtype.Invalid {
		r.fail(-1, "an input or an attribute that says the element type "+tv.Name, "none")
	}
	return r.Types[v]
}

// TypeIf returns t if it is given, and otherwise dtype.Invalid.
func TypeIf(given bool, t dtype.Type) dtype.Type {
	if !given {
		return dtype.Invalid
	}
	return t
}

// FixedType requires that a slot's tensors have element type t.
func FixedType[S ~int](r *Resolution, slot S, t dtype.Type) {
	for i, o := range r.operands[slot] {
		if r.at = i; o.Type != t {
			r.fail(int(slot), "element type "+t.String(), o.Type.String())
		}
	}
	r.at = 0
}

// Require fails with the spec's message, in which the values of what it names stand, unless ok.
func (r *Resolution) Require(ok bool, format string, values ...any) {
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
	r.err = &op.Error{Operator: r.op.Name, Message: fmt.Sprintf(format, values...)}
}

// maxTensors is how many tensors a slot has at most whose number an expression gives.
const maxTensors = 1 << 16

// Count returns n, the number of tensors that a variadic slot is to have, if that is possible, and
// otherwise 0.
func Count[S ~int](r *Resolution, slot S, n int) int {
	if n < 0 || n > maxTensors {
		r.failWhole(int(slot), fmt.Sprintf("0 to %d tensors", maxTensors), fmt.Sprint(n))
		return 0
	}
	return n
}

// Set gives a slot its tensor, or a variadic one its next. No extent may be negative.
func Set[S ~int](r *Resolution, slot S, t dtype.Type, dims ...int) {
	r.at = len(r.operands[slot])
	r.add(int(slot), t, dims)
	r.at = 0
}

func (r *Resolution) add(slot int, t dtype.Type, dims []int) {
	for _, n := range dims {
		if n < 0 {
			r.fail(slot, "extents of 0 or more", shape.Format(dims))
			return
		}
	}
	o := Operand{t, dims}
	if !shape.Fits(dims, t.Size()) {
		r.fail(slot, "a size that can be addressed", o.String())
		return
	}
	r.operands[slot] = append(r.operands[slot], o)
}

// SetCost gives the operator's task number t its floating-point operations and the bytes that it
// moves, of which 0 stands for the tensors that it reads and writes.
func (r *Resolution) SetCost(t int, flops, bytes float64) {
	r.costs[t] = Cost{true, flops, bytes}
}
