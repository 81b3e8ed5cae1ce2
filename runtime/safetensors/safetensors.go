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

// Decode reads a file. The tensors share memory with data. Tensors that overlap, names that stand twice and bytes of no tensor
// are errors.
func Decode(data []byte) (*File, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("safetensors: want at least 8 bytes, got %d", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > uint64(len(data)-8) {
		return nil, fmt.Errorf("safetensors: a header of %d bytes in a file of %d", n, len(data))
	}
	header, body := data[8:8+n], data[8+n:]
	raw, err := object(header)
	if err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	var places []place
	f := &File{Metadata: map[string]string{}, Tensors: map[string]Tensor{}}
	for name, msg := range raw {
		if name == "__metadata__" {
			if err := unmarshal(msg, &f.Metadata); err != nil {
				return nil, fmt.Errorf("safetensors: metadata: %w", err)
			}
			continue
		}
		var e entry
		if err := unmarshal(msg, &e); err != nil {
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
		f.Tensors[name] = Tensor{t, e.Shape, body[lo:hi:hi]}
		places = append(places, place{name, lo, hi})
	}
	if err := fill(places, len(body)); err != nil {
		return nil, err
	}
	return f, nil
}

// place says where the data of a tensor lies.
type place struct {
	name   string
	lo, hi int
}

// fill checks that tensors fill the data: each byte belongs to one tensor, as the format demands.
func fill(places []place, size int) error {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi), cmp.Compare(a.name, b.name))
	})
	end, last := 0, "the header"
	for _, p := range places {
		if p.lo != end {
			return fmt.Errorf("safetensors: tensor %s: want data that begins where that of %s ends, at byte %d, got byte %d", p.name, last, end, p.lo)
		}
		end, last = p.hi, "tensor "+p.name
	}
	if end != size {
		return fmt.Errorf("safetensors: want data that ends with %s, at byte %d, got %d bytes", last, end, size)
	}
	return nil
}

// object reads a JSON object. A name that stands twice is an error.
func object(data []byte) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil { // also of what comes behind the object
		return nil, err
	}
	seen := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("want an object, got %v", t)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, fmt.Errorf("%q stands twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unmarshal reads a JSON object, in which no name may stand twice.
func unmarshal(data []byte, into any) error {
	if _, err := object(data); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
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
