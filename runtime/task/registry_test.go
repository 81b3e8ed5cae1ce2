package task

import (
	"errors"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// two is an operator with two dtype variables.
func two() *Operator {
	o := &Operator{Name: "two", Types: []TypeVar{{Name: "T", Types: []dtype.Type{dtype.F32, dtype.F64}}, {Name: "L", Types: []dtype.Type{dtype.I32}}}}
	o.Signatures = []*Signature{
		{Operator: o, Task: "forward", ID: IDOf("two", "forward"), Kind: KindForward, Steps: []Step{{}}},
		{Operator: o, Task: "backward", ID: IDOf("two", "backward"), Kind: KindBackward, Steps: []Step{{}}},
	}
	return o
}

func variant(types ...dtype.Type) Variant {
	return Variant{Target: op.CPU, Types: types, Kernel: 1, Bind: func(*Accessor) ([]op.Body, error) { return nil, nil }}
}

func TestRegisterTask(t *testing.T) {
	o := two()
	forward, backward := o.Signatures[0], o.Signatures[1]
	var r Registry
	if r.Task(forward.ID) != nil || len(r.Operators()) != 0 {
		t.Error("the zero Registry is not empty")
	}
	f32, f64 := variant(dtype.F32, dtype.I32), variant(dtype.F64, dtype.I32)
	for _, s := range o.Signatures {
		if err := r.RegisterTask(s.ID, "two "+s.Task, s, f32, f64); err != nil {
			t.Fatal(err)
		}
	}
	got := r.Task(forward.ID)
	if got == nil || got.Name != "two forward" || got.Signature != forward || got.ID != forward.ID || r.Task(backward.ID).Signature != backward {
		t.Errorf("Task = %+v", got)
	}
	if ops := r.Operators(); len(ops) != 1 || ops[0] != o {
		t.Errorf("Operators = %v", ops)
	}
	r.Operators()[0] = nil
	if r.Operators()[0] != o {
		t.Error("Operators hands out the registry's own list")
	}
	if v, err := got.Variant(op.CPU, []dtype.Type{dtype.F64, dtype.I32}); err != nil || v.Types[0] != dtype.F64 {
		t.Errorf("Variant = %v, %v", v.Types, err)
	}
	_, err := got.Variant(op.CPU, []dtype.Type{dtype.I8, dtype.I32})
	if want := "operator two, task forward: want a kernel for target cpu and element types (i8, i32), got kernels for [(f32, i32) (f64, i32)]"; err == nil || err.Error() != want {
		t.Errorf("Variant: %v, want %s", err, want)
	}
}

func TestRegisterTaskErrors(t *testing.T) {
	o := two()
	sig := o.Signatures[0]
	clash := &Operator{Name: "other"}
	other := &Signature{Operator: clash, Task: "forward", ID: IDOf("other", "forward")}
	misnumbered := *sig
	misnumbered.ID = 5
	integers := *o.Signatures[1]
	integers.Floating = []int{1}
	f32 := variant(dtype.F32, dtype.I32)
	nilKernel := f32
	nilKernel.Kernel = nil
	const prefix = "operator two, task forward: want "
	tests := []struct {
		name     string
		id       ID
		sig      *Signature
		variants []Variant
		want     string
	}{
		{"wrong id", 5, sig, nil, prefix + "task id " + sig.ID.String() + ", got 0000000000000005"},
		{"id of another task", o.Signatures[1].ID, sig, nil, prefix + "task id " + sig.ID.String() + ", got " + o.Signatures[1].ID.String()},
		{"wrong id in the signature", sig.ID, &misnumbered, nil, prefix + "task id " + sig.ID.String() + ", got " + sig.ID.String()},
		{"nil kernel", sig.ID, sig, []Variant{nilKernel}, prefix + "a kernel for element types (f32, i32), got nil"},
		{"too few types", sig.ID, sig, []Variant{variant(dtype.F32)}, prefix + "2 element types for each variant, got 1"},
		{"a type that is not allowed", sig.ID, sig, []Variant{f32, variant(dtype.F32, dtype.I64)}, prefix + "L in i32, got i64"},
		{"a type that the task does not support", integers.ID, &integers, []Variant{f32}, "operator two, task backward: want floating-point element types, got f32, i32"},
		{"two variants", sig.ID, sig, []Variant{f32, variant(dtype.F64, dtype.I32), f32}, prefix + "one variant for each target and choice of element types, got two for cpu (f32, i32)"},
	}
	for _, tt := range tests {
		var r Registry
		err := r.RegisterTask(tt.id, "", tt.sig, tt.variants...)
		var e *op.Error
		if !errors.As(err, &e) || err.Error() != tt.want {
			t.Errorf("%s: got %v\nwant %s", tt.name, err, tt.want)
		}
		if r.Task(tt.id) != nil || len(r.Operators()) != 0 {
			t.Errorf("%s: the task is registered all the same", tt.name)
		}
	}
	var r Registry
	if err := r.RegisterTask(sig.ID, "first", sig, f32); err != nil {
		t.Fatal(err)
	}
	// A task keeps its name, whether or not a registration has variants.
	for _, variants := range [][]Variant{nil, {variant(dtype.F64, dtype.I32)}} {
		err := r.RegisterTask(sig.ID, "second", sig, variants...)
		if want := prefix + `the name under which the task is registered, "first", got "second"`; err == nil || err.Error() != want {
			t.Errorf("another name: %v, want %s", err, want)
		}
		if got := r.Task(sig.ID); got.Name != "first" || len(got.Variants) != 1 {
			t.Errorf("another name: the task became %s with %d variants", got.Name, len(got.Variants))
		}
	}
	err := r.RegisterTask(sig.ID, "first", sig, f32)
	if want := prefix + "one variant for each target and choice of element types, got two for cpu (f32, i32)"; err == nil || err.Error() != want {
		t.Errorf("again: %v, want %s", err, want)
	}
	if got := r.Task(sig.ID).Name; got != "first" {
		t.Errorf("the second registration replaced the first: %s", got)
	}
	// Two names with one id cannot be made to order, so the table is made to hold another task's.
	r.tasks[other.ID] = r.tasks[sig.ID]
	err = r.RegisterTask(other.ID, "", other)
	if want := "operator other, task forward: want a task id of its own, got the id " + other.ID.String() + " of two.forward"; err == nil || err.Error() != want {
		t.Errorf("clash: %v, want %s", err, want)
	}
}

func TestID(t *testing.T) {
	// FNV-1a of "linear.forward"; ids stand in plans and generated code, so they must not change.
	id := IDOf("linear", "forward")
	if id.String() != "e1e71e94d3c07807" {
		t.Errorf("id of linear.forward is %v", id)
	}
	for _, id := range []ID{id, 0, 1} {
		text, err := id.MarshalText()
		var back ID
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || back != id || len(text) != 16 {
			t.Errorf("%v became %v by way of %q: %v", id, back, text, err)
		}
	}
	if err := new(ID).UnmarshalText([]byte("xyz")); err == nil {
		t.Error("xyz is an id")
	}
}

func TestNames(t *testing.T) {
	for k, want := range map[Kind]string{KindForward: "forward", KindBackward: "backward", KindUpdate: "update", 9: "task.Kind(9)"} {
		if k.String() != want {
			t.Errorf("kind %d is %q, want %q", uint8(k), k, want)
		}
	}
	for r, want := range map[Role]string{RoleInput: "input", RoleScratch: "scratch", RoleState: "state", 9: "task.Role(9)"} {
		if r.String() != want {
			t.Errorf("role %d is %q, want %q", uint8(r), r, want)
		}
	}
	o := two()
	if o.Signature(KindBackward) != o.Signatures[1] || o.Signature(KindUpdate) != nil || o.Signatures[0].Name() != "two.forward" {
		t.Error("Signature is wrong")
	}
	e := &op.Error{Operator: "op", Task: "forward", Slot: "x", Want: "a"}
	if e.Error() != "operator op, task forward, slot x: want a" {
		t.Errorf("%v", e)
	}
	e = &op.Error{Operator: "op", Message: "all is lost", Want: "a"}
	if e.Error() != "operator op: all is lost" || strings.Contains(e.Error(), "want") {
		t.Errorf("%v", e)
	}
}
