package task

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
)

// Shard is a dimension along which an operator may be divided among devices.
type Shard struct {
	Dim string `json:"dim"` // its name in the spec
	// Partial tells that each device is left with a partial sum of the outputs that do not have the
	// dimension. Otherwise these are the same everywhere. Of the outputs that have it, and of the weight
	// that an optimizer changes, each has its part.
	Partial bool `json:"partial,omitempty"`
}

// ShardAxes says where a slot's tensors have a dimension that may be divided: axes Lo to Hi-1, more than
// one if it is a run of dimensions, any of which may be divided.
type ShardAxes struct{ Slot, Lo, Hi int }

// Division is a dimension along which a use of an operator may be divided among devices.
type Division struct {
	// Name is the name of the dimension in the spec; "" if the spec does not name it.
	Name string
	// Attr is the attribute that holds the extent; "" if there is none. In a use on a part it holds the
	// part's extent.
	Attr string
	// Partial says that results without the dimension are partial sums.
	Partial bool
	// Axes holds the axis of the tensors of a slot, by slot. The tensors of others do not have the dimension.
	Axes map[int]int
	// Once is the slot of a weight that counts once, such as a bias beside a sum over the dimension: one
	// device has it, and the others have zeros in its place. It is -1 if there is none.
	Once int
}

// Divide returns the attributes of a use on each of some parts of the dimension. It is an error if their
// number does not divide an attribute that gives the extent.
func (d *Division) Divide(o *Operator, attrs Attrs, parts int) (Attrs, error) {
	if d.Attr == "" || parts == 1 {
		return attrs, nil
	}
	object, err := AttrObject(attrs)
	if err != nil {
		return nil, err
	}
	var extent int
	if err := json.Unmarshal(object[d.Attr], &extent); err != nil || extent%parts != 0 {
		return nil, &op.Error{Operator: o.FullName(), Want: "attribute " + d.Attr + " that the number of parts divides", Got: fmt.Sprintf("%s in %d parts", object[d.Attr], parts)}
	}
	return Override(o, attrs, fmt.Appendf(nil, "{%q: %d}", d.Attr, extent/parts))
}

// Part resolves a use on one of some parts of a division. attrs are those of the part.
func (r *Resolution) Part(o *Operator, attrs Attrs, d *Division, parts int) (*Resolution, error) {
	given := r.Given()
	given.Operands = slices.Clone(given.Operands)
	for slot, axis := range d.Axes {
		if len(given.Operands[slot]) == 0 {
			continue
		}
		given.Operands[slot] = slices.Clone(given.Operands[slot])
		for i, t := range given.Operands[slot] {
			t.Shape = slices.Clone(t.Shape)
			t.Shape[axis] /= parts
			given.Operands[slot][i] = t
		}
	}
	return Resolve(o, attrs, given)
}

// divideFormula is what DivideFormulas set.
var divideFormula func(*Operator, *Resolution) ([]Division, error)

// DivideFormulas says how uses of operators with formulas can be divided, beside what specs say. The compiler
// of formulas calls it once, before any other use of this package.
func DivideFormulas(divide func(*Operator, *Resolution) ([]Division, error)) { divideFormula = divide }

// Divisions returns the dimensions along which a use of the operator may be divided: those that follow from
// its formula for the extents and attributes of this use, and those of the spec's sharding.
func (o *Operator) Divisions(r *Resolution) ([]Division, error) {
	var out []Division
	if divideFormula != nil && len(o.Formula) > 0 {
		found, err := divideFormula(o, r)
		if err != nil {
			return nil, err
		}
		out = found
	}
	followed := len(out)
	attrs, err := AttrObject(r.Attrs)
	if err != nil {
		return nil, err
	}
	for _, d := range o.shards(r) {
		if _, ok := attrs[d.Name]; ok {
			d.Attr = d.Name
		}
		known := slices.ContainsFunc(out[:followed], func(e Division) bool {
			for slot, axis := range d.Axes {
				if at, ok := e.Axes[slot]; ok && at == axis {
					return true
				}
			}
			return false
		})
		if !known {
			out = append(out, d)
		}
	}
	return out, nil
}

// shards returns the dimensions along which the operator may be divided according to its spec, with these
// attributes and shapes.
func (o *Operator) shards(r *Resolution) []Division {
	var out []Division
	for k, axes := range r.Shards {
		run := 0
		for _, a := range axes {
			run = max(run, a.Hi-a.Lo)
		}
		for j := range run {
			d := Division{Name: o.Shards[k].Dim, Partial: o.Shards[k].Partial, Axes: map[int]int{}, Once: -1}
			for _, a := range axes {
				if a.Lo+j < a.Hi {
					d.Axes[a.Slot] = a.Lo + j
				}
			}
			out = append(out, d)
		}
	}
	return out
}

// dims returns the dimensions along which launches of the task may be divided. Gradients are divided like
// their tensors. Of a gradient that the task computes, and that lacks the dimension, each device is left with
// a partial sum.
func (s *Signature) dims(r *Resolution) []partition.Dim {
	var out []partition.Dim
	for _, d := range s.Operator.shards(r) {
		dim := partition.Dim{Name: d.Name, Axes: map[string]int{}}
		for i, p := range s.Params {
			axis, ok := d.Axes[p.Slot]
			switch {
			case p.Perm == perm.Scratch:
			case ok:
				dim.Axes[s.ParamName(i)] = axis
			case p.Perm.Writes() && (p.Grad || d.Partial && s.Operator.Slots[p.Slot].Role == RoleOutput):
				dim.Sums = append(dim.Sums, s.ParamName(i))
			}
		}
		out = append(out, dim)
	}
	return out
}
