package opimpl_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/batchnorm"
	"github.com/opgen/opgen/generated/concat"
	"github.com/opgen/opgen/generated/fft"
	"github.com/opgen/opgen/generated/gather"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// run is a body from a function.
type run func()

func (f run) Run(*op.Ctx, op.Range) error { f(); return nil }

// A task may be bound by hand: the binder gives each tensor with the permission that is asked for, and keeps
// an error if the task's signature does not have it.
func ExampleBind() {
	forward := opimpl.Bind("copies", func(_ string, b *opimpl.Binder[concat.Slot]) []op.Body {
		in := opimpl.List(b, concat.SlotInput, opimpl.ReadOnly[float32, concat.Slot])
		out := opimpl.WriteOnly[float32](b, concat.SlotOutput)
		axis, dims := opimpl.AttrsOf[concat.Attrs](b).Axis, opimpl.DimsOf[concat.Dims](b)
		return []op.Body{run(func() { fmt.Println(len(in), out.Len(), axis, dims) })}
	})
	backward := opimpl.Bind("copies", func(_ string, b *opimpl.Binder[concat.Slot]) []op.Body {
		to := opimpl.ListIf(b, concat.SlotInput, opimpl.GradTo[float32, concat.Slot])
		from := opimpl.GradOf[float32](b, concat.SlotOutput)
		return []op.Body{run(func() { fmt.Println(len(to), from.Len()) })}
	})
	var r task.Registry
	err := opimpl.Register(&r, concat.Operator, op.CPU, opimpl.Variant{Kernel: "copies", Types: []dtype.Type{dtype.F32},
		Tasks: map[task.ID]opimpl.BindFunc{concat.ForwardTask: forward, concat.BackwardTask: backward}})
	g := graph.New(1)
	y := concat.Apply(g, concat.Defaults(0), []graph.Tensor{g.Input("a", dtype.F32, 2), g.Input("b", dtype.F32, 3)})
	fmt.Println(err, y.Shape())
	// Output: <nil> [5]
}

// Optional slots may have no tensor, and gradients may be added to element by element.
func ExampleOptional() {
	var bias tensor.Opt[tensor.RO[float32]]
	_ = func(b *opimpl.Binder[linear.Slot]) {
		bias = opimpl.Optional(b, linear.SlotBias, opimpl.ReadOnly[float32, linear.Slot])
	}
	_ = func(b *opimpl.Binder[gather.Slot]) { opimpl.ScatterTo[float32](b, gather.SlotInput).Add(0, 1) }
	_ = func(b *opimpl.Binder[batchnorm.Slot]) { opimpl.OptionalGrad[float32](b, batchnorm.SlotOutput).Has() }
	fmt.Println(bias.Has())
	// Output: false
}

// A task that is bound by hand makes the states of slots, and another one frees them.
func ExampleInit() {
	plan := opimpl.Bind("plan", func(_ string, b *opimpl.Binder[fft.Slot]) []op.Body {
		return []op.Body{opimpl.Init(b, func(*op.Ctx) ([]any, error) { return []any{1}, nil }, fft.SlotTransform)}
	})
	forget := opimpl.Bind("plan", func(_ string, _ *opimpl.Binder[fft.Slot]) []op.Body {
		return []op.Body{opimpl.Cleanup(func(*op.Ctx) error { return nil })}
	})
	var r task.Registry
	err := opimpl.Register(&r, fft.Operator, op.CPU, opimpl.Variant{Kernel: "plan", Types: []dtype.Type{dtype.F32},
		Tasks: map[task.ID]opimpl.BindFunc{fft.InitTask: plan, fft.CleanupTask: forget}})
	fmt.Println(err)
	// Output: <nil>
}

// A module's own function may fold values into a tensor.
func ExampleFoldBy() {
	longest := func(x, y float32) float32 { return max(x, y) }
	var fold opimpl.Fold = opimpl.FoldBy[float32](linear.SlotOutput, longest)
	binding := opimpl.Steps(linear.ForwardTask, "kernel", func(string, *op.Ctx, *struct{}, op.Range) error { return nil }).FoldedBy(fold)
	fmt.Println(len(opimpl.NewVariant("kernel", []dtype.Type{dtype.F32}, binding).Tasks))
	// Output: 1
}
