package model

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// Tiles says how a step is cut into tiles: the extents of a tile, and what an index of the step touches.
type Tiles struct {
	Size       []expr.Node
	Footprints []Footprint
}

// Footprint says what an index touches of a slot's tensor. It has a span for each element of the slot's
// shape.
type Footprint struct {
	Slot  *Slot
	Spans []Span
}

// Span is the span of an element of a shape. Scale, Shift and Size are those of a window; each may be nil.
type Span struct {
	rules.Span
	Scale, Shift, Size expr.Node
}

// tiles returns how a step of a task is cut into tiles, or nil if the spec gives no tiles for the step.
func (o *Operator) tiles(sc *scope.Scope, t *Task, from *spec.Task, step string) *Tiles {
	for _, x := range sc.Spec.Tiles {
		if x.Task != from.Name || x.Step.V != step {
			continue
		}
		m := &Tiles{}
		for _, s := range x.Size {
			m.Size = append(m.Size, sc.Typed(s))
		}
		domain := rules.Domain(from, x)
		seen := map[*Slot]bool{}
		for _, p := range t.Params {
			if seen[p.Slot] || p.Slot.Variadic || p.Slot.PerWorker {
				continue
			}
			seen[p.Slot] = true
			f := Footprint{Slot: p.Slot}
			moves := false
			for _, s := range rules.Spans(x, domain, sc.Spec.Slots[p.Param.Slot]) {
				span := Span{Span: s}
				if w := s.Window; w != nil {
					span.Scale, span.Shift, span.Size = sc.Typed(w.Scale), sc.Typed(w.Shift), sc.Typed(w.Size)
				}
				moves = moves || s.Dim >= 0
				f.Spans = append(f.Spans, span)
			}
			if moves {
				m.Footprints = append(m.Footprints, f)
			}
		}
		return m
	}
	return nil
}
