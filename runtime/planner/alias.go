package planner

import (
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// aliases lists the tensors of a program that share memory with others, and the steps that need not run for that
// reason.
type aliases struct {
	of    map[graph.Tensor]graph.Tensor // per tensor: the one in whose memory it lies
	pairs map[int][]plan.Pair           // per step: the parameters that share memory
	idle  map[int]bool                  // steps whose outputs are all views
}

// root returns the tensor in whose memory t lies: itself, unless it is an alias.
func (a *aliases) root(t graph.Tensor) graph.Tensor {
	t = t.Root()
	if m, ok := a.of[t]; ok {
		return m
	}
	return t
}

// span is the steps that access a memory.
type span struct{ first, last, lastWrite int }

// findAliases decides which tensors share memory.
//
// A tensor takes the memory of another if its operator declares that it may, no later step accesses the other, and
// neither is fed, fetched or a variable. A view has the same elements, so both may be read as long as no step
// writes either. Accesses to shared memory are accesses to one root, so dependencies follow as for any other.
func findAliases(prog *graph.Program) *aliases {
	a := &aliases{of: map[graph.Tensor]graph.Tensor{}, pairs: map[int][]plan.Pair{}, idle: map[int]bool{}}
	spans := spansOf(prog)
	pinned := map[graph.Tensor]bool{}
	for _, t := range slices.Concat(prog.Fed, prog.Variables) {
		pinned[t.Root()] = true
	}
	explicit := map[*graph.Node]bool{} // nodes in an explicit order
	for _, s := range prog.Steps {
		if s.Invocation == nil {
			continue
		}
		for _, m := range s.Invocation.Node.Preceding() {
			explicit[m.Origin()], explicit[s.Invocation.Node.Origin()] = true, true
		}
	}
	for i, s := range prog.Steps {
		inv := s.Invocation
		if inv == nil {
			continue
		}
		views := 0
		for _, p := range inv.Signature.InPlace {
			pair, ok := pairOf(inv, p)
			if !ok {
				continue
			}
			to, from := inv.Operands[pair.Param][0], inv.Operands[pair.Of][0].Root()
			if inv.Signature.Params[pair.Param].Grad && to.Mode() != tensor.Store {
				continue
			}
			to = to.Root()
			mem := a.root(from)
			if to.Type() != from.Type() || to.Operand().Bytes() != from.Operand().Bytes() ||
				pinned[to] || spans[to].last == len(prog.Steps) || spans[to].first < i || a.accesses(inv, mem) != 1 {
				continue
			}
			view := p.View && onlyViews(inv) && !explicit[inv.Node.Origin()] && spans[mem].lastWrite < i && spans[to].lastWrite == i
			if !view && (pinned[mem] || spans[mem].last > i) {
				continue
			}
			a.of[to] = mem
			a.pairs[i] = append(a.pairs[i], pair)
			if p.View {
				views++
			}
			m, t := spans[mem], spans[to]
			m.last = max(m.last, t.last)
			if !view || t.lastWrite > i {
				m.lastWrite = max(m.lastWrite, t.lastWrite)
			}
		}
		a.idle[i] = onlyViews(inv) && views == len(inv.Signature.InPlace) && !explicit[inv.Node.Origin()]
	}
	return a
}

// accesses returns the number of tensors of an invocation that lie in a memory.
func (a *aliases) accesses(inv *graph.Invocation, mem graph.Tensor) int {
	n := 0
	for _, ts := range inv.Operands {
		for _, t := range ts {
			if a.root(t) == mem {
				n++
			}
		}
	}
	return n
}

// pairOf returns the parameters of an in-place pair, if each has one tensor.
func pairOf(inv *graph.Invocation, p task.InPlace) (pair plan.Pair, ok bool) {
	grad := inv.Signature.Kind == task.KindBackward
	number := func(slot int) int {
		return slices.IndexFunc(inv.Signature.Params, func(q task.Param) bool { return q.Slot == slot && q.Grad == grad })
	}
	pair = plan.Pair{Param: number(p.Slot), Of: number(p.Of)}
	one := func(i int) bool { return i >= 0 && len(inv.Operands[i]) == 1 && inv.Operands[i][0].Valid() }
	return pair, one(pair.Param) && one(pair.Of)
}

// onlyViews reports whether everything that an invocation writes may be a view.
func onlyViews(inv *graph.Invocation) bool {
	views := map[int]bool{}
	for _, p := range inv.Signature.InPlace {
		if pair, ok := pairOf(inv, p); ok && p.View {
			views[pair.Param] = true
		}
	}
	for i, p := range inv.Signature.Params {
		if p.Perm.Writes() && p.Perm != perm.Scratch && len(inv.Operands[i]) > 0 && !views[i] {
			return false
		}
	}
	return len(views) > 0
}

// spansOf returns the steps that access each tensor. A fetched tensor is read after the last.
func spansOf(prog *graph.Program) map[graph.Tensor]*span {
	spans := map[graph.Tensor]*span{}
	note := func(t graph.Tensor, step int, writes bool) {
		s := spans[t]
		if s == nil {
			s = &span{first: step, last: step, lastWrite: -1}
			spans[t] = s
		}
		s.last = max(s.last, step)
		if writes {
			s.lastWrite = max(s.lastWrite, step)
		}
	}
	for i := range prog.Steps {
		prog.Steps[i].Each(func(t graph.Tensor, writes bool) { note(t, i, writes) })
	}
	for _, t := range prog.Fetched {
		note(t.Root(), len(prog.Steps), false)
	}
	return spans
}
