package opimpl

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// memory returns n bytes aligned to 64.
func memory(n int) []byte {
	raw := make([]byte, n+63)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % 64)
	return raw[skip : skip+n : skip+n]
}

// accessor returns an accessor of the operator whose slots hold the given buffers.
func accessor(t *testing.T, values, grads map[int][]task.Buffer) *Binder[int] {
	t.Helper()
	op := operator(func(r *Resolver[int]) { r.Set(slotOut, dtype.F32, 2) })
	res, err := task.Resolve(op, anyAttrs{}, given(op))
	if err != nil {
		t.Fatal(err)
	}
	return NewBinder[int](&task.Accessor{
		Signature: op.Signatures[0],
		Resolved:  res,
		Memory: func(slot int, grad bool) []task.Buffer {
			if grad {
				return grads[slot]
			}
			return values[slot]
		},
		Workers: func(slot int) []task.Buffer { return values[slot] },
	})
}

// permit makes params the parameters of the task of a binder, and returns the binder.
func permit(a *Binder[int], params ...task.Param) *Binder[int] {
	a.acc.Signature.Params = params
	return a
}

// The permissions that views need, of a slot.
func reads(slot int) task.Param   { return task.Param{Slot: slot, Perm: perm.Read} }
func writes(slot int) task.Param  { return task.Param{Slot: slot, Perm: perm.Write} }
func changes(slot int) task.Param { return task.Param{Slot: slot, Perm: perm.ReadWrite} }
func scratch(slot int) task.Param { return task.Param{Slot: slot, Perm: perm.Scratch} }
func gradOf(slot int) task.Param  { return task.Param{Slot: slot, Grad: true, Perm: perm.Read} }
func gradTo(slot int) task.Param  { return task.Param{Slot: slot, Grad: true, Perm: perm.Write} }
func addsTo(slot int) task.Param {
	return task.Param{Slot: slot, Grad: true, Perm: perm.Write, Scatter: true}
}

// worker makes a slot one of which every worker has its own memory.
func worker(a *Binder[int], slot int) *Binder[int] {
	a.acc.Signature.Operator.Slots[slot].PerWorker = true
	return permit(a, scratch(slot))
}

func TestAccessorReachesMemory(t *testing.T) {
	b := task.Buffer{Operand: f32(2, 3), Bytes: memory(24)}
	grad := task.Buffer{Operand: f32(2, 3), Bytes: memory(24), Mode: tensor.Store}
	bools := task.Buffer{Operand: task.Operand{Type: dtype.Bool, Shape: []int{3}}, Bytes: memory(3)}
	empty := task.Buffer{Operand: f32(0, 3), Bytes: []byte{}}
	a := accessor(t, map[int][]task.Buffer{slotX: {b}, slotY: {bools}, slotOut: {empty}, slotMany: {b, grad}}, map[int][]task.Buffer{slotX: {grad}})
	WriteOnly[float32](permit(a, changes(slotX)), slotX).Set(4, 1.5)
	if got := *(*float32)(unsafe.Pointer(&b.Bytes[16])); got != 1.5 {
		t.Errorf("element 4 is %v", got)
	}
	ReadWrite[float32](a, slotX).Set(5, ReadOnly[float32](a, slotX).At(4)*2)
	if ro := ReadOnly[float32](a, slotX); ro.At(5) != 3 || ro.Len() != 6 || ro.Lane(1).Len() != 3 {
		t.Errorf("element 5 is %v of %d", ro.At(5), ro.Len())
	}
	GradTo[float32](permit(a, gradTo(slotX)), slotX).Put(2, 7)
	ScatterTo[float32](permit(a, addsTo(slotX)), slotX).Add(2, 1)
	if got := GradOf[float32](permit(a, gradOf(slotX)), slotX).At(2); got != 8 {
		t.Errorf("gradient %v", got)
	}
	WriteOnly[bool](permit(a, writes(slotY)), slotY).Set(1, true)
	if string(bools.Bytes) != "\x00\x01\x00" {
		t.Errorf("booleans are stored as %q", bools.Bytes)
	}
	if ReadOnly[float32](permit(a, reads(slotOut)), slotOut).Len() != 0 {
		t.Error("an empty tensor has elements")
	}
	p := Local[float32](worker(a, slotMany), slotMany)
	p.Of(1).Set(2, 9)
	permit(a, reads(slotX), reads(slotExtra), gradOf(slotX), gradOf(slotOut))
	if p.Of(0).At(4) != 1.5 || GradOf[float32](a, slotX).At(2) != 9 {
		t.Error("scratch memory of workers is wrong")
	}
	if v, ok := Optional(a, slotX, ReadOnly[float32]).Get(); !ok || v.At(5) != 3 {
		t.Error("a present slot is absent")
	}
	if Optional(a, slotExtra, ReadOnly[int32]).Has() || OptionalGrad[float32](a, slotOut).Has() || !OptionalGrad[float32](a, slotX).Has() {
		t.Error("the wrong slots are present")
	}
	if err := a.Err(); err != nil {
		t.Error(err)
	}
}

// TestUnusedGradients checks gradients that have no memory: they have the size of their tensor, or
// none if the slot is absent.
func TestUnusedGradients(t *testing.T) {
	a := permit(accessor(t, nil, nil), gradTo(slotX), gradTo(slotExtra))
	if g := GradTo[float32](a, slotX); g.Wanted() || g.Len() != 6 {
		t.Errorf("wanted %v, %d elements", g.Wanted(), g.Len())
	}
	if s := ScatterTo[float32](permit(a, addsTo(slotX)), slotX); s.Wanted() || s.Len() != 6 {
		t.Errorf("wanted %v, %d elements", s.Wanted(), s.Len())
	}
	g := GradTo[float32](permit(a, gradTo(slotExtra)), slotExtra)
	if s := ScatterTo[float32](permit(a, addsTo(slotExtra)), slotExtra); g.Wanted() || g.Len() != 0 || s.Wanted() || s.Len() != 0 {
		t.Error("the gradient of an absent slot is used")
	}
	if a.Err() != nil {
		t.Error(a.Err())
	}
}

