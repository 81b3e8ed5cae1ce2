package example

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/task"
)

// grownExample returns the example of a use with larger extents: those of 2 or more grow, so that ranges
// which end before they begin at the example do not. Extents of 1 stay, since they may stand for a dimension
// that is repeated, and so does what the pattern of a shape says.
func (u *use) grownExample(x *task.Example) *task.Example {
	out := *x
	out.Shapes = map[string][]int{}
	for name, dims := range x.Shapes {
		out.Shapes[name] = dims
	}
	for _, s := range u.op.Slots {
		if s.Pattern == nil {
			continue
		}
		for i, t := range u.tensors[s.Number] {
			m := &matcher{use: u, slot: s, dims: t.Shape, first: i == 0}
			if !m.place() {
				return x
			}
			dims := slices.Clone(t.Shape)
			for k, e := range s.Pattern.Elems {
				if e.Kind == scope.Match && len(expr.Names(e.Node)) == 0 {
					continue
				}
				for at := m.parts[k][0]; at < m.parts[k][1]; at++ {
					if dims[at] > 1 {
						dims[at] *= dimScale
					}
				}
			}
			name := s.Name
			if s.Variadic {
				name = fmt.Sprintf("%s.%d", s.Name, i)
			}
			out.Shapes[name] = dims
		}
	}
	return &out
}

// grown returns views of the examples with larger extents, where the operator allows them and the formula has
// a gradient.
func (f *follower) grown() (out []*view) {
	for _, v := range f.views {
		x := f.op.Operator.Examples[v.example-1]
		u := newUse(f.op, v.grownExample(&x), v.use.choice)
		if u.err != nil {
			continue
		}
		u.parsed = v.parsed
		if larger := u.look(v.example, &known{}); larger != nil && larger.gradient != nil {
			out = append(out, larger)
		}
	}
	return out
}
