package opimpl

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Binding binds a task of a kernel to memory. It fills the struct of the task's arguments: the first two
// fields with attributes and dimensions, those behind them with the views of the signature's parameters, and
// the last with its arguments, in their order.
type Binding struct {
	id    task.ID
	bind  func(*Binder[int], []Fold) []op.Body
	folds []Fold
}

// Steps returns the binding of a task for which the kernel has a method for each step.
func Steps[K, A any](id task.ID, kernel K, steps ...func(K, *op.Ctx, *A, op.Range) error) Binding {
	return Binding{id: id, bind: func(b *Binder[int], folds []Fold) []op.Body {
		a := arguments[A](b, folds)
		bodies := make([]op.Body, len(steps))
		for i, run := range steps {
			bodies[i] = &body[K, A]{run, kernel, a}
		}
		return bodies
	}}
}

// body is a step of a task, bound to its arguments.
type body[K, A any] struct {
	run    func(K, *op.Ctx, *A, op.Range) error
	kernel K
	args   *A
}

func (b *body[K, A]) Run(ctx *op.Ctx, r op.Range) error { return b.run(b.kernel, ctx, b.args, r) }

// InitStep returns the binding of a task that makes state. make returns a value for each slot that the
// signature says the task returns, in their order.
func InitStep[K, A any](id task.ID, kernel K, make func(K, *op.Ctx, *A) ([]any, error)) Binding {
	return Binding{id: id, bind: func(b *Binder[int], folds []Fold) []op.Body {
		a := arguments[A](b, folds)
		var places []*task.State
		for _, slot := range b.acc.Signature.Returns {
			places = append(places, b.state(slot))
		}
		return []op.Body{once(func(ctx *op.Ctx) error {
			return put(ctx, func(ctx *op.Ctx) ([]any, error) { return make(kernel, ctx, a) }, places)
		})}
	}}
}

// CleanupStep returns the binding of a task that frees state.
func CleanupStep[K, A any](id task.ID, kernel K, free func(K, *op.Ctx, *A) error) Binding {
	return Binding{id: id, bind: func(b *Binder[int], folds []Fold) []op.Body {
		a := arguments[A](b, folds)
		return []op.Body{once(func(ctx *op.Ctx) error { return free(kernel, ctx, a) })}
	}}
}

// once is a body that does the same for every range.
type once func(ctx *op.Ctx) error

func (f once) Run(ctx *op.Ctx, _ op.Range) error { return f(ctx) }

// Fold is a function of a module's own that folds values into the tensor of a slot.
type Fold struct {
	slot  int
	fold  any // a func(x, y T) T
	twice func(identity float64) (x, y any)
}

// FoldBy returns the function that folds values into the tensor of a slot.
func FoldBy[T dtype.Element, S ~int](slot S, fold func(x, y T) T) Fold {
	return Fold{slot: int(slot), fold: fold, twice: func(identity float64) (any, any) {
		x := number[T](identity)
		return x, fold(x, x)
	}}
}

// number returns a number as an element, in the way in which engines fill tensors with it.
func number[T dtype.Element](v float64) T {
	var x T
	dtype.Of[T]().PutFloat64(unsafe.Slice((*byte)(unsafe.Pointer(&x)), unsafe.Sizeof(x)), v)
	return x
}

// FoldedBy returns the binding of a task that folds values with functions of the module's own.
func (b Binding) FoldedBy(folds ...Fold) Binding {
	b.folds = folds
	return b
}

// on returns the function with which an engine binds the task.
func (b Binding) on(acc *task.Accessor) ([]op.Body, error) {
	binder := NewBinder[int](acc)
	bodies := b.bind(binder, b.folds)
	return bodies, binder.Err()
}

// arguments returns the arguments of the task that a binder binds.
func arguments[A any](b *Binder[int], folds []Fold) *A {
	a := new(A)
	b.fill(reflect.ValueOf(a).Elem(), folds)
	return a
}

// fill fills the struct of a task's arguments.
func (a *Binder[S]) fill(args reflect.Value, folds []Fold) {
	sig := a.acc.Signature
	var passed []*task.Arg
	for i := range sig.Args {
		arg := &sig.Args[i]
		if arg.From != task.FromIteration && !(arg.From == task.FromAttrs && sig.Operator.Slots[arg.Slot].Name == "attrs") {
			passed = append(passed, arg) // of the others, one is a method, and one is the first field
		}
	}
	if want := 2 + len(sig.Params) + len(passed); args.NumField() != want {
		a.err = &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task,
			Want: fmt.Sprintf("arguments in a struct of %d fields", want), Got: fmt.Sprint(args.NumField())}
		return
	}
	a.setAttrs(args.Field(0))
	a.setDims(args.Field(1))
	for i, p := range sig.Params {
		o := options{}
		if dim, ok := args.Type().Field(2 + i).Tag.Lookup("lanes"); ok {
			o.behind, o.lanes = true, args.Field(1).FieldByName(dim).Len()
		}
		if at := slices.IndexFunc(folds, func(f Fold) bool { return f.slot == p.Slot }); at >= 0 {
			o.fold = &folds[at]
		}
		a.tensors(p, args.Field(2+i), o)
	}
	for i, arg := range passed {
		a.argument(arg, args.Field(2+len(sig.Params)+i))
	}
}

