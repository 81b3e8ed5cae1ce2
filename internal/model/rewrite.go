package model

import (
	"fmt"

	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// InPlace says that the tensor of a slot may lie where that of another lay; of backward, their
// gradients.
type InPlace struct {
	Slot *Slot  `json:"-"`
	Of   *Slot  `json:"-"`
	Name string `json:"slot"`
	From string `json:"of"`
	View bool   `json:"view,omitempty"`
}

// Fusion is the work of another operator that this one can do as well.
type Fusion struct {
	Name      string       `json:"name"`
	Doc       string       `json:"doc,omitempty"`
	Other     string       `json:"other"`
	Share     []Pair       `json:"share"`
	Make      []Pair       `json:"make"`
	When      []FusionWhen `json:"when,omitempty"`
	Own       []FusionWhen `json:"own,omitempty"`
	Absent    []string     `json:"absent,omitempty"`
	Set       string       `json:"set,omitempty"` // JSON
	Copy      []FusionCopy `json:"copy,omitempty"`
	Tolerance float64      `json:"tolerance,omitempty"`
}

// Pair is a slot of the other operator and one of this.
type Pair struct {
	Other string `json:"other"`
	Own   string `json:"own"`
	Slot  *Slot  `json:"-"`
}

// FusionWhen is an attribute of either operator and the values that it may have, a JSON array.
type FusionWhen struct {
	Attr   string `json:"attr"`
	Values string `json:"values"`
}

// FusionCopy gives an attribute of this operator the value of one of the other's.
type FusionCopy struct {
	Attr string `json:"attr"`
	From string `json:"from"`
}

func (o *Operator) rewrites(s *spec.Spec) {
	inPlace := func(k task.Kind, pairs []*spec.InPlace) {
		if t := o.Task(k); t != nil {
			for _, p := range pairs {
				t.InPlace = append(t.InPlace, InPlace{Slot: o.slot(p.Slot), Of: o.slot(p.Of.V), Name: p.Slot, From: p.Of.V, View: p.View.V})
			}
		}
	}
	inPlace(task.KindForward, s.InPlace)
	inPlace(task.KindBackward, s.InPlaceGrads)
	if len(s.Inference) > 0 {
		o.Inference = object(s.Inference)
	}
	for _, f := range s.Fusions {
		m := &Fusion{Name: f.Name, Doc: f.Doc.V, Other: f.Other.V}
		pairs := func(list []*spec.Access) (out []Pair) {
			for _, p := range list {
				out = append(out, Pair{Other: p.Slot, Own: p.Value.V, Slot: o.slot(p.Value.V)})
			}
			return out
		}
		m.Share, m.Make = pairs(f.Share), pairs(f.Make)
		conditions := func(list []*source.Entry) (out []FusionWhen) {
			for _, e := range list {
				values, ok := e.Value.(*source.Array)
				if !ok {
					values = &source.Array{Elems: []source.Node{e.Value}}
				}
				out = append(out, FusionWhen{Attr: e.Key, Values: check.JSON(values)})
			}
			return out
		}
		m.When, m.Own = conditions(f.When), conditions(f.Own)
		for _, a := range f.Absent {
			m.Absent = append(m.Absent, a.V)
		}
		var literal []*source.Entry
		for _, e := range f.Set {
			if from, ok := e.Value.(*source.Scalar); ok {
				if name, ok := from.Value.(string); ok {
					m.Copy = append(m.Copy, FusionCopy{Attr: e.Key, From: name})
					continue
				}
			}
			literal = append(literal, e)
		}
		if len(literal) > 0 {
			m.Set = object(literal)
		}
		if f.Tolerance != nil {
			fmt.Sscan(check.JSON(f.Tolerance), &m.Tolerance)
		}
		o.Fusions = append(o.Fusions, m)
	}
}

// slot returns the slot of a name, which there is.
func (o *Operator) slot(name string) *Slot {
	for _, s := range o.Slots {
		if s.Name == name {
			return s
		}
	}
	return nil
}
