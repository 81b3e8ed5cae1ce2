package formula

import (
	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// apart removes read-after-write hazards between tensors that share memory. The spec's examples determine
// which output may overwrite an input. At other attributes or extents, a statement may read an element of the
// input after the output overwrote it. apart then prepends statements that copy the input, and redirects
// reads to the copy.
func (l *layout) apart(statements []*program.Statement) []*program.Statement {
	for out := range len(l.program.Tensors) {
		if !l.wanted[out] || l.given[out] || l.tensors[out].Local {
			continue
		}
		for in := range len(l.program.Tensors) {
			t := l.program.Tensors[in]
			if !l.given[in] || t.Old >= 0 || l.tensors[in].Memory != l.tensors[out].Memory || len(l.memory[in]) == 0 {
				continue
			}
			if derive.InPlace(l.program, statements, out, in) <= derive.Reordered {
				statements = l.copied(statements, in)
			}
		}
	}
	return statements
}

// copied prepends statements that copy tensor t, and redirects all reads of t to the copy. It also copies
// the other tensors of a variadic slot if one read selects among them and t.
func (l *layout) copied(statements []*program.Statement, t int) []*program.Statement {
	first, last := t, t
	for _, s := range statements {
		s.Reads(func(r *term.Read) {
			if r.Tensor <= t && t < r.Tensor+r.Count {
				first, last = min(first, r.Tensor), max(last, r.Tensor+r.Count-1)
			}
		})
	}
	count := last - first + 1
	to := len(l.program.Tensors)
	var out []*program.Statement
	for i := range count {
		of := *l.program.Tensors[first+i]
		of.Slot, of.Old, of.Given = -1, -1, true
		id := l.add(&of)
		l.tensors[id] = rewrite.Tensor{Memory: id, Local: true, Type: l.tensors[first+i].Type}
		s := l.fill(id)
		s.Value = &term.Term{Op: term.Element, Kind: of.Kind, Read: &term.Read{Tensor: first + i, Count: 1, Idx: s.Left.Idx, Ext: s.Left.Ext, Text: of.Name}}
		out = append(out, s)
	}
	copies := func(t int) int {
		if t >= first && t < first+count {
			return t + to - first
		}
		return t
	}
	for _, s := range statements {
		n := *s
		n.Value, n.Guard = s.Value.Elsewhere(copies), s.Guard.Elsewhere(copies)
		left := &term.Term{Op: term.Element, Kind: l.program.Tensors[s.Target].Kind, Read: s.Left}
		n.Left = left.Elsewhere(func(t int) int {
			if t == s.Target {
				return t
			}
			return copies(t)
		}).Read
		out = append(out, &n)
	}
	return out
}
