// Package safetensors reads and writes files in the [safetensors] format: a length (8 bytes, little
// endian), a JSON header of that length, and raw little-endian row-major data.
//
// [safetensors]: https://huggingface.co/docs/safetensors
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// Tensor is a tensor with its raw data.
type Tensor struct {
	Type dtype.Type
	// Unknown names the element type in the file if this package does not know it. Type is dtype.Invalid
	// then, and Data may have any size.
	Unknown string
	Shape   []int
	Data    []byte
}

// TypeName returns the name of the element type in package dtype, or the name in the file if package dtype
// has none.
func (t Tensor) TypeName() string { return cmp.Or(t.Unknown, t.Type.String()) }

// File is the content of a file.
type File struct {
	Metadata map[string]string
	Tensors  map[string]Tensor
}

// small has the names of types in files that are not those of package dtype in capitals. F8_E4M3 has no
// infinities.
var small = map[dtype.Type]string{
	dtype.F8E4M3: "F8_E4M3", dtype.F8E5M2: "F8_E5M2", dtype.F8E4M3FNUZ: "F8_E4M3FNUZ", dtype.F8E5M2FNUZ: "F8_E5M2FNUZ", dtype.F8E8M0: "F8_E8M0",
}

// typeName returns the name of an element type in files; "" if files have none that this package can read.
func typeName(t dtype.Type) string {
	if name, ok := small[t]; ok || !t.Readable() {
		return name
	}
	return strings.ToUpper(t.String())
}

// typeOf returns the element type of a name in files; dtype.Invalid if this package cannot read it.
func typeOf(name string) dtype.Type {
	for _, t := range types {
		if typeName(t) == name {
			return t
		}
	}
	return dtype.Invalid
}

// types are the element types that can be read.
var types = slices.AppendSeq(dtype.Stored(), maps.Keys(small))

// Decode reads a file. The tensors share memory with data. Tensors that overlap, names that stand twice and
// bytes of no tensor are errors.
func Decode(data []byte) (*File, error) {
	r, err := newReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	f := &File{Metadata: r.Metadata, Tensors: map[string]Tensor{}}
	for name, p := range r.tensors {
		p.Data = data[p.lo:p.hi:p.hi]
		f.Tensors[name] = p.Tensor
	}
	return f, nil
}

// Encode writes a file, tensors in order of their names.
func (f *File) Encode() ([]byte, error) {
	var names []string
	for n := range f.Tensors {
		names = append(names, n)
	}
	sort.Strings(names)
	header := map[string]any{}
	if len(f.Metadata) > 0 {
		header["__metadata__"] = f.Metadata
	}
	off := int64(0)
	for _, n := range names {
		t := f.Tensors[n]
		name := cmp.Or(t.Unknown, typeName(t.Type))
		if name == "" || t.Unknown == "" && len(t.Data) != shape.Prod(t.Shape)*t.Type.Size() {
			return nil, fmt.Errorf("safetensors: tensor %s of %v%v cannot hold %d bytes", n, t.TypeName(), t.Shape, len(t.Data))
		}
		header[n] = entry{name, append([]int{}, t.Shape...), []int64{off, off + int64(len(t.Data))}}
		off += int64(len(t.Data))
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	text = append(text, bytes.Repeat([]byte(" "), (8-len(text)%8)%8)...)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	out = append(out, text...)
	for _, n := range names {
		out = append(out, f.Tensors[n].Data...)
	}
	return out, nil
}

// Float64s returns the elements as float64, with 0 or 1 for bool. 64-bit integers beyond 2^53 lose
// digits. A tensor of an unknown type has none, nor has the zero Tensor.
func (t Tensor) Float64s() []float64 {
	if len(t.Data) == 0 || !t.Type.Readable() {
		return nil
	}
	out := make([]float64, len(t.Data)/t.Type.Size())
	for i := range out {
		out[i] = t.Type.Float64(t.Data[i*t.Type.Size():])
	}
	return out
}

// Of returns a tensor of the given elements.
func Of[T dtype.Element](dims []int, elems []T) (Tensor, error) {
	var b bytes.Buffer
	err := binary.Write(&b, binary.LittleEndian, elems)
	return Tensor{Type: dtype.Of[T](), Shape: dims, Data: b.Bytes()}, err
}

// Converts reports whether As converts elements of one type to another: floating-point types are converted to
// those that engines store.
func Converts(from, to dtype.Type) bool {
	return from == to && from.Readable() || from.IsFloat() && from.Readable() && to.IsFloat() && to.GoType() != ""
}

// As returns the tensor with elements of another type, rounded to the nearest number, and to even where two
// are as near. Only floating-point types are converted. A finite number beyond the largest one of the type is
// an error: it would become infinite.
func (t Tensor) As(typ dtype.Type) (Tensor, error) {
	if t.Type == typ && t.Unknown == "" {
		return t, nil
	}
	if !Converts(t.Type, typ) {
		return Tensor{}, fmt.Errorf("safetensors: want elements of %v, got %s", typ, t.TypeName())
	}
	n, from, to := shape.Prod(t.Shape), t.Type.Size(), typ.Size()
	out := Tensor{Type: typ, Shape: t.Shape, Data: make([]byte, n*to)}
	for i := range n {
		v := t.Type.Float64(t.Data[i*from:])
		typ.PutFloat64(out.Data[i*to:], v)
		if math.IsInf(typ.Float64(out.Data[i*to:]), 0) && !math.IsInf(v, 0) {
			return Tensor{}, fmt.Errorf("safetensors: element %d of %d: %v is beyond the numbers of %v", i, n, v, typ)
		}
	}
	return out, nil
}

// Elements returns the elements of a tensor as As(dtype.Of[T]()) has them.
func Elements[T dtype.Element](t Tensor) ([]T, error) {
	t, err := t.As(dtype.Of[T]())
	if err != nil {
		return nil, err
	}
	out := make([]T, shape.Prod(t.Shape))
	return out, binary.Read(bytes.NewReader(t.Data), binary.LittleEndian, out)
}
