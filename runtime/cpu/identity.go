package cpu

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
)

// identity returns the body that fills a tensor with what changes nothing under a reduction.
func identity(t *engine.Builtin) (op.Body, error) {
	b := host(t.Tensors[0].Region)
	switch typ := t.Tensors[0].Type; typ {
	case dtype.F32:
		return identityOf(b, t.Redop, float32(math.Inf(-1)), float32(math.Inf(1)))
	case dtype.F64:
		return identityOf(b, t.Redop, math.Inf(-1), math.Inf(1))
	case dtype.I8:
		return identityOf[int8](b, t.Redop, math.MinInt8, math.MaxInt8)
	case dtype.I16:
		return identityOf[int16](b, t.Redop, math.MinInt16, math.MaxInt16)
	case dtype.I32:
		return identityOf[int32](b, t.Redop, math.MinInt32, math.MaxInt32)
	case dtype.I64:
		return identityOf[int64](b, t.Redop, math.MinInt64, math.MaxInt64)
	case dtype.U8:
		return identityOf[uint8](b, t.Redop, 0, math.MaxUint8)
	case dtype.U16:
		return identityOf[uint16](b, t.Redop, 0, math.MaxUint16)
	case dtype.U32:
		return identityOf[uint32](b, t.Redop, 0, math.MaxUint32)
	case dtype.U64:
		return identityOf[uint64](b, t.Redop, 0, math.MaxUint64)
	default:
		return nil, fmt.Errorf("want a reduction of numbers, got %v", typ)
	}
}

func identityOf[T dtype.Number](b []byte, op perm.Redop, least, greatest T) (op.Body, error) {
	values := map[perm.Redop]T{perm.Sum: 0, perm.Prod: 1, perm.Min: greatest, perm.Max: least}
	v, ok := values[op]
	if !ok {
		return nil, fmt.Errorf("want a reduction operator, got %q", op)
	}
	return fill[T]{slice[T](b), v}, nil
}
