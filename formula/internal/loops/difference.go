package loops

import (
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// difference compiles x - y. A scalar y that is computed in float64, such as a mean, is subtracted as a high
// and a low part in T, so that little is lost to cancellation.
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

// rest returns the low parts, which float32 rounds off, of elements loaded from a float64 tensor; false if n
// is no such load. Subtraction of such an element, such as a mean, would lose digits to cancellation.
func (z *vectorizer[T]) rest(n *term.Term) (operand[T], bool) {
	if n.Op != term.Element || n.Kind != term.Real || z.c.own != dtype.F32 || n.Read.Which != nil || z.c.tensors[n.Read.Tensor].Type != dtype.F64 || z.c.narrow[n.Read.Tensor] {
		return operand[T]{}, false
	}
	a, t := accessOf(n.Read), n.Read.Tensor
	step := a.offset.factor(z.v)
	if len(a.open) > 0 || a.offset.hidden(z.v) || step == 0 {
		return operand[T]{}, false
	}
	key := z.c.restKey(n)
	if x, ok := z.known[key]; ok {
		return x, true
	}
	z.known[key] = operand[T]{reg: z.give(instruction[T]{op: opRests, from: z.address(t, a)})}
	return z.known[key], true
}

// restKey is the key of the low part of a float64 element.
func (c *compiler[T]) restKey(n *term.Term) string { return "rest of " + c.key(n) }
