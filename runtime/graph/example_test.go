package graph_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/stencil"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// A graph is built once and expanded into programs.
func Example() {
	g := graph.New(1)
	x, y := g.Input("x", dtype.F32, 4, 2), g.Input("y", dtype.F32, 4, 3)
	z := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Variables, z.Node().Name)
	for _, s := range p.Steps {
		if s.Invocation != nil {
			fmt.Println(s.Invocation.Node.Name, s.Invocation.Signature.Name())
		}
	}
	// Output:
	// [linear.weight f32[3, 2]] linear
	// linear linear.forward
	// mean_squared_error mean_squared_error.forward
	// mean_squared_error mean_squared_error.backward
	// linear linear.backward
	// linear.weight.sgd sgd.update
}

// With micro-batches, gradients are added up before the update. Each micro-batch has the weight of its share.
func ExampleAccumulation() {
	g := graph.New(1)
	x, y := g.Input("x", dtype.F32, 4, 2), g.Input("y", dtype.F32, 4, 3)
	z := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
	micro, update, err := graph.Accumulation(g, loss, graph.Share{Loss: 0.5, Aux: 0.5}, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(micro.Fed, len(update.Fed))
	// Output: [x f32[4, 2] y f32[4, 3]] 0
}

// A mistake is kept with the line of its call, and returned when the graph is expanded.
func ExampleGraph_Err() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4, 2)
	linear.Apply(g, linear.Defaults(0), x)
	fmt.Println(g.Err() != nil)
	// Output: true
}

// Nodes run in the order of their tensors. After adds to that.
func ExampleNode_After() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4, 2)
	first := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x, graph.Named("first"))
	second := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x, graph.Named("second"))
	first.Node().After(second.Node())
	p, err := graph.Inference(g, first)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range p.Steps {
		fmt.Println(s.Invocation.Node.Name)
	}
	// Output:
	// second
	// first
}

// A constraint on a task says how its tensors may be partitioned. Tensors that do not fit are an error of the
// program.
func ExampleConstrain() {
	g := graph.New(1)
	y := softmax.Apply(g, softmax.Defaults().WithDim(1), g.Input("x", dtype.F32, 64, 10), graph.Constrain(task.KindForward,
		partition.Constraint{Kind: partition.MinExtents, Terms: []partition.Term{partition.Whole("input")}, Extents: []int{8, 10, 1}}))
	_, err := graph.Inference(g, y)
	fmt.Println(err)
	// Output:
	// node softmax: operator softmax, task forward, slot input: want 2 numbers in extents, one for each axis, for min_extents(input, extents [8 10 1]), got 3
}

// A launch says how many processors would partition the tensors of a task.
func ExampleInvocation_Launch() {
	g := graph.New(1)
	y := softmax.Apply(g, softmax.Defaults().WithDim(1), g.Input("x", dtype.F32, 64, 10))
	inv, err := y.Node().Invoke()
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := inv.Launch()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := partition.NewChecker(inv.Signature.Declaration(), partition.Machine{Kind: "cpu", Procs: 4, Threshold: 1}).Launch(l)
	fmt.Println(s.Argument(0), s.Argument(1), err)
	// Output:
	// [64/4, 10] [64/4, 10] <nil>
}

// An input that is part of a divided tensor makes the tensors that follow from it parts, too. Each of two
// devices has half of the rows, and all of the weight.
func ExampleGraph_PartInput() {
	g := graph.New(1)
	x := g.PartInput("x", dtype.F32, partition.Partition{Extents: []int{64, 10}, Degrees: []int{2, 1}})
	y := linear.Apply(g, linear.Defaults(3), x)
	fmt.Println(x)
	fmt.Println(x.Partition(), y.Partition(), y.Node().Tensor(int(linear.SlotWeight)).Partition())
	// Output:
	// x f32[32, 10]
	// [64/2, 10] [64/2, 3] [3, 10] x2 replicas
}

// An invocation of a task that declares no constraints takes further ones. A launch keeps to them: here, rows
// are divided and columns are not, since each processor needs at least 10 of them.
func ExampleOpenInvocation_AddConstraint() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 64, 10)
	n := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeExp), x).Node()
	inv, err := elementunary.ForwardTensors{Input: x, Output: n.Tensor(int(elementunary.SlotOutput))}.Invoke(n)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := inv.AddConstraint(partition.Constraint{Kind: partition.MinExtents, Terms: []partition.Term{partition.Whole("input")}, Extents: []int{32, 10}}); err != nil {
		fmt.Println(err)
		return
	}
	l, err := inv.Launch()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := partition.NewChecker(inv.Signature.Declaration(), partition.Machine{Kind: "cpu", Procs: 4, Threshold: 1}).Launch(l)
	fmt.Println(s.Argument(0), err)
	// Output: [64/2, 10] <nil>
}

// A binding gives a task its tensors slot by slot, by numbers, as tools do that know operators by name only.
// A constraint that does not fit is an error of the invocation.
func ExampleBinding_AddConstraint() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 64, 10)
	n := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeExp), x).Node()
	b := graph.NewBinding[int](n, task.KindForward).Bind(0, x).Bind(1, n.Tensor(1))
	_, err := b.AddConstraint(partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.At("input", 1)}}).Open()
	fmt.Println(err)
	// Output: operator element_unary, task forward, slot input[1]: want one of the 1 input that are passed, for broadcast, got 1
}

// A task whose spec declares constraints takes no further ones, so its invocation has no method to add one.
// Tensors are bound by name: one that is left out is an error.
func ExampleInvocation() {
	g := graph.New(1)
	x, w := g.Input("x", dtype.F32, 1, 8, 8), g.Input("w", dtype.F32, 3, 3)
	y := stencil.Apply(g, stencil.Defaults(1), stencil.Input(x), stencil.Weight(w))
	inv, err := stencil.ForwardTensors{Input: x, Weight: w, Output: y}.Invoke(y.Node())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range inv.Signature.Constraints.List {
		fmt.Println(c)
	}
	_, err = stencil.ForwardTensors{Input: x, Output: y}.Invoke(y.Node())
	fmt.Println(err)
	// Output:
	// bloat(output, input, axes [H W], low [reach, reach], high [reach, reach])
	// min_extents(output, axes [H W], extents [reach, reach])
	// broadcast(weight)
	// operator stencil, task forward, slot weight: want a tensor, got no tensor
}
