package graph

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// initializer computes the initial value of a variable.
type initializer struct {
	op    *Operator
	attrs task.Attrs
	seed  int
}

// seedOf returns the seed of a node or weight: a hash of the graph's seed and the name, so that it does not
// depend on other nodes.
func (g *Graph) seedOf(name string) int {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", g.seed, name)
	return int(h.Sum64() & math.MaxInt32)
}

// initializer returns the initializer of a weight, from its JSON attributes.
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

// Init overrides the initializer of a weight: op with attrs, such as normal.Operator with attributes of
// package normal, replaces the spec's. A weight that several programs share by name is initialized once, as
// in the first program.
func Init[S ~int](slot S, op *Operator, attrs task.Attrs) Option {
	return func(o *options) {
		choose(o, "Init", slot)
		if o.inits == nil {
			o.inits = map[int]initializer{}
		}
		o.inits[int(slot)] = initializer{op: op, attrs: attrs}
	}
}

// checkInits returns an error if Init names a slot that is not a weight that the node owns.
func (in *insertion) checkInits() error {
	for _, slot := range sorted(in.opts.inits) {
		if slot < 0 || slot >= len(in.op.Slots) {
			return &op.Error{Operator: in.op.FullName(), Want: "a weight for Init", Got: in.op.SlotName(slot)}
		}
		s := &in.op.Slots[slot]
		if s.Role != task.RoleWeight {
			return &op.Error{Operator: in.op.FullName(), Slot: s.Name, Want: "a weight for Init", Got: "one of role " + s.Role.String()}
		}
		if _, shared := in.opts.weights[slot]; shared {
			return &op.Error{Operator: in.op.FullName(), Slot: s.Name, Want: "either Init or Weight", Got: "both"}
		}
	}
	return nil
}

// initializer returns the initializer of a weight of the node: that of Init, or else the spec's.
func (in *insertion) initializer(slot int, o task.Operand, weight string) (*initializer, error) {
	given, ok := in.opts.inits[slot]
	if !ok {
		return in.g.initializer(in.op.Initializers[slot], in.op.Slots[slot].Init.Attrs, weight)
	}
	if given.op == nil {
		return nil, errors.New("Init: want an initializer, got nil")
	}
	given.seed = in.g.seedOf(weight)
	_, _, err := given.resolve(o)
	return &given, err
}

// Initialization returns the program that initializes the variables of programs. Variables with the same
// name are shared; the first one is initialized.
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
			steps, err := v.steps()
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.name, err)
			}
			p.Steps = append(p.Steps, steps...)
		}
	}
	p.collect()
	return p, nil
}

// node returns a node that applies the initializer to the variable v.
func (in *initializer) node(v Tensor) (*Node, error) {
	out, res, err := in.resolve(v.operand)
	if err != nil {
		return nil, err
	}
	n := &Node{Op: in.op, Name: v.name, Attrs: in.attrs, Resolved: res, Device: v.device, Seed: in.seed, slots: make([][]Tensor, len(in.op.Slots))}
	n.slots[out] = []Tensor{v}
	return n, nil
}

// resolve infers the initializer's shapes for a variable of the given type and shape, and returns the slot
// of the variable.
func (in *initializer) resolve(o task.Operand) (out int, res *task.Resolution, err error) {
	out = slices.IndexFunc(in.op.Slots, func(s task.Slot) bool { return s.Provided })
	if out < 0 {
		return 0, nil, fmt.Errorf("operator %s: want an output that the caller provides, as an initializer has", in.op.FullName())
	}
	given := task.NoneGiven(&in.op.Operator)
	given.Operands[out] = []task.Operand{o}
	res, err = task.Resolve(&in.op.Operator, in.attrs, given)
	return out, res, err
}
