// Package dtype names the element types of tensors.
//
// It is plain vocabulary: the generator, the generated code and the engines all use it, and it
// imports nothing of them.
package dtype

import (
	"fmt"
	"slices"
	"strconv"
)

// Type is the element type of a tensor. The zero value is Invalid.
type Type uint8

// The element types that a spec may name. Not every engine stores every one of them.
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
	// Types of quantised models, which no engine stores yet. FN in a name says that there are no
	// infinities, UZ that there is no negative zero.
	F8E4M3FNUZ
	F8E5M2FNUZ
	F8E8M0 // powers of two, for scales
	F4E2M1
	I4
	U4
	I2
	U2
)

type info struct {
	name     string
	flexflow string // FlexFlow's DataType enumerator, "" where it has none
	size     int    // bytes per element, 0 if elements have no fixed size or several share a byte
	class    class
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
	Bool:       {"bool", "BOOL", 1, classBool},
	I8:         {"i8", "", 1, classInt},
	I16:        {"i16", "", 2, classInt},
	I32:        {"i32", "INT32", 4, classInt},
	I64:        {"i64", "INT64", 8, classInt},
	U8:         {"u8", "", 1, classInt},
	U16:        {"u16", "", 2, classInt},
	U32:        {"u32", "", 4, classInt},
	U64:        {"u64", "", 8, classInt},
	F8E4M3:     {"f8e4m3", "", 1, classFloat},
	F8E5M2:     {"f8e5m2", "", 1, classFloat},
	F16:        {"f16", "HALF", 2, classFloat},
	BF16:       {"bf16", "", 2, classFloat},
	F32:        {"f32", "FLOAT", 4, classFloat},
	F64:        {"f64", "DOUBLE", 8, classFloat},
	C64:        {"c64", "", 8, classComplex},
	C128:       {"c128", "", 16, classComplex},
	String:     {"string", "", 0, classString},
	F8E4M3FNUZ: {"f8e4m3fnuz", "", 1, classFloat},
	F8E5M2FNUZ: {"f8e5m2fnuz", "", 1, classFloat},
	F8E8M0:     {"f8e8m0", "", 1, classFloat},
	F4E2M1:     {"f4e2m1", "", 0, classFloat},
	I4:         {"i4", "", 0, classInt},
	U4:         {"u4", "", 0, classInt},
	I2:         {"i2", "", 0, classInt},
	U2:         {"u2", "", 0, classInt},
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

// Size returns the bytes of one element, or 0 for Invalid, for strings, which have no fixed size, and
// for the types of 2 and 4 bits, of which several share a byte.
func (t Type) Size() int { return t.info().size }

// IsFloat reports whether t holds real floating-point numbers. Only such tensors have gradients.
func (t Type) IsFloat() bool { return t.info().class == classFloat }

// IsInteger reports whether t holds integers, signed or not.
func (t Type) IsInteger() bool { return t.info().class == classInt }

// Names returns the names of all element types, in declaration order.
func Names() []string {
	var names []string
	for _, in := range infos[1:] {
		names = append(names, in.name)
	}
	return names
}

// Parse returns the type of a name: a spec's ("f32") or FlexFlow's DataType ("FLOAT").
func Parse(name string) (Type, error) {
	if name != "" {
		for i, in := range infos[1:] {
			if name == in.name || name == in.flexflow {
				return Type(i + 1), nil
			}
		}
	}
	return Invalid, fmt.Errorf("unknown element type %q", name)
}

// MarshalText writes t as FlexFlow's DataType where it has one ("FLOAT"), otherwise as specs do,
// because attributes keep FlexFlow's values.
func (t Type) MarshalText() ([]byte, error) {
	if ff := t.info().flexflow; ff != "" {
		return []byte(ff), nil
	}
	return []byte(t.String()), nil
}

// MarshalJSON writes null for Invalid, which stands for an absent attribute, and the text otherwise.
func (t Type) MarshalJSON() ([]byte, error) {
	if t == Invalid {
		return []byte("null"), nil
	}
	text, err := t.MarshalText()
	return strconv.AppendQuote(nil, string(text)), err
}

// UnmarshalText reads what Parse accepts.
func (t *Type) UnmarshalText(text []byte) error {
	p, err := Parse(string(text))
	if err != nil {
		return err
	}
	*t = p
	return nil
}

// Element lists the Go types in which tensors are stored.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Float lists the types in which kernels compute with real numbers.
type Float interface{ float32 | float64 }

// Integer lists the integer storage types.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Index lists the types of indices and labels.
type Index interface{ int32 | int64 }

// Number lists the types with arithmetic.
type Number interface{ Float | Integer }

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

// GoType returns the Go type in which kernels see elements of t ("float32", also of f16), or "" if
// there are no tensors of t yet.
func (t Type) GoType() string {
	switch t = t.Host(); t {
	case Bool:
		return "bool"
	case I8, I16, I32, I64:
		return "int" + t.String()[1:]
	case U8, U16, U32, U64:
		return "uint" + t.String()[1:]
	case F32, F64:
		return "float" + t.String()[1:]
	}
	return ""
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
