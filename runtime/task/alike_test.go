package task

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// numbers are attributes for a test: a number, and a list as package attr keeps it.
type numbers struct {
	x    float64
	list any
}

// TestResolutions applies an operator in ways that are alike, and in ways that differ in one thing.
func TestResolutions(t *testing.T) {
	applied := 0
	o := &Operator{Slots: make([]Slot, 2)}
	o.Resolve = func(_ *Operator, _ Attrs, given Given) (*Resolution, error) {
		applied++
		return &Resolution{Inputs: given}, nil
	}
	other := *o
	negative := math.Copysign(0, -1)
	var r Resolutions
	given := Given{[][]Operand{{{dtype.F32, []int{2, 3}}}, nil}, []int{0, 1}, []int{0, 0}, nil}
	resolve := func(o *Operator, attrs Attrs, given Given) *Resolution {
		t.Helper()
		res, err := r.Resolve(o, attrs, given)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := resolve(o, numbers{x: 0}, given)
	if again := resolve(o, numbers{x: 0}, given); again != first || applied != 1 {
		t.Errorf("uses that are alike: applied %d times", applied)
	}
	// What is kept does not depend on memory that the caller uses again.
	given.Operands[0][0] = Operand{dtype.F64, []int{7}}
	if got := first.Inputs.Operands[0][0]; got.Type != dtype.F32 {
		t.Errorf("the inputs became %v", got)
	}
	tensor := func(t dtype.Type, shape ...int) [][]Operand { return [][]Operand{{{t, shape}}, nil} }
	seen := map[*Resolution]bool{first: true}
	for i, tt := range []struct {
		operator *Operator
		attrs    Attrs
		given    Given
	}{
		{&other, numbers{x: 0}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{x: negative}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{x: 1}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{list: [2]float64{0, 1}}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{list: [2]float64{negative, 1}}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{x: math.NaN()}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{x: math.NaN()}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, []int{1}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, nil, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{}, Given{tensor(dtype.F64, 2, 3), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{}, Given{tensor(dtype.F32, 3, 2), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{}, Given{tensor(dtype.F32, 2), []int{0, 1}, []int{0, 0}, nil}},
		{o, numbers{}, Given{tensor(dtype.F32, 2, 3), []int{0, 2}, []int{0, 0}, nil}},
		{o, numbers{}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 3}, nil}},
		{o, numbers{}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, map[int][]int{0: {1}}}},
		{o, numbers{}, Given{tensor(dtype.F32, 2, 3), []int{0, 1}, []int{0, 0}, map[int][]int{0: {2}}}},
		{o, numbers{}, Given{[][]Operand{nil, {{dtype.F32, []int{2, 3}}}}, []int{0, 1}, []int{0, 0}, nil}},
	} {
		if res := resolve(tt.operator, tt.attrs, tt.given); seen[res] {
			t.Errorf("case %d shares the resolution of another use", i)
		} else {
			seen[res] = true
		}
	}
	var none *Resolutions
	if res, err := none.Resolve(o, numbers{}, Given{make([][]Operand, 2), make([]int, 2), make([]int, 2), nil}); err != nil || seen[res] {
		t.Errorf("nil keeps a resolution, or %v", err)
	}
}
