package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/opgen/opgen/internal/base/regular"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// MaxHeader is how many bytes a header may have. Other programs that read the format have the same limit.
const MaxHeader = 100_000_000

// A Reader reads a file in parts: first its header, then tensors on request. It allocates no memory for sizes
// beyond the end of the file.
type Reader struct {
	Metadata map[string]string

	tensors map[string]place
	file    io.ReaderAt
	close   func() error
}

// place says where the data of a tensor lies, in bytes from the beginning of the file.
type place struct {
	Tensor
	lo, hi int64
}

// Open reads the header of a file. Only regular files are opened: a pipe may block, and has no size. Close
// closes the file.
func Open(path string) (*Reader, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var r *Reader
		if r, err = newReader(f, info.Size()); err == nil {
			r.close = f.Close
			return r, nil
		}
		err = fmt.Errorf("%s: %w", path, err)
	}
	f.Close()
	return nil, err
}

// Close closes the file that Open has opened.
func (r *Reader) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// newReader reads the header of a file of so many bytes, and checks it: each byte behind it belongs to one
// tensor, whose size is that of its type and shape, and no name stands twice. Tensors of types that this
// package does not know are described and read, too.
func newReader(file io.ReaderAt, size int64) (*Reader, error) {
	if size < 8 {
		return nil, fmt.Errorf("safetensors: want at least 8 bytes, got %d", size)
	}
	var first [8]byte
	if err := readAt(file, first[:], 0); err != nil {
		return nil, fmt.Errorf("safetensors: size of the header: %w", err)
	}
	n := binary.LittleEndian.Uint64(first[:])
	if n > uint64(size-8) {
		return nil, fmt.Errorf("safetensors: a header of %d bytes in a file of %d", n, size)
	}
	if n > MaxHeader {
		return nil, fmt.Errorf("safetensors: want a header of at most %d bytes, got %d", MaxHeader, n)
	}
	header := make([]byte, n)
	if err := readAt(file, header, 8); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	raw, err := object(header)
	if err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	r := &Reader{Metadata: map[string]string{}, tensors: map[string]place{}, file: file}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if name == "__metadata__" {
			if err := unmarshal(raw[name], &r.Metadata); err != nil {
				return nil, fmt.Errorf("safetensors: metadata: %w", err)
			}
			continue
		}
		p, err := placeOf(raw[name], size-8-int64(n))
		if err != nil {
			return nil, fmt.Errorf("safetensors: tensor %s%w", name, err)
		}
		p.lo, p.hi = p.lo+8+int64(n), p.hi+8+int64(n)
		r.tensors[name] = p
	}
	return r, r.fill(8+int64(n), size)
}

// entry describes a tensor in a header.
type entry struct {
	DType   string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// placeOf reads the description of a tensor among so many bytes of data. The place counts from the beginning
// of the data.
func placeOf(text json.RawMessage, data int64) (place, error) {
	var e entry
	if err := unmarshal(text, &e); err != nil {
		return place{}, fmt.Errorf(": %w", err)
	}
	if e.DType == "" || e.Shape == nil || len(e.Offsets) != 2 {
		return place{}, fmt.Errorf(": want a dtype, a shape and two data_offsets, got %s", text)
	}
	lo, hi := e.Offsets[0], e.Offsets[1]
	t := Tensor{Type: typeOf(e.DType), Shape: e.Shape}
	ok := lo >= 0 && hi >= lo && hi <= data && !slices.ContainsFunc(e.Shape, func(n int) bool { return n < 0 })
	if t.Type == dtype.Invalid {
		t.Unknown = e.DType
	} else {
		ok = ok && shape.Fits(e.Shape, t.Type.Size()) && int64(shape.Prod(e.Shape))*int64(t.Type.Size()) == hi-lo
	}
	if !ok {
		return place{}, fmt.Errorf(" of %s%v cannot lie at bytes %d to %d of %d", e.DType, e.Shape, lo, hi, data)
	}
	return place{t, lo, hi}, nil
}

// fill checks that tensors fill the data from byte begin to byte end: each byte belongs to one tensor, as the
// format demands.
func (r *Reader) fill(begin, end int64) error {
	names := slices.SortedFunc(maps.Keys(r.tensors), func(a, b string) int {
		x, y := r.tensors[a], r.tensors[b]
		return cmp.Or(cmp.Compare(x.lo, y.lo), cmp.Compare(x.hi, y.hi), cmp.Compare(a, b))
	})
	at, last := begin, "the header"
	for _, name := range names {
		p := r.tensors[name]
		if p.lo != at {
			return fmt.Errorf("safetensors: tensor %s: want data that begins where that of %s ends, at byte %d, got byte %d", name, last, at-begin, p.lo-begin)
		}
		at, last = p.hi, "tensor "+name
	}
	if at != end {
		return fmt.Errorf("safetensors: want data that ends with %s, at byte %d, got %d bytes", last, at-begin, end-begin)
	}
	return nil
}

// Names returns the names of the tensors, in order.
func (r *Reader) Names() []string { return slices.Sorted(maps.Keys(r.tensors)) }

// Describe returns the type and the shape of a tensor, without its data. ok is false if there is none.
func (r *Reader) Describe(name string) (t Tensor, ok bool) {
	p, ok := r.tensors[name]
	return p.Tensor, ok
}

// Read returns a tensor with its data.
func (r *Reader) Read(name string) (Tensor, error) {
	p, ok := r.tensors[name]
	if !ok {
		return Tensor{}, fmt.Errorf("safetensors: there is no tensor %s", name)
	}
	n := p.hi - p.lo
	if n > math.MaxInt {
		return Tensor{}, fmt.Errorf("safetensors: tensor %s: %d bytes are more than this processor can address", name, n)
	}
	t := p.Tensor
	t.Data = make([]byte, n)
	if err := readAt(r.file, t.Data, p.lo); err != nil {
		return Tensor{}, fmt.Errorf("safetensors: tensor %s: %w", name, err)
	}
	return t, nil
}

// Copy writes the data of a tensor to w, in parts.
func (r *Reader) Copy(w io.Writer, name string) error {
	p, ok := r.tensors[name]
	if !ok {
		return fmt.Errorf("safetensors: there is no tensor %s", name)
	}
	n, err := io.Copy(w, io.NewSectionReader(r.file, p.lo, p.hi-p.lo))
	if err == nil && n != p.hi-p.lo {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("safetensors: tensor %s: %w", name, err)
	}
	return nil
}

// readAt fills b from byte at of a file.
func readAt(file io.ReaderAt, b []byte, at int64) error {
	n, err := file.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the file became shorter
	}
	return err
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
