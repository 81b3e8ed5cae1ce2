// Package apart rewrites programs for plans in tiles: a backward task whose gradients go over different rows
// becomes several, of which each computes some of them. Those of a matrix product are an example: the
// gradient of its input goes over the rows of the batch, and that of its weight over the rows of the weight.
//
// A gradient has the same bits alone and among others, so results stay the same.
package apart

import (
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Program returns the program with backward tasks split by gradient, where that makes more of their work
// divisible into tiles. Values that several gradients need are computed by each of the tasks, as far as this
// adds only a few operations. Tasks that are too small for tiles are not split. The given program does not
// change.
func Program(p *graph.Program) *graph.Program {
	q := *p
	q.Steps = nil
	for _, s := range p.Steps {
		parts := partsOf(s)
		for _, inv := range parts {
			q.Steps = append(q.Steps, graph.Step{Phase: s.Phase, Invocation: inv})
		}
		if parts == nil {
			q.Steps = append(q.Steps, s)
		}
	}
	return &q
}

// mostMore bounds how many operations the tasks together take, as a multiple of those of one task.
const mostMore = 1.125

// gradient is a tensor that a backward task computes: number n of a parameter.
type gradient struct{ param, n int }

// partsOf returns invocations that replace that of a step, or nil if it stays.
func partsOf(s graph.Step) []*graph.Invocation {
	inv := s.Invocation
	if inv == nil || inv.Signature.Kind != task.KindBackward {
		return nil
	}
	var all []gradient
	for i, p := range inv.Signature.Params {
		for n, t := range inv.Operands[i] {
			if p.Grad && p.Perm.Writes() && t.Valid() {
				all = append(all, gradient{i, n})
			}
		}
	}
	if len(all) < 2 {
		return nil
	}
	number := slices.Index(inv.Signature.Operator.Signatures, inv.Signature)
	if inv.Node.Resolved.Paying(number) < 2 {
		return nil
	}
	if cut, effort := tiles(inv); !cut && effort > 0 {
		for _, groups := range [][][]gradient{byRows(inv, all), single(all)} {
			if parts := divided(inv, groups, effort); parts != nil {
				return parts
			}
		}
	}
	return nil
}

// byRows groups gradients by the extents of their first axes.
func byRows(inv *graph.Invocation, all []gradient) (groups [][]gradient) {
	first := func(g gradient) int {
		if shape := inv.Operands[g.param][g.n].Shape(); len(shape) > 0 {
			return shape[0]
		}
		return 0
	}
	for _, g := range all {
		i := slices.IndexFunc(groups, func(x []gradient) bool { return first(x[0]) == first(g) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], g)
	}
	return groups
}

func single(all []gradient) (groups [][]gradient) {
	for _, g := range all {
		groups = append(groups, []gradient{g})
	}
	return groups
}

// divided returns an invocation for each group of gradients, and one for all groups that have no tiles. It
// returns nil if they take too many operations, or if less than half of these can be cut.
func divided(inv *graph.Invocation, groups [][]gradient, effort float64) (parts []*graph.Invocation) {
	var rest []gradient
	all, inTiles := 0.0, 0.0
	for _, g := range groups {
		part := only(inv, g)
		cut, n := tiles(part)
		if !cut {
			rest = append(rest, g...)
			continue
		}
		parts, all, inTiles = append(parts, part), all+n, inTiles+n
	}
	if len(rest) > 0 {
		part := only(inv, rest)
		_, n := tiles(part)
		parts, all = append(parts, part), all+n
	}
	if len(parts) < 2 || all > mostMore*effort || inTiles < all/2 {
		return nil
	}
	return parts
}

// only returns an invocation that computes some of the gradients.
func only(inv *graph.Invocation, some []gradient) *graph.Invocation {
	out := *inv
	out.Operands = slices.Clone(inv.Operands)
	for i, p := range inv.Signature.Params {
		if !p.Grad || !p.Perm.Writes() {
			continue
		}
		out.Operands[i] = slices.Clone(inv.Operands[i])
		for n := range out.Operands[i] {
			if !slices.Contains(some, gradient{i, n}) {
				out.Operands[i][n] = graph.Tensor{}
			}
		}
	}
	return &out
}

// tiles reports whether an invocation can be cut into tiles, and how many operations it takes, about.
func tiles(inv *graph.Invocation) (cut bool, effort float64) {
	asked := inv.Signature.AskedOf(func(param int, f func(bool, tensor.Mode)) {
		for _, t := range inv.Operands[param] {
			mode := tensor.Store
			if t.Valid() {
				mode = t.Mode()
			}
			f(t.Valid(), mode)
		}
	})
	number := slices.Index(inv.Signature.Operator.Signatures, inv.Signature)
	_, err := inv.Node.Resolved.Tiles(number, 0, asked)
	return err == nil, inv.Node.Resolved.Effort(number, asked)
}
