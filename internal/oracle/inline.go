package oracle

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// callee is an operator that a formula may apply.
type callee struct{ task.Callee }

func calleesOf(list []task.Callee) map[string]*callee {
	out := map[string]*callee{}
	for _, c := range list {
		out[c.Name] = &callee{c}
	}
	return out
}

// inlineElement returns an element of what another operator computes.
func (e *evaluation) inlineElement(n *expr.Inline, s *scope) value {
	return e.at(e.inlineArray(n, s), n.Call.Func, n.At, nil, s)
}

// inlineArray returns what another operator computes.
func (e *evaluation) inlineArray(n *expr.Inline, s *scope) *array {
	return e.output(n.Call, n.Output, s)
}

// output returns an output of an operator that is applied to tensors; "" is the first.
func (e *evaluation) output(n *expr.Call, output string, s *scope) *array {
	c := e.callees[n.Func]
	if c == nil {
		fail("there is no operator %s", n.Func)
	}
	if output == "" {
		output = c.Slots[slices.IndexFunc(c.Slots, func(x task.CalleeSlot) bool { return x.Role == task.RoleOutput })].Name
	}
	in := e.inlined[n]
	if in == nil {
		in = e.apply(c, n, output, s)
		e.inlined[n] = in
	}
	if len(in.arrays[output]) == 0 {
		fail("%s has no output %s here", n.Func, output)
	}
	return in.arrays[output][0]
}

// apply evaluates the formula of an operator that is applied to tensors.
func (e *evaluation) apply(c *callee, n *expr.Call, output string, s *scope) *evaluation {
	if e.depth++; e.depth > maxDepth {
		fail("%s applies itself", n.Func)
	}
	defer func() { e.depth-- }()
	tensors := map[string]*array{}
	at := 0
	for _, x := range c.Slots {
		if at < len(n.Args) && (x.Role == task.RoleInput || x.Role == task.RoleWeight) {
			tensors[x.Name] = e.operand(n.Args[at], s)
			at++
		}
	}
	attrs := map[string]value{}
	for _, x := range n.Named {
		if slices.ContainsFunc(c.Slots, func(y task.CalleeSlot) bool { return y.Name == x.Name }) {
			tensors[x.Name] = e.operand(x.X, s)
		} else {
			attrs[x.Name] = e.value(x.X, s, false)
		}
	}
	for _, x := range c.Attrs {
		if _, given := attrs[x.Name]; given {
			continue
		}
		attrs[x.Name] = value{}
		if x.Default != "" {
			d := json.NewDecoder(strings.NewReader(x.Default))
			d.UseNumber()
			var v any
			if err := d.Decode(&v); err != nil {
				fail("%s: %v", x.Name, err)
			}
			attrs[x.Name] = decoded(v)
		}
	}
	source := strings.Join(c.Formula, "\n")
	f, errs := expr.ParseFormula(source)
	if len(errs) > 0 {
		fail("%s: %s", n.Func, errs[0].Message)
	}
	use := &Use{Type: e.use.Type, MaxSteps: e.use.MaxSteps, Step: e.use.Step}
	in := use.evaluation(f)
	in.steps, in.depth, in.attrs = e.steps, e.depth, attrs
	in.callees = e.callees
	if len(c.Callees) > 0 {
		in.callees = calleesOf(c.Callees)
	}
	for _, x := range c.Slots {
		in.slots[x.Name], in.elements[x.Name] = &Slot{Name: x.Name, Shape: x.Shape}, elementsOf(x.Shape)
		if a := tensors[x.Name]; a != nil {
			in.arrays[x.Name], in.slots[x.Name].Tensors = []*array{a}, []*Tensor{{}}
			if x.Role == task.RoleInput {
				in.match(c, x.Name, attrs, a.shape)
			}
		}
	}
	for _, d := range c.Dims {
		v := in.expression(d.Is)
		if v.kind == integer {
			in.setDim(d.Name, int(v.i), false)
		} else {
			dims := []int{}
			for _, it := range v.items() {
				dims = append(dims, int(it.i))
			}
			in.setDim(d.Name, dims, false)
		}
	}
	for _, x := range c.Slots {
		there := x.Present == "" || x.Present == "caller" && (x.Name == output || tensors[x.Name] != nil)
		if x.Present != "" && x.Present != "caller" {
			there = in.expression(x.Present).truth()
		}
		if x.Role != task.RoleInput && x.Role != task.RoleWeight && there {
			a := &Tensor{Type: dtype.F64, Shape: in.shapeOf(in.elements[x.Name], &scope{})}
			in.slots[x.Name].Tensors = []*Tensor{a}
		}
	}
	in.gradients(f, nil)
	in.runInlined(f, source)
	e.steps = in.steps
	return in
}

