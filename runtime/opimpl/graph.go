package opimpl

import (
	"path/filepath"
	"reflect"
	"runtime"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// shortForms is the generated file in which each function calls Apply with a value of an enum.
const shortForms = "short.go"

// Insert begins a node of g for an Apply function. Errors are reported at the line that calls that function,
// or that calls the short form which calls it.
func Insert[S ~int](g *graph.Graph, o *graph.Operator, attrs task.Attrs, opts []graph.Option) *graph.Insertion[S] {
	if by := callOfShortForm(); by != 0 {
		opts = append([]graph.Option{graph.InsertedBy(by)}, opts...)
	}
	return graph.Insert[S](g, 1, o, attrs, opts...)
}

// Tensor returns the tensor of a slot of a node. It returns the zero Tensor if the slot has none.
func Tensor[S ~int](n *graph.Node, slot S) graph.Tensor { return n.Tensor(int(slot)) }

// Tensors returns the tensors of a variadic slot of a node.
func Tensors[S ~int](n *graph.Node, slot S) []graph.Tensor { return n.Tensors(int(slot)) }

// Values returns the values of a variadic argument as Insertion.BindArg takes them.
func Values[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// callOfShortForm returns the call of the short form that calls Apply, or 0 if another function calls Apply,
// which calls Insert.
func callOfShortForm() uintptr {
	var calls [3]uintptr
	if runtime.Callers(3, calls[:]) < len(calls) { // this function and Insert come before
		return 0
	}
	by, _ := runtime.CallersFrames(calls[1:2]).Next()
	if filepath.Base(by.File) != shortForms {
		return 0
	}
	if apply, _ := runtime.CallersFrames(calls[:1]).Next(); filepath.Dir(apply.File) != filepath.Dir(by.File) {
		return 0 // a file of the same name elsewhere
	}
	return calls[2]
}

// Passed is an argument with the values that the caller of an optimizer passes.
type Passed[S ~int] struct {
	slot   S
	values []any
}

// Pass sets an argument of an optimizer to its value, or a variadic argument to its values.
func Pass[S ~int](slot S, values ...any) Passed[S] { return Passed[S]{slot, values} }

// Optimizer returns the optimizer that inserts an operator for every weight, with what the caller passes. The
// node takes its name from the weight and from the operator. Errors have the source line of the call of the
// generated function that calls this one. Attributes that are wrong are one error, not one for each weight.
func Optimizer[S ~int](o *graph.Operator, attrs task.Attrs, weight, grad S, opts []graph.Option, passed ...Passed[S]) graph.Optimizer {
	all := make([]Passed[int], len(passed))
	for i, p := range passed {
		all[i] = Passed[int]{int(p.slot), p.values}
	}
	var call [1]uintptr
	runtime.Callers(3, call[:]) // this function and the generated one come before
	return optimizer(o, attrs, int(weight), int(grad), append([]graph.Option{graph.InsertedBy(call[0])}, opts...), all)
}

func optimizer(o *graph.Operator, attrs task.Attrs, weight, grad int, opts []graph.Option, passed []Passed[int]) graph.Optimizer {
	return func(g *graph.Graph, weights, grads []graph.Tensor) {
		for i, w := range weights {
			all := append([]graph.Option{graph.Named(w.Name() + "." + o.FullName())}, opts...)
			in := graph.Insert[int](g, 1, o, attrs, all...).Bind(weight, w).Bind(grad, grads[i])
			for _, p := range passed {
				in.BindArg(p.slot, p.values...)
			}
			if in.Node() == nil && task.Validate(attrs) != nil {
				return // other weights fail alike
			}
		}
	}
}

// Invoke binds a task of node n to tensors, a struct with a field for each of the task's parameters but
// scratch memory, and behind them for each argument that the caller must pass. The task declares its
// constraints.
func Invoke(n *graph.Node, kind task.Kind, tensors any) (*graph.Invocation, error) {
	return bind(n, kind, tensors).Invocation()
}

// Open is Invoke for a task that does not declare its constraints.
func Open(n *graph.Node, kind task.Kind, tensors any) (*graph.OpenInvocation, error) {
	return bind(n, kind, tensors).Open()
}

func bind(n *graph.Node, kind task.Kind, tensors any) *graph.Binding[int] {
	b := graph.NewBinding[int](n, kind)
	sig := n.Op.Signature(kind)
	if sig == nil {
		return b // with an error
	}
	fields, next := reflect.ValueOf(tensors), 0
	field := func() reflect.Value { next++; return fields.Field(next - 1) }
	for _, p := range sig.Params {
		if p.Perm == perm.Scratch {
			continue
		}
		var list []graph.Tensor
		switch x := field().Interface().(type) {
		case graph.Tensor:
			list = []graph.Tensor{x}
		case graph.Gradient:
			list = []graph.Tensor{graph.Tensor(x)}
		case []graph.Tensor:
			list = x
		case []graph.Gradient:
			for _, g := range x {
				list = append(list, graph.Tensor(g))
			}
		}
		if p.Grad {
			b.BindGrad(p.Slot, list...)
		} else {
			b.Bind(p.Slot, list...)
		}
	}
	for _, a := range sig.Args {
		if a.From != task.FromCall || a.Default != "" { // what the node has
			continue
		}
		v := field()
		if !sig.Operator.Slots[a.Slot].Variadic {
			b.BindArg(a.Slot, v.Interface())
			continue
		}
		var values []any
		for i := range v.Len() {
			values = append(values, v.Index(i).Interface())
		}
		b.BindArg(a.Slot, values...)
	}
	return b
}
