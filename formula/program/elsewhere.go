package program

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// rangedElsewhere searches all statements of the formula for the range of an index for which the lowered
// statements have none, and reports whether it found one. Statements below, and statements and branches that
// do not count in this use, are not lowered, but their ranges hold in the whole formula.
func (b *builder) rangedElsewhere(name string) bool {
	if b.seeking {
		return false
	}
	b.seeking = true
	defer func() { b.seeking = false }()
	base := strings.TrimRight(name, "'")
	for _, s := range b.written {
		var at []*expr.Binder
		at = append(at, s.For...)
		for _, t := range s.Targets {
			if r, ok := t.(*expr.Read); ok && b.rangedBySlot(r, base) {
				return true
			}
		}
		expr.Walk(s.X, func(n expr.Node) {
			if r, ok := n.(*expr.Reduce); ok {
				at = append(at, r.Binders...)
			}
		})
		for _, n := range at {
			id, ok := n.X.(*expr.Ident)
			if !ok || n.Hi == nil || strings.TrimRight(id.Name, "'") != base {
				continue
			}
			lo, hi, err := b.rangeOf(n, &scope{vars: map[string]*term.Variable{}})
			if err != nil {
				continue
			}
			_, first := lo.Known()
			if _, last := hi.Known(); first && last {
				b.ranges[base] = extent{[]*term.Term{lo}, []*term.Term{hi}, false}
				return true
			}
		}
	}
	return false
}

// rangedBySlot sets the range of index name to the extent of a slot's dimension, if the index is a plain
// subscript on left side r of that slot. It reports whether it did.
func (b *builder) rangedBySlot(r *expr.Read, name string) bool {
	items, sl := r.Groups[len(r.Groups)-1], b.slots[r.Name]
	for j, it := range items {
		id, ok := it.(*expr.Ident)
		if !ok || id.Name != name || sl == nil || len(items) != len(sl.elements) {
			continue
		}
		x, err := b.extentOfElement(sl.elements[j], &scope{vars: map[string]*term.Variable{}})
		if err == nil {
			b.ranges[name], b.perTensor[name] = x, sl.listed
			return true
		}
	}
	return false
}
