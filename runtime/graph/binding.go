package graph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Invocation is a task bound to tensors.
type Invocation struct {
	Node      *Node
	Signature *task.Signature
	// Operands holds the tensors of each parameter of the signature, or none if the parameter is absent.
	// Unused gradients of a variadic slot are the zero Tensor.
	Operands [][]Tensor
	// Passed holds, by slot, the values of the arguments that the caller passes.
	Passed map[int][]any
	// Added lists the constraints that the caller added. It is empty if the task declares its constraints.
	Added []partition.Constraint
}

// OpenInvocation is an invocation of a task that does not declare its constraints, so that the caller
// may add some.
type OpenInvocation struct{ *Invocation }

// AddConstraint adds a constraint on how launches partition the tensors of the invocation. Terms name slots.
func (o *OpenInvocation) AddConstraint(c partition.Constraint) error { return o.Invocation.add(c) }

// add adds a constraint. It fails if the task declares its constraints, or if the tensors do not fit.
func (inv *Invocation) add(c partition.Constraint) error {
	with := *inv
	with.Added = append(slices.Clone(inv.Added), c)
	if _, err := with.Launch(); err != nil {
		return err
	}
	inv.Added = with.Added
	return nil
}

// Seed returns the seed of the random numbers that the task draws, or 0 if it takes none.
func (inv *Invocation) Seed() int {
	if slices.ContainsFunc(inv.Signature.Args, func(a task.Arg) bool { return a.From == task.FromSeed }) {
		return inv.Node.Seed
	}
	return 0
}

// Binding binds the slots of a task to tensors, one by one, and checks the result. S is the
// operator's slot type, so that a slot of another operator does not compile; tools use int.
type Binding[S ~int] struct {
	inv *Invocation
	op  *Operator
	err error
}

// NewBinding begins an invocation of a node's task of the given kind, with the attributes and shapes of the
// node.
func NewBinding[S ~int](n *Node, kind task.Kind) *Binding[S] {
	sig := n.Op.Signature(kind)
	if sig == nil {
		return &Binding[S]{op: n.Op, inv: &Invocation{Node: n, Signature: &task.Signature{Operator: &n.Op.Operator, Task: kind.String()}},
			err: &op.Error{Operator: n.Op.FullName(), Want: "an operator with a task of kind " + kind.String(), Got: "none"}}
	}
	return &Binding[S]{op: n.Op, inv: &Invocation{Node: n, Signature: sig, Operands: make([][]Tensor, len(sig.Params))}}
}

// Invoke binds the operator's first task (forward, or an optimizer's update) to the node's tensors.
func (n *Node) Invoke() (*Invocation, error) {
	sig := n.Op.Main()
	if sig == nil {
		return nil, &op.Error{Operator: n.Op.FullName(), Want: "an operator with a task forward or update", Got: "none"}
	}
	return n.bind(sig, nil)
}

// bind binds a task to the node's tensors, and to the given gradients, by slot.
func (n *Node) bind(sig *task.Signature, grads map[int][]Tensor) (*Invocation, error) {
	b := NewBinding[int](n, sig.Kind)
	number := slices.Index(n.Op.Signatures, sig)
	for _, p := range sig.Params {
		switch {
		case p.Perm == perm.Scratch:
		case p.Grad:
			b.BindGrad(p.Slot, grads[p.Slot]...)
		case n.Resolved.Takes(number, p.Slot):
			b.Bind(p.Slot, n.slots[p.Slot]...)
		}
	}
	for _, a := range sig.Args {
		if a.From == task.FromCall {
			b.BindArg(a.Slot, n.passed[a.Slot]...)
		}
	}
	b.inv.Added = n.constraints[sig.Kind]
	return b.Invocation()
}

func (b *Binding[S]) fail(slot int, want, got string) {
	if b.err == nil {
		b.err = &op.Error{Operator: b.op.FullName(), Task: b.inv.Signature.Task, Slot: b.op.Slots[slot].Name, Want: want, Got: got}
	}
}

// Bind binds a slot to a tensor, or a variadic slot to several. Without tensors the slot is absent.
func (b *Binding[S]) Bind(slot S, tensors ...Tensor) *Binding[S] {
	return b.bind(int(slot), false, tensors)
}

