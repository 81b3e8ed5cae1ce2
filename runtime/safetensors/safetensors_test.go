package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// file puts a header in front of data.
func file(header string, data ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

// TestDecode reads a file written by hand.
func TestDecode(t *testing.T) {
	t.Parallel()
	f, err := Decode(file(`{"b": {"dtype": "I16", "shape": [2], "data_offsets": [4, 8]}, "__metadata__": {"k": "v"},
		"a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}, "none": {"dtype": "F64", "shape": [3, 0], "data_offsets": [8, 8]}}  `,
		0, 0, 0xc0, 0xbf, 1, 0, 0xff, 0xff))
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(f.Metadata, map[string]string{"k": "v"}) || len(f.Tensors) != 3 {
		t.Errorf("read %+v", f)
	}
	for name, want := range map[string][]float64{"a": {-1.5}, "b": {1, -1}, "none": {}} {
		if got := f.Tensors[name].Float64s(); !slices.Equal(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if _, err := Elements[int32](f.Tensors["b"]); err == nil || err.Error() != "safetensors: want elements of i32, got i16" {
		t.Errorf("elements of another type: %v", err)
	}
	if v, err := Elements[float64](f.Tensors["a"]); err != nil || !slices.Equal(v, []float64{-1.5}) {
		t.Errorf("a as float64: %v, %v", v, err)
	}
}

// roundTrip writes elements of a type and reads them back.
func roundTrip[T dtype.Element](t *testing.T, elements ...T) {
	t.Helper()
	x, err := Of([]int{1, len(elements)}, elements)
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&File{Metadata: map[string]string{"a": "ü"}, Tensors: map[string]Tensor{"x": x, "y": x}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if n := binary.LittleEndian.Uint64(data); n%8 != 0 {
		t.Errorf("%v: a header of %d bytes, so the data is not aligned", x.Type, n)
	}
	f, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y"} {
		got, err := Elements[T](f.Tensors[name])
		if err != nil || !slices.Equal(got, elements) || !slices.Equal(f.Tensors[name].Shape, x.Shape) {
			t.Errorf("%v: read %v of shape %v, %v; want %v", x.Type, got, f.Tensors[name].Shape, err, elements)
		}
	}
	again, err := f.Encode()
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("%v: written again, the file differs: %v", x.Type, err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	roundTrip(t, true, false)
	roundTrip[int8](t, -128, 127)
	roundTrip[uint8](t, 0, 255)
	roundTrip[int16](t, -3, 300)
	roundTrip[uint16](t, 65535)
	roundTrip[int32](t, -1<<31, 5)
	roundTrip[uint32](t, 1<<32-1)
	roundTrip[int64](t, -1<<63, 1<<62+1)
	roundTrip[uint64](t, 1<<64-1)
	roundTrip[float32](t, 1.5, -0.25)
	roundTrip(t, 1e300, -5e-324)
	roundTrip[float64](t)
	for _, typ := range dtype.Stored() { // none is missing in files
		x := Tensor{Type: typ, Shape: []int{3}, Data: make([]byte, 3*typ.Size())}
		typ.PutFloat64(x.Data[typ.Size():], 1)
		data, err := (&File{Tensors: map[string]Tensor{"x": x}}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		f, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if y := f.Tensors["x"]; y.Type != typ || !slices.Equal(y.Float64s(), []float64{0, 1, 0}) {
			t.Errorf("%v: read %v of type %v", typ, y.Float64s(), y.Type)
		}
	}
}

// TestUnknown reads and writes tensors of types that this package does not know.
func TestUnknown(t *testing.T) {
	t.Parallel()
	data := file(`{"a": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}, "b": {"dtype": "F32", "shape": [], "data_offsets": [3, 7]}}`, 1, 2, 3, 0, 0, 0x80, 0x3f)
	f, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	a := f.Tensors["a"]
	if a.Type != dtype.Invalid || a.TypeName() != "F6_E2M3" || !slices.Equal(a.Shape, []int{4}) || !slices.Equal(a.Data, []byte{1, 2, 3}) || a.Float64s() != nil {
		t.Errorf("read %+v", a)
	}
	if _, err := a.As(dtype.F32); err == nil || err.Error() != "safetensors: want elements of f32, got F6_E2M3" {
		t.Errorf("converting it: %v", err)
	}
	if _, err := a.As(dtype.Invalid); err == nil {
		t.Error("converting it to no type: want an error")
	}
	again, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	g, err := Decode(again)
	if err != nil || !reflect.DeepEqual(g, f) {
		t.Errorf("written and read it is %+v, %v, want %+v", g, err, f)
	}
}

// TestAs converts all codes of the types of 8 and 16 bits to 32 and 64 bits, and back.
func TestAs(t *testing.T) {
	t.Parallel()
	names := map[string]dtype.Type{"F8_E4M3": dtype.F8E4M3, "F8_E5M2": dtype.F8E5M2, "F8_E4M3FNUZ": dtype.F8E4M3FNUZ, "F8_E5M2FNUZ": dtype.F8E5M2FNUZ,
		"F8_E8M0": dtype.F8E8M0, "F16": dtype.F16, "BF16": dtype.BF16}
	for name, from := range names {
		n := 1 << (8 * from.Size())
		data := make([]byte, n*from.Size())
		for i := range n {
			data[i*from.Size()] = byte(i)
			if from.Size() == 2 {
				data[2*i+1] = byte(i >> 8)
			}
		}
		header := fmt.Sprintf(`{"x": {"dtype": "%s", "shape": [%d], "data_offsets": [0, %d]}}`, name, n, len(data))
		f, err := Decode(file(header, data...))
		if err != nil {
			t.Fatal(err)
		}
		x := f.Tensors["x"]
		if x.Type != from || len(x.Float64s()) != n {
			t.Errorf("%s is read as %s", name, x.TypeName())
		}
		single, err := Elements[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		double, err := Elements[float64](x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			want := from.Float64(data[i*from.Size():])
			if float64(single[i]) != want && want == want || double[i] != want && want == want || (single[i] != single[i]) != (want != want) ||
				math.Signbit(double[i]) != math.Signbit(want) {
				t.Errorf("%s %#x becomes %v and %v, want %v", name, i, single[i], double[i], want)
			}
		}
		wide, err := x.As(dtype.F32)
		if err != nil {
			t.Fatal(err)
		}
		back, err := wide.As(from)
		if from.Size() == 1 {
			if err == nil {
				t.Errorf("numbers become %s, which engines do not store", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if v := double[i]; v == v && !bytes.Equal(back.Data[2*i:2*i+2], data[2*i:2*i+2]) {
				t.Errorf("%s %#x comes back as %#x", name, data[2*i:2*i+2], back.Data[2*i:2*i+2])
			}
		}
	}
	for from, to := range map[dtype.Type]dtype.Type{dtype.F32: dtype.F16, dtype.F64: dtype.F32, dtype.BF16: dtype.F16} {
		x := Tensor{Type: from, Shape: []int{2}, Data: make([]byte, 2*from.Size())}
		from.PutFloat64(x.Data[from.Size():], -3.3e38)
		if from == dtype.F64 {
			from.PutFloat64(x.Data[8:], -1e39)
		}
		if _, err := x.As(to); err == nil || !strings.Contains(err.Error(), "element 1 of 2: -") || !strings.Contains(err.Error(), "is beyond the numbers of "+to.String()) {
			t.Errorf("%v to %v: %v", from, to, err)
		}
	}
	whole := Tensor{Type: dtype.I32, Shape: []int{1}, Data: make([]byte, 4)}
	if _, err := whole.As(dtype.F32); err == nil || Converts(dtype.I32, dtype.F32) || Converts(dtype.F32, dtype.I32) || Converts(dtype.F32, dtype.F8E4M3) {
		t.Errorf("integers are converted: %v", err)
	}
}

// TestReader reads a tensor of a file on the disk, and of one that has become shorter.
func TestReader(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	x, err := Of([]int{2}, []float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&File{Tensors: map[string]Tensor{"x": x, "a": x}}).Encode()
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"a", "x"}) {
		t.Errorf("it has %v", got)
	}
	if got, ok := r.Describe("x"); !ok || got.Type != dtype.F32 || !slices.Equal(got.Shape, []int{2}) || got.Data != nil {
		t.Errorf("x is %+v", got)
	}
	got, err := r.Read("x")
	var copied bytes.Buffer
	if err := r.Copy(&copied, "x"); err != nil || !bytes.Equal(copied.Bytes(), x.Data) {
		t.Errorf("copied %v, %v", copied.Bytes(), err)
	}
	if err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("x is %+v, %v", got, err)
	}
	if err := os.Truncate(path, int64(len(data)-2)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read("x"); err == nil || err.Error() != "safetensors: tensor x: unexpected EOF" {
		t.Errorf("cut off: %v", err)
	}
	if err := r.Copy(&copied, "x"); err == nil || err.Error() != "safetensors: tensor x: unexpected EOF" {
		t.Errorf("copied from a file that is cut off: %v", err)
	}
	if _, err := r.Read("y"); err == nil || r.Copy(&copied, "y") == nil {
		t.Errorf("a tensor that is not there: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(path); err == nil || !strings.HasPrefix(err.Error(), path+": safetensors: ") {
		t.Errorf("opened anew: %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	tensor := func(rest string) []byte { return file(`{"x": {"dtype": `+rest+`}}`, 1, 2, 3, 4) }
	for want, data := range map[string][]byte{
		"safetensors: want at least 8 bytes, got 3":                                                         {1, 2, 3},
		"safetensors: a header of 255 bytes in a file of":                                                   {255, 0, 0, 0, 0, 0, 0, 0, '{', '}'},
		"safetensors: header: ":                                                                             file("[]"),
		"safetensors: metadata: ":                                                                           file(`{"__metadata__": {"a": 1}}`),
		"safetensors: tensor x: json: ":                                                                     tensor(`"F32", "shape": "2"`),
		"safetensors: tensor x of F8[4] cannot lie at":                                                      tensor(`"F8", "shape": [4], "data_offsets": [0, 5]`),
		"safetensors: tensor x of F8_E4M3[3] cannot lie":                                                    tensor(`"F8_E4M3", "shape": [3], "data_offsets": [0, 4]`),
		"safetensors: tensor x: want a dtype, a shape":                                                      tensor(`"U8", "shape": [4]`),
		"safetensors: tensor y: want a dtype, a shape":                                                      file(`{"y": {"format": "pt"}}`),
		"safetensors: tensor z: want a dtype, a shape":                                                      file(`{"z": {"dtype": "U8", "shape": [0], "data_offsets": [0]}}`),
		"safetensors: tensor y: want data that begins where that of tensor x ends, at byte 4, got byte 0":   file(`{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "y": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}`, 1, 2, 3, 4),
		"safetensors: tensor y: want data that begins where that of tensor x ends, at byte 4, got byte 2":   file(`{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "y": {"dtype": "U8", "shape": [2], "data_offsets": [2, 4]}}`, 1, 2, 3, 4),
		"safetensors: tensor y: want data that begins where that of the header ends, at byte 0, got byte 1": file(`{"y": {"dtype": "U8", "shape": [3], "data_offsets": [1, 4]}}`, 1, 2, 3, 4),
		"safetensors: want data that ends with tensor y, at byte 3, got 4 bytes":                            file(`{"y": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}}`, 1, 2, 3, 4),
		`safetensors: header: "x" stands twice`:                                                             file(`{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}`, 1, 2, 3, 4),
		`safetensors: tensor x: "shape" stands twice`:                                                       tensor(`"F32", "shape": [1], "shape": [1], "data_offsets": [0, 4]`),
		`safetensors: metadata: "a" stands twice`:                                                           file(`{"__metadata__": {"a": "b", "a": "c"}}`),
		"safetensors: tensor x of F32[2] cannot lie at bytes 0 to 4 of 4":                                   tensor(`"F32", "shape": [2], "data_offsets": [0, 4]`),
		"safetensors: tensor x of F32[2] cannot lie at bytes 0 to 8 of 4":                                   tensor(`"F32", "shape": [2], "data_offsets": [0, 8]`),
		"safetensors: tensor x of U8[1] cannot lie at bytes -1 to 0 of 4":                                   tensor(`"U8", "shape": [1], "data_offsets": [-1, 0]`),
		"safetensors: tensor x of U8[-1 -4] cannot lie at bytes 0 to 4 of 4":                                tensor(`"U8", "shape": [-1, -4], "data_offsets": [0, 4]`),
		"safetensors: tensor x of U8[4294967296 4294967296] cannot lie at bytes 4 to 4 of 4":                tensor(`"U8", "shape": [4294967296, 4294967296], "data_offsets": [4, 4]`),
	} {
		if f, err := Decode(data); err == nil || f != nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
	bad := &File{Tensors: map[string]Tensor{"x": {Type: dtype.F32, Shape: []int{2}, Data: make([]byte, 4)}}}
	if _, err := bad.Encode(); err == nil || err.Error() != "safetensors: tensor x of f32[2] cannot hold 4 bytes" {
		t.Errorf("encoding too little data: %v", err)
	}
}

// FuzzDecode reads anything. What can be read is the same after being written and read again.
func FuzzDecode(f *testing.F) {
	f.Add(file(`{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "__metadata__": {"a": "b"}}`, 1, 2, 3, 4))
	f.Add(file(`{"x": {"dtype": "BOOL", "shape": [2, 0], "data_offsets": [0, 0]}}`))
	f.Add(file(`{"x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}, "y": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}}`, 1, 2, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := Decode(data)
		if err != nil {
			return
		}
		bytesOf := 0
		for _, x := range first.Tensors {
			bytesOf += len(x.Data)
		}
		if bytesOf > len(data) {
			t.Fatalf("tensors of %d bytes in a file of %d", bytesOf, len(data))
		}
		written, err := first.Encode()
		if err != nil {
			t.Fatal(err)
		}
		second, err := Decode(written)
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range first.Tensors {
			y := second.Tensors[name]
			if x.TypeName() != y.TypeName() || !slices.Equal(x.Shape, y.Shape) || !bytes.Equal(x.Data, y.Data) {
				t.Errorf("%s was %v%v, and is %v%v", name, x.Type, x.Shape, y.Type, y.Shape)
			}
		}
		if len(first.Tensors) != len(second.Tensors) || len(first.Metadata) > 0 && !reflect.DeepEqual(first.Metadata, second.Metadata) {
			t.Errorf("%+v became %+v", first, second)
		}
	})
}
