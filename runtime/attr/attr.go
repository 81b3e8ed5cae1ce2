// Package attr holds the value types of operator attributes that Go itself lacks, and reads
// attributes from JSON.
//
// Attributes are values: they are compared with ==, used as map keys, and written into plans. The
// types here keep that: an optional value and a list are comparable.
package attr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/runtime/dtype"
)

// Opt is a value that may be absent. The zero Opt is absent.
type Opt[T comparable] struct {
	v  T
	ok bool
}

// Some returns a present value.
func Some[T comparable](v T) Opt[T] { return Opt[T]{v, true} }

// Get returns the value and whether it is present.
func (o Opt[T]) Get() (T, bool) { return o.v, o.ok }

// Has reports whether the value is present.
func (o Opt[T]) Has() bool { return o.ok }

// Or returns the value, or other if it is absent.
func (o Opt[T]) Or(other T) T {
	if o.ok {
		return o.v
	}
	return other
}

// OrElse returns the value, or what other returns if it is absent.
func (o Opt[T]) OrElse(other func() T) T {
	if o.ok {
		return o.v
	}
	return other()
}

// String formats the value, or "none".
func (o Opt[T]) String() string {
	if !o.ok {
		return "none"
	}
	return fmt.Sprint(o.v)
}

// MarshalJSON writes the value, or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	return Marshal(o)
}

// held returns the value, for Marshal.
func (o Opt[T]) held() (reflect.Value, bool) { return reflect.ValueOf(o.v), o.ok }

// UnmarshalJSON reads a value, or null for none.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*o = Opt[T]{}
		return nil
	}
	var v T
	if err := unmarshal(data, &v); err != nil {
		return err
	}
	*o = Some(v)
	return nil
}

// List is an immutable list that can be compared with ==. The zero List is empty.
type List[T comparable] struct {
	array any // [n]T, or nil if empty: Go compares arrays, not slices
}

// ListOf returns the list of the given values.
func ListOf[T comparable](values ...T) List[T] {
	if len(values) == 0 {
		return List[T]{}
	}
	a := reflect.New(reflect.ArrayOf(len(values), reflect.TypeFor[T]())).Elem()
	reflect.Copy(a, reflect.ValueOf(values))
	return List[T]{a.Interface()}
}

// Len returns the number of values.
func (l List[T]) Len() int {
	if l.array == nil {
		return 0
	}
	return reflect.ValueOf(l.array).Len()
}

// Values returns a fresh slice of the values.
func (l List[T]) Values() []T {
	out := make([]T, l.Len())
	if l.array != nil {
		reflect.Copy(reflect.ValueOf(out), reflect.ValueOf(l.array))
	}
	return out
}

// String formats the list as [a b c].
func (l List[T]) String() string { return fmt.Sprint(l.Values()) }

// MarshalJSON writes a JSON array.
func (l List[T]) MarshalJSON() ([]byte, error) { return Marshal(l) }

// held returns the values, for Marshal.
func (l List[T]) held() (reflect.Value, bool) { return reflect.ValueOf(l.Values()), true }

// UnmarshalJSON reads a JSON array; null leaves l as it is.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var values []T
	if err := unmarshal(data, &values); err != nil {
		return err
	}
	*l = ListOf(values...)
	return nil
}

// Error is a bad attribute. It names the operator and the attribute, and what was expected and what came.
type Error struct {
	Operator string
	Attr     string // "" if the error is about the attributes as a whole
	Want     string
	Got      string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "operator %s: ", e.Operator)
	if e.Attr != "" {
		fmt.Fprintf(&b, "attribute %s: ", e.Attr)
	}
	fmt.Fprintf(&b, "want %s", e.Want)
	if e.Got != "" {
		fmt.Fprintf(&b, ", got %s", e.Got)
	}
	return b.String()
}

// Decode reads a JSON object into the attributes *into of an operator, on top of what they hold
// (the defaults). A key that is no attribute is an error that names the nearest one, and so is the
// absence of a required one. An attribute that is null keeps its default.
func Decode(operator string, data []byte, into any, required ...string) error {
	object := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &object); err != nil {
			return &Error{Operator: operator, Want: "a JSON object of attributes", Got: err.Error()}
		}
	}
	for _, name := range required {
		if raw, ok := object[name]; !ok || string(raw) == "null" {
			return &Error{Operator: operator, Attr: name, Want: "a value", Got: "none"}
		}
	}
	fields := fieldsOf(reflect.ValueOf(into).Elem())
	for _, key := range slices.Sorted(maps.Keys(object)) { // sorted, so that the first error is always the same
		raw := object[key]
		field, ok := fields[key]
		if !ok {
			names := fieldNames(reflect.TypeOf(into).Elem())
			want := "one of " + strings.Join(names, ", ")
			if len(names) == 0 {
				want = "no attributes"
			}
			if n := nearest.Name(key, names); n != "" {
				want = fmt.Sprintf("a known name (did you mean %q?)", n)
			}
			return &Error{Operator: operator, Attr: key, Want: want, Got: "an unknown attribute"}
		}
		if err := unmarshal(raw, field.Addr().Interface()); err != nil {
			return &Error{Operator: operator, Attr: key, Want: typeName(field.Type()), Got: describe(raw, err)}
		}
	}
	return nil
}

