package attr

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Marshal returns attributes, or a part of them, as JSON. Numbers that JSON lacks are the strings "inf",
// "-inf" and "nan".
func Marshal(v any) ([]byte, error) { return (&form{}).marshal(v) }

// unmarshal reads what Marshal returns. Unknown fields of records are errors.
func unmarshal(data []byte, into any) error {
	return (&form{}).decode(data, reflect.ValueOf(into).Elem())
}

// MarshalPlain returns a value of any plain Go type as JSON: floats as Marshal does, and structs by the Go
// names of their fields, whatever their tags say.
func MarshalPlain(v any) ([]byte, error) { return (&form{plain: true}).marshal(v) }

// UnmarshalPlain reads what MarshalPlain returns.
func UnmarshalPlain(data []byte, into any) error {
	return (&form{plain: true}).decode(data, reflect.ValueOf(into).Elem())
}

// Object returns attributes by name, as package json decodes them to any, with numbers of type json.Number.
// Those that JSON lacks are numbers, too.
func Object(attrs any) (map[string]any, error) {
	const mark = "\x00"
	data, err := (&form{mark: mark}).marshal(attrs)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	return unmark(object, mark).(map[string]any), nil
}

// unmark turns marked strings into numbers.
func unmark(v any, mark string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = unmark(x, mark)
		}
	case []any:
		for i, x := range v {
			v[i] = unmark(x, mark)
		}
	case string:
		if text, ok := strings.CutPrefix(v, mark); ok {
			return json.Number(text)
		}
	}
	return v
}

// form is how values are written as JSON.
type form struct {
	plain bool   // Go values, rather than attributes
	mark  string // in front of numbers that JSON lacks
}

func (f *form) marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := f.encode(&b, reflect.ValueOf(v))
	return b.Bytes(), err
}

// holder is an Opt or a List.
type holder interface {
	held() (value reflect.Value, ok bool)
}

// encode writes a value by the writer of its type.
func (f *form) encode(b *bytes.Buffer, v reflect.Value) error {
	if !v.IsValid() {
		b.WriteString("null")
		return nil
	}
	return f.writer(v.Type())(b, v)
}

// writer writes values of a type.
type writer func(b *bytes.Buffer, v reflect.Value) error

// writers holds the writers of types that were made before, by form and type.
var writers sync.Map

// typed is a type in a form.
type typed struct {
	form
	reflect.Type
}

// writer returns what writes values of a type.
func (f *form) writer(t reflect.Type) writer {
	key := typed{*f, t}
	if w, ok := writers.Load(key); ok {
		return w.(writer)
	}
	w := f.newWriter(t)
	writers.Store(key, w)
	return w
}

func (f *form) newWriter(t reflect.Type) writer {
	switch {
	case t.Implements(reflect.TypeFor[holder]()):
		return func(b *bytes.Buffer, v reflect.Value) error {
			held, ok := v.Interface().(holder).held()
			if !ok {
				b.WriteString("null")
				return nil
			}
			return f.encode(b, held) // it may be a list that may be absent
		}
	case t == reflect.TypeFor[Number]():
		return func(b *bytes.Buffer, v reflect.Value) error {
			b.Write(v.Interface().(Number).json(f.mark))
			return nil
		}
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return func(b *bytes.Buffer, v reflect.Value) error {
			data, err := v.Interface().(json.Marshaler).MarshalJSON()
			b.Write(data)
			return err
		}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return writeJSON
	}
	switch t.Kind() {
	case reflect.Float32, reflect.Float64:
		return f.encodeFloat
	case reflect.Slice, reflect.Array:
		return f.encodeList
	case reflect.Struct:
		return f.structWriter(t)
	case reflect.Interface:
		return func(b *bytes.Buffer, v reflect.Value) error { return f.encode(b, v.Elem()) }
	}
	return writeJSON
}

// writeJSON writes a value as package json does.
func writeJSON(b *bytes.Buffer, v reflect.Value) error {
	data, err := json.Marshal(v.Interface())
	b.Write(data)
	return err
}

func (f *form) encodeFloat(b *bytes.Buffer, v reflect.Value) error {
	if x := v.Float(); math.IsInf(x, 0) || math.IsNaN(x) {
		text, err := json.Marshal(f.mark + strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+"))
		b.Write(text)
		return err
	}
	return writeJSON(b, v)
}

func (f *form) encodeList(b *bytes.Buffer, v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		b.WriteString("null")
		return nil
	}
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := f.encode(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// structWriter writes the exported fields. Plain values have no others, and what those of attributes hold is
// no attribute.
func (f *form) structWriter(t reflect.Type) writer {
	type field struct {
		index int
		key   string // with what stands around it
		write writer
	}
	var fields []field
	var err error
	for i := range t.NumField() {
		x := t.Field(i)
		switch {
		case !x.IsExported() && f.plain:
			if err == nil {
				err = fmt.Errorf("type %v has the unexported field %s", t, x.Name)
			}
		case x.IsExported():
			fields = append(fields, field{i, fmt.Sprintf("%q:", f.name(x)), f.writer(x.Type)}) // no struct holds itself
		}
	}
	return func(b *bytes.Buffer, v reflect.Value) error {
		if err != nil {
			return err
		}
		b.WriteByte('{')
		for i, x := range fields {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(x.key)
			if err := x.write(b, v.Field(x.index)); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	}
}

// name returns the key of a field.
func (f *form) name(field reflect.StructField) string {
	if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" && !f.plain {
		return tag
	}
	return field.Name
}

func (f *form) decode(data []byte, v reflect.Value) error {
	data = bytes.TrimSpace(data)
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		return u.UnmarshalJSON(data)
	}
	if _, ok := v.Addr().Interface().(interface{ UnmarshalText([]byte) error }); ok {
		return json.Unmarshal(data, v.Addr().Interface())
	}
	if string(data) == "null" {
		return nil
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if x, ok := lacking(data); ok {
			v.SetFloat(x)
			return nil
		}
	case reflect.Slice, reflect.Array:
		return f.decodeList(data, v)
	case reflect.Struct:
		return f.decodeStruct(data, v)
	}
	return json.Unmarshal(data, v.Addr().Interface())
}

// lacking returns a number that JSON lacks.
func lacking(data []byte) (float64, bool) {
	switch string(data) {
	case `"inf"`:
		return math.Inf(1), true
	case `"-inf"`:
		return math.Inf(-1), true
	case `"nan"`:
		return math.NaN(), true
	}
	return 0, false
}

func (f *form) decodeList(data []byte, v reflect.Value) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(parts), len(parts)))
	} else if v.Len() != len(parts) {
		return fmt.Errorf("want %d values, got %d", v.Len(), len(parts))
	}
	for i, p := range parts {
		if err := f.decode(p, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (f *form) decodeStruct(data []byte, v reflect.Value) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for i := range v.NumField() {
		name := f.name(v.Type().Field(i))
		p, ok := parts[name]
		if !ok || !v.Type().Field(i).IsExported() {
			continue
		}
		if err := f.decode(p, v.Field(i)); err != nil {
			return err
		}
		delete(parts, name)
	}
	for name := range parts {
		return fmt.Errorf("unknown field %q", name)
	}
	return nil
}
