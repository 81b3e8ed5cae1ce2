package task

import (
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
)

// The slots of Sum.
const (
	SumX = iota // an input
	SumY        // an input of the same type and shape
	SumZ        // the output
)

// noAttrs are the attributes of an operator without attributes.
type noAttrs struct{}

// NoAttrs returns the attributes of Sum.
func NoAttrs() Attrs { return noAttrs{} }

// Sum adds two tensors of one type and shape. It is the one operator that has no spec: graphs add with it
// what several nodes contribute to a gradient.
var Sum = newSum()

func newSum() *Operator {
	o := &Operator{
		Name: "sum of gradients", Doc: "The sum of two tensors of one type and shape.", Formula: []string{"z[n] = x[n] + y[n]"},
		Slots: []Slot{
			{Name: "x", Role: RoleInput, Type: "T", Shape: "[N...]", Trainable: true},
			{Name: "y", Role: RoleInput, Type: "T", Shape: "[N...]", Trainable: true},
			{Name: "z", Role: RoleOutput, Type: "T", Shape: "[N...]"},
		},
		Types: []TypeVar{{Name: "T", Types: []dtype.Type{dtype.F16, dtype.BF16, dtype.F32, dtype.F64}}},
		DecodeAttrs: func(data []byte) (Attrs, error) {
			var a noAttrs
			return a, attr.Decode("sum of gradients", data, &a)
		},
		Resolve: resolveSum,
	}
	read := func(slot int) Param { return Param{Slot: slot, Perm: perm.Read} }
	o.Signatures = []*Signature{
		{Operator: o, Task: KindForward.String(), Kind: KindForward, Params: []Param{read(SumX), read(SumY), {Slot: SumZ, Perm: perm.Write}},
			InPlace: []InPlace{{Slot: SumZ, Of: SumX}}},
		{Operator: o, Task: KindBackward.String(), Kind: KindBackward,
			Params: []Param{{Slot: SumX, Grad: true, Perm: perm.Write}, {Slot: SumY, Grad: true, Perm: perm.Write}, {Slot: SumZ, Grad: true, Perm: perm.Read}}},
	}
	for _, s := range o.Signatures {
		s.ID, s.Steps = IDOf(o.Name, s.Task), make([]Step, 1)
	}
	return o
}

// sumDims are the dimensions of Sum.
type sumDims struct{ N []int }

func resolveSum(o *Operator, attrs Attrs, given Given) (*Resolution, error) {
	var both [2]Operand
	for slot := range both {
		if n := len(given.Operands[slot]); n != 1 {
			return nil, &op.Error{Operator: o.Name, Slot: o.Slots[slot].Name, Want: "a tensor", Got: "none"}
		}
		both[slot] = given.Operands[slot][0]
	}
	x, y := both[SumX], both[SumY]
	if !x.Type.IsFloat() || x.Type != y.Type || !shape.Equal(x.Shape, y.Shape) {
		return nil, &op.Error{Operator: o.Name, Slot: o.Slots[SumY].Name, Want: "a tensor of floating-point numbers like " + x.String(), Got: y.String()}
	}
	r := &Resolution{Dims: &sumDims{x.Shape}, Types: []dtype.Type{x.Type}, Inputs: given, Slots: [][]Operand{{x}, {x}, {x}},
		Shares: map[int]bool{0: true, 1: true}, Loops: map[int]bool{0: true, 1: true}, Unused: make([]map[int]bool, 2)}
	n := float64(shape.Prod(x.Shape))
	r.Costs = []Cost{{Known: true, Flops: n}, {Known: true}}
	r.share(o)
	return r, nil
}
