package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// Option configures the insertion of a node.
type Option func(*options)

type options struct {
	name        string
	optional    map[int][]Tensor
	requests    []int
	constraints map[task.Kind][]partition.Constraint
	weights     map[int]Tensor
	inits       map[int]initializer
	passed      map[int][]any
	chosen      []choice
	by          uintptr
}

// InsertedBy sets the call to which errors of the node are attributed, as a program counter of
// runtime.Callers. Generated code uses it for nodes that another function inserts later.
func InsertedBy(call uintptr) Option { return func(o *options) { o.by = call } }

// choice is a slot that an option names: its number, and its name if it is a constant of an operator's
// package.
type choice struct {
	option string
	slot   int
	name   fmt.Stringer
}

// choose records the slot that an option names.
func choose[S ~int](o *options, option string, slot S) {
	name, _ := any(slot).(fmt.Stringer)
	o.chosen = append(o.chosen, choice{option, int(slot), name})
}

// checkChosen reports options with a slot constant of another operator. It returns false if there are
// errors.
func (in *insertion) checkChosen() bool {
	for _, c := range in.opts.chosen {
		if c.name == nil || c.slot < 0 || c.slot >= len(in.op.Slots) {
			continue // later checks validate a bare number
		}
		if name := c.name.String(); name != in.op.Slots[c.slot].Name {
			in.fail(fmt.Sprintf("a slot of this operator for %s", c.option), fmt.Sprintf("%T %s", c.name, name))
		}
	}
	return len(in.errs) == 0
}

// With binds an optional input, which is no parameter of Apply.
func With[S ~int](slot S, t Tensor) Option {
	return func(o *options) {
		choose(o, "With", slot)
		if o.optional == nil {
			o.optional = map[int][]Tensor{}
		}
		o.optional[int(slot)] = []Tensor{t}
	}
}

// Pass sets an argument of the call that has a default. Packages of operators have typed functions for it.
func Pass[S ~int](slot S, value any) Option {
	return func(o *options) {
		choose(o, "Pass", slot)
		if o.passed == nil {
			o.passed = map[int][]any{}
		}
		o.passed[int(slot)] = []any{value}
	}
}

// Request adds an optional output of the node, which is computed on request only.
func Request[S ~int](slot S) Option {
	return func(o *options) {
		choose(o, "Request", slot)
		o.requests = append(o.requests, int(slot))
	}
}

// Named sets the name of the node, which must be unique in the graph. The default is the operator's name and
// a number. Variables are named after their nodes. The plans of an engine share variables by name, so a
// second graph with the same names uses the same weights.
func Named(name string) Option { return func(o *options) { o.name = name } }

// Insertion builds a node, slot by slot. S is the operator's slot type, so that a slot of another operator
// does not compile; tools use int.
type Insertion[S ~int] struct{ in insertion }

// Insert begins a node of g. Errors carry the source line skip calls above the caller.
func Insert[S ~int](g *Graph, skip int, op *Operator, attrs task.Attrs, opts ...Option) *Insertion[S] {
	in := new(Insertion[S])
	in.in.begin(g, skip+1, op, attrs, opts)
	return in
}

// Ask requests n tensors of a variadic output whose count the caller decides.
func (in *Insertion[S]) Ask(slot S, n int) *Insertion[S] {
	in.in.ask(int(slot), n)
	return in
}

// Bind binds an input slot to a tensor, or a variadic slot to several. In a list whose tensors may be absent,
// the zero Tensor stands for an absent one, and those at the end of the list change nothing. If a required
// tensor is the zero Tensor because of an earlier error, the node fails without a further error.
func (in *Insertion[S]) Bind(slot S, tensors ...Tensor) *Insertion[S] {
	in.in.bind(int(slot), tensors)
	return in
}

// BindArg sets an argument of the call to its value, or a variadic argument to its values.
func (in *Insertion[S]) BindArg(slot S, values ...any) *Insertion[S] {
	in.in.bindArg(int(slot), values)
	return in
}

// Node infers shapes, creates the node's outputs and weights, and adds it to the graph. It returns nil after
// an error, which the graph records.
func (in *Insertion[S]) Node() *Node { return in.in.node() }