// BindGrad binds the gradient of a slot's tensor. If a gradient that the task computes is not bound, it is
// discarded.
func (b *Binding[S]) BindGrad(slot S, tensors ...Tensor) *Binding[S] {
	return b.bind(int(slot), true, tensors)
}

func (b *Binding[S]) bind(slot int, grad bool, tensors []Tensor) *Binding[S] {
	if slot < 0 || slot >= len(b.op.Slots) {
		if b.err == nil {
			b.err = &op.Error{Operator: b.op.FullName(), Task: b.inv.Signature.Task, Want: fmt.Sprintf("a slot from 0 to %d", len(b.op.Slots)-1), Got: fmt.Sprint(slot)}
		}
		return b
	}
	for i, p := range b.inv.Signature.Params {
		if p.Slot != slot || p.Grad != grad {
			continue
		}
		if b.inv.Operands[i] != nil {
			b.fail(slot, "one binding", "a second one")
		}
		for _, t := range tensors {
			if t.Valid() || b.op.Slots[slot].Variadic { // absent variadic ones keep their positions
				b.inv.Operands[i] = append(b.inv.Operands[i], t)
			}
		}
		return b
	}
	what := "a slot"
	if grad {
		what = "a slot whose gradient"
	}
	b.fail(slot, what+" that the task uses", "one that it does not")
	return b
}

// BindArg binds an argument of the call to its value, or a variadic argument to its values.
func (b *Binding[S]) BindArg(slot S, values ...any) *Binding[S] {
	if b.err != nil {
		return b
	}
	if slot < 0 || int(slot) >= len(b.op.Slots) {
		b.err = &op.Error{Operator: b.op.FullName(), Task: b.inv.Signature.Task, Want: fmt.Sprintf("a slot from 0 to %d", len(b.op.Slots)-1), Got: fmt.Sprint(int(slot))}
		return b
	}
	arg := b.inv.Signature.Arg(int(slot))
	switch {
	case arg == nil:
		b.fail(int(slot), "an argument of the task", "one that it does not take")
	case arg.From != task.FromCall:
		b.fail(int(slot), "an argument that the caller passes", "one from "+arg.From.String())
	case b.inv.Passed[int(slot)] != nil:
		b.fail(int(slot), "one binding", "a second one")
	default:
		if b.inv.Passed == nil {
			b.inv.Passed = map[int][]any{}
		}
		b.inv.Passed[int(slot)] = append([]any{}, values...)
	}
	return b
}

// AddConstraint adds a constraint on how launches partition the tensors bound so far. If the task declares
// its constraints, Invocation returns an error.
func (b *Binding[S]) AddConstraint(c partition.Constraint) *Binding[S] {
	if b.err == nil {
		b.err = b.inv.add(c)
	}
	return b
}

// Open returns the invocation of a task that does not declare its constraints, so that constraints can be
// added.
func (b *Binding[S]) Open() (*OpenInvocation, error) {
	if b.err == nil && b.inv.Signature.Constraints.Declared {
		b.err = &op.Error{Code: partition.ConstraintsLocked, Operator: b.op.FullName(), Task: b.inv.Signature.Task, Want: "a task that does not declare its constraints", Got: "one that does"}
	}
	inv, err := b.Invocation()
	if err != nil {
		return nil, err
	}
	return &OpenInvocation{inv}, nil
}

// Invocation checks the binding and returns the invocation. It is an error if a required slot is missing, if
// a tensor has another type or shape than the operator's rules infer, or if the tensors violate a
// constraint.
func (b *Binding[S]) Invocation() (*Invocation, error) {
	if b.err != nil {
		return nil, b.err
	}
	for i := range b.inv.Signature.Args {
		if a := &b.inv.Signature.Args[i]; a.From == task.FromCall && a.Default != "" && b.inv.Passed[a.Slot] == nil {
			b.BindArg(S(a.Slot), b.inv.Node.passed[a.Slot]...)
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	if b.err = b.inv.check(); b.err == nil {
		_, b.err = b.inv.Limits()
	}
	return b.inv, b.err
}

func count(n int) string {
	switch n {
	case 0:
		return "no tensor"
	case 1:
		return "a tensor"
	}
	return fmt.Sprintf("%d tensors", n)
}
