package expr

import "math"

// Constants are the real numbers that formulas call by a name.
var Constants = map[string]float64{"pi": math.Pi, "inf": math.Inf(1)}

// IsConstant reports whether a name is one of a real number.
func IsConstant(name string) bool {
	_, is := Constants[name]
	return is
}