// FormatRecord formats the fields of a record as {a b c}.
func FormatRecord(v any) string {
	var parts []string
	record := reflect.ValueOf(v)
	for i := range len(fieldNames(record.Type())) {
		parts = append(parts, fmt.Sprint(record.Field(i)))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// DecodeRecord reads a JSON object into the record *into. Fields that are left out or null have their
// defaults. An unknown field is an error, and so is the absence of a required one. null leaves the record as
// it is.
func DecodeRecord[T any](data []byte, into *T, defaults T, required ...string) error {
	if string(data) == "null" {
		return nil
	}
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	for _, name := range required {
		if raw, ok := object[name]; !ok || string(raw) == "null" {
			return fmt.Errorf("field %s is missing", name)
		}
	}
	if err := unmarshal(data, &defaults); err != nil {
		return err
	}
	*into = defaults
	return nil
}

func describe(raw json.RawMessage, err error) string {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return string(raw)
	}
	return fmt.Sprintf("%s (%v)", raw, err)
}

// typeName says in words what JSON a Go type reads.
func typeName(t reflect.Type) string {
	switch v := reflect.Zero(t).Interface().(type) {
	case interface{ value() reflect.Type }:
		return typeName(v.value())
	case interface{ list() }:
		return "a list"
	case Number:
		return "a number"
	}
	switch t.Kind() {
	case reflect.Int:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Struct:
		return "an object"
	}
	return "a name" // an enum or an element type
}

func (o Opt[T]) value() reflect.Type { return reflect.TypeFor[T]() }

func (l List[T]) list() {}

func fieldsOf(v reflect.Value) map[string]reflect.Value {
	m := map[string]reflect.Value{}
	for i, name := range fieldNames(v.Type()) {
		m[name] = v.Field(i)
	}
	return m
}

// fieldNames returns the names of the attributes, which are the first fields: the mark of generated
// attributes is last.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name, ok := t.Field(i).Tag.Lookup("json"); ok {
			names = append(names, name)
		}
	}
	return names
}

// EnumString returns the name of value v of an enum, where names[0] stands for "not set".
func EnumString(v int, names []string) string {
	if v <= 0 || v >= len(names) {
		return "none"
	}
	return names[v]
}

// MarshalEnum writes the name of value v of an enum as JSON, null if it is not set.
func MarshalEnum(v int, names []string) ([]byte, error) {
	if v == 0 {
		return []byte("null"), nil
	}
	if v < 0 || v >= len(names) {
		return nil, fmt.Errorf("there is no value %d among %s", v, strings.Join(names[1:], ", "))
	}
	return json.Marshal(names[v])
}

// UnmarshalEnum reads a name, or null, which leaves the value at current. The error lists the names
// and suggests the nearest.
func UnmarshalEnum(data []byte, current int, names []string) (int, error) {
	if string(data) == "null" {
		return current, nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return current, err
	}
	for i, n := range names[1:] {
		if n == text {
			return i + 1, nil
		}
	}
	hint := ""
	if n := nearest.Name(text, names[1:]); n != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", n)
	}
	return current, fmt.Errorf("%q is not one of %s%s", text, strings.Join(names[1:], ", "), hint)
}

// CheckEnum returns an error unless v is a value of an enum, or not set and that is allowed.
func CheckEnum(operator, attr string, v int, names []string, optional bool) error {
	if v > 0 && v < len(names) || v == 0 && optional {
		return nil
	}
	got := EnumString(v, names)
	if v != 0 {
		got = fmt.Sprint(v)
	}
	return &Error{Operator: operator, Attr: attr, Want: "one of " + strings.Join(names[1:], ", "), Got: got}
}

// CheckMade returns an error unless attributes were made by the function Defaults of their package. Other
// ones may lack what the spec requires, and have zeros in place of its defaults.
func CheckMade(operator string, made bool) error {
	if made {
		return nil
	}
	return &Error{Operator: operator, Want: "attributes made by Defaults", Got: "a literal"}
}

// CheckMadeBy returns an error unless a record was made by a function of its package. Another one may lack
// what the spec requires, and have zeros in place of its defaults.
func CheckMadeBy(operator, attr, function string, made bool) error {
	if made {
		return nil
	}
	return &Error{Operator: operator, Attr: attr, Want: "a value made by " + function, Got: "a literal"}
}

// CheckType returns an error unless t is an element type.
func CheckType(operator, attr string, t dtype.Type) error {
	if t != dtype.Invalid {
		return nil
	}
	return &Error{Operator: operator, Attr: attr, Want: "an element type", Got: "none"}
}

// CheckMin returns an error if v is below least.
func CheckMin[T int | float64](operator, attr string, v, least T) error {
	if v >= least {
		return nil
	}
	return &Error{Operator: operator, Attr: attr, Want: fmt.Sprintf("at least %v", least), Got: fmt.Sprint(v)}
}

// CheckMax returns an error if v is above most.
func CheckMax[T int | float64](operator, attr string, v, most T) error {
	if v <= most {
		return nil
	}
	return &Error{Operator: operator, Attr: attr, Want: fmt.Sprintf("at most %v", most), Got: fmt.Sprint(v)}
}

// CheckLen returns an error if a list does not have as many values as it must.
func CheckLen(operator, attr string, got, want int) error {
	if got == want {
		return nil
	}
	s := "s"
	if want == 1 {
		s = ""
	}
	return &Error{Operator: operator, Attr: attr, Want: fmt.Sprintf("%d value%s", want, s), Got: fmt.Sprint(got)}
}

// Valid returns the error of a function that checks attributes, with the operator's name. It returns nil if
// there is no error.
func Valid(operator string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("operator %s: %w", operator, err)
}
