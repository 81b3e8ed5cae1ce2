package local

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
)

// identity returns the body that fills a tensor with what changes nothing under a reduction.
func (in *Instance) identity(t *plan.Task) (op.Body, error) {
	b := in.data[t.Access[0].Root]
	switch typ := in.plan.Roots[t.Access[0].Root].Type; typ {
	case dtype.F32:
		return identity(b, t.Builtin.Redop, float32(math.Inf(-1)), float32(math.Inf(1)))
	case dtype.F64:
		return identity(b, t.Builtin.Redop, math.Inf(-1), math.Inf(1))
	case dtype.I8:
		return identity[int8](b, t.Builtin.Redop, math.MinInt8, math.MaxInt8)
	case dtype.I16:
		return identity[int16](b, t.Builtin.Redop, math.MinInt16, math.MaxInt16)
	case dtype.I32:
		return identity[int32](b, t.Builtin.Redop, math.MinInt32, math.MaxInt32)
	case dtype.I64:
		return identity[int64](b, t.Builtin.Redop, math.MinInt64, math.MaxInt64)
	case dtype.U8:
		return identity[uint8](b, t.Builtin.Redop, 0, math.MaxUint8)
	case dtype.U16:
		return identity[uint16](b, t.Builtin.Redop, 0, math.MaxUint16)
	case dtype.U32:
		return identity[uint32](b, t.Builtin.Redop, 0, math.MaxUint32)
	case dtype.U64:
		return identity[uint64](b, t.Builtin.Redop, 0, math.MaxUint64)
	default:
		return nil, fmt.Errorf("want a reduction of numbers, got %v", typ)
	}
}

func identity[T dtype.Number](b []byte, op perm.Redop, least, greatest T) (op.Body, error) {
	values := map[perm.Redop]T{perm.Sum: 0, perm.Prod: 1, perm.Min: greatest, perm.Max: least}
	v, ok := values[op]
	if !ok {
		return nil, fmt.Errorf("want a reduction operator, got %q", op)
	}
	return fill[T]{slice[T](b), v}, nil
}
