package example

import (
	"slices"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// checkShards checks against the formula what the spec states about partitioning dimensions among devices.
func (t *trial) checkShards(v *view) {
	for i, stated := range v.op.Shards {
		if i >= len(t.spec.Shards) || stated.WhenX != nil && !v.truth(stated.WhenX) {
			continue
		}
		want := derive.Divided
		if stated.Partial {
			want = derive.Partial
		}
		for _, symbol := range symbols(stated.Dim, v.dims[stated.Dim]) {
			if got := derive.Divide(v.program, symbol); got != want {
				t.contradict(t.spec.Shards[i].Dim.Span(), "dividing %s of %s %v according to the spec, but %v according to the formula",
					v, stated.Dim, v.op.Name, want, got)
				break
			}
		}
	}
}

// symbols returns the symbols of a dimension in an open program. For a run, it returns those of the extents
// that can be partitioned.
func symbols(name string, value any) []string {
	run, ok := value.([]int)
	if !ok {
		return []string{name}
	}
	var out []string
	for i, n := range run {
		if n > 1 {
			out = append(out, program.SymbolOf(name, i))
		}
	}
	return out
}

// shards infers the effect of partitioning each dimension that the spec does not mention, if the effect is
// the same at all examples. An example with extent 1 along the dimension is no evidence.
func (f *follower) shards() {
	stated := map[string]bool{}
	for _, s := range f.spec.Shards {
		stated[s.Dim.V] = true
	}
	before := len(f.spec.Shards)
	for _, name := range extentNames(f.op) {
		if stated[name] || !f.dimension(name) {
			continue
		}
		if e, ok := effect(name, f.views); ok && f.sayable(name, e) && f.always(name, e) {
			f.spec.Shards = append(f.spec.Shards, &spec.Shard{Dim: f.text(f.spec.Where(), name), Partial: e == derive.Partial})
		}
	}
	if len(f.spec.Shards) == before {
		return
	}
	order := extentNames(f.op)
	slices.SortStableFunc(f.spec.Shards, func(a, b *spec.Shard) int {
		if a.Partial != b.Partial {
			if b.Partial {
				return -1
			}
			return 1
		}
		return slices.Index(order, a.Dim.V) - slices.Index(order, b.Dim.V)
	})
}

// dimension reports whether a name is a dimension that may be partitioned: of an input or a weight, and
// without a condition in the spec.
func (f *follower) dimension(name string) bool {
	for _, q := range f.op.Requires {
		found := false
		expr.Walk(q.Node, func(n expr.Node) {
			id, ok := n.(*expr.Ident)
			found = found || ok && id.Name == name
		})
		if found {
			return false
		}
	}
	return slices.ContainsFunc(f.spec.Slots, func(s *spec.Slot) bool {
		return (s.Role.V == "input" || s.Role.V == "weight" || scope.Provided(f.spec, s)) && scope.HasDim(s, name)
	})
}

// sayable reports whether a spec may state effect e: Divided needs an output with the dimension, Partial one
// without it.
func (f *follower) sayable(name string, e derive.Effect) bool {
	return e != derive.Undivided && slices.ContainsFunc(f.spec.Slots, func(s *spec.Slot) bool {
		changed := s.Role.V == "output" || f.spec.Kind == spec.Optimizer
		return changed && scope.HasDim(s, name) == (e == derive.Divided)
	})
}

// always reports whether partitioning has effect e in all uses, also in varied ones that no example shows.
// Otherwise the author may state a condition.
func (f *follower) always(name string, e derive.Effect) bool {
	if f.others == nil {
		f.others, f.complete = f.varied(false, false)
	}
	got, told := effect(name, f.others)
	return f.complete && (!told || got == e)
}

// effect returns the effect of partitioning a dimension in all views, or Undivided if it differs. ok is
// false if no view is evidence.
func effect(name string, views []*view) (e derive.Effect, ok bool) {
	for _, v := range views {
		n, one := v.dims[name].(int)
		if !one {
			n, one = v.attrs[name].(int)
		}
		if one && n < 2 {
			continue
		}
		for _, s := range symbols(name, v.dims[name]) {
			if !v.has(s) {
				return derive.Undivided, true // the formula has another name for it
			}
			got := derive.Divide(v.program, s)
			if ok && got != e {
				return derive.Undivided, true
			}
			e, ok = got, true
		}
	}
	return e, ok
}

// has reports whether a symbol is an extent of a slot's tensor.
func (v *view) has(symbol string) bool {
	return slices.ContainsFunc(v.program.Tensors, func(l *program.Local) bool {
		return l.Slot >= 0 && slices.ContainsFunc(l.Shape, func(n *term.Term) bool { return n.Op == term.Symbol && n.Name == symbol })
	})
}
