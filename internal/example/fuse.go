package example

import (
	"encoding/json"
	"strings"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/task"
)

// checkFusions proves, for each pair of operators that the spec fuses, that the fused operator computes the
// same outputs at an example.
func (t *trial) checkFusions(x *task.Example, c Choice, number int) {
	for i, f := range t.op.Fusions {
		other := t.others[f.Other]
		if other == nil || len(other.Operator.Formula) == 0 || len(t.op.Operator.Formula) == 0 {
			continue
		}
		for _, attrs := range attrsOf(f.When) {
			for _, m := range f.Make {
				p, ok := t.pairOf(f, x, c, other, attrs, m.Other)
				if !ok {
					continue // the example does not fit the pair
				}
				t.proveFusion(t.spec.Fusions[i].Key, p, m, number)
			}
		}
	}
}

// attrsOf returns all combinations of the attribute values of the other operator for which a pair is fused.
func attrsOf(when []task.FusionWhen) []map[string]any {
	out := []map[string]any{{}}
	for _, w := range when {
		var next []map[string]any
		for _, v := range valuesOf(w) {
			for _, m := range out {
				with := map[string]any{w.Attr: v}
				for name, x := range m {
					with[name] = x
				}
				next = append(next, with)
			}
		}
		out = next
	}
	return out
}

// valuesOf returns the values of an attribute for which a pair is fused.
func valuesOf(w task.FusionWhen) []any {
	var values []any
	d := json.NewDecoder(strings.NewReader(w.Values))
	d.UseNumber()
	_ = d.Decode(&values) // w.Values was encoded from values
	return values
}

// fusedPair is a pair of operators and the fused operator that replaces it, at an example.
type fusedPair struct {
	pair   *program.Pair
	fused  *program.Use
	output string // the output slot of the other operator
}

// pairOf instantiates a fusion at an example, with the attributes that the fusion requires. ok is false if
// shapes or attributes do not fit.
func (t *trial) pairOf(f model.Fusion, x *task.Example, c Choice, other *model.Operator, attrs map[string]any, output string) (p fusedPair, ok bool) {
	before, after := decodedObject(x.Attrs), decodedObject(x.Attrs)
	for _, name := range f.Absent {
		delete(before, name)
		delete(after, name)
	}
	for _, w := range f.Own {
		if v := valuesOf(w); len(v) > 0 {
			before[w.Attr], after[w.Attr] = v[0], v[0]
		}
	}
	for name, v := range decodedObject(f.Set) {
		delete(before, name)
		if b, isBool := v.(bool); isBool {
			before[name] = !b
		}
		after[name] = v
	}
	for _, copied := range f.Copy {
		delete(before, copied.Attr)
		after[copied.Attr] = attrs[copied.From]
	}
	c.Request = true
	first, second := t.useWith(before, x, c), t.useWith(after, x, c)
	if first.err != nil || second.err != nil {
		return p, false
	}
	p = fusedPair{fused: second.result(), output: output}
	p.pair = &program.Pair{Use: first.result(), Other: model.CalleeOf(other, other.FullName(), t.op), Attrs: attrs, Tensors: map[string]string{}, Shapes: map[string][]int{}, Output: output}
	for _, s := range f.Share {
		p.pair.Tensors[s.Other] = t.op.Slots[s.Own].Name
		if tensors := second.tensors[s.Own]; len(tensors) > 0 {
			p.pair.Shapes[t.op.Slots[s.Own].Name] = tensors[0].Shape
		}
	}
	return p, true
}

// useWith returns the use of an example with other attributes.
func (t *trial) useWith(attrs map[string]any, x *task.Example, c Choice) *use {
	text, _ := json.Marshal(attrs) // attrs were decoded from JSON
	return newUse(t.op, &task.Example{Attrs: string(text), Shapes: x.Shapes}, c)
}

// decodedObject decodes a JSON object. The result is empty for an empty text.
func decodedObject(text string) map[string]any {
	out := map[string]any{}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&out) // text is empty or was encoded from an object
	return out
}

// proveFusion compares an output of the pair with the output of the fused operator that replaces it, as
// terms in which all definitions are inlined.
func (t *trial) proveFusion(at source.Span, p fusedPair, m task.FusionSlot, number int) {
	pair, id, err := p.pair.Build()
	if err != nil {
		t.report(at, "the pair of %s and %s cannot be computed in example %d: %v", t.op.Name, p.pair.Other.Name, number, err)
		return
	}
	fused, err := program.Build(p.fused)
	if err != nil {
		return // Build of the example itself fails, too, and reports the error
	}
	own, there := fused.Tensor(t.op.Slots[m.Own].Name)
	if !there {
		return
	}
	x, y, equal := derive.Equal(pair, id, fused, own)
	if equal {
		return
	}
	if d := t.report(at, "it does not follow from the formulas that %s makes what the pair makes, in example %d", t.op.Name, number); d != nil && x != nil && y != nil {
		d.Hinted("the pair makes %v, and %s makes %v", x, t.op.Slots[m.Own].Name, y)
	}
}
