package opimpl

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

type boundDims struct{ A []int }

// boundArgs are arguments as generated code declares them.
type boundArgs struct {
	Attrs anyAttrs
	Dims  boundDims
	X     tensor.RO[float32] `lanes:"A"`
	Extra tensor.Opt[tensor.RO[int32]]
	Pairs []tensor.WO[float32]
	GradX tensor.Grad[float32] `lanes:"A"`
}

// boundKernel notes what its steps were given.
type boundKernel struct{ steps *[]string }

func (k boundKernel) First(_ *op.Ctx, a *boundArgs, r op.Range) error {
	*k.steps = append(*k.steps, "first")
	a.Pairs[1].Set(r.Lo, a.X.Lane(2).At(1))
	return nil
}

func (k boundKernel) Second(_ *op.Ctx, a *boundArgs, _ op.Range) error {
	*k.steps = append(*k.steps, "second")
	a.GradX.Lane(2).Put(1, 7)
	return nil
}

// boundAccessor returns an accessor of a task with the parameters of boundArgs, and the memory of x, of the
// second of pairs and of the gradient.
func boundAccessor(t *testing.T) (acc *task.Accessor, memories [3][]float32) {
	t.Helper()
	buffer := func(i int, dims ...int) task.Buffer {
		b := task.Buffer{Operand: f32(dims...), Mode: tensor.Store}
		b.Bytes = memory(int(b.Operand.Bytes()))
		memories[i] = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b.Bytes))), len(b.Bytes)/4)
		return b
	}
	first, x, pair, grad := buffer(0, 1), buffer(0, 2, 3), buffer(1, 2), buffer(2, 2, 3)
	b := accessor(t, map[int][]task.Buffer{slotX: {x}, slotPairs: {first, pair}}, map[int][]task.Buffer{slotX: {grad}})
	permit(b, reads(slotX), reads(slotExtra), writes(slotPairs), gradTo(slotX))
	b.acc.Attrs, b.acc.Resolved.Dims = anyAttrs{}, &boundDims{}
	return b.acc, memories
}

// TestSteps binds a task of two steps, with an absent tensor, a list and lanes along the first dimension.
func TestSteps(t *testing.T) {
	acc, memories := boundAccessor(t)
	memories[0][5] = 3
	var steps []string
	bodies, err := Steps(1, boundKernel{&steps}, boundKernel.First, boundKernel.Second).on(acc)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bodies {
		if err := b.Run(nil, op.Range{Lo: 1, Hi: 2}); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(steps, " "); got != "first second" || memories[1][1] != 3 || memories[2][5] != 7 {
		t.Errorf("steps %s wrote %v and %v", got, memories[1], memories[2])
	}
}

// TestStepsErrors binds a task to arguments that do not fit its signature.
func TestStepsErrors(t *testing.T) {
	none := func(struct{}, *op.Ctx, *boundArgs, op.Range) error { return nil }
	for want, c := range map[string]struct {
		change func(*task.Accessor)
		bind   Binding
	}{
		"want arguments in a struct of 5 fields, got 6": {
			func(a *task.Accessor) { a.Signature.Params = a.Signature.Params[:3] }, Steps(1, struct{}{}, none)},
		"want attributes of type opimpl.anyAttrs, got <nil>": {
			func(a *task.Accessor) { a.Attrs = nil }, Steps(1, struct{}{}, none)},
		"want dimensions of type *opimpl.boundDims, got *struct {}": {
			func(a *task.Accessor) { a.Resolved.Dims = &struct{}{} }, Steps(1, struct{}{}, none)},
		"slot x: want a tensor to read, got permission write": {
			func(a *task.Accessor) { a.Signature.Params[0].Perm = perm.Write }, Steps(1, struct{}{}, none)},
		"slot pairs[0]: want 2 tensors, got 0": {
			func(a *task.Accessor) {
				of := a.Memory
				a.Memory = func(slot int, grad bool) []task.Buffer {
					if slot == slotPairs {
						return nil
					}
					return of(slot, grad)
				}
			}, Steps(1, struct{}{}, none)},
	} {
		acc, _ := boundAccessor(t)
		c.change(acc)
		if _, err := c.bind.on(acc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestFoldedBy binds a task that folds values with a function, and one whose identity is none.
func TestFoldedBy(t *testing.T) {
	type args struct {
		Attrs anyAttrs
		Dims  struct{}
		X     tensor.Reduction[float32]
	}
	for identity, want := range map[string]string{"-Inf": "", "2": "an identity of example.com/nn.Add"} {
		x := task.Buffer{Operand: task.Operand{Type: dtype.F32, Shape: []int{1}}, Bytes: memory(4)}
		fold := larger
		if want != "" {
			fold = func(x, y float32) float32 { return x + y }
		}
		b := permit(accessor(t, map[int][]task.Buffer{slotX: {x}}, nil),
			task.Param{Slot: slotX, Perm: perm.Reduce, Redop: perm.Redop("example.com/nn.Add, " + identity)})
		b.acc.Attrs = anyAttrs{}
		bodies, err := Steps(1, 5, func(k int, _ *op.Ctx, a *args, _ op.Range) error {
			a.X.Fold(0, float32(k))
			return nil
		}).FoldedBy(FoldBy(slotX, fold)).on(b.acc)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		bodies[0].Run(nil, op.Range{})
		if got := *(*float32)(unsafe.Pointer(unsafe.SliceData(x.Bytes))); got != 5 {
			t.Errorf("folded to %v, want 5", got)
		}
	}
}
