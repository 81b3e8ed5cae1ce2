package emit

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// enumOf returns an enum with values of the names.
func enumOf(names ...string) *model.Enum {
	en := &model.Enum{Name: "op", GoName: "Op"}
	for _, name := range names {
		en.Values = append(en.Values, model.EnumValue{Name: name, GoName: "X" + name})
	}
	return en
}

func TestShortNames(t *testing.T) {
	tests := []struct{ values, want []string }{
		{[]string{"EW_ADD", "EW_SUB"}, []string{"Add", "Sub"}},
		{[]string{"RELU", "GELU_TANH"}, []string{"Relu", "GeluTanh"}},
		{[]string{"EW_LOGICAL_AND", "EW_LOGICAL_OR"}, []string{"And", "Or"}},
		{[]string{"A_B_C", "A_B", "A_D"}, []string{"BC", "B", "D"}},
		{[]string{"A_", "A_B"}, []string{"A", "AB"}},
		{[]string{"EW_ADD"}, []string{"EwAdd"}},
		{[]string{"_", "_X"}, []string{"X_", "X"}},
	}
	for _, tt := range tests {
		if got := shortNames(enumOf(tt.values...)); !slices.Equal(got, tt.want) {
			t.Errorf("short names of %v are %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestChooser(t *testing.T) {
	own, shared := enumOf("A", "B"), &model.Enum{Package: "activation"}
	tests := []struct {
		name  string
		attrs []*model.Attr
		want  string
	}{
		{"an enum beside a number", []*model.Attr{{Name: "n", Type: "int"}, {Name: "op", Enum: own}}, "op"},
		{"a default", []*model.Attr{{Name: "op", Enum: own, Default: "A"}}, ""},
		{"may be absent", []*model.Attr{{Name: "op", Enum: own, Optional: true}}, ""},
		{"two", []*model.Attr{{Name: "op", Enum: own}, {Name: "mode", Enum: own}}, ""},
		{"shared", []*model.Attr{{Name: "op", Enum: shared}}, ""},
		{"a list", []*model.Attr{{Name: "op", Enum: own, List: true}}, ""},
	}
	for _, tt := range tests {
		got := ""
		if a := chooser(&model.Operator{Attrs: tt.attrs}); a != nil {
			got = a.Name
		}
		if got != tt.want {
			t.Errorf("%s: attribute %q has short forms, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNeeded(t *testing.T) {
	o := &model.Operator{
		Operator: &task.Operator{Formula: []string{
			"op.ADD(x) = x + by", "op.LEAKY(x) = x > 0 ? x : or(by, 0.01) * x", "op.BOTH(x) = has(by) ? x * by : x", "op.RELU(x) = max(x, 0)", "y[n] = op(x[n])",
		}},
		Attrs: []*model.Attr{{Name: "by", Type: "float", Optional: true}, {Name: "alpha", Type: "float", Default: 1.0}},
	}
	for value, want := range map[string]int{"op.ADD": 1, "op.LEAKY": 0, "op.BOTH": 0, "op.RELU": 0} {
		if got := needed(o, value); len(got) != want {
			t.Errorf("%s needs %d attributes, want %d", value, len(got), want)
		}
	}
}