// runInlined computes the statements. The kinds of what they give follow from the values.
func (e *evaluation) runInlined(f *expr.Formula, source string) {
	for _, s := range e.slots {
		for _, t := range s.Tensors {
			if t.Type == dtype.F64 && len(e.arrays[s.Name]) == 0 {
				for _, st := range f.Statements {
					for _, target := range st.Targets {
						if nameOf(target) == s.Name && strings.HasPrefix(kindName(st.X), "arg") {
							t.Type = dtype.I64
						}
					}
				}
			}
		}
	}
	e.run(f, source)
}

// kindName returns the kind of a reduction, or nothing.
func kindName(n expr.Node) string {
	if r, ok := n.(*expr.Reduce); ok {
		return r.Kind.String()
	}
	return ""
}

// operand returns the tensor that an argument is.
func (e *evaluation) operand(n expr.Node, s *scope) *array {
	switch n := n.(type) {
	case *expr.Ident:
		if a := e.arrays[n.Name]; len(a) == 1 {
			return a[0]
		}
		fail("want a tensor, got %s", n.Name)
	case *expr.Call:
		return e.output(n, "", s)
	}
	fail("want the name of a tensor or an operator that is applied to one")
	return nil
}

// expression returns the value of an expression of a spec.
func (e *evaluation) expression(text string) value {
	n, err := expr.Parse(text)
	if err != nil {
		fail("%v", err)
	}
	return e.value(n, &scope{}, true)
}

// match gives the dimensions in the shape of an input their values.
func (e *evaluation) match(c *callee, name string, attrs map[string]value, dims []int) {
	elements := e.elements[name]
	lengths, spare := make([]int, len(elements)), len(dims)
	for i, x := range elements {
		lengths[i] = 1
		if x.run {
			lengths[i] = -1
			if v, known := e.dimension(x.node); known {
				lengths[i] = len(v.items())
			}
		}
		spare -= max(lengths[i], 0)
	}
	front := -1
	for _, x := range c.Attrs {
		for _, el := range elements {
			id, ok := el.node.(*expr.Ident)
			if ok && !el.run && x.Binds != "" && id.Name == x.Binds {
				if front = int(attrs[x.Name].integer()); front < 0 {
					front += len(dims)
				}
			}
		}
	}
	open := 0
	for _, n := range lengths {
		if n < 0 {
			open++
		}
	}
	at := 0
	for i, x := range elements {
		n := lengths[i]
		if n < 0 {
			if n = spare; open == 2 {
				n = front
			}
			spare, open = spare-n, open-1
		}
		if at+n > len(dims) || n < 0 {
			fail("%s has not %d dimensions", name, len(dims))
		}
		if id, ok := x.node.(*expr.Ident); ok && id.Name != "_" {
			if _, known := e.dimension(x.node); !known && x.run {
				e.setDim(id.Name, dims[at:at+n], false)
			} else if !known {
				e.setDim(id.Name, dims[at], false)
			}
		}
		at += n
	}
}

// dimension returns the value of a dimension, if it has one.
func (e *evaluation) dimension(n expr.Node) (value, bool) {
	id, ok := n.(*expr.Ident)
	if !ok {
		return value{}, false
	}
	if v, ok := e.values[id.Name]; ok {
		return v, true
	}
	v, ok := e.attrs[id.Name]
	return v, ok
}