// tensors sets a field to the view of a parameter: of its tensor, which may be absent, or of each of its
// tensors.
func (a *Binder[S]) tensors(p task.Param, field reflect.Value, o options) {
	slot := S(p.Slot)
	switch v := field.Addr().Interface().(type) {
	case tensor.View:
		a.view(slot, p.Grad, 0, v, o)
	case tensor.Optional:
		if !a.absent(slot, p.Grad) {
			a.view(slot, p.Grad, 0, tensor.Present(v), o)
		}
	default:
		if p.Optional && a.absent(slot, p.Grad) {
			return
		}
		n := len(a.acc.Resolved.Operands(p.Slot))
		field.Set(reflect.MakeSlice(field.Type(), n, n))
		for i := range n {
			a.view(slot, p.Grad, i, field.Index(i).Addr().Interface().(tensor.View), o)
		}
	}
}

// options say how a view differs from what its type says.
type options struct {
	behind bool // whether lanes run along the dimension behind lanes dimensions, and not along the last
	lanes  int
	fold   *Fold // the function of a reduction by one of the module's own
}

// view makes a view of tensor number i of a slot, or of its gradient.
func (a *Binder[S]) view(slot S, grad bool, i int, v tensor.View, o options) {
	typ, access := tensor.Describe(v)
	use := uses[access]
	if access == tensor.Reads && grad {
		use = readingGrad
	}
	var memory []tensor.Memory
	add := func(i int, b task.Buffer) {
		m, ok := a.memory(slot, i, b, typ)
		if o.behind {
			m.Lanes = o.lanes
		}
		if ok {
			memory = append(memory, m)
		}
	}
	switch access {
	case tensor.Keeps:
		if a.permitted(slot, use) != nil {
			for i, b := range a.acc.Workers(int(slot)) {
				add(i, b)
			}
		}
	case tensor.Contributes, tensor.Scatters:
		switch b, used := a.contribution(slot, use, i); {
		case used:
			add(i, b)
		case b.Type != dtype.Invalid: // else the slot itself is absent
			m := tensor.Memory{Shape: b.Shape, Size: shape.Prod(b.Shape), Lanes: max(len(b.Shape)-1, 0), Mode: tensor.Discard}
			if o.behind {
				m.Lanes = o.lanes
			}
			memory = append(memory, m)
		}
	default:
		if b, ok := a.one(slot, use, i); ok {
			add(i, b)
		}
	}
	if len(memory) == 0 {
		return
	}
	if access == tensor.Folds && !a.folding(slot, i, &memory[0], o.fold) {
		return
	}
	if !tensor.Bind(v, memory...) {
		a.fail(slot, i, "elements that "+memory[0].Redop.String()+" folds", typ.String())
	}
}

// folding tells with what a reduction folds values. It keeps an error about a function that does not fit the
// permission, or of which the identity is none.
func (a *Binder[S]) folding(slot S, i int, m *tensor.Memory, by *Fold) bool {
	m.Redop = a.param(slot, false).Redop
	if by == nil {
		return true
	}
	pkg, name, identity, own := m.Redop.Own()
	if !own {
		a.fail(slot, i, "a reduction with a function of the module's own", m.Redop.String())
		return false
	}
	if x, y := by.twice(identity); y != x {
		a.fail(slot, i, fmt.Sprintf("an identity of %s.%s: that of two of them is the same", pkg, name),
			fmt.Sprintf("%v, which gives %v", x, y))
		return false
	}
	m.Fold = by.fold
	return true
}

// uses are the uses of views. That of a view that reads a gradient is readingGrad.
var uses = [...]use{tensor.Reads: reading, tensor.Writes: writing, tensor.Changes: changing, tensor.Folds: folding,
	tensor.Contributes: writingGrad, tensor.Scatters: addingToGrad, tensor.Keeps: local}

// Init returns the body of a task, bound by hand, that makes the states of slots. make returns a value for
// each slot, in their order.
func Init[S ~int](a *Binder[S], make func(*op.Ctx) ([]any, error), slots ...S) op.Body {
	var places []*task.State
	for _, slot := range slots {
		places = append(places, a.state(slot))
	}
	return once(func(ctx *op.Ctx) error { return put(ctx, make, places) })
}

// put makes states, and puts each in its place.
func put(ctx *op.Ctx, make func(*op.Ctx) ([]any, error), places []*task.State) error {
	values, err := make(ctx)
	if err == nil {
		for i, place := range places {
			place.Put(values[i])
		}
	}
	return err
}

// Cleanup returns the body of a task, bound by hand, that frees state.
func Cleanup(free func(*op.Ctx) error) op.Body { return once(free) }