func TestAccessorErrors(t *testing.T) {
	const prefix = "operator op, task forward, slot x: want "
	aligned := memory(32)
	tests := []struct {
		name    string
		buffers []task.Buffer
		want    string
	}{
		{"none", nil, prefix + "one tensor, got 0"},
		{"two", make([]task.Buffer, 2), prefix + "one tensor, got 2"},
		{"another type", []task.Buffer{{Operand: task.Operand{Type: dtype.I32, Shape: []int{2}}, Bytes: aligned[:8]}}, prefix + "element type f32, got i32"},
		{"too few bytes", []task.Buffer{{Operand: f32(2), Bytes: aligned[:7]}}, prefix + "8 bytes, got 7"},
		{"too many bytes", []task.Buffer{{Operand: f32(2), Bytes: aligned[:9]}}, prefix + "8 bytes, got 9"},
		{"not aligned", []task.Buffer{{Operand: f32(2), Bytes: aligned[2:10]}}, prefix + "memory aligned to 4 bytes, got address 0x"},
	}
	for _, tt := range tests {
		uses := map[string]func(*Binder[int]){
			"ReadOnly":  func(a *Binder[int]) { ReadOnly[float32](permit(a, reads(slotX)), slotX) },
			"WriteOnly": func(a *Binder[int]) { WriteOnly[float32](permit(a, writes(slotX)), slotX) },
			"ReadWrite": func(a *Binder[int]) { ReadWrite[float32](permit(a, changes(slotX)), slotX) },
			"GradOf":    func(a *Binder[int]) { GradOf[float32](permit(a, gradOf(slotX)), slotX) },
		}
		if len(tt.buffers) == 1 {
			uses["GradTo"] = func(a *Binder[int]) { GradTo[float32](permit(a, gradTo(slotX)), slotX) }
			uses["ScatterTo"] = func(a *Binder[int]) { ScatterTo[float32](permit(a, addsTo(slotX)), slotX) }
			uses["Local"] = func(a *Binder[int]) { Local[float32](worker(a, slotX), slotX) }
			uses["Optional"] = func(a *Binder[int]) { Optional(permit(a, reads(slotX)), slotX, ReadOnly[float32]) }
		}
		for name, use := range uses {
			a := accessor(t, map[int][]task.Buffer{slotX: tt.buffers}, map[int][]task.Buffer{slotX: tt.buffers})
			use(a)
			if err := a.Err(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%s, %s: got %v\nwant %s", tt.name, name, err, tt.want)
			}
			// The first error stays, and later calls are harmless.
			first := a.Err()
			for _, again := range uses {
				again(a)
			}
			ReadOnly[float64](a, slotOut)
			if a.Err() != first {
				t.Errorf("%s, %s: the error became %v", tt.name, name, a.Err())
			}
		}
	}
}

// TestList reads the tensors of a variadic slot and their gradients, of which one is unused.
func TestList(t *testing.T) {
	first, second := task.Buffer{Operand: f32(1), Bytes: memory(4)}, task.Buffer{Operand: f32(2), Bytes: memory(8)}
	grad := task.Buffer{Operand: f32(2), Bytes: memory(8), Mode: tensor.Store}
	a := accessor(t, map[int][]task.Buffer{slotPairs: {first, second}}, map[int][]task.Buffer{slotPairs: {{}, grad}})
	writers := List(permit(a, changes(slotPairs)), slotPairs, WriteOnly[float32])
	writers[1].Set(1, 5)
	if got := List(a, slotPairs, ReadOnly[float32]); len(got) != 2 || got[0].Len() != 1 || got[1].At(1) != 5 {
		t.Errorf("tensors %v", got)
	}
	grads := List(permit(a, gradTo(slotPairs)), slotPairs, GradTo[float32])
	grads[0].Put(0, 3)
	grads[1].Put(1, 7)
	if grads[0].Wanted() || grads[0].Len() != 1 || GradOf[float32](permit(a, gradOf(slotPairs)), slotPairs, 1).At(1) != 7 {
		t.Errorf("gradients %v", grads)
	}
	if s := List(permit(a, addsTo(slotPairs)), slotPairs, ScatterTo[float32]); s[0].Wanted() || s[0].Len() != 1 || !s[1].Wanted() || a.Err() != nil {
		t.Errorf("gradients to add to %v, %v", s, a.Err())
	}
}

func TestListFails(t *testing.T) {
	first, small := task.Buffer{Operand: f32(1), Bytes: memory(4)}, task.Buffer{Operand: f32(2), Bytes: memory(7)}
	a := accessor(t, map[int][]task.Buffer{slotPairs: {first, small}}, nil)
	List(permit(a, reads(slotPairs)), slotPairs, ReadOnly[float32])
	if err := a.Err(); err == nil || !strings.Contains(err.Error(), "slot pairs[1]: want 8 bytes, got 7") {
		t.Errorf("got %v", err)
	}
	a = accessor(t, map[int][]task.Buffer{slotPairs: {first}}, nil)
	List(permit(a, reads(slotPairs)), slotPairs, ReadOnly[float32])
	if err := a.Err(); err == nil || !strings.Contains(err.Error(), "slot pairs[0]: want 2 tensors, got 1") {
		t.Errorf("got %v", err)
	}
	if ListIf(permit(accessor(t, nil, nil), reads(slotPairs)), slotPairs, ReadOnly[float32]) != nil {
		t.Error("a list that the task is not given")
	}
}
