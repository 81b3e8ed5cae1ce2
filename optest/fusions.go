package optest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/fuse"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// Fusions applies every fusion of every operator to every example that it fits, with every value that its
// conditions allow. It fuses forward alone, with gradients of both operators, and with gradients of the first
// operator alone. Results of the fused program must be within the tolerance that the spec states.
func (k *Kit) Fusions(t *testing.T) {
	for _, o := range k.operators {
		if reason, ok := k.config.skips[skip{"Fusions", k.title(&o.Operator)}]; ok {
			t.Run(k.title(&o.Operator), func(t *testing.T) { t.Skip(reason) })
			continue
		}
		for i := range o.Fusions {
			k.fusion(t, o, &o.Fusions[i])
		}
	}
}

// fusion checks one fusion of an operator.
func (k *Kit) fusion(t *testing.T, o *graph.Operator, rule *task.Fusion) {
	t.Helper()
	other := k.partner(rule)
	if other == nil {
		t.Errorf("operator %s, fusion %s: want operator %s in the kit or among Partners, got none", k.title(&o.Operator), rule.Name, rule.Other)
		return
	}
	fitted, all := 0, true
	for i := range o.Examples {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			for _, when := range choices(t, rule) {
				ran := false
				t.Run(fmt.Sprintf("%s/%s/%d/%v/%s", k.title(&o.Operator), rule.Name, i, typ, when), func(t *testing.T) {
					ran = true
					if k.fusePair(t, o, other, rule, i, typ, when) {
						fitted++
					}
				})
				all = all && ran
			}
		}
	}
	if fitted == 0 && all {
		t.Errorf("operator %s: want an example that fits fusion %s, got none", k.title(&o.Operator), rule.Name)
	}
}

// partner returns the other operator of a fusion, or nil.
func (k *Kit) partner(rule *task.Fusion) *graph.Operator {
	for _, o := range slices.Concat(k.operators, k.config.partners) {
		if o.FullName() == rule.Other {
			return o
		}
	}
	return nil
}

