package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

// bindTensors binds the slots of an inlined operator to its arguments, infers its dimensions from their
// shapes, and checks its requirements.
func (b *builder) bindTensors(a *application) error {
	for _, s := range a.of.Slots {
		elements, err := elementsOf(s.Shape)
		if err != nil {
			return err
		}
		sl := &Slot{Name: s.Name, Shape: s.Shape, Output: s.Role == task.RoleOutput, elements: elements}
		b.slots[s.Name] = sl
		id, ok := a.tensors[s.Name]
		if !ok {
			continue
		}
		b.byName[s.Name], sl.Tensors = id, []Operand{{}}
		if s.Role == task.RoleInput {
			if err := b.match(a, s, elements, b.program.Tensors[id].Shape); err != nil {
				return err
			}
		}
	}
	for _, d := range a.of.Dims {
		v, err := b.valueOf(d.Is)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		b.setDim(d.Name, v)
	}
	for _, r := range a.of.Requires {
		c, err := b.valueOf(r.Is)
		if holds, known := c.truth(); err == nil && known && !holds {
			return fmt.Errorf("want %s", r.Is)
		}
	}
	return nil
}

// valueOf evaluates an expression of the inlined operator's spec, such as a dimension or a requirement.
func (b *builder) valueOf(text string) (value, error) {
	x, err := expr.Parse(text)
	if err != nil {
		return value{}, err
	}
	return b.value(x, &scope{vars: map[string]*term.Variable{}}, true)
}

func (b *builder) setDim(name string, v value) {
	b.env.values[name] = v
	if lower := strings.ToLower(name); lower != name {
		b.env.dims[lower] = name
	}
}

// match unifies the shape of an input with the extents dims. It binds the dimensions that have no value yet;
// other dimensions must be equal.
func (b *builder) match(a *application, s task.CalleeSlot, elements []shapeElement, dims []*term.Term) error {
	misfit := fmt.Errorf("%s has the shape %s, which has not %d dimensions", s.Name, s.Shape, len(dims))
	lengths, spare, open := make([]int, len(elements)), len(dims), 0
	for i, e := range elements {
		id, plain := e.x.(*expr.Ident)
		switch {
		case !e.run:
			lengths[i] = 1
		case plain && b.env.values[id.Name].absent():
			lengths[i], open = -1, open+1
			continue
		default:
			v, err := b.value(e.x, &scope{vars: map[string]*term.Variable{}}, true)
			if err != nil || v.run == nil {
				return misfit
			}
			lengths[i] = len(v.run.items)
		}
		spare -= lengths[i]
	}
	front, err := a.front(elements, len(dims))
	switch {
	case err != nil:
		return err
	case spare < 0 || open == 0 && spare > 0 || open > 2 || open == 2 && (front < 0 || front > spare):
		return misfit
	}
	at := 0
	for i, e := range elements {
		n := lengths[i]
		if n < 0 {
			if n = spare; open == 2 {
				n = front
			}
			spare, open = spare-n, open-1
		}
		if err := b.bindDim(s, e, dims[at:at+n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// front returns the number of dimensions in front of the one whose position an axis attribute determines, as
// D in [A..., D, B...]. It returns -1 if no dimension of the shape has such an attribute.
func (a *application) front(elements []shapeElement, rank int) (int, error) {
	for _, x := range a.of.Attrs {
		for _, e := range elements {
			id, ok := e.x.(*expr.Ident)
			if !ok || e.run || x.Binds == "" || id.Name != x.Binds {
				continue
			}
			axis, known := 0, false
			if n := a.attrs[x.Name].node; n != nil {
				axis, known = n.Known()
			}
			if axis < 0 {
				axis += rank
			}
			if !known || axis < 0 || axis >= rank {
				return -1, fmt.Errorf("want an axis below %d as %s", rank, x.Name)
			}
			return axis, nil
		}
	}
	return -1, nil
}

// bindDim unifies shape element e of slot s with extents: it binds a new name to them, or compares them.
func (b *builder) bindDim(s task.CalleeSlot, e shapeElement, dims []*term.Term) error {
	if id, ok := e.x.(*expr.Ident); ok {
		switch {
		case id.Name == "_":
			return nil
		case b.env.values[id.Name].absent() && e.run:
			b.setDim(id.Name, value{run: &run{items: dims}})
			return nil
		case b.env.values[id.Name].absent():
			b.setDim(id.Name, value{node: dims[0]})
			return nil
		}
	}
	v, err := b.value(e.x, &scope{vars: map[string]*term.Variable{}}, true)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if have := itemsOf(v); len(have) != len(dims) || !slices.EqualFunc(have, dims, sameValue) {
		return fmt.Errorf("%s has the shape %s, of which a part is %s, and got %s", s.Name, s.Shape, termsText(have), termsText(dims))
	}
	return nil
}

func termsText(terms []*term.Term) string {
	var out []string
	for _, t := range terms {
		out = append(out, t.String())
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// presence decides which outputs, weights and saved tensors are present, and checks the shapes of weights.
func (b *builder) presence(a *application, output string) error {
	for _, s := range a.of.Slots {
		there := s.Present == "" || s.Present == "caller" && (s.Name == output || len(b.slots[s.Name].Tensors) > 0)
		if s.Present != "" && s.Present != "caller" {
			c, err := b.valueOf(s.Present)
			if err != nil {
				return err
			}
			there, _ = c.truth()
		}
		_, given := a.tensors[s.Name]
		switch s.Role {
		case task.RoleInput, task.RoleWeight:
			switch {
			case there && !given && s.Present != "caller":
				return fmt.Errorf("want a tensor for %s", s.Name)
			case given && !there:
				return fmt.Errorf("there is no %s here", s.Name)
			case given && s.Role == task.RoleWeight:
				if err := b.compare(s); err != nil {
					return err
				}
			}
		default:
			if there {
				b.slots[s.Name].Tensors = []Operand{{}}
			}
		}
	}
	return nil
}

// compare returns an error unless the shape of a weight's tensor is the one that the spec declares.
func (b *builder) compare(s task.CalleeSlot) error {
	dims := b.program.Tensors[b.byName[s.Name]].Shape
	var want []*term.Term
	for _, e := range b.slots[s.Name].elements {
		x, err := b.shapeOf(e, &scope{vars: map[string]*term.Variable{}})
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		want = append(want, x...)
	}
	if !slices.EqualFunc(want, dims, sameValue) {
		return fmt.Errorf("want %s of the shape %s, got %s", s.Name, termsText(want), termsText(dims))
	}
	return nil
}
