package opimpl

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// use is what a view permits its task to do with a tensor, or with the gradient of one.
type use struct {
	view  string      // in messages: what the view is for
	grad  bool        // of the gradient of a slot's tensor
	perms []perm.Perm // the permissions of a task that include the use
}

// The uses of the views. A permission includes what needs less: a task that reads and writes may ask for a
// view that only reads. Scratch memory may be read and written, but a view that only reads it would show what
// an earlier task left.
var (
	reading      = use{view: "to read", perms: []perm.Perm{perm.Read, perm.ReadWrite}}
	writing      = use{view: "to write", perms: []perm.Perm{perm.Write, perm.ReadWrite, perm.Scratch}}
	changing     = use{view: "to read and write", perms: []perm.Perm{perm.ReadWrite, perm.Scratch}}
	folding      = use{view: "to fold values into", perms: []perm.Perm{perm.Reduce}}
	local        = use{view: "as scratch memory of each worker", perms: []perm.Perm{perm.Scratch}}
	readingGrad  = use{view: "to read", grad: true, perms: []perm.Perm{perm.Read, perm.ReadWrite}}
	writingGrad  = use{view: "to write", grad: true, perms: []perm.Perm{perm.Write, perm.ReadWrite}}
	addingToGrad = use{view: "to add to, element by element", grad: true, perms: []perm.Perm{perm.Write, perm.ReadWrite}}
)

// param returns the parameter of a slot, or of its gradient; nil if the task does not take it.
func (a *Binder[S]) param(slot S, grad bool) *task.Param {
	for i := range a.acc.Signature.Params {
		if p := &a.acc.Signature.Params[i]; p.Slot == int(slot) && p.Grad == grad {
			return p
		}
	}
	return nil
}

// permitted returns the slot if the permission of the task for it includes a use. Otherwise it keeps an error
// and returns nil; nil, too, if there is an error already.
func (a *Binder[S]) permitted(slot S, use use) *task.Slot {
	if a.err != nil {
		return nil
	}
	s, what := a.slot(slot), "a tensor"
	if use.grad {
		what = "a gradient"
	}
	want := what + " " + use.view
	if s == nil {
		a.noSlot(slot)
		return nil
	}
	p := a.param(slot, use.grad)
	switch {
	case p == nil:
		got := "a slot that the task does not take"
		if use.grad {
			got = "a slot whose gradient the task does not take"
		}
		a.fail(slot, whole, want, got)
	case !slices.Contains(use.perms, p.Perm):
		a.fail(slot, whole, want, "permission "+p.Perm.String())
	case use.grad && p.Perm.Writes() && p.Scatter != (use.view == addingToGrad.view):
		got := "a gradient that the task stores"
		if p.Scatter {
			got = "a gradient that the task adds to, element by element"
		}
		a.fail(slot, whole, want, got)
	case s.PerWorker != (use.view == local.view):
		got := "memory that the workers share"
		if s.PerWorker {
			got = "scratch memory of each worker"
		}
		a.fail(slot, whole, want, got)
	default:
		return s
	}
	return nil
}

// noSlot keeps an error about a slot that the operator does not have.
func (a *Binder[S]) noSlot(slot S) {
	a.fail(slot, whole, "slot "+below(len(a.acc.Signature.Operator.Slots))+" of the operator", fmt.Sprint(int(slot)))
}

// below names the numbers of n things, of which there may be none.
func below(n int) string {
	switch n {
	case 0:
		return "of none"
	case 1:
		return "0"
	}
	return fmt.Sprintf("0 to %d", n-1)
}
