package program

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

// Pair is an operator in use and another operator, Other, that is applied to its tensors, as for a fusion of
// both.
type Pair struct {
	Use     *Use
	Other   task.Callee
	Attrs   map[string]any    // attributes of Other, as encoding/json decodes them with json.Number
	Tensors map[string]string // input slot of Other -> slot of Use
	Shapes  map[string][]int  // shapes of slots that are absent in Use but present in the pair
	Output  string            // the output slot of Other
}

// Build returns the program of both operators, and the tensor of Other's slot Output.
func (p *Pair) Build() (*Program, int, error) {
	b, err := build(p.Use)
	if err != nil {
		return nil, 0, err
	}
	parsed, err := Parse(p.Other.Formula)
	if err != nil {
		return nil, 0, err
	}
	a := &application{of: &callee{p.Other, parsed.formula}, tensors: map[string]int{}, attrs: map[string]value{}}
	for name, v := range p.Attrs {
		if v != nil {
			a.attrs[name] = decoded(v)
		}
	}
	for _, s := range p.Other.Slots {
		own, ok := p.Tensors[s.Name]
		if !ok {
			continue
		}
		id, ok := b.byName[own]
		if shape, known := p.Shapes[own]; !ok && known {
			l := &Local{Name: own, Kind: term.Real, Old: -1}
			for _, n := range shape {
				l.Shape = append(l.Shape, term.Number(n))
			}
			id, ok = b.program.Add(l), true
		}
		if !ok {
			return nil, 0, fmt.Errorf("there is no %s", own)
		}
		a.tensors[s.Name] = id
	}
	if err := a.defaults(); err != nil {
		return nil, 0, err
	}
	id, err := b.expand(a, p.Output)
	return b.program, id, err
}

// Tensor returns the tensor with a name: that of a slot (the first one if it is variadic), or an intermediate
// tensor. It returns false if there is none.
func (p *Program) Tensor(name string) (int, bool) {
	i := slices.IndexFunc(p.Tensors, func(l *Local) bool { return l.Name == name })
	return i, i >= 0
}