// insertion is the part of Insertion that is not generic, so that it is compiled once and not for each
// operator.
type insertion struct {
	g     *Graph
	op    *Operator
	attrs task.Attrs
	opts  options
	given [][]Tensor
	// places holds, by slot, the places of the given tensors in lists in which others may be absent.
	places map[int][]int
	listed map[int]int // by slot: how many tensors were given, with absent ones
	wants  []int       // counts of optional outputs
	args   map[int][]any
	skip   int
	bad    bool
	errs   []error
}

// begin initializes the insertion. Errors carry the source line skip calls above the caller.
func (in *insertion) begin(g *Graph, skip int, op *Operator, attrs task.Attrs, opts []Option) {
	g.must()
	*in = insertion{g: g, op: op, attrs: attrs, given: make([][]Tensor, len(op.Slots)), wants: make([]int, len(op.Slots)), skip: skip + 1}
	for _, o := range opts {
		o(&in.opts)
	}
	if !in.checkChosen() {
		return
	}
	for _, slot := range sorted(in.opts.optional) {
		if slot < 0 || slot >= len(op.Slots) || op.Slots[slot].Role != task.RoleInput || !op.Slots[slot].Optional {
			in.fail("an optional input for With", op.SlotName(slot))
			continue
		}
		in.bind(slot, in.opts.optional[slot])
	}
	for _, slot := range in.opts.requests {
		if slot < 0 || slot >= len(op.Slots) || !op.Slots[slot].OnRequest || op.Slots[slot].Asked() {
			in.fail("an output that is made on request for Request", op.SlotName(slot))
			continue
		}
		in.wants[slot] = 1
	}
}

func (in *insertion) ask(slot, n int) {
	if slot < 0 || slot >= len(in.op.Slots) || !in.op.Slots[slot].Asked() {
		in.fail("an output of which the caller asks for several", in.op.SlotName(slot))
		return
	}
	in.wants[slot] = n
}

func (in *insertion) fail(want, got string) {
	in.errs = append(in.errs, &op.Error{Operator: in.op.FullName(), Want: want, Got: got})
}

func (in *insertion) bind(slot int, tensors []Tensor) {
	if slot < 0 || slot >= len(in.op.Slots) || in.op.Slots[slot].Role != task.RoleInput && !in.op.Slots[slot].Provided {
		in.fail("an input", in.op.SlotName(slot))
		return
	}
	gaps := in.op.Slots[slot].Gaps && len(in.g.errs) == 0 // an error makes zero tensors, which are not left out
	first, places := in.listed[slot], in.places[slot]
	for k, t := range tensors {
		switch {
		case t.Valid() && in.g.has(t):
			in.given[slot], places = append(in.given[slot], t), append(places, first+k)
		case t.Valid():
			in.fail("tensors of the node's graph", t.String()+" of another")
		case !in.op.Slots[slot].Optional && !gaps:
			in.bad = true
		}
	}
	if gaps {
		if in.places == nil {
			in.places, in.listed = map[int][]int{}, map[int]int{}
		}
		in.places[slot], in.listed[slot] = places, first+len(tensors)
	}
}

// Passed returns the values of an argument of the call; nil for other slots.
func (n *Node) Passed(slot int) []any { return n.passed[slot] }

func (in *insertion) bindArg(slot int, values []any) {
	if slot < 0 || slot >= len(in.op.Slots) || in.op.Slots[slot].Role != task.RoleArgument {
		in.fail("an argument", in.op.SlotName(slot))
		return
	}
	if in.args == nil {
		in.args = map[int][]any{}
	}
	in.args[slot] = append(in.args[slot], values...)
}

// checkArgs adds defaults of arguments of the call, and checks all values.
func (in *insertion) checkArgs() error {
	for _, slot := range sorted(in.opts.passed) {
		in.bindArg(slot, in.opts.passed[slot])
	}
	if len(in.errs) > 0 {
		return in.errs[0]
	}
	for _, sig := range in.op.Signatures {
		for i := range sig.Args {
			a := &sig.Args[i]
			if a.From != task.FromCall || a.Default == "" {
				continue
			}
			values, err := a.Complete(sig, in.args[a.Slot])
			if err != nil {
				return err
			}
			if in.args == nil {
				in.args = map[int][]any{}
			}
			in.args[a.Slot] = values
		}
	}
	for _, sig := range in.op.Signatures {
		for i := range sig.Args {
			if a := &sig.Args[i]; a.From == task.FromCall {
				if err := a.Check(sig, in.args[a.Slot]); err != nil {
					return err
				}
			}
		}
	}
	for _, slot := range sorted(in.args) {
		taken := func(sig *task.Signature) bool {
			a := sig.Arg(slot)
			return a != nil && a.From == task.FromCall
		}
		if !slices.ContainsFunc(in.op.Signatures, taken) {
			return &op.Error{Operator: in.op.FullName(), Slot: in.op.Slots[slot].Name, Want: "an argument that the caller passes", Got: "one that no caller does"}
		}
	}
	return nil
}

