package dtype

import (
	"encoding/json"
	"testing"
)

func TestNames(t *testing.T) {
	names := Names()
	if len(names) != len(infos)-1 {
		t.Errorf("%d names of %d types", len(names), len(infos)-1)
	}
	seen := map[string]bool{"": true, "invalid": true}
	for i, name := range names {
		if seen[name] {
			t.Errorf("the name %q is empty or taken", name)
		}
		seen[name] = true
		typ, err := Parse(name)
		if err != nil || typ != Type(i+1) || typ.String() != name {
			t.Errorf("Parse(%q) = %v, %v", name, typ, err)
		}
	}
	for _, name := range []string{"", "invalid", "F32", "float", "f33"} {
		if typ, err := Parse(name); err == nil || typ != Invalid {
			t.Errorf("Parse(%q) = %v, %v", name, typ, err)
		}
	}
	if got := Type(200).String(); got != "dtype.Type(200)" {
		t.Errorf("Type(200) = %q", got)
	}
	if Type(200).Size() != 0 || Type(200).IsFloat() || Type(200).GoType() != "" {
		t.Error("Type(200) has properties")
	}
}

func TestJSON(t *testing.T) {
	for i := range infos {
		typ := Type(i)
		data, err := json.Marshal(typ)
		if err != nil {
			t.Fatal(err)
		}
		var back Type
		if err := json.Unmarshal(data, &back); err != nil || back != typ {
			t.Errorf("%v became %v through %s: %v", typ, back, data, err)
		}
	}
	if data, _ := json.Marshal(Invalid); string(data) != "null" {
		t.Errorf("the absent type is %s", data)
	}
	keep := F32
	if err := json.Unmarshal([]byte(`"f99"`), &keep); err == nil || err.Error() != `unknown element type "f99"` || keep != F32 {
		t.Errorf("f99: %v, %v", keep, err)
	}
}

// TestOf checks that Of, GoType and Size agree with Go.
func TestOf(t *testing.T) {
	check[bool](t, Bool, "bool", 1)
	check[int8](t, I8, "int8", 1)
	check[int16](t, I16, "int16", 2)
	check[int32](t, I32, "int32", 4)
	check[int64](t, I64, "int64", 8)
	check[uint8](t, U8, "uint8", 1)
	check[uint16](t, U16, "uint16", 2)
	check[uint32](t, U32, "uint32", 4)
	check[uint64](t, U64, "uint64", 8)
	check[float32](t, F32, "float32", 4)
	check[float64](t, F64, "float64", 8)
}

func check[E Element](t *testing.T, want Type, goType string, size int) {
	t.Helper()
	if got := Of[E](); got != want {
		t.Errorf("Of[%s] = %v, want %v", goType, got, want)
	}
	if want.GoType() != goType || want.Size() != size {
		t.Errorf("%v: Go type %s of %d bytes, want %s of %d", want, want.GoType(), want.Size(), goType, size)
	}
}

func TestClasses(t *testing.T) {
	for i := range infos {
		typ := Type(i)
		name := typ.String()
		if want := name[0] == 'f' || name == "bf16"; typ.IsFloat() != want {
			t.Errorf("%v.IsFloat() = %v", typ, !want)
		}
		if want := (name[0] == 'i' || name[0] == 'u') && typ != Invalid; typ.IsInteger() != want {
			t.Errorf("%v.IsInteger() = %v", typ, !want)
		}
	}
}

func TestBounds(t *testing.T) {
	for i := range infos {
		typ := Type(i)
		least, most, ok := typ.Bounds()
		if want := typ.IsInteger() && typ.Size() > 0 && typ.Size() < 8; ok != want {
			t.Errorf("%v has bounds: got %v, want %v", typ, ok, want)
		}
		if !ok {
			continue
		}
		var b [8]byte
		for _, v := range []int64{least, most} {
			typ.PutFloat64(b[:], float64(v))
			if got := typ.Float64(b[:]); got != float64(v) {
				t.Errorf("%v holds %d as %v", typ, v, got)
			}
		}
		if values := most - least + 1; values != 1<<(8*typ.Size()) {
			t.Errorf("%v has %d values from %d to %d", typ, values, least, most)
		}
	}
}

func TestFormat(t *testing.T) {
	if got := Format([]Type{F32, I64, Bool}); got != "f32, i64, bool" {
		t.Errorf("Format = %q", got)
	}
	if Format(nil) != "" || !Contains([]Type{F32}, F32) || Contains([]Type{F32}, F64) || Contains(nil, F32) {
		t.Error("Format or Contains is wrong")
	}
}
