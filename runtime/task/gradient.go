package task

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
)

// Gradient describes an operator that computes the gradients of another one: its forward task computes what
// the backward task of the other one does, and its own backward task computes second derivatives.
type Gradient struct {
	// Of is the operator whose gradients are computed.
	Of *Operator
	// Slots holds, by slot of the gradient's operator, the content of the slot.
	Slots []GradientSlot
}

// GradientSlot is the content of a slot of a gradient's operator: the tensors or the values of a slot of the
// other operator, or the gradients of these tensors.
type GradientSlot struct {
	Slot int // of the other operator
	Grad bool
}

// Slot returns the number of the slot with content s, or -1.
func (g *Gradient) Slot(s GradientSlot) int { return slices.Index(g.Slots, s) }

// gradientPrefix begins the name of the operator that computes the gradients of another one.
const gradientPrefix = "gradient of "

// gradients caches the operators that GradientOf returns, by operator.
var gradients sync.Map

// GradientOf returns the operator that computes the gradients of o, named "gradient of" o. Its inputs are the
// inputs, weights and arguments of o under their names, and the gradients of outputs, which are optional. Its
// outputs are the gradients of inputs and weights, which are made on request. Equal arguments have the same
// result. The error names the operator, and the slot if there is one: o has no backward task, it has no
// formula, or its formula states a gradient that is not the derivative.
func GradientOf(o *Operator) (*Operator, error) {
	if len(o.Signatures) > 0 { // a copy has the signatures of the original
		o = o.Signatures[0].Operator
	}
	if g, ok := gradients.Load(o); ok {
		return g.(*Operator), nil
	}
	g, err := newGradient(o)
	if err != nil {
		return nil, err
	}
	same, _ := gradients.LoadOrStore(o, g)
	return same.(*Operator), nil
}

// order returns how many derivatives an operator is away from one of a spec.
func (o *Operator) order() int {
	if o.Gradient == nil {
		return 0
	}
	return 1 + o.Gradient.Of.order()
}

// differentiable returns an error if the gradients of o cannot be derived from its formula.
func (o *Operator) differentiable() error {
	if o.Signature(KindBackward) == nil {
		return &op.Error{Operator: o.FullName(), Want: "an operator with a backward task", Got: "none"}
	}
	if len(o.Formula) == 0 {
		return &op.Error{Operator: o.FullName(), Want: "an operator with a formula, from which second derivatives follow", Got: "one whose gradient only kernels have"}
	}
	for _, line := range o.Formula {
		left, _, _ := strings.Cut(line, "[")
		if slot, is := strings.CutPrefix(strings.TrimSpace(left), gradPrefix); is && strings.HasSuffix(strings.TrimSpace(line), "as surrogate") {
			return &op.Error{Operator: o.FullName(), Slot: slot, Want: "a gradient that is the derivative, to derive it once more", Got: "a surrogate"}
		}
	}
	return nil
}

func newGradient(o *Operator) (*Operator, error) {
	if err := o.differentiable(); err != nil {
		return nil, err
	}
	g := &Operator{Name: gradientPrefix + o.Name, Module: o.Module, Family: o.Family, Doc: "The gradients of " + o.FullName() + ".", Formula: o.Formula, Callees: o.Callees,
		AttrNames: o.AttrNames, Types: o.Types, DecodeAttrs: o.DecodeAttrs, Resolve: resolveGradient, Inference: o.Inference, Gradient: &Gradient{Of: o}}
	first := &Signature{Operator: g, Task: KindForward.String(), Kind: KindForward, Steps: make([]Step, 1)}
	second := &Signature{Operator: g, Task: KindBackward.String(), Kind: KindBackward, Steps: make([]Step, 1)}
	for _, s := range []*Signature{first, second} {
		s.ID = IDOf(g.FullName(), s.Task)
		g.Signatures = append(g.Signatures, s)
	}
	backward := o.Signature(KindBackward)
	second.Floating = backward.Floating
	first.Floating = backward.Floating
	add := func(s Slot, of int, grad bool) int {
		if grad {
			s.Name = gradPrefix + s.Name
			if n := o.order() + 1; n > 1 { // each order has names of its own
				s.Name = fmt.Sprintf("grad%d.%s", n, o.Slots[of].Name)
			}
		}
		s.Init, s.CountedBy, s.AuxLoss, s.GradOf, s.Provided, s.PerWorker = Init{}, "", false, "", false, false
		g.Slots = append(g.Slots, s)
		g.Gradient.Slots = append(g.Gradient.Slots, GradientSlot{of, grad})
		return len(g.Slots) - 1
	}
	computed := func(slot int) bool {
		return slices.ContainsFunc(backward.Params, func(p Param) bool { return p.Grad && p.Perm.Writes() && p.Slot == slot })
	}
	both := func(p Param) { first.Params, second.Params = append(first.Params, p), append(second.Params, p) }
	for i, s := range o.Slots {
		switch s.Role {
		case RoleInput, RoleWeight:
			s.Role, s.Trainable = RoleInput, computed(i)
			at := add(s, i, false)
			both(Param{Slot: at, Perm: perm.Read, Optional: s.Optional})
			if s.Trainable {
				second.Params = append(second.Params, Param{Slot: at, Grad: true, Perm: perm.Write})
			}
		case RoleArgument:
			if a, ok := o.argument(i); ok {
				a.Slot = add(s, i, false)
				first.Args, second.Args = append(first.Args, a), append(second.Args, a)
			}
		}
	}
	for _, p := range backward.Params {
		if !p.Grad {
			continue
		}
		s := o.Slots[p.Slot]
		if p.Perm.Writes() {
			s.Role, s.OnRequest, s.Optional, s.Trainable = RoleOutput, true, false, false
			at := add(s, p.Slot, true)
			first.Params = append(first.Params, Param{Slot: at, Perm: perm.Write, Optional: true})
			second.Params = append(second.Params, Param{Slot: at, Grad: true, Perm: perm.Read, Optional: true})
			continue
		}
		s.Role, s.OnRequest, s.Optional, s.Trainable = RoleInput, false, true, true
		at := add(s, p.Slot, true)
		both(Param{Slot: at, Perm: perm.Read, Optional: true})
		second.Params = append(second.Params, Param{Slot: at, Grad: true, Perm: perm.Write})
	}
	return g, nil
}

