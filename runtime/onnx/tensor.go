package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/safetensors"
)

// elementTypes maps element types of ONNX to those of opgen.
var elementTypes = map[onnxpb.TensorProto_DataType]dtype.Type{
	onnxpb.TensorProto_FLOAT: dtype.F32, onnxpb.TensorProto_UINT8: dtype.U8, onnxpb.TensorProto_INT8: dtype.I8,
	onnxpb.TensorProto_UINT16: dtype.U16, onnxpb.TensorProto_INT16: dtype.I16, onnxpb.TensorProto_INT32: dtype.I32,
	onnxpb.TensorProto_INT64: dtype.I64, onnxpb.TensorProto_BOOL: dtype.Bool, onnxpb.TensorProto_FLOAT16: dtype.F16,
	onnxpb.TensorProto_DOUBLE: dtype.F64, onnxpb.TensorProto_UINT32: dtype.U32, onnxpb.TensorProto_UINT64: dtype.U64,
	onnxpb.TensorProto_BFLOAT16: dtype.BF16,
}

func number(text string, missing int64) (int64, error) {
	if text == "" {
		return missing, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// maxElements bounds the elements of a tensor, so that sizes in bytes do not overflow an int, nor what graphs
// can hold. maxDims bounds its dimensions: some operators compare each with each other.
const (
	maxElements = min(1<<40, math.MaxInt/16)
	maxDims     = 64
)

// ReadTensor reads the bytes of a tensor of a file of its own, such as the inputs of ONNX's tests.
func ReadTensor(data []byte) (name string, t safetensors.Tensor, err error) {
	p, err := onnxpb.Tensor(data)
	if err != nil {
		return "", t, err
	}
	t, err = (&Model{}).tensor(p)
	return p.GetName(), t, err
}

// tensor returns the elements of a tensor in a file.
func (m *Model) tensor(p *onnxpb.TensorProto) (t safetensors.Tensor, err error) {
	fail := func(format string, args ...any) (safetensors.Tensor, error) {
		return t, fmt.Errorf("tensor %s: %w", p.GetName(), fmt.Errorf(format, args...))
	}
	kind := onnxpb.TensorProto_DataType(p.GetDataType())
	small, isNarrow := narrowTypes[kind]
	t.Type, _ = heldType(kind)
	if t.Type == dtype.Invalid {
		return fail("want elements of a type that engines store, got %s", kind)
	}
	if len(p.GetDims()) > maxDims {
		return fail("want at most %d dimensions, got %d", maxDims, len(p.GetDims()))
	}
	n := 1
	t.Shape = []int{}
	for _, d := range p.GetDims() {
		if d < 0 || d > maxElements || d > 0 && n > maxElements/int(d) {
			return fail("want extents of at most %d elements, got %v", int64(maxElements), p.GetDims())
		}
		t.Shape = append(t.Shape, int(d))
		n *= int(d)
	}
	size := n * t.Type.Size()
	if isNarrow {
		size = (n*small.bits + 7) / 8
	}
	if p.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		if t.Data, err = m.external(p, size); err != nil {
			return fail("%w", err)
		}
		if isNarrow {
			t.Data = small.decode(t.Data, n)
		}
		return t, nil
	}
	if p.RawData != nil {
		if len(p.RawData) != size {
			return fail("want %d bytes for %v, got %d", size, t.Shape, len(p.RawData))
		}
		t.Data = p.RawData
		if isNarrow {
			t.Data = small.decode(t.Data, n)
		}
		return t, nil
	}
	// The other fields hold one number for each element.
	var data []byte
	put := func(size int, bits uint64) {
		data = append(data, binary.LittleEndian.AppendUint64(nil, bits)[:size]...)
	}
	switch {
	case isNarrow: // a number for each byte
		for _, x := range p.Int32Data {
			put(1, uint64(x))
		}
		if len(data) == size {
			data = small.decode(data, n)
			size = len(data)
		}
	case t.Type == dtype.F32:
		for _, x := range p.FloatData {
			put(4, uint64(math.Float32bits(x)))
		}
	case t.Type == dtype.F64:
		for _, x := range p.DoubleData {
			put(8, math.Float64bits(x))
		}
	case t.Type == dtype.I64:
		for _, x := range p.Int64Data {
			put(8, uint64(x))
		}
	case t.Type == dtype.U32 || t.Type == dtype.U64:
		for _, x := range p.Uint64Data {
			put(t.Type.Size(), x)
		}
	default:
		for _, x := range p.Int32Data {
			put(t.Type.Size(), uint64(x))
		}
	}
	if len(data) != size {
		return fail("want %d elements for %v, got %d", n, t.Shape, len(data)/max(t.Type.Size(), 1))
	}
	t.Data = data
	return t, nil
}

// stored returns the value of a tensor in a file. Strings and complex numbers are values that no operator
// computes with.
func (m *Model) stored(name string, p *onnxpb.TensorProto) (*value, error) {
	switch kind := onnxpb.TensorProto_DataType(p.GetDataType()); kind {
	case onnxpb.TensorProto_STRING:
		return strange(name, "strings"), nil
	case onnxpb.TensorProto_COMPLEX64, onnxpb.TensorProto_COMPLEX128:
		return strange(name, "complex numbers"), nil
	}
	t, err := m.tensor(p)
	v := constant(name, t)
	_, v.narrow = heldType(onnxpb.TensorProto_DataType(p.GetDataType()))
	return v, err
}

// inFile returns the value of a tensor in the file.
func (f *folder) inFile(name string, p *onnxpb.TensorProto) (*value, error) {
	if v := f.stored[p]; v != nil && v.name == name {
		return v, nil
	}
	v, err := f.m.stored(name, p)
	if err == nil {
		f.stored[p] = v
	}
	return v, err
}

// sparseInFile returns the value of a sparse tensor in the file. Its elements take memory that the file does
// not have, so they count as constants that follow from others.
func (f *folder) sparseInFile(name string, p *onnxpb.SparseTensorProto) (*value, error) {
	if v := f.stored[p]; v != nil && v.name == name {
		return v, nil
	}
	t, err := f.m.sparse(p)
	if err != nil {
		return nil, err
	}
	if f.left -= int64(len(t.Data)); f.left < 0 {
		return nil, fmt.Errorf("want at most %d bytes of sparse tensors, and of constants that follow from others", maxConstants)
	}
	f.stored[p] = constant(name, t)
	return f.stored[p], nil
}

// sparse returns all elements of a tensor of which a file holds those that are not 0, with their row-major
// numbers or with an index of each dimension.
func (m *Model) sparse(p *onnxpb.SparseTensorProto) (t safetensors.Tensor, err error) {
	fail := func(format string, args ...any) (safetensors.Tensor, error) {
		return t, fmt.Errorf("sparse tensor %s: %w", p.GetValues().GetName(), fmt.Errorf(format, args...))
	}
	values, err := m.tensor(p.GetValues())
	if err != nil {
		return fail("%w", err)
	}
	places, err := m.tensor(p.GetIndices())
	if err != nil {
		return fail("%w", err)
	}
	size, rank := values.Type.Size(), len(p.GetDims())
	n := 1
	t = safetensors.Tensor{Type: values.Type, Shape: []int{}}
	for _, d := range p.GetDims() {
		if d < 0 || d > 0 && int64(n) > maxConstant/int64(size)/d || rank > maxDims {
			return fail("want at most %d dimensions and %d bytes, got the extents %v", maxDims, maxConstant, p.GetDims())
		}
		t.Shape = append(t.Shape, int(d))
		n *= int(d)
	}
	count := len(values.Data) / size
	each := 1 // numbers for an element
	if len(places.Shape) == 2 {
		each = rank
	}
	if _, small := heldType(onnxpb.TensorProto_DataType(p.GetValues().GetDataType())); small != dtype.Invalid || len(values.Shape) != 1 || places.Type != dtype.I64 || len(places.Shape) == 0 || len(places.Shape) > 2 || places.Shape[0] != count || len(places.Data) != 8*count*each {
		return fail("want values and as many places of i64, got %v%v and %v%v", values.Type, values.Shape, places.Type, places.Shape)
	}
	t.Data = make([]byte, n*size)
	for i := range count {
		at := 0
		for d := range each {
			k, extent := int(binary.LittleEndian.Uint64(places.Data[8*(i*each+d):])), n
			if len(places.Shape) == 2 {
				extent = t.Shape[d]
			}
			if k < 0 || k >= extent {
				return fail("want a place below %d, got %d", extent, k)
			}
			at = at*extent + k
		}
		if at >= n {
			return fail("want a place below %d, got %d", n, at)
		}
		copy(t.Data[at*size:(at+1)*size], values.Data[i*size:])
	}
	return t, nil
}

// known returns a constant as a value of expressions: a number of a tensor without dimensions, a list
// otherwise. Truth values and integers are integers.
func known(t safetensors.Tensor) (any, error) {
	size := t.Type.Size()
	if !t.Type.IsFloat() {
		list := make([]int, 0, len(t.Data)/max(size, 1))
		for i := 0; i < len(t.Data); i += size {
			if t.Type == dtype.I64 || t.Type == dtype.U64 {
				list = append(list, int(binary.LittleEndian.Uint64(t.Data[i:])))
			} else {
				list = append(list, int(t.Type.Float64(t.Data[i:])))
			}
		}
		if len(t.Shape) == 0 {
			return list[0], nil
		}
		return list, nil
	}
	var list []float64
	if t.Type == dtype.F16 || t.Type == dtype.BF16 {
		wide, err := t.As(dtype.F32)
		if err != nil {
			return nil, err
		}
		t, size = wide, 4
	}
	for i := 0; i < len(t.Data); i += size {
		list = append(list, t.Type.Float64(t.Data[i:]))
	}
	if len(t.Shape) == 0 {
		return list[0], nil
	}
	return append([]float64{}, list...), nil
}

// truthOf returns a truth value as a tensor.
func truthOf(v bool) safetensors.Tensor {
	return safetensors.Tensor{Type: dtype.Bool, Shape: []int{}, Data: []byte{map[bool]byte{true: 1}[v]}}
}

// integersOf returns a tensor of i64 with one dimension, or none for a scalar.
func integersOf(dims []int, values ...int) safetensors.Tensor {
	t := safetensors.Tensor{Type: dtype.I64, Shape: slices.Clone(dims)}
	for _, n := range values {
		t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(n))
	}
	return t
}
