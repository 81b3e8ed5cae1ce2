package spec

import "github.com/opgen/opgen/internal/source"

// Tiles says how a step is cut into tiles that may be tasks of their own.
type Tiles struct {
	Task    string
	Key     source.Span
	Step    Str   // of the task; absent if the task is one step
	Size    []Str // extents of a tile, for each dimension that the step runs over
	Span    source.Span
	Windows []*Window
}

// Window says what part of an axis of a slot's tensor an index touches: Size elements from Scale*i+Shift on,
// where i is the index along the dimension Of.
type Window struct {
	Slot                   string
	SlotKey                source.Span
	Axis                   string // the element of the slot's shape, as the spec writes it there
	Key                    source.Span
	Of, Scale, Shift, Size Str
}

// domain reads what a step runs over: an expression, or a list of them.
func (r *reader) domain(e *source.Entry) (over Str, inner []Str) {
	a, ok := e.Value.(*source.Array)
	if !ok {
		return r.expression(e), nil
	}
	all := r.expressions(e.Key, a)
	if len(all) == 0 {
		if len(a.Elems) == 0 {
			r.wrongKind(e, "an expression, or a list of some")
		}
		return Str{}, nil
	}
	return all[0], all[1:]
}

// expressions reads a list of expressions.
func (r *reader) expressions(key string, a *source.Array) []Str {
	var out []Str
	for _, n := range a.Elems {
		if s := r.expression(&source.Entry{Key: key, Value: n}); s.Set() {
			out = append(out, s)
		}
	}
	return out
}

// tiles reads the tiles of a task.
func (r *reader) tiles(e *source.Entry) *Tiles {
	t := r.sub(e, tilesKeys)
	if t == nil {
		return nil
	}
	x := &Tiles{Task: e.Key, Key: e.KeySpan, Step: t.str("step")}
	if s := t.need("size"); s != nil {
		if a, ok := s.Value.(*source.Array); ok {
			x.Size, x.Span = r.expressions("size", a), a.Span
		} else {
			r.wrongKind(s, "a list of extents")
		}
	}
	t.each("slots", func(slot *source.Entry) {
		sub := r.sub(slot, windowsKeys)
		if sub == nil {
			return
		}
		for _, axis := range sub.t.Entries {
			if w := r.window(sub.take(axis.Key)); w != nil {
				w.Slot, w.SlotKey = slot.Key, slot.KeySpan
				x.Windows = append(x.Windows, w)
			}
		}
		sub.done()
	})
	t.done()
	return x
}

// window reads what an index touches along an axis.
func (r *reader) window(e *source.Entry) *Window {
	t := r.sub(e, windowKeys)
	if t == nil {
		return nil
	}
	w := &Window{Axis: e.Key, Key: e.KeySpan, Of: t.required("of")}
	for _, f := range []struct {
		key string
		to  *Str
	}{{"scale", &w.Scale}, {"shift", &w.Shift}, {"size", &w.Size}} {
		if x := t.take(f.key); x != nil {
			*f.to = r.expression(x)
		}
	}
	t.done()
	return w
}
