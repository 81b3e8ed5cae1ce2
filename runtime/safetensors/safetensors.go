// Package safetensors reads and writes files in the [safetensors] format: a length (8 bytes, little
// endian), a JSON header of that length, and raw little-endian row-major data.
//
// [safetensors]: https://huggingface.co/docs/safetensors
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// Tensor is a tensor with its raw data.
type Tensor struct {
	Type  dtype.Type
	Shape []int
	Data  []byte
}

// File is the content of a file.
type File struct {
	Metadata map[string]string
	Tensors  map[string]Tensor
}

// typeName returns the name of an element type in files.
func typeName(t dtype.Type) string { return strings.ToUpper(t.String()) }

// stored returns the element type of a name in files; ok is false if engines do not store it.
func stored(name string) (t dtype.Type, ok bool) {
	for _, t := range dtype.Stored() {
		if typeName(t) == name {
			return t, true
		}
	}
	return dtype.Invalid, false
}

type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Decode reads a file. The tensors share memory with data.
func Decode(data []byte) (*File, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("safetensors: want at least 8 bytes, got %d", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > uint64(len(data)-8) {
		return nil, fmt.Errorf("safetensors: a header of %d bytes in a file of %d", n, len(data))
	}
	header, body := data[8:8+n], data[8+n:]
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	f := &File{Metadata: map[string]string{}, Tensors: map[string]Tensor{}}
	for name, msg := range raw {
		if name == "__metadata__" {
			if err := json.Unmarshal(msg, &f.Metadata); err != nil {
				return nil, fmt.Errorf("safetensors: metadata: %w", err)
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(msg, &e); err != nil {
			return nil, fmt.Errorf("safetensors: tensor %s: %w", name, err)
		}
		t, ok := stored(e.DType)
		if !ok {
			return nil, fmt.Errorf("safetensors: tensor %s: unknown type %q", name, e.DType)
		}
		lo, hi := e.Offsets[0], e.Offsets[1]
		if slices.ContainsFunc(e.Shape, func(n int) bool { return n < 0 }) || !shape.Fits(e.Shape, t.Size()) ||
			lo < 0 || hi < lo || hi > len(body) || hi-lo != shape.Prod(e.Shape)*t.Size() {
			return nil, fmt.Errorf("safetensors: tensor %s of %s%v cannot lie at bytes %d to %d of %d", name, e.DType, e.Shape, lo, hi, len(body))
		}
		f.Tensors[name] = Tensor{t, e.Shape, body[lo:hi]}
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
	off := 0
	for _, n := range names {
		t := f.Tensors[n]
		name := typeName(t.Type)
		if _, ok := stored(name); !ok || len(t.Data) != shape.Prod(t.Shape)*t.Type.Size() {
			return nil, fmt.Errorf("safetensors: tensor %s of %v%v cannot hold %d bytes", n, t.Type, t.Shape, len(t.Data))
		}
		header[n] = entry{name, append([]int{}, t.Shape...), [2]int{off, off + len(t.Data)}}
		off += len(t.Data)
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
// digits. The zero Tensor has none.
func (t Tensor) Float64s() []float64 {
	if len(t.Data) == 0 {
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
	return Tensor{dtype.Of[T](), dims, b.Bytes()}, err
}

// As returns the tensor with elements of another type. Only floating-point types are converted.
func (t Tensor) As(typ dtype.Type) (Tensor, error) {
	if t.Type == typ {
		return t, nil
	}
	if !typ.IsFloat() || !t.Type.IsFloat() || typ.GoType() == "" {
		return Tensor{}, fmt.Errorf("safetensors: want elements of %v, got %v", typ, t.Type)
	}
	elems := t.Float64s()
	out := Tensor{typ, t.Shape, make([]byte, len(elems)*typ.Size())}
	for i, v := range elems {
		typ.PutFloat64(out.Data[i*typ.Size():], v)
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