// argument returns an argument of the operator's tasks that formulas can read. Those for kernels by hand
// alone, such as the device, are not among them.
func (o *Operator) argument(slot int) (Arg, bool) {
	for _, s := range o.Signatures {
		for _, a := range s.Args {
			switch a.From {
			case FromExpression, FromIteration, FromSeed, FromCall:
				if a.Slot == slot {
					return a, true
				}
			}
		}
	}
	return Arg{}, false
}

// checkGradient is what CheckGradients set.
var checkGradient func(*Operator, *Resolution) error

// CheckGradients sets a function that returns an error if the formula of an operator that computes gradients
// has no second derivative in a use. The compiler of formulas calls it once, before any other use of this
// package.
func CheckGradients(check func(*Operator, *Resolution) error) { checkGradient = check }

// CheckGradient returns an error if a use of an operator that computes gradients cannot be computed. It
// returns nil if the program does not have the compiler of formulas, which then says so when a plan is
// loaded.
func CheckGradient(o *Operator, r *Resolution) error {
	if checkGradient == nil {
		return nil
	}
	return checkGradient(o, r)
}

// resolveGradient resolves an operator that computes gradients: it resolves the operator of which these are.
func resolveGradient(g *Operator, attrs Attrs, given Given) (*Resolution, error) {
	of := g.Gradient.Of
	own := NoneGiven(of)
	for i, from := range g.Gradient.Slots {
		role, other := g.Slots[i].Role, &of.Slots[from.Slot]
		switch {
		case role == RoleArgument:
			own.Values[from.Slot] = given.Values[i]
		case role == RoleInput && !from.Grad && other.Role == RoleInput:
			own.Operands[from.Slot] = given.Operands[i]
			if places := given.Places[i]; places != nil {
				if own.Places == nil {
					own.Places = map[int][]int{}
				}
				own.Places[from.Slot] = places
			}
		case role == RoleInput && from.Grad && other.OnRequest:
			own.Requested[from.Slot] = len(given.Operands[i])
		case role == RoleInput && from.Grad && other.Provided:
			own.Operands[from.Slot] = given.Operands[i]
		}
	}
	base, err := Resolve(of, attrs, own)
	if err != nil {
		return nil, err
	}
	r := &Resolution{Dims: base.Dims, Types: base.Types, Inputs: given, Slots: make([][]Operand, len(g.Slots)), Of: base,
		Shares: map[int]bool{0: true, 1: true}, Loops: map[int]bool{0: true, 1: true}, Bounds: map[int]Bound{}, Args: map[int]any{}, Unused: make([]map[int]bool, 2)}
	for i, from := range g.Gradient.Slots {
		fail := func(want, got string) error {
			return &op.Error{Operator: g.FullName(), Slot: g.Slots[i].Name, Want: want, Got: got}
		}
		want := base.Operands(from.Slot)
		switch role := g.Slots[i].Role; {
		case role == RoleArgument:
			if v, ok := base.Args[from.Slot]; ok {
				r.Args[i] = v
			}
		case role == RoleOutput:
			if n := given.Requested[i]; n != 0 && n != len(want) {
				return nil, fail(fmt.Sprintf("a request of 0 or %d gradients", len(want)), fmt.Sprint(n))
			} else if n > 0 {
				r.Slots[i] = want
			}
		case from.Grad && len(given.Operands[i]) == 0: // 0
		default:
			if len(given.Operands[i]) != len(want) {
				return nil, fail(fmt.Sprintf("%d tensors", len(want)), fmt.Sprint(len(given.Operands[i])))
			}
			for k, o := range given.Operands[i] {
				if o.Type != want[k].Type || !shape.Equal(o.Shape, want[k].Shape) {
					return nil, fail(want[k].String(), o.String())
				}
			}
			r.Slots[i] = want
			if b, ok := base.Bound(from.Slot); ok && !from.Grad {
				r.Bounds[i] = b
			}
		}
	}
	cost := base.Cost(slices.Index(of.Signatures, of.Signature(KindBackward)))
	more := cost
	more.Flops, more.Bytes = 2*cost.Flops, 2*cost.Bytes
	r.Costs = []Cost{cost, more}
	r.share(g)
	return r, nil
}

// share gives each task of an operator one step, whose indices are shares of what loops go over: as many as
// the largest tensor has elements, or none if the task writes no element.
func (r *Resolution) share(o *Operator) {
	largest := 0
	for _, operands := range r.Slots {
		for _, x := range operands {
			largest = max(largest, shape.Prod(x.Shape))
		}
	}
	for t, s := range o.Signatures {
		n := 0
		for _, p := range s.Params {
			for _, x := range r.Slots[p.Slot] {
				if p.Perm.Writes() && shape.Prod(x.Shape) > 0 {
					n = largest
				}
			}
		}
		g := op.Grid{Axis: op.Axis{Over: n}}
		g.Cut(r.Ranges(t))
		r.Grids = append(r.Grids, []op.Grid{g})
	}
}
