package graph

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/task"
)

// initializer gives a variable its first value.
type initializer struct {
	op    *Operator
	attrs task.Attrs
	seed  int
}

// seedOf returns the seed of the random numbers of a node or a weight: it differs from those of others, and stays the same
// when others are added.
func (g *Graph) seedOf(name string) int {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", g.seed, name)
	return int(h.Sum64() & math.MaxInt32)
}

// initializer returns the initializer of a weight.
func (g *Graph) initializer(op *Operator, attrs, weight string) (*initializer, error) {
	if op == nil {
		return nil, errors.New("want an initializer, got none")
	}
	a, err := op.DecodeAttrs([]byte(attrs))
	if err != nil {
		return nil, err
	}
	return &initializer{op, a, g.seedOf(weight)}, nil
}

// Initialization returns the program that gives the variables of programs their first values. Of
// variables of one name, which are shared, the first is initialized.
func Initialization(programs ...*Program) (*Program, error) {
	p := &Program{Name: "initialization"}
	seen := map[string]Tensor{}
	for _, q := range programs {
		if q == nil {
			return nil, errors.New("graph: want a program, got nil")
		}
		for _, v := range q.Variables {
			if first, ok := seen[v.name]; ok {
				if first.Type() != v.Type() || !slices.Equal(first.Shape(), v.Shape()) {
					return nil, fmt.Errorf("variable %s: want %v, as in another program, got %v", v.name, first.operand, v.operand)
				}
				continue
			}
			seen[v.name] = v
			if v.source.Valid() {
				p.Steps = append(p.Steps, Step{Phase: Initialize, Copy: &Copy{To: v, From: v.source}})
				continue
			}
			if v.init == nil { // a sum of gradients
				p.Steps = append(p.Steps, Step{Phase: Initialize, Fill: &Fill{Tensor: v}})
				continue
			}
			n, err := v.init.node(v)
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.name, err)
			}
			inv, err := n.Invoke()
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.name, err)
			}
			p.Steps = append(p.Steps, Step{Phase: Initialize, Invocation: inv})
		}
	}
	p.collect()
	return p, nil
}

// node returns a node of the initializer whose output is the variable v.
func (in *initializer) node(v Tensor) (*Node, error) {
	out := slices.IndexFunc(in.op.Slots, func(s task.Slot) bool { return s.Provided })
	if out < 0 {
		return nil, fmt.Errorf("operator %s: want an output that the caller provides, as an initializer has", in.op.FullName())
	}
	given := task.NoneGiven(&in.op.Operator)
	given.Operands[out] = []task.Operand{v.operand}
	res, err := task.Resolve(&in.op.Operator, in.attrs, given)
	if err != nil {
		return nil, err
	}
	n := &Node{Op: in.op, Name: v.name, Attrs: in.attrs, Resolved: res, Device: v.device, Seed: in.seed, slots: make([][]Tensor, len(in.op.Slots))}
	n.slots[out] = []Tensor{v}
	return n, nil
}
