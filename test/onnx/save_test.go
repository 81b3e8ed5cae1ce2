package onnx

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// example is an operator that is applied as an example of its spec says, with values for what is fed and for
// variables.
type example struct {
	program *graph.Program
	values  map[string]safetensors.Tensor
}

// choices lists choices of element types for an operator: 32 bits first, and then those of 64 bits.
func choices(o *graph.Operator) (out [][]dtype.Type) {
	for _, prefer := range [][]dtype.Type{{dtype.F32, dtype.I64, dtype.I32}, {dtype.F32, dtype.I32, dtype.I64}, {dtype.F64, dtype.I64}, {dtype.I64}} {
		var types []dtype.Type
		for _, v := range o.Types {
			types = append(types, v.Types[0])
			for _, t := range slices.Backward(prefer) {
				if slices.Contains(v.Types, t) {
					types[len(types)-1] = t
				}
			}
		}
		out = append(out, types)
	}
	return out
}

func newExample(o *graph.Operator, x *task.Example) (*example, error) {
	var first error
	for _, types := range choices(o) {
		e, err := newExampleOf(o, x, types)
		if err == nil {
			return e, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

func newExampleOf(o *graph.Operator, x *task.Example, types []dtype.Type) (*example, error) {
	attrs, err := o.DecodeAttrs([]byte(x.Attrs))
	if err != nil {
		return nil, err
	}
	g := graph.New(1)
	in := graph.Insert[int](g, 0, o, attrs, graph.Named("node"))
	for i := range o.Slots {
		slot := &o.Slots[i]
		if n, ok := x.Counts[slot.Name]; ok {
			in.Ask(i, n)
		}
		typ, err := dtype.Parse(slot.Type)
		if k := slices.IndexFunc(o.Types, func(v task.TypeVar) bool { return v.Name == slot.Type }); err != nil && k >= 0 {
			typ = types[k]
		}
		if slot.Role != task.RoleInput && !slot.Provided {
			continue
		}
		dims, ok := x.Shapes[slot.Name]
		for k := 0; ok || k == 0; k++ {
			if ok {
				in.Bind(i, g.Input(fmt.Sprintf("%s.%d", slot.Name, k), typ, dims...))
			}
			dims, ok = x.Shapes[fmt.Sprintf("%s.%d", slot.Name, k)]
		}
	}
	passed, err := x.Passed(&o.Operator)
	if err != nil {
		return nil, err
	}
	for slot, values := range passed {
		in.BindArg(slot, values...)
	}
	n := in.Node()
	if err := g.Err(); err != nil {
		return nil, err
	}
	e := &example{values: map[string]safetensors.Tensor{}}
	rng := rand.New(rand.NewPCG(3, 5))
	var outputs []graph.Tensor
	for i := range o.Slots {
		for _, y := range n.Tensors(i) {
			switch o.Slots[i].Role {
			case task.RoleInput, task.RoleWeight:
				e.values[y.Name()] = draw(rng, n, i, y)
			case task.RoleOutput:
				if o.Slots[i].AuxLoss {
					continue
				}
				outputs = append(outputs, y)
			}
		}
	}
	if len(outputs) == 0 {
		return nil, errors.New("want outputs")
	}
	e.program, err = graph.Inference(g, outputs...)
	return e, err
}

// draw draws values for a tensor of a slot. Floating-point numbers lie between 0.1 and 0.9.
func draw(rng *rand.Rand, n *graph.Node, slot int, y graph.Tensor) safetensors.Tensor {
	size := y.Type().Size()
	t := safetensors.Tensor{Type: y.Type(), Shape: y.Shape(), Data: make([]byte, size*y.Elements())}
	bound, bounded := n.Resolved.Bound(slot)
	for i := range y.Elements() {
		var v float64
		switch {
		case y.Type().IsFloat():
			v = 0.1 + 0.8*rng.Float64()
		case y.Type() == dtype.Bool:
			v = float64(rng.IntN(2))
		case bounded:
			v = float64(bound.Draw(rng.IntN))
		case n.Op.Slots[slot].Name == "index":
			v = float64(rng.IntN(2)) // within each axis: ONNX does not say what is at an index out of range
		default:
			v = float64(1 + rng.IntN(2)) // a divisor or an exponent
		}
		y.Type().PutFloat64(t.Data[i*size:], v)
	}
	return t
}

// run runs a program once with the values of its variables and of what is fed.
func run(registry *task.Registry, p *graph.Program, fetch []graph.Tensor, fed, variables map[string]safetensors.Tensor) (out []safetensors.Tensor, err error) {
	e := engine.New(registry, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	l := &loaded{engine: e, outputs: fetch}
	plan, err := planner.Build(p, e.Options()...)
	if err == nil {
		l.instance, err = e.Load(plan)
	}
	for _, v := range p.Variables {
		if err == nil {
			err = e.SetVariableBytes(v.Name(), variables[v.Name()].Data)
		}
	}
	for _, x := range p.Fed {
		if err == nil {
			err = l.instance.FeedBytes(x.Name(), fed[x.Name()].Data)
		}
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return l.run()
}

// saved returns the program of an example as a file of ONNX.
func (e *example) saved() ([]byte, error) {
	var b bytes.Buffer
	err := onnx.Save(&b, target, e.program, e.values)
	return b.Bytes(), err
}

// reread runs a file.
func (e *example) reread(registry *task.Registry, data []byte) ([]safetensors.Tensor, error) {
	m, err := onnx.Read(data, target)
	if err != nil {
		return nil, err
	}
	g := graph.New(1)
	inputs := map[string]graph.Tensor{}
	for _, p := range m.Inputs() {
		inputs[p.Name] = g.Input(p.Name, p.Type, p.Extents...)
	}
	net, err := m.Insert(g, inputs)
	if err != nil {
		return nil, err
	}
	p, err := graph.Inference(g, net.Outputs...)
	if err != nil {
		return nil, err
	}
	return run(registry, p, net.Outputs, e.values, net.Variables)
}

// savedExamples saves the examples of the catalogue and calls f for each, with the file or the error.
func savedExamples(f func(o *graph.Operator, number int, e *example, data []byte, err error)) {
	for _, o := range catalogue.Operators() {
		for i := range o.Examples {
			if e, err := newExample(o, &o.Examples[i]); err == nil && o.Main().Kind == task.KindForward {
				data, err := e.saved()
				f(o, i, e, data, err)
			}
		}
	}
}

// writeSaved lists the operators whose examples are saved.
func writeSaved(b *bytes.Buffer) {
	whole, part, none := []string{}, []string{}, []string{}
	saved, all := map[string]int{}, map[string]int{}
	savedExamples(func(o *graph.Operator, number int, e *example, data []byte, err error) {
		all[o.Name]++
		if err == nil {
			saved[o.Name]++
		}
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		link := fmt.Sprintf("[%s](operators/%s.md)", name, name)
		switch saved[name] {
		case 0:
			none = append(none, name)
		case all[name]:
			whole = append(whole, link)
		default:
			part = append(part, fmt.Sprintf("%s (%d of %d)", link, saved[name], all[name]))
		}
	}
	fmt.Fprintf(b, `
## What is saved

`+"`onnx.Save`"+` writes graphs of these %d operators, of %d that compute something ([decision 151](adr/0151-saved-as-onnx.md)). Each of their examples is saved and read again, and gives the same outputs. ONNX Runtime 1.30
gives them, too, within 1e-5 of the largest, and so it does for networks that people use, once they were loaded and saved, and for those of the examples digits and charlm (make onnx-runtime). It lacks a kernel of Swish, and infers no shape
of an Einsum whose ellipsis is repeated.

All examples: %s.

Some examples: %s.

Operators that are refused: %s.
`, len(whole)+len(part), len(all), strings.Join(whole, ", "), strings.Join(part, ", "), strings.Join(none, ", "))
}

// TestSave saves each example of the catalogue's operators that ONNX can say, reads it again, and compares
// the outputs. What is refused is refused by name, and nothing is written.
func TestSave(t *testing.T) {
	registry := &task.Registry{}
	if err := catalogue.Register(registry); err != nil {
		t.Fatal(err)
	}
	saved := 0
	savedExamples(func(o *graph.Operator, number int, e *example, data []byte, err error) {
		t.Run(fmt.Sprintf("%s/%d", o.Name, number), func(t *testing.T) {
			if err != nil {
				refused := (*onnx.NotSaved)(nil)
				if !errors.As(err, &refused) || refused.Operator != o.Name || refused.Node != "node" || refused.Missing == "" || len(data) > 0 {
					t.Errorf("want an error with operator, node and what is missing, and no file, got %v and %d bytes", err, len(data))
				}
				t.Log(err)
				return
			}
			saved++
			want, err := run(registry, e.program, e.program.Fetched, e.values, e.values)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.reread(registry, data)
			if err != nil {
				t.Fatal(err)
			}
			for k := range want {
				if d := different(got[k], want[k], 1e-5, 1e-6*largest(want[k])); d != "" {
					t.Errorf("output %d: %s", k, d)
				}
			}
		})
	})
	if saved < 200 {
		t.Errorf("want at least 200 examples saved, got %d", saved)
	}
}
