package task

import (
	"reflect"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/partition"
)

// TestShapes asks for the shapes of slots with one tensor, with several, and with none. That of an absent
// tensor is no scalar's.
func TestShapes(t *testing.T) {
	o := &Operator{Name: "op", Slots: []Slot{{Name: "one"}, {Name: "several", Variadic: true}, {Name: "optional", Optional: true}, {Name: "absent", Optional: true}}}
	operand := func(dims ...int) Operand { return Operand{Type: dtype.F32, Shape: dims} }
	a := &Accessor{Signature: &Signature{Operator: o}, Resolved: &Resolution{Slots: [][]Operand{{operand(2)}, {operand(2), operand(5, 7)}, {operand()}, nil}}}
	undivided := func(dims ...int) partition.Partition { return partition.Undivided(dims) }
	for slot, want := range []any{
		undivided(2),
		[]partition.Partition{undivided(2), undivided(5, 7)},
		[]partition.Partition{undivided()},
		[]partition.Partition{},
	} {
		if got := a.Value(-1, &Arg{From: FromShape, Of: slot}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", o.Slots[slot].Name, got, want)
		}
	}
	want := []partition.Partition{undivided(4), undivided(9)}
	a.Partitions = func(int) []partition.Partition { return want }
	if got := a.Value(-1, &Arg{From: FromShape, Of: 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
