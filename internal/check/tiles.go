package check

import (
	"slices"
	"strconv"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
)

// domain checks the extents of the dimensions that a step runs over.
func (o *operator) domain(over spec.Str, inner []spec.Str) {
	o.sc.Extent(over)
	for i, s := range inner {
		o.sc.Extent(s)
		if i == op.MaxRank-1 {
			o.list.Add(diag.BadStep, s.Span(), "a step runs over %d dimensions at most", op.MaxRank)
		}
	}
}

// tiles checks how a step is cut into tiles. The dimensions and slots must exist, and no two tiles may write
// the same element.
func (o *operator) tiles(x *spec.Tiles) {
	t := o.taskNamed(x.Task)
	if t == nil {
		if !o.s.Unread["tasks"] {
			o.list.Add(diag.Undefined, x.Key, "there is no task %s that could have tiles", x.Task)
		}
		return
	}
	for _, s := range x.Size {
		o.sc.Expr(s, expr.Int)
		o.positive(s, "an extent of a tile")
	}
	domain := rules.Domain(t, x)
	switch {
	case t.Bad:
		return
	case domain == nil:
		o.list.Add(diag.Undefined, x.Step.Span(), "task %s has no step %s", t.Name, x.Step.V)
		return
	case !domain[0].Set():
		if len(t.Steps) > 0 {
			o.list.Add(diag.BadTiles, x.Key, "task %s has several steps", t.Name).Hinted("say which is cut into tiles: step = %q", t.Steps[0].Name)
		}
		return
	}
	if x.Span.File != nil && len(x.Size) != len(domain) {
		o.list.Add(diag.BadTiles, x.Span, "want an extent of a tile for each of %d dimensions, got %d", len(domain), len(x.Size)).See(domain[0].Span(), "what the step runs over")
	}
	for _, w := range x.Windows {
		o.window(w, domain)
	}
	for _, p := range rules.Params(o.s, t) {
		if p.Perm.Writes() || p.Perm == perm.Scratch && p.Slot.Per.V != "worker" {
			o.disjoint(x, domain, p.Slot)
		}
	}
}

// positive reports a number below 1. What an expression gives depends on the use, and stands for 1 if it is
// less.
func (o *operator) positive(s spec.Str, what string) {
	if n, err := strconv.Atoi(s.V); s.Set() && err == nil && n < 1 {
		o.list.Add(diag.BadTiles, s.Span(), "want %s of 1 or more, got %d", what, n)
	}
}

// window checks the window that an index touches along an axis.
func (o *operator) window(w *spec.Window, domain []spec.Str) {
	for _, s := range []spec.Str{w.Scale, w.Shift, w.Size} {
		o.sc.Expr(s, expr.Int)
	}
	o.positive(w.Scale, "a scale")
	o.positive(w.Size, "a size")
	if w.Of.Set() && !slices.ContainsFunc(domain, func(s spec.Str) bool { return s.V == w.Of.V }) {
		o.list.Add(diag.Undefined, w.Of.Span(), "the step does not run over %s", w.Of.V).See(domain[0].Span(), "what it runs over")
	}
	s := o.findSlot(&spec.Access{Slot: w.Slot, Key: w.SlotKey})
	if s == nil || s.Bad {
		return
	}
	if !slices.ContainsFunc(s.Shape, func(n source.Node) bool { return rules.Element(n) == w.Axis }) {
		o.list.Add(diag.Undefined, w.Key, "the shape of %s has no element %s", s.Name, w.Axis).See(s.ShapeSpan, "its shape")
	}
}

// disjoint checks that different tiles write different elements of a slot: along every dimension, an index
// moves by at least the extent of the window. A slot that may be absent may lack a dimension. The planner
// cuts no step whose tiles write the same elements.
func (o *operator) disjoint(x *spec.Tiles, domain []spec.Str, s *spec.Slot) {
	if s.Bad {
		return
	}
	spans := rules.Spans(x, domain, s)
	for d, over := range domain {
		at := slices.IndexFunc(spans, func(p rules.Span) bool { return p.Dim == d })
		if at < 0 {
			if s.Present.Set() {
				continue // uses with the slot are not cut
			}
			o.list.Add(diag.BadTiles, x.Key, "tiles along %s write the same elements of %s", over.V, s.Name).See(s.ShapeSpan, "its shape, which has no such dimension")
			continue
		}
		if w := spans[at].Window; w != nil && !within(w.Size, w.Scale) {
			o.list.Add(diag.BadTiles, w.Key, "tiles write %s through windows that overlap", s.Name).Hinted("want a size that is the scale, or a smaller number")
		}
	}
}

// within reports whether the extent of a window is its scale, or a smaller number. Both are 1 unless given.
func within(size, scale spec.Str) bool {
	if size.V == scale.V {
		return true
	}
	value := func(s spec.Str) (int, error) {
		if !s.Set() {
			return 1, nil
		}
		return strconv.Atoi(s.V)
	}
	n, err1 := value(size)
	k, err2 := value(scale)
	return err1 == nil && err2 == nil && n <= k
}
