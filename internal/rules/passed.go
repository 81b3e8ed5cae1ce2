package rules

import (
	"math"
	"slices"

	"github.com/opgen/opgen/internal/spec"
)

// Value is what a Go type of an argument holds, as far as specs and formulas know.
type Value uint8

const (
	OtherValue Value = iota // a list, a type of a package, or integers that are too large for formulas
	IntegerValue
	RealValue
	TruthValue
	TextValue
)

// Integers holds the least and the greatest value of the types of integers that formulas compute with.
var Integers = map[string][2]int64{
	"int": {math.MinInt64, math.MaxInt64}, "int8": {math.MinInt8, math.MaxInt8}, "int16": {math.MinInt16, math.MaxInt16},
	"int32": {math.MinInt32, math.MaxInt32}, "int64": {math.MinInt64, math.MaxInt64},
	"uint8": {0, math.MaxUint8}, "uint16": {0, math.MaxUint16}, "uint32": {0, math.MaxUint32},
}

// ValueKind returns what a Go type holds.
func ValueKind(goType string) Value {
	switch goType {
	case "float32", "float64":
		return RealValue
	case "bool":
		return TruthValue
	case "string":
		return TextValue
	}
	if _, ok := Integers[goType]; ok {
		return IntegerValue
	}
	return OtherValue
}

// TaskArgs lists the arguments of a task, in its order.
func TaskArgs(s *spec.Spec, t *spec.Task) []*spec.Arg {
	var out []*spec.Arg
	for _, n := range t.Args {
		if i := slices.IndexFunc(s.Args, func(a *spec.Arg) bool { return a.Name == n.V }); i >= 0 && !slices.Contains(out, s.Args[i]) {
			out = append(out, s.Args[i])
		}
	}
	return out
}
