package oracle

import (
	"reflect"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/task"
)

// Of returns the use of an operator that attributes and what they resolve to describe. passed holds the
// values that the caller passes, by slot. The elements of inputs and weights are still to be given.
func Of(o *task.Operator, attrs task.Attrs, r *task.Resolution, seed int, passed map[int][]any) (*Use, error) {
	u := &Use{Formula: o.Formula, Types: map[string]string{}, Dims: map[string]any{}, Attrs: map[string]any{}, Args: map[string]any{}, Callees: o.Callees}
	for i, t := range o.Types {
		u.Types[t.Name] = r.Types[i].String()
	}
	if dims := reflect.Indirect(reflect.ValueOf(r.Dims)); dims.Kind() == reflect.Struct {
		for i := range dims.NumField() {
			u.Dims[dims.Type().Field(i).Name] = dims.Field(i).Interface()
		}
	}
	fields, err := attr.Object(attrs)
	if err != nil {
		return nil, err
	}
	for _, name := range o.AttrNames {
		u.Attrs[name] = fields[name]
	}
	for _, sig := range o.Signatures {
		for _, a := range sig.Args {
			s := &o.Slots[a.Slot]
			switch a.From {
			case task.FromSeed:
				u.Args[s.Name] = seed
			case task.FromCall:
				if s.Variadic {
					u.Args[s.Name] = passed[a.Slot]
				} else if v := passed[a.Slot]; len(v) == 1 {
					u.Args[s.Name] = v[0]
				}
			}
		}
	}
	for i := range o.Slots {
		s := &o.Slots[i]
		if v, ok := r.Args[i]; ok {
			u.Args[s.Name] = v
		}
		if s.Role == task.RoleArgument || s.Role == task.RoleState || s.Role == task.RoleScratch {
			continue
		}
		sl := &Slot{Name: s.Name, Shape: s.Shape, Type: s.Type, Variadic: s.Variadic, Trainable: s.Trainable || s.Role == task.RoleWeight}
		for _, x := range r.Slots[i] {
			sl.Tensors = append(sl.Tensors, &Tensor{Type: x.Type, Shape: x.Shape})
			u.Type = coarser(u.Type, x.Type)
		}
		u.Slots = append(u.Slots, sl)
	}
	return u, nil
}

// Slot returns a slot, or nil.
func (u *Use) Slot(name string) *Slot {
	for _, s := range u.Slots {
		if s.Name == name {
			return s
		}
	}
	return nil
}
