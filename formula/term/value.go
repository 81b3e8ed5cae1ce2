package term

import "strings"

// OfValue returns the function of formulas that a value of an enum stands for without a line that says what
// it means, as such a line: "EXP(x) = exp(x)" for EXP, and "" if no function of numbers has the value's name
// in lower case.
func OfValue(value string) string {
	name := strings.ToLower(value)
	f := Functions[name]
	if f == nil || f.Params == "" || name == value {
		return ""
	}
	return value + "(" + f.Params + ") = " + name + "(" + f.Params + ")"
}
