package onnx

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/task"
)

// body saves a use as the nodes of an entry.
func (s *saver) body(a *applied, e *mapping.Entry) error {
	if e.When != "" {
		v, err := a.eval(e.When, a.about)
		if err != nil {
			return err
		}
		if v != true {
			return fmt.Errorf("its nodes compute it when %s", e.When)
		}
	}
	all, err := mapping.Body(e.Body)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.attrs)) {
		if a.attrs[name] != nil && !e.Says(all, name) {
			return fmt.Errorf("its nodes do not compute it with %s", name)
		}
	}
	var lines []mapping.Line
	last := map[string]int{} // the line that gives a name its final value
	for _, l := range all {
		if l.When != "" {
			v, err := a.eval(l.When, a.about)
			if err != nil {
				return err
			}
			if v != true {
				continue
			}
		}
		for _, name := range l.Outputs {
			last[name] = len(lines)
		}
		lines = append(lines, l)
	}
	r := s.reader()
	defer r.fold.close()
	x := &expansion{saver: s, a: a, r: r, names: map[string][]string{}, last: last}
	for slot := range a.op.Slots {
		if role := a.op.Slots[slot].Role; role == task.RoleInput || role == task.RoleWeight {
			x.names[a.op.Slots[slot].Name] = inputNames(a.slots[slot])
		}
	}
	for i, l := range lines {
		if err := x.line(i, &l); err != nil {
			return fmt.Errorf("%s: %w", l.Op, err)
		}
	}
	for slot := range a.op.Slots {
		if a.op.Slots[slot].Role != task.RoleOutput || !s.anyRead(a.slots[slot]) {
			continue
		}
		for _, o := range a.slots[slot] {
			v := r.values[o.name]
			if v == nil {
				return fmt.Errorf("its nodes do not give %s", a.op.Slots[slot].Name)
			}
			kind, shape, err := r.typeOf(v)
			if err != nil {
				return err
			}
			if kind != o.kind || !slices.Equal(shape, o.shape) {
				return fmt.Errorf("its nodes give %v%v as %s, and not %v%v", kind, shape, a.op.Slots[slot].Name, o.kind, o.shape)
			}
		}
	}
	for _, n := range x.nodes {
		s.add(n, a)
	}
	return nil
}

// expansion is a body that is saved.
type expansion struct {
	*saver
	a     *applied
	r     *reader
	names map[string][]string // in the file, of slots and of what lines give
	last  map[string]int
	nodes []*onnxpb.NodeProto
}

// about computes functions of slots and of what lines gave.
func (x *expansion) about(function, name string) (any, error) {
	if x.a.op.SlotNamed(name) >= 0 && len(x.names[name]) == 0 || function == "present" {
		return x.a.about(function, name)
	}
	if len(x.names[name]) == 0 {
		return nil, fmt.Errorf("want a tensor, got %s", name)
	}
	v, err := x.r.value(x.names[name][0])
	if err != nil || v == nil {
		return nil, fmt.Errorf("want a tensor for %s, got none: %w", name, err)
	}
	kind, shape, err := x.r.typeOf(v)
	if err != nil {
		return nil, err
	}
	return describe(function, operand{name, kind, shape, v.constant()})
}

// line adds the node of a line, and reads it again.
func (x *expansion) line(i int, l *mapping.Line) error {
	n := &onnxpb.NodeProto{OpType: new(l.Op), Name: new(fmt.Sprintf("%s %s %d", x.a.name, l.Op, i+1))}
	kind := dtype.F32
	for k := len(l.Args) - 1; k >= 0; k-- {
		if len(x.names[l.Args[k].Name]) == 0 || x.names[l.Args[k].Name][0] == "" {
			continue
		}
		name, err := x.about("type", l.Args[k].Name)
		if err != nil {
			return err
		}
		if t, err := dtype.Parse(fmt.Sprint(name)); err == nil && t.IsFloat() {
			kind = t
		}
	}
	for _, arg := range l.Args {
		if len(x.names[arg.Name]) > 0 {
			n.Input = append(n.Input, x.names[arg.Name]...)
			continue
		}
		v, err := x.a.eval(cmp.Or(arg.Text, arg.Name), x.about)
		if err != nil {
			return err
		}
		if v == nil {
			n.Input = append(n.Input, "")
			continue
		}
		t, err := x.constantOf(x.a, mapping.Operand{Type: arg.Type}, v, kind)
		if err != nil {
			return err
		}
		name := x.fresh(x.a.name + ".constant")
		if err := x.constant(name, t); err != nil {
			return err
		}
		n.Input = append(n.Input, name)
	}
	for len(n.Input) > 0 && n.Input[len(n.Input)-1] == "" {
		n.Input = n.Input[:len(n.Input)-1]
	}
	for _, name := range l.Outputs {
		slot := x.a.op.SlotNamed(name)
		switch {
		case slot < 0 || x.last[name] != i || x.a.op.Slots[slot].Role != task.RoleOutput || len(x.a.slots[slot]) == 0:
			n.Output = append(n.Output, x.fresh(x.a.name+"."+name))
			x.names[name] = n.Output[len(n.Output)-1:]
		default:
			x.names[name] = inputNames(x.a.slots[slot])
			n.Output = append(n.Output, x.names[name]...)
		}
	}
	for _, t := range l.Attrs {
		v, err := x.a.eval(t.Value, x.about)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		p, err := attributeProto(t.Name, v)
		if err != nil {
			return err
		}
		n.Attribute = append(n.Attribute, p)
	}
	c, err := x.r.callOf(n)
	if err != nil {
		return err
	}
	outs, err := x.r.builder.call(c)
	if err != nil {
		return err
	}
	for k, name := range n.Output {
		if k >= len(outs) || outs[k] == nil {
			return fmt.Errorf("want an output %d, got none", k)
		}
		x.r.values[name] = outs[k]
	}
	x.nodes = append(x.nodes, n)
	return nil
}