// choices returns the attributes of the other operator under which a fusion applies, as JSON objects.
func choices(t *testing.T, rule *task.Fusion) []string {
	t.Helper()
	all := []map[string]json.RawMessage{{}}
	for _, w := range rule.When {
		var values []json.RawMessage
		if err := json.Unmarshal([]byte(w.Values), &values); err != nil {
			t.Fatal(err)
		}
		var next []map[string]json.RawMessage
		for _, a := range all {
			for _, v := range values {
				b := map[string]json.RawMessage{w.Attr: v}
				for k, v := range a {
					b[k] = v
				}
				next = append(next, b)
			}
		}
		all = next
	}
	var out []string
	for _, a := range all {
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}

// before returns attributes of an example under which a fusion applies. An attribute that the fusion changes
// is absent, or has the opposite value if it is boolean.
func before(t *testing.T, op *graph.Operator, rule *task.Fusion, example string) task.Attrs {
	t.Helper()
	at, set := map[string]any{}, map[string]any{}
	if err := errors.Join(json.Unmarshal([]byte(example), &at), json.Unmarshal([]byte(cmp.Or(rule.Set, "{}")), &set)); err != nil {
		t.Fatal(err)
	}
	for name, v := range set {
		if b, ok := v.(bool); ok {
			at[name] = !b
		} else {
			delete(at, name)
		}
	}
	for _, c := range rule.Copy {
		delete(at, c.Attr)
	}
	for _, name := range rule.Absent {
		delete(at, name)
	}
	for _, w := range rule.Own {
		var values []any
		if err := json.Unmarshal([]byte(w.Values), &values); err != nil {
			t.Fatal(err)
		}
		at[w.Attr] = values[0]
	}
	data, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	attrs, err := op.DecodeAttrs(data)
	if err != nil {
		t.Fatal(err)
	}
	return attrs
}

// fusePair builds the pair that a fusion replaces, and compares programs of the pair with their fused
// programs. It returns false if the shapes of the example do not fit the other operator.
func (k *Kit) fusePair(t *testing.T, op, other *graph.Operator, rule *task.Fusion, example int, typ dtype.Type, when string) bool {
	x := op.Examples[example]
	attrs := before(t, op, rule, x.Attrs)
	theirs, err := other.DecodeAttrs([]byte(when))
	if err != nil {
		t.Fatal(err)
	}
	types := make([]dtype.Type, len(op.Types))
	for i, v := range op.Types {
		types[i] = v.Types[0]
		if dtype.Contains(v.Types, typ) {
			types[i] = typ
		}
	}
	passed, err := x.Passed(&op.Operator)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{sample: sample{kit: k, check: "Fusions", example: example, op: op, attrs: attrs, types: types, shapes: x.Shapes, passed: passed, counts: x.Counts}, g: graph.New(1), seeds: map[graph.Tensor]graph.Tensor{}}
	draw := &drawing{sample: f.sample, domain: domains[0], rng: rand.New(rand.NewPCG(7, 11)), drawn: values{}}
	inputs := map[int]graph.Tensor{}
	f.node = f.apply(f.g, "n", func(slot, k int, o task.Operand) graph.Tensor {
		inputs[slot] = f.g.Input(fmt.Sprintf("%s.%d", op.Slots[slot].Name, k), o.Type, o.Shape...)
		return inputs[slot]
	})
	if err := f.g.Err(); err != nil {
		t.Fatal(err)
	}
	changed, err := task.Override(&op.Operator, attrs, []byte(cmp.Or(rule.Set, "{}")))
	if err != nil {
		t.Fatal(err)
	}
	after, err := task.Resolve(&op.Operator, changed, f.node.Resolved.Given())
	if err != nil {
		t.Fatal(err)
	}
	in := graph.Insert[int](f.g, 0, other, theirs, graph.Named("m"))
	var more []graph.Tensor
	for _, s := range rule.Share {
		shared := f.node.Tensor(s.Own)
		if !shared.Valid() { // the slot is bound only after the fusion
			o := after.Operands(s.Own)[0]
			shared = f.g.Input("shared "+s.Other, o.Type, o.Shape...)
			more = append(more, shared)
		}
		in.Bind(other.SlotNamed(s.Other), shared)
	}
	m := in.Node()
	if f.g.Err() != nil {
		return false
	}
	for i := range op.Slots {
		for _, x := range f.node.Tensors(i) {
			switch role := op.Slots[i].Role; {
			case role == task.RoleInput:
				draw.tensor(x, f.node.Resolved, i)
			case role == task.RoleWeight:
				draw.tensor(x, nil, i)
			}
			if op.Slots[i].Trainable && x.Type().IsFloat() {
				f.wrt = append(f.wrt, x)
			}
		}
	}
	for _, x := range more {
		draw.tensor(x, nil, -1)
		f.wrt = append(f.wrt, x)
	}
	between := map[graph.Tensor]bool{} // outputs of the first operator that the other reads
	for _, s := range rule.Share {
		between[f.node.Tensor(s.Own)] = op.Slots[s.Own].Role == task.RoleOutput
	}
	seeds := func(n *graph.Node) map[graph.Tensor]graph.Tensor {
		out := map[graph.Tensor]graph.Tensor{}
		for i := range n.Op.Slots {
			for _, y := range n.Tensors(i) {
				if n.Op.Slots[i].Role != task.RoleOutput || between[y] {
					continue
				}
				f.results = append(f.results, y)
				out[y] = f.g.Input("seed of "+y.Name(), y.Type(), y.Shape()...)
				draw.tensor(out[y], nil, -1)
			}
		}
		return out
	}
	both := seeds(m)
	own := seeds(f.node)
	for y, s := range own {
		both[y] = s
	}
	f.values = draw.values()
	f.same(t, rule, f.forward(t))
	p, _ := f.backward(t, both, f.wrt)
	f.same(t, rule, p)
	if !between[f.node.Tensor(rule.Share[0].Own)] {
		p, _ = f.backward(t, own, f.wrt)
		f.same(t, rule, p)
	}
	return true
}

// same fuses a program, and compares what the two programs compute.
func (f *fixture) same(t *testing.T, rule *task.Fusion, p *graph.Program) {
	t.Helper()
	fused, done, err := fuse.Program(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(done) != 1 || done[0].Rule != rule || done[0].String() != "n + m ("+rule.Name+")" {
		t.Fatalf("program %s: want the fusion n + m (%s), got %v", p.Name, rule.Name, done)
	}
	if slices.ContainsFunc(fused.Steps, func(s graph.Step) bool { return s.Invocation != nil && s.Invocation.Node.Name == "m" }) {
		t.Errorf("program %s: want a fused program without node m, got one with it", p.Name)
	}
	want, got := f.run(t, p, f.values, Execution{}), f.run(t, fused, f.values, Execution{Workers: 2})
	for name, w := range want {
		var largest float64
		for _, v := range w {
			largest = max(largest, math.Abs(v))
		}
		for i, v := range w {
			if g := got[name][i]; g != v && !(math.Abs(g-v) <= rule.Tolerance*largest) {
				t.Errorf("%s: element %d of %s is %v, want %v within %v", p.Name, i, name, g, v, rule.Tolerance*largest)
			}
		}
	}
}
