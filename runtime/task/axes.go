package task

import (
	"reflect"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/shape"
)

// declared is Declaration for a use of the operator: axes that constraints name are numbers, and so is what
// expressions stand for.
func (s *Signature) declared(r *Resolution) (*partition.Declaration, error) {
	d := s.Declaration()
	if !slices.ContainsFunc(s.Constraints.List, func(c partition.Constraint) bool { return c.Dims != nil || c.Exprs != nil }) {
		return d, nil
	}
	var list []partition.Constraint
	number := slices.IndexFunc(s.Operator.Signatures, func(x *Signature) bool { return x.ID == s.ID })
	for i, c := range s.Constraints.List {
		if c.Exprs != nil {
			for _, f := range c.Kind.Form().Fields {
				if v, ok := r.Numbers[[2]int{number, i}][f.Name]; ok {
					*f.Of(&c) = v
				}
			}
			c.Exprs = nil
			if err := c.Check(); err != nil {
				return nil, err
			}
		}
		c, applies, err := s.numbered(r, c)
		if err != nil {
			return nil, err
		}
		if applies {
			list = append(list, c)
		}
	}
	return d.SetConstraints(list...), nil
}

// numbered returns a constraint with numbers from the front in place of the names of axes, and of numbers
// from the end. It does not apply if the slot is absent, or if the names stand for no axes.
func (s *Signature) numbered(r *Resolution, c partition.Constraint) (n partition.Constraint, applies bool, err error) {
	if c.Dims == nil && !slices.ContainsFunc(c.Axes, func(axis int) bool { return axis < 0 }) {
		return c, true, nil
	}
	term := c.Terms[0].Name
	slot := s.Operator.SlotNamed(strings.TrimPrefix(term, gradPrefix))
	if slot < 0 && c.Dims == nil {
		return c, true, nil // a group, whose tensors may have several ranks
	}
	if slot < 0 {
		return c, false, &op.Error{Code: partition.BadOperand, Want: "a slot for axes by name, for " + c.String(), Got: term}
	}
	if len(r.Operands(slot)) == 0 {
		return c, false, nil
	}
	axes := slices.Clone(c.Axes)
	for _, name := range c.Dims {
		at, ok := r.axesOf(s.Operator, slot, name)
		if !ok {
			return c, false, &op.Error{Code: partition.AxisOutOfRange, Slot: term, Want: "a dimension of its shape " + s.Operator.Slots[slot].Shape +
				", or an attribute that is an axis, for " + c.String(), Got: name}
		}
		axes = append(axes, at...)
	}
	rank := len(r.Operands(slot)[0].Shape)
	for i, axis := range axes {
		if axis < 0 && axis+rank >= 0 {
			axes[i] = axis + rank
		}
	}
	c.Axes, c.Dims = axes, nil
	return c, len(axes) > 0, nil
}

// axesOf returns the axes that a name stands for in the tensors of a slot: a dimension or a run of its shape,
// or an attribute. Axes of an attribute may be negative, and count from the end.
func (r *Resolution) axesOf(o *Operator, slot int, name string) ([]int, bool) {
	elements := shape.Elements(o.Slots[slot].Shape)
	rank := len(r.Operands(slot)[0].Shape)
	i := slices.IndexFunc(elements, func(e string) bool { return strings.TrimSuffix(e, "...") == name })
	if i < 0 {
		return attributeAxes(r.Attrs, name)
	}
	left, known := r.length(elements[:i])
	right, alsoKnown := r.length(elements[i+1:])
	switch n, ok := r.length(elements[i : i+1]); {
	case !ok && known && alsoKnown:
	case !ok:
		return nil, false
	case known:
		right = rank - left - n
	case alsoKnown:
		left = rank - right - n
	default:
		return nil, false
	}
	var axes []int
	for axis := left; axis < rank-right; axis++ {
		axes = append(axes, axis)
	}
	return axes, true
}

// length returns the number of dimensions for which elements of a shape stand; ok is false if it is not
// known.
func (r *Resolution) length(elements []string) (n int, ok bool) {
	for _, e := range elements {
		name, run := strings.CutSuffix(e, "...")
		if !run {
			n++
			continue
		}
		dims := reflect.Indirect(reflect.ValueOf(r.Dims))
		if dims.Kind() != reflect.Struct {
			return 0, false
		}
		f := dims.FieldByName(name)
		if !f.IsValid() || f.Kind() != reflect.Slice {
			return 0, false
		}
		n += f.Len()
	}
	return n, true
}

// attributeAxes returns the value of an attribute that is an axis or several.
func attributeAxes(attrs Attrs, name string) ([]int, bool) {
	v := reflect.ValueOf(attrs)
	if v.Kind() != reflect.Struct {
		return nil, false
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") != name {
			continue
		}
		switch x := v.Field(i).Interface().(type) {
		case int:
			return []int{x}, true
		case interface{ Values() []int }:
			return x.Values(), true
		}
	}
	return nil, false
}
