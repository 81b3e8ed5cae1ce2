package spec

import (
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
)

// InPlace says that the tensor of a slot may reuse the memory of another: an output that of an input or, in
// backward, the gradient of an input that of an output's gradient.
type InPlace struct {
	Slot string
	Key  source.Span
	Of   Str
	// View says that the elements are the same, in the same order, so the task has nothing to do.
	View Bool
}

// Fusion is the work of another operator that this one can do as well.
type Fusion struct {
	Name  string
	Key   source.Span
	Bad   bool // reading it gave findings
	Doc   Str
	Other Str
	Of    *Spec // the other operator; package check looks it up
	// Share and Make map slots of the other operator to slots of this one: those whose tensors are the
	// same, and outputs with the slots that make them instead.
	Share, Make []*Access
	When        []*source.Entry // attributes of the other operator and the values that they may have
	Own         []*source.Entry // attributes of this operator and the values that they may have
	Set         []*source.Entry // attributes of this operator: a value, or the name of the other's attribute
	Absent      []Str           // attributes of this operator that must not be given
	Tolerance   source.Node
}

func (r *reader) inPlace(e *source.Entry) *InPlace {
	p := &InPlace{Slot: e.Key, Key: e.KeySpan}
	if _, ok := e.Value.(*source.Table); !ok {
		p.Of = r.str(e)
		return p
	}
	t := r.sub(e, inPlaceKeys)
	p.Of, p.View = t.required("of"), t.boolean("view")
	t.done()
	return p
}

func (r *reader) inPlaces(s *Spec, t *tableReader) {
	if e := t.t.Get("inplace"); e != nil {
		s.InPlaceKey = Bool{true, e.KeySpan}
	}
	t.each("inplace", func(e *source.Entry) {
		if e.Key != "backward" {
			s.InPlace = append(s.InPlace, r.inPlace(e))
			return
		}
		if sub, ok := e.Value.(*source.Table); ok {
			for _, x := range sub.Entries {
				s.InPlaceGrads = append(s.InPlaceGrads, r.inPlace(x))
			}
			return
		}
		r.wrongKind(e, "a table")
	})
}

func (r *reader) fusion(e *source.Entry) *Fusion {
	t := r.sub(e, fuseKeys)
	if t == nil {
		return &Fusion{Name: e.Key, Key: e.KeySpan, Bad: true}
	}
	f := &Fusion{Name: e.Key, Key: e.KeySpan, Doc: t.str("doc"), Other: t.required("other")}
	pair := func(e *source.Entry) *Access { return &Access{Slot: e.Key, Key: e.KeySpan, Value: r.str(e)} }
	t.each("share", func(e *source.Entry) { f.Share = append(f.Share, pair(e)) })
	t.each("make", func(e *source.Entry) { f.Make = append(f.Make, pair(e)) })
	t.each("when", func(e *source.Entry) { f.When = append(f.When, e) })
	t.each("own", func(e *source.Entry) { f.Own = append(f.Own, e) })
	t.each("set", func(e *source.Entry) { f.Set = append(f.Set, e) })
	if e := t.take("absent"); e != nil {
		f.Absent = r.strings(e)
	}
	if e := t.take("tolerance"); e != nil {
		f.Tolerance = e.Value
		if k := source.Kind(e.Value); k != "integer" && k != "float" {
			r.wrongKind(e, "a number")
			f.Tolerance = nil
		}
	}
	for _, k := range []string{"share", "make"} {
		t.need(k)
	}
	f.Bad = t.done()
	return f
}

// rewrites reads what an operator says about how it may be changed: memory in place, fusions, and
// attributes in inference.
func (r *reader) rewrites(s *Spec, t *tableReader) {
	r.inPlaces(s, t)
	t.each("fuse", func(e *source.Entry) { s.Fusions = append(s.Fusions, r.fusion(e)) })
	t.each("inference", func(e *source.Entry) { s.Inference = append(s.Inference, e) })
	if e := t.t.Get("inference"); e != nil && len(s.Inference) == 0 && !t.unread["inference"] {
		r.list.Add(diag.BadValue, e.KeySpan, "inference: want at least one attribute with its value in inference")
	}
}
