// Package dtype names the element types of tensors, and says how their elements are stored.
//
// The generator, the generated code and the engines use it. It imports none of them.
package dtype

import (
	"fmt"
	"slices"
	"strconv"
)

// Type is the element type of a tensor. The zero value is Invalid.
type Type uint8

// The element types that a spec may name. Some engines do not store all of them.
const (
	Invalid Type = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F8E4M3
	F8E5M2
	F16
	BF16
	F32
	F64
	C64
	C128
	String
	// Types of quantized models, which no engine stores yet. A name with FN has no infinities, one with
	// UZ no negative zero.
	F8E4M3FNUZ
	F8E5M2FNUZ
	F8E8M0 // powers of two, for scales
	F4E2M1
	I4
	U4
	I2
	U2
)

// info holds the facts about a type. A new row, with a constant above, is all that specs need to name
// a type; with a storage, engines store it.
type info struct {
	name    string
	size    int // bytes per element; 0 if elements have no fixed size or several share a byte
	class   class
	storage *storage // nil if elements can be neither stored nor read
}

type class uint8

const (
	classNone class = iota
	classBool
	classInt
	classFloat
	classComplex
	classString
)

var infos = [...]info{
	Invalid:    {name: "invalid"},
	Bool:       {"bool", 1, classBool, boolean},
	I8:         {"i8", 1, classInt, integer[int8]()},
	I16:        {"i16", 2, classInt, integer[int16]()},
	I32:        {"i32", 4, classInt, integer[int32]()},
	I64:        {"i64", 8, classInt, integer[int64]()},
	U8:         {"u8", 1, classInt, integer[uint8]()},
	U16:        {"u16", 2, classInt, integer[uint16]()},
	U32:        {"u32", 4, classInt, integer[uint32]()},
	U64:        {"u64", 8, classInt, integer[uint64]()},
	F8E4M3:     {"f8e4m3", 1, classFloat, readable(f8e4m3)},
	F8E5M2:     {"f8e5m2", 1, classFloat, readable(f8e5m2)},
	F16:        {"f16", 2, classFloat, packed(2, f16Bits, f16Value)},
	BF16:       {"bf16", 2, classFloat, packed(2, bf16Bits, bf16Value)},
	F32:        {"f32", 4, classFloat, single},
	F64:        {"f64", 8, classFloat, double},
	C64:        {"c64", 8, classComplex, nil},
	C128:       {"c128", 16, classComplex, nil},
	String:     {"string", 0, classString, nil},
	F8E4M3FNUZ: {"f8e4m3fnuz", 1, classFloat, readable(f8e4m3fnuz)},
	F8E5M2FNUZ: {"f8e5m2fnuz", 1, classFloat, readable(f8e5m2fnuz)},
	F8E8M0:     {"f8e8m0", 1, classFloat, readable(f8e8m0)},
	F4E2M1:     {"f4e2m1", 0, classFloat, nil},
	I4:         {"i4", 0, classInt, nil},
	U4:         {"u4", 0, classInt, nil},
	I2:         {"i2", 0, classInt, nil},
	U2:         {"u2", 0, classInt, nil},
}

func (t Type) info() info {
	if int(t) < len(infos) {
		return infos[t]
	}
	return infos[Invalid]
}

// String returns the name that specs use, such as "f32".
func (t Type) String() string {
	if int(t) >= len(infos) {
		return fmt.Sprintf("dtype.Type(%d)", uint8(t))
	}
	return infos[t].name
}

// Size returns the bytes of one element. It is 0 for Invalid, for strings, which have no fixed size, and
// for the types of 2 and 4 bits, which share bytes.
func (t Type) Size() int { return t.info().size }

// IsFloat reports whether t holds real floating-point numbers. Only such tensors have gradients.
func (t Type) IsFloat() bool { return t.info().class == classFloat }

// IsInteger reports whether t holds integers, signed or not.
func (t Type) IsInteger() bool { return t.info().class == classInt }

// Bounds returns the least and the greatest value of an integer type of 8 to 32 bits. ok is false for other
// types.
func (t Type) Bounds() (least, most int64, ok bool) {
	bits := 8 * t.Size()
	switch t {
	case I8, I16, I32:
		return -1 << (bits - 1), 1<<(bits-1) - 1, true
	case U8, U16, U32:
		return 0, 1<<bits - 1, true
	}
	return 0, 0, false
}

// Names returns the names of all element types, in declaration order.
func Names() []string {
	var names []string
	for _, in := range infos[1:] {
		names = append(names, in.name)
	}
	return names
}

// Parse returns the type of a name, such as "f32".
func Parse(name string) (Type, error) {
	for i, in := range infos[1:] {
		if name == in.name {
			return Type(i + 1), nil
		}
	}
	return Invalid, fmt.Errorf("unknown element type %q", name)
}

// MarshalText writes the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON writes the name, or null for Invalid, which is the value of an absent attribute.
func (t Type) MarshalJSON() ([]byte, error) {
	if t == Invalid {
		return []byte("null"), nil
	}
	return strconv.AppendQuote(nil, t.String()), nil
}

// UnmarshalText reads a name.
func (t *Type) UnmarshalText(text []byte) error {
	p, err := Parse(string(text))
	if err != nil {
		return err
	}
	*t = p
	return nil
}

// Element lists the Go types in which kernels read and write elements.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Float lists the types of real numbers.
type Float interface{ float32 | float64 }

// Integer lists the types of integers.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Index lists the types of indices and labels.
type Index interface{ int32 | int64 }

// Number lists the types with arithmetic.
type Number interface{ Float | Integer }

// TypeSet is one of the constraints above, with the element types of its Go types.
type TypeSet struct {
	Name  string
	Types []Type
}

// TypeSets returns the constraints above, widest first.
func TypeSets() []TypeSet {
	sets := []TypeSet{{Name: "Element"}, {Name: "Number"}, {Name: "Integer"}, {Name: "Float"}, {"Index", []Type{I32, I64}}}
	for _, t := range Stored() {
		for i, in := range []bool{true, t != Bool, t.IsInteger(), t.IsFloat()} {
			if in && t.Host() == t {
				sets[i].Types = append(sets[i].Types, t)
			}
		}
	}
	return sets
}

// Of returns the element type that the Go type E stores.
func Of[E Element]() Type {
	var e E
	switch any(e).(type) {
	case bool:
		return Bool
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case uint8:
		return U8
	case uint16:
		return U16
	case uint32:
		return U32
	case uint64:
		return U64
	case float32:
		return F32
	}
	return F64
}

// GoType returns the Go type in which kernels see elements of t ("float32", also for f16). It returns ""
// if no engine stores t.
func (t Type) GoType() string {
	if s := t.info().storage; s != nil {
		return s.goType
	}
	return ""
}

// Readable reports whether Float64 reads elements of t: those of stored types, and of the floating-point
// types of 8 bits, which are only read from files.
func (t Type) Readable() bool { return t.info().storage != nil }

// Stored returns the types that engines store, in declaration order.
func Stored() []Type {
	var types []Type
	for i, in := range infos {
		if in.storage != nil && in.storage.put != nil {
			types = append(types, Type(i))
		}
	}
	return types
}

// Format returns the names of types joined by ", ".
func Format(types []Type) string {
	s := ""
	for i, t := range types {
		if i > 0 {
			s += ", "
		}
		s += t.String()
	}
	return s
}

// Contains reports whether types holds t.
func Contains(types []Type, t Type) bool { return slices.Contains(types, t) }
