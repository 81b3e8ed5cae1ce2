package example

import (
	"fmt"
	"reflect"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Resolve infers the shapes and types of all slots and the iteration spaces of all tasks, from the operands
// of a graph node, as generated code does. attrs is a JSON object. Partitions among devices and tiles are
// left out. It returns an error if operands or attributes do not fit.
func Resolve(o *model.Operator, attrs []byte, given task.Given) (*task.Resolution, error) {
	x, c := exampleOf(o, attrs, given)
	u := newUse(o, x, c)
	if u.err != nil {
		return nil, u.err
	}
	r := u.resolution()
	r.Inputs = given
	return r, u.err
}

// resolution returns the resolution of the use, without the operands that the caller passes.
func (u *use) resolution() *task.Resolution {
	o := u.op
	r := &task.Resolution{Dims: u.record(), Types: u.types, Slots: make([][]task.Operand, len(o.Operator.Slots)),
		Costs: make([]task.Cost, len(o.Tasks)), Shards: make([][]task.ShardAxes, len(o.Operator.Shards)), Unused: make([]map[int]bool, len(o.Tasks))}
	largest := 0
	for i, s := range o.Slots {
		for _, t := range u.tensors[i] {
			r.Slots[s.Number] = append(r.Slots[s.Number], task.Operand{Type: t.Type, Shape: t.Shape})
			largest = max(largest, shape.Prod(t.Shape))
		}
		if s.BelowX == nil {
			continue
		}
		if r.Bounds == nil {
			r.Bounds = map[int]task.Bound{}
		}
		r.Bounds[s.Number] = u.bound(s)
	}
	for _, a := range o.Args {
		if a.Source != task.FromExpression {
			continue
		}
		if r.Args == nil {
			r.Args = map[int]any{}
		}
		r.Args[a.Number] = u.args[a.Name]
	}
	for i, t := range o.Tasks {
		for _, p := range t.Params {
			if p.OnlyIf != nil && !u.truth(p.OnlyIf) {
				if r.Unused[i] == nil {
					r.Unused[i] = map[int]bool{}
				}
				r.Unused[i][p.Slot.Number] = true
			}
		}
		if t.FlopsX != nil {
			r.Costs[i] = task.Cost{Known: true, Flops: u.float(t.FlopsX)}
		}
		if s := t.Steps; len(s) == 1 && s[0].Loops {
			if _, same := u.written(t); !same || !s[0].Elementwise {
				if r.Shares == nil {
					r.Shares = map[int]bool{}
				}
				r.Shares[i] = true
			}
		}
		if s := t.Steps; len(s) == 1 && (s[0].Loops || s[0].OnCPUs) {
			if r.Loops == nil {
				r.Loops = map[int]bool{}
			}
			r.Loops[i] = true
		}
		r.Grids = append(r.Grids, u.grids(t, largest, r.Ranges(i)))
	}
	return r
}

// grids returns the iteration spaces of the steps of a task, in the usual number of ranges.
func (u *use) grids(t *model.Task, largest, ranges int) []op.Grid {
	var out []op.Grid
	for _, s := range t.Steps {
		g := *op.Line(0, 1)
		if s.OverX != nil && (s.WhenX == nil || u.truth(s.WhenX)) {
			over := max(u.integer(s.OverX), 0)
			if s.Loops {
				over = largest
				if n, same := u.written(t); s.Elementwise && same || n == 0 {
					over = n
				}
			}
			g.Axis = op.Axis{Over: over}
			switch {
			case s.GrainX != nil:
				g.Grain = u.integer(s.GrainX)
			case t.Reduces():
				g.Cut(1)
			default:
				g.Cut(ranges)
			}
		}
		out = append(out, g)
	}
	return out
}

// written returns the size of the largest tensor that a task writes, and whether all have that size.
func (u *use) written(t *model.Task) (most int, same bool) {
	same = true
	least := -1
	for _, p := range t.Params {
		for _, x := range u.tensors[p.Slot.Number] {
			if n := shape.Prod(x.Shape); p.Perm.Writes() {
				same = same && (least < 0 || n == least)
				most, least = max(most, n), n
			}
		}
	}
	return most, same
}

// exampleOf converts the operands of a graph node to an example.
func exampleOf(o *model.Operator, attrs []byte, given task.Given) (*task.Example, Choice) {
	x := &task.Example{Attrs: string(attrs), Shapes: map[string][]int{}}
	c := Choice{Types: make([]dtype.Type, len(o.Types))}
	for _, s := range o.Slots {
		if n := given.Requested[s.Number]; n > 0 {
			c.Request = true
		}
		if places := given.Places[s.Number]; places != nil {
			if x.Places == nil {
				x.Places = map[string][]int{}
			}
			x.Places[s.Name] = places
		}
		for i, t := range given.Operands[s.Number] {
			name := s.Name
			if s.Variadic {
				name = fmt.Sprintf("%s.%d", s.Name, i)
			}
			x.Shapes[name] = t.Shape
			if s.Var >= 0 {
				c.Types[s.Var] = t.Type
			}
		}
	}
	return x, c
}

// record returns a pointer to a struct of the dimensions. Its type is the one that generated code declares.
func (u *use) record() any {
	var fields []reflect.StructField
	for _, d := range u.op.Dims {
		fields = append(fields, reflect.StructField{Name: d.Name, Type: reflect.TypeOf(unbound(d))})
	}
	v := reflect.New(reflect.StructOf(fields))
	for i, d := range u.op.Dims {
		if x := u.dims[d.Name]; x != nil {
			v.Elem().Field(i).Set(reflect.ValueOf(x))
		}
	}
	return v.Interface()
}
