package opimpl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// views are all functions that ask for a tensor of a slot, and the parameters whose permission includes what
// each does.
var views = map[string]struct {
	ask func(a *Binder[int], slot int)
	may string
}{
	"ReadOnly":     {func(a *Binder[int], slot int) { ReadOnly[float32](a, slot) }, "read readwrite"},
	"WriteOnly":    {func(a *Binder[int], slot int) { WriteOnly[float32](a, slot) }, "write readwrite scratch"},
	"ReadWrite":    {func(a *Binder[int], slot int) { ReadWrite[float32](a, slot) }, "readwrite scratch"},
	"ReduceTo":     {func(a *Binder[int], slot int) { ReduceTo[float32](a, slot) }, "reduce"},
	"ReduceBy":     {func(a *Binder[int], slot int) { ReduceBy[float32, int](larger)(a, slot) }, "own"},
	"Local":        {func(a *Binder[int], slot int) { Local[float32](a, slot) }, "worker"},
	"GradOf":       {func(a *Binder[int], slot int) { GradOf[float32](a, slot) }, "gradient"},
	"OptionalGrad": {func(a *Binder[int], slot int) { OptionalGrad[float32](a, slot) }, "gradient"},
	"GradTo":       {func(a *Binder[int], slot int) { GradTo[float32](a, slot) }, "stored"},
	"ScatterTo":    {func(a *Binder[int], slot int) { ScatterTo[float32](a, slot) }, "added"},
	"Optional":     {func(a *Binder[int], slot int) { Optional(a, slot, ReadOnly[float32]) }, "read readwrite"},
	"List":         {func(a *Binder[int], slot int) { List(a, slot, ReadOnly[float32]) }, "read readwrite"},
	"ListIf":       {func(a *Binder[int], slot int) { ListIf(a, slot, WriteOnly[float32]) }, "write readwrite scratch"},
}

func larger(x, y float32) float32 { return max(x, y) }

// permissions are parameters of slot x, by name.
var permissions = map[string]task.Param{
	"read": reads(slotX), "write": writes(slotX), "readwrite": changes(slotX), "scratch": scratch(slotX), "worker": scratch(slotX),
	"reduce":   {Slot: slotX, Perm: perm.Reduce, Redop: perm.Sum},
	"own":      {Slot: slotX, Perm: perm.Reduce, Redop: "example.com/nn.Larger, -Inf"},
	"gradient": gradOf(slotX), "stored": gradTo(slotX), "added": addsTo(slotX),
	"none": reads(slotY),
}

// TestPermissions asks with every view for a tensor of which the task has each permission. What the
// permission does not include is an error that names operator, task and slot.
func TestPermissions(t *testing.T) {
	b := task.Buffer{Operand: f32(2, 3), Bytes: memory(24), Mode: tensor.Store}
	for view, v := range views {
		for name, p := range permissions {
			a := permit(accessor(t, map[int][]task.Buffer{slotX: {b}}, map[int][]task.Buffer{slotX: {b}}), p)
			a.acc.Signature.Operator.Slots[slotX].PerWorker = name == "worker"
			v.ask(a, slotX)
			may := strings.Contains(" "+v.may+" ", " "+name+" ")
			switch err := a.Err(); {
			case view == "ReduceTo" && name == "own":
				if err == nil {
					t.Error("a function of its own folds without it")
				}
			case view == "ReduceBy" && name == "reduce":
				if err == nil {
					t.Error("a function of its own folds a sum")
				}
			case may && err != nil:
				t.Errorf("%s with permission %s: %v", view, name, err)
			case !may && (err == nil || !strings.HasPrefix(err.Error(), "operator op, task forward, slot x: want a ")):
				t.Errorf("%s with permission %s: %v", view, name, err)
			}
		}
	}
}

// TestNoSuchSlot asks for tensors, arguments and state of slots and tensors that are not there.
func TestNoSuchSlot(t *testing.T) {
	asks := map[string]func(a *Binder[int], slot int){
		"Argument":  func(a *Binder[int], slot int) { Argument[int](a, slot) },
		"Follow":    func(a *Binder[int], slot int) { Follow(a, slot, new(int)) },
		"FollowAll": func(a *Binder[int], slot int) { FollowAll(a, slot, new([]int)) },
		"StateOf":   func(a *Binder[int], slot int) { StateOf[int](a, slot) },
	}
	for name, v := range views {
		asks[name] = v.ask
	}
	for name, ask := range asks {
		for _, slot := range []int{-1, numSlots, 99} {
			a := accessor(t, nil, nil)
			ask(a, slot)
			want := fmt.Sprintf("operator op, task forward, slot %d: want slot 0 to %d of the operator, got %d", slot, numSlots-1, slot)
			if err := a.Err(); err == nil || err.Error() != want {
				t.Errorf("%s of slot %d: got %v\nwant %s", name, slot, err, want)
			}
		}
	}
	b := task.Buffer{Operand: f32(2, 3), Bytes: memory(24)}
	for name, ask := range map[string]func(a *Binder[int], i int){
		"ReadOnly":  func(a *Binder[int], i int) { ReadOnly[float32](permit(a, reads(slotX)), slotX, i) },
		"GradTo":    func(a *Binder[int], i int) { GradTo[float32](permit(a, gradTo(slotX)), slotX, i) },
		"ScatterTo": func(a *Binder[int], i int) { ScatterTo[float32](permit(a, addsTo(slotX)), slotX, i) },
	} {
		for _, i := range []int{-1, 1, 7} {
			a := accessor(t, map[int][]task.Buffer{slotX: {b}}, map[int][]task.Buffer{slotX: {b}})
			ask(a, i)
			want := fmt.Sprintf("operator op, task forward, slot x: want tensor 0, got %d", i)
			if err := a.Err(); err == nil || err.Error() != want {
				t.Errorf("%s of tensor %d: got %v\nwant %s", name, i, err, want)
			}
		}
	}
	a := accessor(t, nil, nil)
	if StateOf[int](a, slotX); a.Err() == nil || a.Err().Error() != "operator op, task forward, slot x: want a slot of role state, got one of role input" {
		t.Errorf("state of a tensor: %v", a.Err())
	}
}

// TestAttrsOfAnotherOperator asks for attributes and dimensions of other types than those of the node.
func TestAttrsOfAnotherOperator(t *testing.T) {
	a := accessor(t, nil, nil)
	if AttrsOf[struct{ Other dtype.Type }](a); a.Err() == nil || !strings.HasPrefix(a.Err().Error(), "operator op, task forward: want attributes of type struct") {
		t.Errorf("attributes: %v", a.Err())
	}
	a = accessor(t, nil, nil)
	if DimsOf[struct{ N int }](a); a.Err() == nil || !strings.HasPrefix(a.Err().Error(), "operator op, task forward: want dimensions of type *struct") {
		t.Errorf("dimensions: %v", a.Err())
	}
}
