package example

import (
	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// checkTiles checks the footprints of tiles that the spec states against the reads of the formula.
func (t *trial) checkTiles(v *view) {
	for _, m := range v.op.Tasks {
		if m.Kind == task.KindBackward {
			continue // kernels may reorder the statements of gradients
		}
		steps, _ := v.running(m)
		for _, s := range steps {
			if s.Tiles == nil {
				continue
			}
			for _, result := range s.Tiles.Footprints {
				if result.Slot.Role != task.RoleOutput && result.Slot.Role != task.RoleSaved {
					continue
				}
				for _, of := range s.Tiles.Footprints {
					if of.Slot.Role == task.RoleInput || of.Slot.Role == task.RoleWeight {
						t.checkFootprint(v, m, s, result, of)
					}
				}
				t.checkShares(v, m, s, result)
				t.checkReads(v, m, s, result)
			}
		}
	}
}

// checkShares checks that indices compute each element of a result.
func (t *trial) checkShares(v *view, m *model.Task, s *model.Step, result model.Footprint) {
	out := v.tensor(m.Kind, result.Slot.Number)
	for i, own := range result.Spans {
		axes, share := v.axesOf(result.Slot, i), v.share(own)
		if out < 0 || share == nil || share.Scale < 1 || len(axes) != 1 {
			continue
		}
		extent, _ := v.program.Tensors[out].Shape[axes[0]].Known()
		n := v.extent(s, own.Dim)
		at, what := t.windowKey(m, result.Slot, own)
		first, end := share.Shift, share.Scale*(n-1)+share.Shift+share.Size // what they compute, but for gaps
		missing := -1
		switch {
		case extent == 0:
			continue
		case n == 0 || first > 0:
			missing = 0
		case n > 1 && share.Size < share.Scale && first+share.Size < extent:
			missing = max(first+share.Size, 0)
		case end < extent:
			missing = max(end, 0)
		}
		if missing >= 0 {
			t.contradict(at, "no index of %s of %s computes element %d of %s of %s according to the spec", v, taskName(m, s), v.op.Name, missing, what, result.Slot.Name)
			continue
		}
		for index := range n {
			if lo := share.Scale*index + share.Shift; lo >= extent || lo+share.Size <= 0 {
				t.contradict(at, "index %d of %s of %s computes nothing of %s of %s according to the spec, which has %d", v, index, taskName(m, s), v.op.Name, what, result.Slot.Name, extent)
				break
			}
		}
	}
}

// extent returns the extent of a dimension of a step.
func (u *use) extent(s *model.Step, dim int) int {
	if dim == 0 {
		return u.integer(s.OverX)
	}
	return u.integer(s.InnerX[dim-1])
}

// checkFootprint checks which elements of another tensor one index of a result accesses.
func (t *trial) checkFootprint(v *view, m *model.Task, s *model.Step, result, of model.Footprint) {
	out, in := v.tensor(m.Kind, result.Slot.Number), v.tensor(m.Kind, of.Slot.Number)
	if out < 0 || in < 0 {
		return
	}
	for i, own := range result.Spans {
		for k, other := range of.Spans {
			share := v.share(own)
			if own.Dim < 0 || own.Dim != other.Dim || share != nil && share.Scale < 1 {
				continue // with such a scale, no step is cut
			}
			axes, ofAxes := v.axesOf(result.Slot, i), v.axesOf(of.Slot, k)
			if len(axes) == 0 || len(axes) != len(ofAxes) {
				continue
			}
			touch := derive.Outside(v.program, v.program.Statements, out, axes, share, in, ofAxes, v.window(other))
			at, what := t.windowKey(m, of.Slot, other)
			switch {
			case touch == nil:
			case touch.Any:
				t.contradict(at, "%s of %s touches %s of %s according to the spec, but other elements of it according to the formula",
					v, taskName(m, s), v.op.Name, what, of.Slot.Name)
			default:
				t.contradict(at, "index %d of %s of %s touches %s of %s according to the spec, but elements %d to %d according to the formula",
					v, touch.Index, taskName(m, s), v.op.Name, what, of.Slot.Name, touch.Lo, touch.Hi-1)
			}
		}
	}
}

// checkReads checks what some indices of a result read, one element after the other. It finds what
// checkFootprint does not follow, such as a value of the formula's own that is read at a moved index.
func (t *trial) checkReads(v *view, m *model.Task, s *model.Step, result model.Footprint) {
	out := v.tensor(m.Kind, result.Slot.Number)
	if out < 0 {
		return
	}
	touched := map[int]model.Footprint{} // by tensor
	for _, of := range s.Tiles.Footprints {
		if in := v.tensor(m.Kind, of.Slot.Number); in >= 0 && (of.Slot.Role == task.RoleInput || of.Slot.Role == task.RoleWeight) {
			touched[in] = of
		}
	}
	var own model.Span
	index := 0
	reads := derive.NewReads(v.program, v.program.Statements, mostReads, func(tensor int) bool { return touched[tensor].Slot != nil }, func(tensor int, at []int) {
		of := touched[tensor]
		for k, other := range of.Spans {
			axes := v.axesOf(of.Slot, k)
			if other.Dim != own.Dim || len(axes) != 1 {
				continue
			}
			lo, hi := index, index+1
			if w := v.window(other); w != nil {
				lo, hi = w(index)
			}
			n, _ := v.program.Tensors[tensor].Shape[axes[0]].Known()
			i := at[axes[0]]
			if i == derive.Anywhere && (lo > 0 || hi < n) || i != derive.Anywhere && (i < lo || i >= hi) {
				where, what := t.windowKey(m, of.Slot, other)
				t.contradict(where, "index %d of %s of %s touches %s of %s according to the spec, but element %s of it according to the formula",
					v, index, taskName(m, s), v.op.Name, what, of.Slot.Name, element(at))
			}
		}
	})
	for i, span := range result.Spans {
		axes := v.axesOf(result.Slot, i)
		if span.Dim < 0 || len(axes) != 1 {
			continue
		}
		box := region.Box{Lo: make([]int, len(v.program.Tensors[out].Shape))}
		for _, x := range v.program.Tensors[out].Shape {
			n, _ := x.Known()
			box.Hi = append(box.Hi, n)
		}
		a, n := axes[0], v.extent(s, span.Dim)
		extent := box.Hi[a]
		own = span
		for _, index = range []int{0, n / 2, n - 1} {
			lo, hi := index, index+1
			if w := v.window(span); w != nil {
				lo, hi = w(index)
			}
			if box.Lo[a], box.Hi[a] = max(lo, 0), min(hi, extent); !box.Empty() {
				reads.Of(out, box)
			}
		}
	}
}

// window returns the window of a span, or nil if the axis has the same index as the result.
func (u *use) window(s model.Span) derive.Window {
	w := u.share(s)
	if w == nil {
		return nil
	}
	return func(i int) (lo, hi int) { return w.Scale*i + w.Shift, w.Scale*i + w.Shift + w.Size }
}

// share returns the elements that indices compute along an axis of a result, or nil if each computes its own.
func (u *use) share(s model.Span) *derive.Share {
	if s.Window == nil {
		return nil
	}
	value := func(n expr.Node, otherwise int) int {
		if n == nil {
			return otherwise
		}
		return u.integer(n)
	}
	return &derive.Share{Scale: value(s.Scale, 1), Shift: value(s.Shift, 0), Size: max(value(s.Size, 1), 1)}
}

// windowKey returns the position and a description of what the spec states about an axis of a slot.
func (t *trial) windowKey(m *model.Task, slot *model.Slot, s model.Span) (at source.Span, what string) {
	if s.Window != nil {
		return s.Window.Key, "a window of " + s.Window.Axis
	}
	for _, x := range t.spec.Tiles {
		if x.Task == m.Name {
			at = x.Key
		}
	}
	return at, "its own element"
}

// axesOf returns the axes of a tensor that one element of its slot's shape denotes.
func (u *use) axesOf(s *model.Slot, element int) []int {
	at := 0
	for i, name := range s.DimNames {
		n := 1
		if run, ok := u.dims[name].([]int); ok {
			n = len(run)
		}
		if i == element {
			axes := make([]int, n)
			for k := range axes {
				axes[k] = at + k
			}
			return axes
		}
		if name == "" && u.op.Slots[s.Number].Pattern == nil && s.Dims[i].Rest {
			return nil // a run of unknown length
		}
		at += n
	}
	return nil
}
