package planner

import (
	"iter"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// aliases is the result of alias analysis: the tensors that share memory, and the steps that therefore need
// not run.
type aliases struct {
	of    graph.Table[graph.Tensor] // the tensor whose memory it shares; none if it has its own
	pairs [][]plan.Pair             // by step: the parameters that share memory
	idle  []bool                    // by step: whether all outputs are views
}

// root returns the tensor that owns the memory of t.
func (a *aliases) root(t graph.Tensor) graph.Tensor {
	t = t.Root()
	if m := *a.of.At(t); m.Valid() {
		return m
	}
	return t
}

// span is the live range of a memory: numbers of steps, from 1; 0 if none.
type span struct {
	first, last, lastWrite int32
	pinned                 bool // fed, or a variable
}

// findAliases decides which tensors share memory.
//
// An output takes the memory of an input in place if its operator declares the pair, no later step accesses
// the input, and neither is fed, fetched or a variable. A view has the elements of the input, so both may be
// read as long as no step writes either, even if the input is fed or a variable. Later passes see one root,
// so that dependencies need no special case.
func findAliases(prog *graph.Program) *aliases {
	a := &aliases{pairs: make([][]plan.Pair, len(prog.Steps)), idle: make([]bool, len(prog.Steps))}
	spans := spansOf(prog)
	explicit := map[*graph.Node]bool{} // nodes with explicit dependencies
	for i := range prog.Steps {
		inv := prog.Steps[i].Invocation
		if inv == nil {
			continue
		}
		for _, m := range inv.Node.Preceding() {
			explicit[m.Origin()], explicit[inv.Node.Origin()] = true, true
		}
	}
	end := int32(len(prog.Steps)) + 1 // after the last step
	for i := range prog.Steps {
		inv, now := prog.Steps[i].Invocation, int32(i)+1
		if inv == nil || len(inv.Signature.InPlace) == 0 {
			continue
		}
		views, pairs := 0, 0
		for pair, p := range pairsOf(inv) {
			pairs++
			to, from := inv.Operands[pair.Param][pair.Tensor], inv.Operands[pair.Of][pair.Tensor].Root()
			if inv.Signature.Params[pair.Param].Grad && to.Mode() != tensor.Store {
				continue
			}
			to = to.Root()
			mem := a.root(from)
			m, t := spans.At(mem), spans.At(to)
			if to.Type() != from.Type() || to.Elements() != from.Elements() ||
				t.pinned || t.last == end || t.first < now || a.accesses(inv, mem) != 1 {
				continue
			}
			view := p.View && onlyViews(inv) && !explicit[inv.Node.Origin()] && m.lastWrite < now && t.lastWrite == now
			if !view && (m.pinned || m.last > now) || m.pinned && t.last == now {
				continue // a variable that no other step reads stays in the plan
			}
			*a.of.At(to) = mem
			a.pairs[i] = append(a.pairs[i], pair)
			if p.View {
				views++
			}
			m.last = max(m.last, t.last)
			if !view || t.lastWrite > now {
				m.lastWrite = max(m.lastWrite, t.lastWrite)
			}
		}
		a.idle[i] = onlyViews(inv) && views == pairs && !explicit[inv.Node.Origin()]
	}
	return a
}

// accesses returns the number of tensors of an invocation that share a memory.
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

// pairsOf yields the pairs of tensors of an invocation that may share memory, by what the signature says of
// their slots. Slots with other numbers of tensors share none.
func pairsOf(inv *graph.Invocation) iter.Seq2[plan.Pair, task.InPlace] {
	grad := inv.Signature.Kind == task.KindBackward
	number := func(slot int) int {
		return slices.IndexFunc(inv.Signature.Params, func(q task.Param) bool { return q.Slot == slot && q.Grad == grad })
	}
	return func(yield func(plan.Pair, task.InPlace) bool) {
		for _, p := range inv.Signature.InPlace {
			pair := plan.Pair{Param: number(p.Slot), Of: number(p.Of)}
			if pair.Param < 0 || pair.Of < 0 || len(inv.Operands[pair.Param]) != len(inv.Operands[pair.Of]) {
				continue
			}
			for k, t := range inv.Operands[pair.Param] {
				if pair.Tensor = k; t.Valid() && inv.Operands[pair.Of][k].Valid() && !yield(pair, p) {
					return
				}
			}
		}
	}
}

// onlyViews reports whether all outputs of an invocation may be views.
func onlyViews(inv *graph.Invocation) bool {
	views := make([]int, len(inv.Operands)) // by parameter: how many of its tensors may be
	for pair, p := range pairsOf(inv) {
		if p.View {
			views[pair.Param]++
		}
	}
	some := false
	for i, p := range inv.Signature.Params {
		if views[i] > 0 && views[i] == len(inv.Operands[i]) {
			some = true
			continue
		}
		if p.Perm.Writes() && p.Perm != perm.Scratch && len(inv.Operands[i]) > 0 {
			return false
		}
	}
	return some
}

// spansOf returns the live range of each tensor. A fetched tensor is live after the last step.
func spansOf(prog *graph.Program) *graph.Table[span] {
	spans := &graph.Table[span]{}
	for i := range prog.Steps {
		step := int32(i) + 1
		prog.Steps[i].Each(func(t graph.Tensor, writes bool) {
			s := spans.At(t)
			if s.first == 0 {
				s.first = step
			}
			s.last = step
			if writes {
				s.lastWrite = step
			}
		})
	}
	for _, t := range prog.Fetched {
		s := spans.At(t)
		if s.last = int32(len(prog.Steps)) + 1; s.first == 0 {
			s.first = s.last
		}
	}
	for _, t := range prog.Fed {
		spans.At(t).pinned = true
	}
	for _, t := range prog.Variables {
		spans.At(t).pinned = true
	}
	return spans
}
