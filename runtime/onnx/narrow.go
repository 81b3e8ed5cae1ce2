package onnx

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
)

// narrow is an element type of ONNX that no engine stores: engines hold its elements in a wider one, which
// has all of them.
type narrow struct {
	of    dtype.Type
	held  dtype.Type
	bits  int // of an element in a file
	value func(code byte) float64
}

// narrowTypes lists the types of up to 8 bits for quantized models.
var narrowTypes = map[onnxpb.TensorProto_DataType]narrow{
	onnxpb.TensorProto_FLOAT8E4M3FN:   smallFloat(dtype.F8E4M3),
	onnxpb.TensorProto_FLOAT8E4M3FNUZ: smallFloat(dtype.F8E4M3FNUZ),
	onnxpb.TensorProto_FLOAT8E5M2:     smallFloat(dtype.F8E5M2),
	onnxpb.TensorProto_FLOAT8E5M2FNUZ: smallFloat(dtype.F8E5M2FNUZ),
	onnxpb.TensorProto_FLOAT8E8M0:     smallFloat(dtype.F8E8M0),
	onnxpb.TensorProto_FLOAT4E2M1: {dtype.F4E2M1, dtype.F32, 4, func(code byte) float64 {
		return math.Copysign([]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}[code&7], 1-2*float64(code>>3))
	}},
	onnxpb.TensorProto_UINT4: smallInteger(dtype.U4, dtype.U8, 4),
	onnxpb.TensorProto_INT4:  smallInteger(dtype.I4, dtype.I8, 4),
	onnxpb.TensorProto_UINT2: smallInteger(dtype.U2, dtype.U8, 2),
	onnxpb.TensorProto_INT2:  smallInteger(dtype.I2, dtype.I8, 2),
}

func smallFloat(t dtype.Type) narrow {
	return narrow{t, dtype.F32, 8, func(code byte) float64 { return t.Float64([]byte{code}) }}
}

// smallInteger is a type whose numbers with a sign are those of a complement of two.
func smallInteger(t, held dtype.Type, bits int) narrow {
	return narrow{t, held, bits, func(code byte) float64 {
		if held == dtype.I8 && code>>(bits-1) == 1 {
			return float64(code) - float64(int(1)<<bits)
		}
		return float64(code)
	}}
}

// decode returns elements as the wider type holds them. In data, the first one of those that share a byte
// lies in its lowest bits.
func (n narrow) decode(data []byte, count int) []byte {
	size := n.held.Size()
	out := make([]byte, count*size)
	for i := range count {
		at := i * n.bits
		code := data[at/8] >> (at % 8) & byte(1<<n.bits-1)
		n.held.PutFloat64(out[i*size:], n.value(code))
	}
	return out
}

// heldType returns the element type in which engines hold one of ONNX, and what that is if it is narrower.
func heldType(kind onnxpb.TensorProto_DataType) (held, of dtype.Type) {
	if n, ok := narrowTypes[kind]; ok {
		return n.held, n.of
	}
	return elementTypes[kind], dtype.Invalid
}

// typeName returns the name of an element type in expressions.
func typeName(kind onnxpb.TensorProto_DataType) string {
	held, of := heldType(kind)
	if of != dtype.Invalid {
		return of.String()
	}
	return held.String()
}

// moves lists the operators that do not look at elements: what they give is as narrow as their first input.
// Others know narrow types: see functions.txt.
var moves = map[string]bool{"Identity": true, "Reshape": true, "Transpose": true, "Squeeze": true, "Unsqueeze": true, "Flatten": true, "Slice": true, "Gather": true, "Concat": true, "Expand": true,
	"Shape": false, "Size": false, "Cast": false, "CastLike": false, "QuantizeLinear": false, "DequantizeLinear": false}

// narrowed computes a node of which inputs are narrow, or whose output is.
func (b *builder) narrowed(c *call, compute func(*call) ([]*value, error)) ([]*value, error) {
	of := dtype.Invalid
	for i, v := range c.inputs {
		if v == nil || v.narrow == dtype.Invalid {
			continue
		}
		moved, known := moves[c.node.GetOpType()]
		if c.domain != ownDomain && (c.domain != "" || !known) {
			return nil, c.refused(fmt.Sprintf("want elements of a type that engines store as input %d, got %s", i, v.narrow), nil)
		}
		if i == 0 && moved && c.domain == "" {
			of = v.narrow
		}
	}
	if c.domain == ownDomain && c.node.GetOpType() == "Narrow" {
		t, err := dtype.Parse(string(c.attribute("to").GetS()))
		if err != nil {
			return nil, err
		}
		of = t
	}
	outs, err := compute(c)
	if err != nil || of == dtype.Invalid {
		return outs, err
	}
	for _, v := range outs {
		if v != nil {
			v.narrow = of
		}
	}
	return outs, nil
}
