package example

import (
	"fmt"
	"reflect"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// stores returns the tensors of a task, by parameter, as its launches see them.
func (u *use) stores(m *model.Task) [][]*partition.Store {
	out := make([][]*partition.Store, len(m.Params))
	for i, p := range m.Params {
		if p.OnlyIf != nil && !u.truth(p.OnlyIf) {
			continue
		}
		for _, x := range u.tensors[p.Slot.Number] {
			out[i] = append(out[i], task.Store(m.Signature.ParamName(i), task.Operand{Type: x.Type, Shape: x.Shape}))
		}
	}
	return out
}

// launch returns a launch of a task under the first n of its constraints.
func (u *use) launch(m *model.Task, r *task.Resolution, stores [][]*partition.Store, n int) (*partition.Launch, error) {
	s := *m.Signature
	s.Constraints.List = s.Constraints.List[:n]
	passed := map[int][]any{}
	for _, p := range u.passed {
		passed[p.Slot] = p.Values
	}
	return s.Launch(r, stores, passed, nil)
}

// constrained adds to a resolution what constraints need of it.
func (u *use) constrained(r *task.Resolution) *task.Resolution {
	r.Attrs = u.attributes()
	r.Numbers = map[[2]int]map[string][]int{}
	for i, m := range u.op.Tasks {
		for _, list := range m.Numbers {
			key := [2]int{i, list.Constraint}
			if r.Numbers[key] == nil {
				r.Numbers[key] = map[string][]int{}
			}
			for _, x := range list.Exprs {
				r.Numbers[key][list.List] = append(r.Numbers[key][list.List], u.integer(x))
			}
		}
	}
	return r
}

// axes is the value of an attribute that is several axes.
type axes []int

// Values returns the axes.
func (a axes) Values() []int { return a }

// attributes returns a struct of the attributes that are axes, as generated code declares it.
func (u *use) attributes() task.Attrs {
	var fields []reflect.StructField
	var values []any
	for name, v := range u.attrs {
		switch x := v.(type) {
		case []int:
			v = axes(x)
		case int:
		default:
			continue
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("A%d", len(fields)), Type: reflect.TypeOf(v), Tag: reflect.StructTag(fmt.Sprintf("json:%q", name))})
		values = append(values, v)
	}
	s := reflect.New(reflect.StructOf(fields)).Elem()
	for i, v := range values {
		s.Field(i).Set(reflect.ValueOf(v))
	}
	return s.Interface()
}
