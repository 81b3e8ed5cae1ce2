package attr

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/opgen/opgen/runtime/dtype"
)

// Number is an integer or a real number, as the one who sets the attribute chooses. 2 and 2.0 differ. The
// zero Number is the integer 0.
type Number struct {
	integer int64
	real    float64
	isReal  bool
}

// Int returns an integer.
func Int[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](v T) Number {
	return Number{integer: int64(v)}
}

// Real returns a real number.
func Real[T ~float32 | ~float64](v T) Number { return Number{real: float64(v), isReal: true} }

// Int returns the integer. It returns false for a real number, even if that is whole.
func (n Number) Int() (int64, bool) { return n.integer, !n.isReal }

// Float returns the number, which is rounded if it is an integer beyond 53 bits.
func (n Number) Float() float64 {
	if n.isReal {
		return n.real
	}
	return float64(n.integer)
}

// Type returns the element type that the number determines: i64 of an integer, and f32 of a real number.
func (n Number) Type() dtype.Type {
	if n.isReal {
		return dtype.F32
	}
	return dtype.I64
}

// String returns the number as JSON has it: a real number has a point or an exponent.
func (n Number) String() string {
	if !n.isReal {
		return strconv.FormatInt(n.integer, 10)
	}
	text := strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(n.real, 'g', -1, 64)), "+")
	if math.IsInf(n.real, 0) || math.IsNaN(n.real) || strings.ContainsAny(text, ".e") {
		return text
	}
	return text + ".0"
}

// MarshalJSON writes what String returns, infinities and NaN as strings.
func (n Number) MarshalJSON() ([]byte, error) { return n.json(""), nil }

// json returns the number as JSON, with a mark in front of one that JSON lacks.
func (n Number) json(mark string) []byte {
	if n.isReal && (math.IsInf(n.real, 0) || math.IsNaN(n.real)) {
		text, _ := json.Marshal(mark + n.String()) // strings are never refused
		return text
	}
	return []byte(n.String())
}

// UnmarshalJSON reads what MarshalJSON writes. A number without a point and an exponent is an integer.
func (n *Number) UnmarshalJSON(data []byte) error {
	if v, ok := lacking(data); ok {
		*n = Real(v)
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil || len(data) > 0 && data[0] == '"' || number == "" {
		return &json.UnmarshalTypeError{Value: kindOf(data), Type: reflect.TypeFor[Number]()}
	}
	v, err := ParseNumber(number.String())
	if err == nil {
		*n = v
	}
	return err
}

// ParseNumber returns the number that a text stands for: a real number if it has a point or an exponent, or
// is inf, -inf or nan, and otherwise an integer.
func ParseNumber(text string) (Number, error) {
	if strings.ContainsAny(text, ".eEn") {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return Number{}, fmt.Errorf("want a number that 64 bits hold, got %s", text)
		}
		return Real(v), nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Number{}, fmt.Errorf("want an integer that 64 bits hold, got %s", text)
	}
	return Int(v), nil
}

// kindOf names a value of JSON as package json does.
func kindOf(data []byte) string {
	switch {
	case len(data) == 0:
		return "nothing"
	case data[0] == '{':
		return "object"
	case data[0] == '[':
		return "array"
	case data[0] == '"':
		return "string"
	case data[0] == 't' || data[0] == 'f':
		return "bool"
	}
	return string(data)
}

// Floats returns a number that may be absent as a float that may be.
func Floats(n Opt[Number]) Opt[float64] {
	v, ok := n.Get()
	if !ok {
		return Opt[float64]{}
	}
	return Some(v.Float())
}
