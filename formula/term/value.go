package term

import "strings"

// OfValue returns the function that an enum value denotes by its name, if no line of a formula defines the
// value: the line "EXP(x) = exp(x)" for EXP. It returns "" if no function of numbers has the value's name in
// lower case.
func OfValue(value string) string {
	name := strings.ToLower(value)
	f := Functions[name]
	if f == nil || f.Params == "" || name == value {
		return ""
	}
	return value + "(" + f.Params + ") = " + name + "(" + f.Params + ")"
}