// passes returns the operands of the node for shape inference, without the values of arguments. The next
// insertion reuses its memory.
func (in *insertion) passes() task.Given {
	known := &in.g.known
	for len(known.Operands) < len(in.given) {
		known.Operands, known.Values = append(known.Operands, nil), append(known.Values, 0)
	}
	given := task.Given{Operands: known.Operands[:len(in.given)], Requested: in.wants, Values: known.Values[:len(in.given)]}
	for slot, places := range in.places {
		if places = task.Gaps(places); places != nil {
			if given.Places == nil {
				given.Places = map[int][]int{}
			}
			given.Places[slot] = places
		}
	}
	for i, ts := range in.given {
		given.Operands[i], given.Values[i] = given.Operands[i][:0], 0
		for _, t := range ts {
			given.Operands[i] = append(given.Operands[i], t.operand)
		}
	}
	return given
}

func (in *insertion) node() *Node {
	by := in.opts.by
	if by == 0 {
		by = caller(in.skip + 1)
	}
	g, op := in.g, in.op
	name := in.opts.name
	if name == "" {
		name = op.Name
	}
	for _, err := range in.errs {
		g.failAt(by, fmt.Errorf("node %s: %w", name, err))
	}
	if len(in.errs) > 0 {
		return nil
	}
	if in.bad {
		if len(g.errs) == 0 {
			g.failAt(by, fmt.Errorf("node %s: operator %s: want a tensor, got none", name, op.FullName()))
		}
		return nil
	}
	given := in.passes()
	err := in.checkArgs()
	if err != nil {
		g.failAt(by, fmt.Errorf("node %s: %w", name, err))
		return nil
	}
	given.Pass(in.args)
	res, err := g.resolutions.Resolve(&op.Operator, in.attrs, given)
	if err != nil {
		g.failAt(by, fmt.Errorf("node %s: %w", name, err))
		return nil
	}
	if err := errors.Join(in.checkConstraints(), in.checkWeights(res), in.checkInits()); err != nil {
		g.failAt(by, fmt.Errorf("node %s: %w", name, err))
		return nil
	}
	if in.opts.name != "" {
		if err := g.claim(g.marked(name)); err != nil {
			g.failAt(by, fmt.Errorf("node %s: %w", name, err))
			return nil
		}
	}
	n := &Node{Op: op, Name: g.unique(g.marked(name)), Attrs: res.Attrs, Resolved: res, Device: g.device, graph: g, slots: make([][]Tensor, len(op.Slots)), passed: in.args,
		constraints: in.opts.constraints}
	n.Seed = g.seedOf(n.Name)
	g.names.put(n.Name, by)
	for i := range op.Slots {
		s := &op.Slots[i]
		switch s.Role {
		case task.RoleInput:
			n.slots[i] = in.given[i]
		case task.RoleWeight, task.RoleOutput, task.RoleSaved:
			if t, ok := in.opts.weights[i]; ok {
				n.slots[i] = []Tensor{t.Root()}
				continue
			}
			for k, o := range res.Operands(i) {
				t := info{name: n.Name + "." + s.Name, operand: o, kind: activation, node: n}
				if s.Variadic {
					t.name += fmt.Sprintf(".%d", k)
				}
				t.name = g.unique(t.name)
				if s.Role == task.RoleWeight {
					t.kind, t.train = variable, s.Trainable && o.Type.IsFloat()
					if t.init, err = in.initializer(i, o, t.name); err != nil {
						g.failAt(by, fmt.Errorf("node %s, slot %s: %w", name, s.Name, err))
						return nil
					}
				}
				n.slots[i] = append(n.slots[i], g.tensor(t))
			}
		}
	}
	if err := n.divide(given); err != nil {
		g.failAt(by, fmt.Errorf("node %s: %w", name, err))
		for i, ts := range n.slots {
			n.slots[i] = make([]Tensor, len(ts)) // so that lists of outputs have their length
		}
	} else {
		g.nodes = append(g.nodes, n)
	}
	return n
}
