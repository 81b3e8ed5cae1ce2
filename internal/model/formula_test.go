package model

import (
	"slices"
	"strings"
	"testing"
)

// TestFormulaLines checks that lines are joined, that comments are dropped, and that the functions of shared
// enums follow.
func TestFormulaLines(t *testing.T) {
	activation := &Enum{Formula: "RELU(x)    = max(x, 0) // 0 below 0\nSIGMOID(x) = sigmoid(x)"}
	penalty := &Enum{Formula: "L1(x) = abs(x)\nL2(x) = x^2\n  / 2"}
	attrs := []*Attr{
		{Name: "mode", Enum: &Enum{}},
		{Name: "curve", Enum: &Enum{Values: []EnumValue{{Name: "EXP"}, {Name: "HALF"}, {Name: "TANH"}, {Name: "HYPOT"}}}},
		{Name: "activation", Enum: activation},
		{Name: "regularizer", Fields: []*Attr{{Name: "type", Enum: penalty}, {Name: "lambda"}}},
	}
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"// what\noutput[n]   =  input[n]  // all", "output[n] = input[n]"},
		{"y = a ==  'x  y'\n\n\t? 1\n  : 2\nz = 3", "y = a == 'x  y' ? 1 : 2\nz = 3"},
		{"mode.ADD(x) = x\ny = mode(1)", "mode.ADD(x) = x\ny = mode(1)"},
		{"y = sum(n if n < 3: x[n] else activation(2))", "y = sum(n if n < 3: x[n] else activation(2))\nactivation.RELU(x) = max(x, 0)\nactivation.SIGMOID(x) = sigmoid(x)"},
		{"f(x) = activation(x)\nactivation.RELU(x) = x", "f(x) = activation(x)\nactivation.RELU(x) = x\nactivation.SIGMOID(x) = sigmoid(x)"},
		{"r[] = regularizer.type(x[])", "r[] = regularizer.type(x[])\nregularizer.type.L1(x) = abs(x)\nregularizer.type.L2(x) = x^2 / 2"},
		{"curve.TANH(x) = x\ncurve.HALF(x) = x / 2\ny = curve(2)", "curve.TANH(x) = x\ncurve.HALF(x) = x / 2\ny = curve(2)\ncurve.EXP(x) = exp(x)\ncurve.HYPOT(x, y) = hypot(x, y)"},
		{"y = 1 when regularizer.type == 'L1'", "y = 1 when regularizer.type == 'L1'"},
	} {
		if got := formulaLines(c.text, attrs); !slices.Equal(got, strings.FieldsFunc(c.want, func(r rune) bool { return r == '\n' })) {
			t.Errorf("%q\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}
