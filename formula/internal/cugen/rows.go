package cugen

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// Nests over the same rows, such as the mean of a row, its variance, and the normalized row, are fused into
// one kernel. A team of threads computes a row, which stays in the cache after its first read.
const leastRows = spreadUntil / 4 // with at most as many rows, several blocks share a row

// rowNest is a nest whose outer indices enumerate rows.
type rowNest struct {
	*loops.Nest
	outer int // the number of outer indices
}

// inner returns the number of elements of a row that the nest reduces or computes.
func (n *rowNest) inner() int {
	if r := n.Statements[0].Value.Reduction; n.folds() {
		return box(r.Vars)
	}
	return box(n.Vars[n.outer:])
}

// folds reports whether the nest reduces rows.
func (n *rowNest) folds() bool { return n.Statements[0].Value.Op == term.Reduce }

// rowsOf returns the longest prefix of nests that can be fused into one kernel. It returns nil if that is a
// single nest, or if teams would be too few for their long rows.
func (g *generator) rowsOf(nests []*loops.Nest) []*rowNest {
	first := nests[0]
	rows := box(first.Vars)
	if rows <= leastRows || first.Statements[0].Value.Op != term.Reduce || slices.ContainsFunc(first.Vars, rewrite.IsOpen) {
		return nil
	}
	var group []*rowNest
	for _, n := range nests {
		x := g.rowNest(n, rows)
		if x == nil || !g.rowByRow(append(slices.Clip(group), x)) {
			break
		}
		group = append(group, x)
	}
	if len(group) < 2 {
		return nil
	}
	// Few teams with long rows would leave most of the device idle.
	if t, most := teamOfRows(group); rows*t.members < fewRowThreads && most > longOfTeam*t.members {
		return nil
	}
	return group
}

// fewRowThreads is the number of threads below which rows of more than longOfTeam elements per thread are
// not fused.
const (
	fewRowThreads = 1 << 16
	longOfTeam    = 16
)

// teamOfRows returns the team that computes a row, and the longest row of the nests.
func teamOfRows(nests []*rowNest) (t team, most int) {
	for _, n := range nests {
		most = max(most, n.inner())
	}
	t = team{32, true}
	for t.members < threads && most >= 8*t.members {
		t.members *= 2
	}
	return t, most
}

// rowNest returns n with the number of its outer indices, whose iterations number exactly rows. It returns
// nil if n has no such indices or cannot be fused.
func (g *generator) rowNest(n *loops.Nest, rows int) *rowNest {
	if slices.ContainsFunc(n.Vars, rewrite.IsOpen) {
		return nil
	}
	outer, have := 0, 1
	for outer < len(n.Vars) && have < rows {
		have *= rewrite.Extent(n.Vars[outer])
		outer++
	}
	if have != rows {
		return nil
	}
	x, folded := &rowNest{n, outer}, n.Statements[0].Value.Reduction
	for _, s := range n.Statements {
		if s.Guard != nil || s.Add || s.Left.Which != nil || len(rewrite.AccessOf(s.Left).Open) > 0 {
			return nil
		}
		r := s.Value.Reduction
		switch whole := s.Value.Op == term.Reduce; {
		case whole && (r.IsOrder() || !foldable(r) || outer != len(n.Vars) || !contiguousOf(r, n.Vars) || r.Scan() != nil || box(r.Vars) < 32 || folded == nil || box(r.Vars) != box(folded.Vars)):
			return nil
		case !whole && (s.Value.Reduces() || x.folds()):
			return nil
		}
	}
	if x.folds() && g.factorsOf(n) != nil {
		return nil
	}
	return x
}

// rowByRow reports whether rows are independent in all nests: no row accesses elements that another row
// writes.
func (g *generator) rowByRow(nests []*rowNest) bool {
	written := map[int]bool{}
	for _, n := range nests {
		for _, s := range n.Statements {
			written[g.tensors[s.Target].Memory] = true
		}
	}
	strides := map[int]int{}
	ok := true
	for _, n := range nests {
		visit := func(r *term.Read, t int) {
			memory := g.tensors[t].Memory
			if !written[memory] {
				return
			}
			stride, first, last, known := rewrite.Row(r, n.Vars[:n.outer])
			if have, ok := strides[memory]; ok && have != stride {
				known = false
			}
			strides[memory] = stride
			ok = ok && known && first >= 0 && last < stride
		}
		for _, s := range n.Statements {
			visit(s.Left, s.Target)
			s.Value.Walk(func(x *term.Term) {
				if x.Op == term.Element {
					for i := range max(x.Read.Count, 1) {
						visit(x.Read, x.Read.Tensor+i)
					}
				}
			})
		}
	}
	return ok
}

// rows writes the fused nests as one kernel.
func (g *generator) rows(nests []*rowNest) error {
	all := &loops.Nest{}
	for _, n := range nests {
		all.Statements = append(all.Statements, n.Statements...)
	}
	f := g.function(all)
	t, _ := teamOfRows(nests)
	f.teams(t, box(nests[0].Vars))
	for i, n := range nests {
		if i > 0 {
			f.line("__syncthreads(); // for what this team has written")
		}
		if n.folds() {
			f.foldTeam(n.Nest, t)
			continue
		}
		f.eachOfRow(n, t)
	}
	f.close()
	if f.err != nil {
		return f.err
	}
	f.finish()
	return nil
}

// eachOfRow writes the pointwise statements of a row, whose elements the team's threads share.
func (f *function) eachOfRow(n *rowNest, t team) {
	outer, inner := n.Vars[:n.outer], n.Vars[n.outer:]
	if len(inner) == 0 {
		f.open("if (active && member == 0) {")
		f.indices(outer, "result")
		for _, s := range n.Statements {
			f.statement(s)
		}
		f.close()
		return
	}
	f.open("if (active) {")
	f.indices(outer, "result")
	elements := box(inner)
	w := f.wideOf(n.Vars, n.Statements)
	if w != nil {
		elements, inner = elements/w.lanes, w.groups(inner)
	}
	e := f.unique("element")
	f.open("for (int %s = member; %s < %d; %s += %d) {", e, e, elements, e, t.members)
	f.indices(inner, e)
	f.statements(w, n.Statements)
	f.close()
	f.close()
}
