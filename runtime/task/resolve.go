package task

import (
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Operand is the type and shape of a tensor.
type Operand struct {
	Type  dtype.Type
	Shape []int
}

// Bytes returns the size of the tensor. It counts in 64 bits, since a tensor that is refused for its size may
// have more elements than int holds.
func (o Operand) Bytes() int64 {
	n := int64(o.Type.Size())
	for _, extent := range o.Shape {
		n *= int64(extent)
	}
	return n
}

// String formats the operand as f32[2, 3].
func (o Operand) String() string { return o.Type.String() + shape.Format(o.Shape) }

// Cost is the cost of a task that its spec states.
type Cost struct {
	Known bool    // whether the spec states a cost
	Flops float64 // floating-point operations
	// Bytes is how many bytes it moves; 0 if the spec leaves that to the tensors that the task reads
	// and writes.
	Bytes float64
}

// Resolution is an operator applied to operands: the types and shapes of all its slots, and the grids and
// costs of its tasks. Operator.Resolve makes it, and it must not be changed afterwards.
type Resolution struct {
	// Attrs are the operator's attributes.
	Attrs Attrs
	// Dims points to the operator's generated Dims: the dimensions that its shapes bind.
	Dims any
	// Types holds the element type of each dtype variable.
	Types []dtype.Type
	// Inputs is what the caller passed.
	Inputs Given
	// Slots holds the tensors of each slot; an absent slot has none.
	Slots [][]Operand
	// Grids holds the grids of the steps of each task, by task and step. Cuts holds how they are cut into
	// tiles. Costs holds the costs of tasks.
	Grids [][]op.Grid
	// Shares is set for tasks whose grid divides the loops of a formula: an index stands for a share of the
	// loops, and not for an element. These tasks do not work element by element in this use.
	Shares map[int]bool
	// Loops is set for tasks that loops of a formula compute.
	Loops map[int]bool
	Cuts  map[[2]int]*Tiles
	Costs []Cost
	// Bounds holds the bounds of integer inputs by slot.
	Bounds map[int]Bound
	// Shards holds, for each of the operator's shards, the slots whose tensors have its dimension, and where;
	// none where the operator, with these attributes and shapes, may not be divided so. Of inputs and weights
	// without the dimension, every device needs all.
	Shards [][]ShardAxes
	// Numbers holds the lists of numbers that constraints with expressions have, by task, number of the
	// constraint, and name.
	Numbers map[[2]int]map[string][]int
	// Args holds the values of arguments from expressions, by slot.
	Args map[int]any
	// Of is the use whose gradients this use of a gradient's operator computes; nil for other operators.
	Of *Resolution
	// Unused holds, for each task, the slots whose tensors it does not take under these attributes.
	Unused []map[int]bool

	operator *Operator
	found    *cuts // in formulas
}

// Given is what a caller passes to an operator, by slot number.
type Given struct {
	// Operands of the input slots, and of outputs that the caller provides; none where a slot is
	// left out.
	Operands [][]Operand
	// Requested tells how many tensors the caller asks for of outputs that are made on request: 0 or 1, or a
	// number within the limits of a variadic one.
	Requested []int
	// Values holds, by slot, the number of values that the caller passes for an argument; 0 for other slots.
	Values []int
	// Places holds, by slot, the places of the operands in the list that the caller passes, in which others
	// are absent. It has no list for a slot if none is absent in front of one that is there, and is nil if
	// that holds for all slots.
	Places map[int][]int
}

// PlacesOf returns the places of a slot's operands in the list that the caller passes.
func (g Given) PlacesOf(slot int) []int {
	if list, ok := g.Places[slot]; ok {
		return slices.Clone(list)
	}
	list := make([]int, len(g.Operands[slot]))
	for i := range list {
		list[i] = i
	}
	return list
}

// Gaps returns the places to note for a slot whose tensors have them: nil if none is absent in front of
// another.
func Gaps(places []int) []int {
	for i, at := range places {
		if at != i {
			return places
		}
	}
	return nil
}

// NoneGiven returns a Given for o in which every slot is left out.
func NoneGiven(o *Operator) Given {
	return Given{Operands: make([][]Operand, len(o.Slots)), Requested: make([]int, len(o.Slots)), Values: make([]int, len(o.Slots))}
}

// Pass notes how many values the caller passes for each argument. passed holds the values by slot.
func (g Given) Pass(passed map[int][]any) {
	for slot, values := range passed {
		g.Values[slot] = len(values)
	}
}

// Resolve applies o to what is given. The error is an *op.Error or comes from the Validate method of attrs.
func Resolve(o *Operator, attrs Attrs, given Given) (*Resolution, error) {
	if err := Validate(attrs); err != nil {
		return nil, err
	}
	r, err := o.Resolve(o, attrs, given)
	if err == nil {
		r.Attrs, r.operator, r.found = attrs, o, &cuts{}
	}
	return r, err
}

// Given returns what the caller passed.
func (r *Resolution) Given() Given { return r.Inputs }

// Operands returns the tensors of a slot: no tensor if the slot is absent, one, or several if it is variadic.
func (r *Resolution) Operands(slot int) []Operand { return r.Slots[slot] }

// Work returns the grid of a step of the operator's task number t. It follows from shapes alone, so that
// results do not depend on the number of workers.
func (r *Resolution) Work(t, step int) op.Grid { return r.Grids[t][step] }

// Cost returns the cost of the operator's task number t.
func (r *Resolution) Cost(t int) Cost { return r.Costs[t] }

// Bound returns the bound of an integer input; ok is false if the spec gives none.
func (r *Resolution) Bound(slot int) (bound Bound, ok bool) {
	bound, ok = r.Bounds[slot]
	return bound, ok
}

// Takes reports whether the operator's task number t takes the tensors of a slot, under the attributes.
func (r *Resolution) Takes(t, slot int) bool { return !r.Unused[t][slot] }

// Elementwise reports whether a step of a task works element by element in this use: whether index i touches
// element i only, of every tensor that has as many elements as there are indices.
func (r *Resolution) Elementwise(s *Signature, step int) bool {
	return s.Steps[step].Elementwise && !r.Shares[slices.Index(s.Operator.Signatures, s)]
}

// Least returns the least extents of what a range of task number t may touch of a tensor, which the access
// describes; nil if a constraint with this limit demands nothing. Where an index of the task stands for a
// share of loops and for no element, broadcasts demand nothing of its ranges.
func (r *Resolution) Least(t int, limit partition.Limit, a *region.Access) []int {
	if len(a.Footprint) == 0 && r.Shares[t] {
		limit.Whole = nil
	}
	return a.Footprint.Least(limit.Extents, limit.Whole, a.Hi)
}
