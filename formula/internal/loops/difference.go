package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// difference compiles x - y. If y is a float64 element, such as a mean, the part that float32 rounds off is
// subtracted, too, so that cancellation loses few digits. A difference with a product is one instruction.
func (z *vectorizer[T]) difference(x, y *term.Term) int {
	if w, q, ok := z.factors(y); ok && x.Uses(z.v) {
		return z.give(instruction[T]{op: opMulSubFrom, uses: []int{w, q, z.real(x).reg}})
	}
	if w, q, ok := z.factors(x); ok && y.Uses(z.v) {
		return z.give(instruction[T]{op: opMulSub, uses: []int{w, q, z.real(y).reg}})
	}
	d := z.binary(simd.Sub, z.real(x), z.real(y))
	if rest, ok := z.rest(y); ok {
		return z.binary(simd.Sub, operand[T]{reg: d}, rest)
	}
	return d
}

// rest compiles the parts that float32 rounds off elements of a float64 tensor. It returns false if n is no
// such load that differs within a strip.
func (z *vectorizer[T]) rest(n *term.Term) (operand[T], bool) {
	if n.Op != term.Element || n.Kind != term.Real || z.c.own != dtype.F32 || n.Read.Which != nil || z.c.tensors[n.Read.Tensor].Type != dtype.F64 || z.c.narrow[n.Read.Tensor] {
		return operand[T]{}, false
	}
	a, t := rewrite.AccessOf(n.Read), n.Read.Tensor
	step := a.Offset.Factor(z.v)
	if len(a.Open) > 0 || a.Offset.Hidden(z.v) || step == 0 {
		return operand[T]{}, false
	}
	key := z.c.restKey(n)
	if x, ok := z.known[key]; ok {
		return x, true
	}
	z.known[key] = operand[T]{reg: z.give(instruction[T]{op: opRests, from: z.address(t, a)})}
	return z.known[key], true
}

// restKey returns the key of the rounding error of a float64 element.
func (c *compiler[T]) restKey(n *term.Term) string { return "rest of " + c.key(n) }
