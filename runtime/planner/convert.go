package planner

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/tensor"
)

// conversions are the type conversions around a call. If the target does not compute in the storage type of
// a tensor, the call uses a temporary root of the compute type.
type conversions struct {
	before, after []plan.Task
}

// convert returns the binding of tensor k of parameter i, stored as t, to a temporary root, and adds its
// conversions. made says that the call reads only what it has written itself, so that no conversion precedes
// it.
func (b *builder) convert(c *conversions, call *plan.Call, inv *graph.Invocation, i, k int, t graph.Tensor, made bool) plan.Bound {
	p := inv.Signature.Params[i]
	name := fmt.Sprintf("%s.%s.%s", inv.Node.Name, call.Task, call.Slots[i])
	if inv.Signature.Operator.Slots[p.Slot].Variadic {
		name += fmt.Sprintf(".%d", k)
	}
	computed := b.target.Operand(t.Operand())
	own := b.add(plan.Root{Name: name + " as " + computed.Type.String(), Type: computed.Type, Shape: computed.Shape, Device: t.Device()})
	stored := b.root(t)
	before := func(op plan.Builtin, access ...region.Access) { c.before = b.appendBuiltin(c.before, op, access...) }
	after := func(op plan.Builtin, access ...region.Access) { c.after = b.appendBuiltin(c.after, op, access...) }
	contributes := p.Grad && p.Perm.Writes()
	switch {
	case contributes && p.Scatter:
		before(plan.Builtin{Op: "fill"}, b.all(own, perm.Write))
	case !contributes && (p.Perm.Reads() || p.Perm == perm.Reduce) && !made:
		before(plan.Builtin{Op: "convert"}, b.all(own, perm.Write), b.all(stored, perm.Read))
	}
	switch {
	case contributes && t.Mode() == tensor.Accumulate:
		after(plan.Builtin{Op: "add"}, b.all(stored, perm.ReadWrite), b.all(own, perm.Read))
	case p.Perm.Writes():
		after(plan.Builtin{Op: "convert"}, b.all(stored, perm.Write), b.all(own, perm.Read))
	}
	bound := plan.Bound{Root: own}
	switch {
	case contributes && p.Scatter:
		bound.Mode = tensor.Accumulate
	case contributes:
		bound.Mode = tensor.Store
	}
	return bound
}

// isConverted reports whether calls use a temporary root for a tensor.
func (b *builder) isConverted(t graph.Tensor) bool { return t.Type() != b.target.Type(t.Type()) }

// unconverted returns the in-place pairs whose tensors are not converted.
func (b *builder) unconverted(inv *graph.Invocation, inPlace []plan.Pair) []plan.Pair {
	return slices.DeleteFunc(slices.Clone(inPlace), func(p plan.Pair) bool { return b.isConverted(inv.Operands[p.Param][p.Tensor]) })
}
