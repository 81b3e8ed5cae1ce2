package check

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// example checks an example: the shapes of inputs, the numbers of outputs, the attributes and what the caller
// passes.
func (o *operator) example(x *spec.Example) {
	have := map[string]bool{}
	for _, e := range x.Inputs {
		have[e.Key] = true
		if slices.ContainsFunc(o.s.Dims, func(l *spec.Let) bool { return l.Name == e.Key && l.Func.Set() }) {
			o.exampleShape(e.Key, e.Value)
			continue
		}
		p := slices.IndexFunc(o.s.Slots, func(s *spec.Slot) bool { return s.Name == e.Key })
		if p >= 0 && !slices.Contains(spec.Roles, o.s.Slots[p].Role.V) {
			continue
		}
		if p >= 0 && o.s.Slots[p].Asked() {
			o.exampleCount(o.s.Slots[p], e)
			continue
		}
		if p < 0 || o.s.Slots[p].Role.V != "input" && o.s.Kind != spec.Initializer {
			d := o.list.Add(diag.BadExample, e.KeySpan, "there is no input %s", e.Key)
			candidates := []string{"attrs", "args"}
			for _, p := range o.sc.Inputs {
				candidates = append(candidates, p.Slot.Name)
			}
			if n := d.Nearest(e.Key, candidates); n != "" {
				have[n] = true
			}
			continue
		}
		if o.s.Slots[p].Variadic == nil {
			o.exampleShape(e.Key, e.Value)
		} else if list, ok := e.Value.(*source.Array); ok {
			for _, n := range list.Elems {
				if s, is := n.(*source.Scalar); is && s.Value == "absent" && o.s.Slots[p].Variadic.Optional.V {
					continue
				}
				o.exampleShape(e.Key, n)
			}
		} else {
			o.list.Add(diag.BadExample, source.SpanOf(e.Value), "%s: want a list of shapes, got %s", e.Key, english.Article(source.Kind(e.Value)))
		}
	}
	if !x.Bad && !have["attrs"] {
		o.given(o.s, x.Attrs, x.Span, diag.BadExample)
	}
	if !x.Bad && !have["args"] {
		o.exampleArgs(x)
	}
	for _, l := range o.s.Dims {
		if l.Func.Set() && !have[l.Name] {
			o.list.Add(diag.BadExample, x.Span, "the example does not say what %s is, which a Go function computes", l.Name).
				Hinted("write its extents: %s = [...]; opgen runs no code of the module", l.Name)
		}
	}
	for _, s := range o.s.Slots {
		if s.Asked() && s.Variadic.Min.V > 0 && !have[s.Name] {
			o.list.Add(diag.BadExample, x.Span, "the example does not say how many tensors of %s the caller asks for", s.Name).
				Hinted("write a number: %s = %d", s.Name, s.Variadic.Min.V)
		}
	}
	for _, p := range o.sc.Inputs {
		if !p.Slot.Present.Set() && !p.Slot.MaybeEmpty() && !have[p.Slot.Name] {
			o.list.Add(diag.BadExample, x.Span, "the example gives no shape for %s", p.Slot.Name)
		}
	}
}

// exampleCount checks how many tensors of an output the caller asks for in an example.
func (o *operator) exampleCount(s *spec.Slot, e *source.Entry) {
	at, ok := e.Value.(*source.Scalar)
	n, isInt := int64(0), false
	if ok {
		n, isInt = at.Value.(int64)
	}
	if least, most := rules.Limits(o.s, s.Variadic); !isInt || n < int64(least) || n > int64(most) {
		want := fmt.Sprintf("at least %d", least)
		if most != task.Unbounded {
			want = fmt.Sprintf("from %d to %d", least, most)
		}
		o.list.Add(diag.BadExample, source.SpanOf(e.Value), "%s: want the number of tensors that the caller asks for, %s", s.Name, want)
	}
}

// exampleShape checks the shape of a tensor in an example.
func (o *operator) exampleShape(slot string, n source.Node) {
	arr, ok := n.(*source.Array)
	if !ok {
		o.list.Add(diag.BadExample, source.SpanOf(n), "%s: want the extents of a shape, got %s", slot, english.Article(source.Kind(n)))
		return
	}
	for _, e := range arr.Elems {
		s, ok := e.(*source.Scalar)
		v, isInt := int64(0), false
		if ok {
			v, isInt = s.Value.(int64)
		}
		if !isInt || v < 0 {
			o.list.Add(diag.BadExample, source.SpanOf(e), "%s: want extents of 0 or more", slot)
			return
		}
	}
}
