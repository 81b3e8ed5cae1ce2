package example

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// checkConstraints checks what the spec says about launches at example number n. The tensors must satisfy the
// constraints. Where a launch divides them, each part must have what its results need: what the formula
// reads, or without a formula the footprints of the tiles that the spec states. v is nil if there is no
// formula.
func (t *trial) checkConstraints(u *use, v *view, n int) {
	for i, s := range t.spec.Tasks {
		m := t.op.Tasks[i]
		if !s.Declared || !m.Invoked() {
			continue
		}
		l := &launched{trial: t, use: u, view: v, stated: s, task: m, example: n, resolved: u.constrained(u.resolution())}
		if l.satisfied() {
			l.divided()
		}
	}
}

// launched checks the launches of a task at an example.
type launched struct {
	*trial
	*use
	view     *view // or nil
	stated   *spec.Task
	task     *model.Task
	example  int
	resolved *task.Resolution
}

// satisfied reports the first constraint that the tensors do not satisfy.
func (l *launched) satisfied() bool {
	stores := l.stores(l.task)
	for i, c := range l.stated.Constraints {
		x, err := l.launch(l.task, l.resolved, stores, i+1)
		if err == nil {
			_, err = x.Limits()
		}
		var e *op.Error
		if errors.As(err, &e) {
			about := ""
			if e.Slot != "" {
				about = e.Slot + ": "
			}
			l.refuse(diag.BadConstraint, c.Span, "example %d of %s does not launch: %swant %s, got %s", l.example, l.use.op.Name, about, e.Want, e.Got)
		}
		if err != nil {
			return false
		}
	}
	return true
}

// refuse reports what is wrong at the example, at most once at each place.
func (l *launched) refuse(code diag.Code, at source.Span, format string, args ...any) {
	if !l.reported[at] {
		l.reported[at] = true
		l.list.Add(code, at, format, args...).See(l.spec.Examples[l.example-1].Span, "example %d", l.example)
	}
}

// divided checks launches in two parts: along each axis, and along the one that a launch chooses by itself.
func (l *launched) divided() {
	for axis := -1; axis < op.MaxRank+1; axis++ {
		stores := l.stores(l.task)
		for _, list := range stores {
			for _, x := range list {
				if axis >= 0 && axis < len(x.Shape) && x.Shape[axis] > 1 {
					x.Held = &partition.Held{Tile: slices.Clone(x.Shape), Pieces: 2}
					x.Held.Tile[axis] = shape.CeilDiv(x.Shape[axis], 2)
				}
			}
		}
		x, err := l.launch(l.task, l.resolved, stores, len(l.stated.Constraints))
		if err != nil {
			return
		}
		s, err := x.Solve(partition.Machine{Kind: "cpu", Procs: 2, Threshold: 1})
		if err != nil {
			return
		}
		p := &parts{l, stores, s}
		if !p.scaled() || !p.sufficient() {
			return
		}
	}
}

// parts are the parts of the tensors of a launch.
type parts struct {
	*launched
	stores   [][]*partition.Store
	strategy *partition.Strategy
}

// of returns the part of a tensor that leaf has.
func (p *parts) of(x *partition.Store, leaf int) region.Box {
	i := slices.IndexFunc(p.strategy.Stores, func(s partition.StorePartition) bool { return s.Store == x })
	if i < 0 || p.strategy.Stores[i].Whole() {
		return region.Whole(0, x.Shape).Box
	}
	s := &p.strategy.Stores[i]
	if s.PartOf != nil {
		leaf = s.PartOf[leaf]
	}
	return s.Part(0, leaf).Box
}

// scaled reports a scale between extents that are no such multiples: a part of the target is empty, or what
// the task writes has elements in no part.
func (p *parts) scaled() bool {
	right := true
	for _, c := range p.stated.Constraints {
		if c.Kind != partition.Scale {
			continue
		}
		from, to := p.named(c.Terms[0].V), p.named(c.Terms[1].V)
		if from < 0 || to < 0 || len(p.stores[from]) == 0 || len(p.stores[to]) == 0 {
			continue
		}
		x, y := p.stores[from][0], p.stores[to][0]
		end := make([]int, len(y.Shape))
		for leaf := range p.strategy.Leaves() {
			source, target := p.of(x, leaf), p.of(y, leaf)
			if target.Empty() && !source.Empty() && shape.Prod(y.Shape) > 0 {
				p.refuse(diag.BadConstraint, c.Span, "%s of %s divides %s of shape %s: %v of it times factors has no element of %s, of shape %s",
					p.task.Name, p.use.op.Name, x.Name, shape.Format(x.Shape), source, y.Name, shape.Format(y.Shape))
				right = false
				break
			}
			for d := range end {
				end[d] = max(end[d], target.Hi[d])
			}
		}
		if p.task.Params[to].Perm.Writes() && !slices.Equal(end, y.Shape) {
			p.refuse(diag.BadConstraint, c.Span, "%s of %s divides %s of shape %s: all of it times factors is not all of %s, of shape %s",
				p.task.Name, p.use.op.Name, x.Name, shape.Format(x.Shape), y.Name, shape.Format(y.Shape))
			right = false
		}
	}
	return right
}

// named returns the number of the parameter that a term names, or -1.
func (l *launched) named(term string) int {
	for i := range l.task.Params {
		if l.task.Signature.ParamName(i) == term {
			return i
		}
	}
	return -1
}

// sufficient reports a part that lacks what its results need.
func (p *parts) sufficient() bool {
	if p.strategy.Leaves() < 2 {
		return true
	}
	if p.view == nil {
		return p.byTiles()
	}
	return p.byFormula()
}

