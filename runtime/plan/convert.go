package plan

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/tensor"
)

// conversions are the built-in operations around a call some of whose tensors are stored in types in
// which kernels do not compute. The call works on roots of its own, which are planned like any other.
type conversions struct {
	before, after []Task
}

// convert returns what a call gets for tensor k of its parameter i, which is stored as t, and adds the
// conversions that this needs. made tells that the call reads only what it has written itself.
func (b *builder) convert(c *conversions, call *Call, inv *graph.Invocation, i, k int, t graph.Tensor, made bool) Bound {
	p := inv.Signature.Params[i]
	name := fmt.Sprintf("%s.%s.%s", inv.Node.Name, call.Task, call.Slots[i])
	if inv.Signature.Operator.Slots[p.Slot].Variadic {
		name += fmt.Sprintf(".%d", k)
	}
	computed := b.target.Operand(t.Operand())
	own := b.add(Root{Name: name + " as " + computed.Type.String(), Type: computed.Type, Shape: computed.Shape})
	stored := b.root(t)
	before := func(op Builtin, access ...region.Access) { c.before = b.appendBuiltin(c.before, op, access...) }
	after := func(op Builtin, access ...region.Access) { c.after = b.appendBuiltin(c.after, op, access...) }
	contributes := p.Grad && p.Perm.Writes()
	switch {
	case contributes && p.Scatter:
		before(Builtin{Op: "fill"}, b.whole(own, perm.Write))
	case !contributes && (p.Perm.Reads() || p.Perm == perm.Reduce) && !made:
		before(Builtin{Op: "convert"}, b.whole(own, perm.Write), b.whole(stored, perm.Read))
	}
	switch {
	case contributes && t.Mode() == tensor.Accumulate:
		after(Builtin{Op: "add"}, b.whole(stored, perm.ReadWrite), b.whole(own, perm.Read))
	case p.Perm.Writes():
		after(Builtin{Op: "convert"}, b.whole(stored, perm.Write), b.whole(own, perm.Read))
	}
	bound := Bound{Root: own}
	switch {
	case contributes && p.Scatter:
		bound.Mode = tensor.Accumulate
	case contributes:
		bound.Mode = tensor.Store
	}
	return bound
}

// isConverted reports whether a call works on other memory than that in which a tensor is stored.
func (b *builder) isConverted(t graph.Tensor) bool { return t.Type() != b.target.Type(t.Type()) }

// unconverted returns the pairs of parameters of a call that share memory.
func (b *builder) unconverted(inv *graph.Invocation, inPlace []Pair) []Pair {
	return slices.DeleteFunc(slices.Clone(inPlace), func(p Pair) bool { return b.isConverted(inv.Operands[p.Param][0]) })
}
