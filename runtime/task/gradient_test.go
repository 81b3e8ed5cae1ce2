package task_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// TestGradientOf derives the operator of gradients of a sum three times: each has slots of other names, and
// the same operator has the same result.
func TestGradientOf(t *testing.T) {
	want := [][]string{
		{"x", "y", "grad.x", "grad.y", "grad.z"},
		{"x", "y", "grad.z", "grad2.x", "grad2.y", "grad2.grad.x", "grad2.grad.y", "grad2.grad.z"},
	}
	o := task.Sum
	for i, names := range want {
		g, err := task.GradientOf(o)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := task.GradientOf(o); again != g {
			t.Errorf("the gradient of %s is made twice", o.Name)
		}
		var got []string
		for _, s := range g.Slots {
			got = append(got, s.Name)
		}
		slices.Sort(got)
		slices.Sort(names)
		if !slices.Equal(got, names) {
			t.Errorf("derivative %d has the slots %q, want %q", i+1, got, names)
		}
		for _, s := range g.Signatures {
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
		}
		o = g
	}
	g, err := task.GradientOf(o)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range g.Slots {
		if seen[s.Name] {
			t.Errorf("the third derivative has two slots %s", s.Name)
		}
		seen[s.Name] = true
	}
}

// TestGradientOfErrors asks for the gradients of operators that have none, and of one whose gradient is a
// surrogate: the error names operator and slot.
func TestGradientOfErrors(t *testing.T) {
	signatures := func(o *task.Operator, kinds ...task.Kind) *task.Operator {
		for _, k := range kinds {
			o.Signatures = append(o.Signatures, &task.Signature{Operator: o, Task: k.String(), Kind: k})
		}
		return o
	}
	for _, c := range []struct {
		o    *task.Operator
		want op.Error
	}{
		{signatures(&task.Operator{Name: "step", Formula: []string{"y[n] = x[n]"}}, task.KindForward),
			op.Error{Operator: "step", Want: "an operator with a backward task", Got: "none"}},
		{signatures(&task.Operator{Name: "fast"}, task.KindForward, task.KindBackward),
			op.Error{Operator: "fast", Want: "an operator with a formula, from which second derivatives follow", Got: "one whose gradient only kernels have"}},
		{signatures(&task.Operator{Name: "sign", Slots: []task.Slot{{Name: "x"}}, Formula: []string{"y[n] = sign(x[n])", "grad.x[n] = grad.y[n] as surrogate"}}, task.KindForward, task.KindBackward),
			op.Error{Operator: "sign", Slot: "x", Want: "a gradient that is the derivative, to derive it once more", Got: "a surrogate"}},
	} {
		_, err := task.GradientOf(c.o)
		if got, ok := errors.AsType[*op.Error](err); !ok || *got != c.want {
			t.Errorf("operator %s: got %v, want %v", c.o.Name, err, &c.want)
		}
	}
}
