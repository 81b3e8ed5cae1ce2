package call

import (
	"testing"
	"unsafe"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// relu returns a call of relu on one element.
func relu(t testing.TB, x, y *float32) *Call {
	t.Helper()
	var tasks task.Registry
	if err := catalogue.Register(&tasks); err != nil {
		t.Fatal(err)
	}
	on := func(slot elementunary.Slot, v *float32) Operand {
		return Operand{Slot: int(slot), Tensor: task.Operand{Type: dtype.F32, Shape: []int{1}}, Elements: 1, Bytes: unsafe.Slice((*byte)(unsafe.Pointer(v)), 4)}
	}
	c, err := Bind(&tasks, &elementunary.Operator.Operator, elementunary.Defaults(elementunary.OpTypeRelu), []Operand{on(elementunary.SlotInput, x), on(elementunary.SlotOutput, y)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNothingAllocated runs a call often, which allocates nothing.
func TestNothingAllocated(t *testing.T) {
	x, y := float32(3), float32(0)
	c := relu(t, &x, &y)
	if n := testing.AllocsPerRun(100, func() {
		if err := c.Run(); err != nil {
			t.Error(err)
		}
	}); n != 0 || y != 3 {
		t.Errorf("want 3 and no allocations, got %v and %v", y, n)
	}
}

// BenchmarkCall measures a call on one element, and the kernel by itself.
func BenchmarkCall(b *testing.B) {
	x, y := float32(1), float32(0)
	c := relu(b, &x, &y)
	b.Run("call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kernel", func(b *testing.B) {
		s := &c.steps[0]
		for b.Loop() {
			if err := s.body.Run(&c.ctx, s.whole); err != nil {
				b.Fatal(err)
			}
		}
	})
}