// mostReads bounds how many combinations of indices are tried for a launch.
const mostReads = 1 << 13

// byFormula compares parts with what the formula reads.
func (p *parts) byFormula() bool {
	program := p.view.tensors(p.task.Kind)
	stores := map[int]*partition.Store{} // by tensor of the program
	var results []int
	for i, param := range p.task.Params {
		for t, local := range p.view.program.Tensors {
			if local.Slot != param.Slot.Number || local.Old >= 0 || local.Number >= len(p.stores[i]) {
				continue
			}
			if param.Grad {
				if p.view.gradient == nil {
					return true
				}
				g, ok := p.view.gradient.Of[t]
				if !ok {
					continue
				}
				t = g
			}
			if stores[t] = p.stores[i][local.Number]; param.Perm.Writes() && param.Perm != perm.Reduce {
				results = append(results, t)
			}
		}
	}
	leaf, result := 0, 0
	right := true
	reads := derive.NewReads(program, p.view.statements(p.task.Kind), mostReads, func(t int) bool { return stores[t] != nil }, func(t int, at []int) {
		if has := p.of(stores[t], leaf); right && !holds(has, at, stores[t].Shape) {
			right = false
			p.lacks(stores[result], stores[t], p.of(stores[result], leaf), has, "element "+element(at)+" according to the formula")
		}
	})
	for leaf = range p.strategy.Leaves() {
		for _, result = range results {
			if box := p.of(stores[result], leaf); !box.Empty() && right {
				reads.Of(result, box)
			}
		}
	}
	return right
}

// holds reports whether a box has an element. Where a subscript may be anything, it must have the whole axis.
func holds(b region.Box, at, extents []int) bool {
	for d, i := range at {
		if i == derive.Anywhere && (b.Lo[d] > 0 || b.Hi[d] < extents[d]) || i != derive.Anywhere && (i < b.Lo[d] || i >= b.Hi[d]) {
			return false
		}
	}
	return true
}

// element formats subscripts, of which some may be anything.
func element(at []int) string {
	var parts []string
	for _, i := range at {
		if i == derive.Anywhere {
			parts = append(parts, "any")
		} else {
			parts = append(parts, strconv.Itoa(i))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// byTiles compares parts with the footprints of tiles that the spec states.
func (p *parts) byTiles() bool {
	if p.task.Kind == task.KindBackward {
		return true // kernels may compute gradients from what they please
	}
	for _, s := range p.task.Steps {
		if s.Tiles == nil || s.WhenX != nil && !p.truth(s.WhenX) {
			continue
		}
		for _, result := range s.Tiles.Footprints {
			for _, of := range s.Tiles.Footprints {
				if result.Slot.Role == task.RoleOutput && (of.Slot.Role == task.RoleInput || of.Slot.Role == task.RoleWeight) && !p.byFootprint(result, of) {
					return false
				}
			}
		}
	}
	return true
}

// byFootprint compares parts with which elements of another tensor the indices of a result touch.
func (p *parts) byFootprint(result, of model.Footprint) bool {
	out, in := p.named(result.Slot.Name), p.named(of.Slot.Name)
	if out < 0 || in < 0 || len(p.stores[out]) != 1 || len(p.stores[in]) != 1 {
		return true
	}
	y, x := p.stores[out][0], p.stores[in][0]
	for i, own := range result.Spans {
		for k, other := range of.Spans {
			axes, ofAxes := p.axesOf(result.Slot, i), p.axesOf(of.Slot, k)
			if own.Dim < 0 || own.Dim != other.Dim || own.Window != nil || len(axes) != 1 || len(ofAxes) != 1 {
				continue
			}
			touches := p.window(other)
			if touches == nil {
				touches = func(i int) (lo, hi int) { return i, i + 1 }
			}
			for leaf := range p.strategy.Leaves() {
				box, has := p.of(y, leaf), p.of(x, leaf)
				if box.Empty() {
					continue
				}
				lo, _ := touches(box.Lo[axes[0]])
				_, hi := touches(box.Hi[axes[0]] - 1)
				a := ofAxes[0]
				if lo, hi = max(lo, 0), min(hi, x.Shape[a]); lo < hi && (lo < has.Lo[a] || hi > has.Hi[a]) {
					p.lacks(y, x, box, has, fmt.Sprintf("indices %d to %d of dimension %d according to the tiles", lo, hi-1, a))
					return false
				}
			}
		}
	}
	return true
}

// lacks reports a part that lacks something, at the last constraint that names the tensor, or the result.
func (p *parts) lacks(result, of *partition.Store, box, has region.Box, what string) {
	at := p.stated.Key
	for _, x := range []*partition.Store{result, of} {
		for _, c := range p.stated.Constraints {
			if slices.ContainsFunc(c.Terms, func(s spec.Str) bool { return p.names(partition.ParseTerm(s.V).Name, x) }) {
				at = c.Span
			}
		}
	}
	p.refuse(diag.BadFormula, at, "a part of a launch of %s of %s computes %v of %s from %v of %s, but it takes %s",
		p.task.Name, p.use.op.Name, box, result.Name, has, of.Name, what)
}

// names reports whether a name is that of a tensor's parameter, or of the group that holds it.
func (p *parts) names(name string, x *partition.Store) bool {
	if name == x.Name {
		return true
	}
	i := p.named(x.Name)
	g, ok := task.GroupOf(p.task.Params[i].Perm)
	return ok && g.String() == name
}
