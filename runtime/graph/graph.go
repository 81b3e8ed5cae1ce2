// Package graph builds graphs of operators and expands them into programs: sequences of task
// invocations for inference, training or initialization.
//
// Operators come from generated packages, whose Apply functions insert nodes. Mistakes while
// building do not stop the program: the graph keeps them, with the place in the caller's source,
// and everything derived from the graph returns them.
package graph

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Operator is an operator as generated packages export it: its description, and what fills its weights at first.
type Operator struct {
	task.Operator
	// Initializers holds, for each weight slot that has one, the operator that fills it at first.
	Initializers map[int]*Operator
}

// kind says what a tensor of a graph is.
type kind uint8

const (
	input      kind = iota // fed by the caller
	variable               // lives from step to step
	activation             // made and consumed within a step
	gradient
	constant // filled with one value before the step
)

type info struct {
	number  uint64 // that no other tensor has
	name    string
	operand task.Operand
	id      int32 // in its graph
	kind    kind
	train   bool // of a variable: it gets a gradient and an update
	device  int
	node    *Node                // the node that makes it, or owns it as a weight
	init    *initializer         // of a variable
	source  Tensor               // of a variable: one on another device that gives its first value; none if init does
	value   float64              // of a constant
	whole   *partition.Partition // of the tensor of which it is a part; nil if it is whole
}

// Tensor is a handle on a tensor of a graph. Handles are comparable; the zero Tensor is none.
type Tensor struct {
	*info
	// add: a gradient to which an earlier task has contributed
	add bool
}

// Gradient is a tensor that is bound as the gradient of another. It is a type of its own, so that a tensor is not passed
// where its gradient is meant.
type Gradient Tensor

// Node returns the node that makes the tensor, or owns it as a weight; nil for inputs.
func (t Tensor) Node() *Node {
	if t.info == nil {
		return nil
	}
	return t.node
}

// Valid reports whether t is a tensor rather than none.
func (t Tensor) Valid() bool { return t.info != nil }

// Device returns the number of the device on which the tensor lies.
func (t Tensor) Device() int {
	if !t.Valid() {
		return 0
	}
	return t.device
}

// Name returns the tensor's name, unique in its graph: that of an input, or "node.slot".
func (t Tensor) Name() string {
	if !t.Valid() {
		return ""
	}
	return t.name
}

// Shape returns a copy of the extents.
func (t Tensor) Shape() []int { return t.Operand().Shape }

// Type returns the element type.
func (t Tensor) Type() dtype.Type {
	if !t.Valid() {
		return dtype.Invalid
	}
	return t.operand.Type
}

// Operand returns a copy of type and shape; of none, the zero Operand.
func (t Tensor) Operand() task.Operand {
	if !t.Valid() {
		return task.Operand{}
	}
	return task.Operand{Type: t.operand.Type, Shape: slices.Clone(t.operand.Shape)}
}

// ShapeIs reports whether the tensor has these extents.
func (t Tensor) ShapeIs(dims []int) bool { return t.Valid() && shape.Equal(t.operand.Shape, dims) }

// Elements returns the number of elements; of none, 0.
func (t Tensor) Elements() int {
	if !t.Valid() {
		return 0
	}
	return shape.Prod(t.operand.Shape)
}

// String formats the tensor as name f32[2, 3].
func (t Tensor) String() string {
	if !t.Valid() {
		return "no tensor"
	}
	return t.name + " " + t.operand.String()
}

// Graph is a graph of operators under construction. It is not safe for concurrent use. New makes one; adding to a nil or a
// zero Graph panics.
type Graph struct {
	seed    uint64
	device  int
	mark    string // ends the names of nodes and inputs, and so is a part of all names
	nodes   []*Node
	tensors []*info
	names   names
	errs    []error
	base    *Graph // another graph whose tensors this one may use; nil if none
	limiter task.Limiter
	// resolutions are those of its nodes. known is what the caller passes for the node that is inserted.
	resolutions task.Resolutions
	known       task.Given
}

// New returns an empty graph. The seed decides, together with the names of weights and nodes, the first values of weights and
// what nodes draw at random.
func New(seed uint64) *Graph {
	return &Graph{seed: seed, names: newNames()}
}

// OnDevice returns an empty graph like New, whose tensors lie on a device and whose operators run there. Names of
// nodes and inputs end in @ and the number of the device, unless it is 0, which is that of all other graphs. So
// graphs of several devices can be parts of one program.
func OnDevice(seed uint64, device int) *Graph {
	g := New(seed)
	if g.device = device; device > 0 {
		g.mark = fmt.Sprintf("@%d", device)
	}
	return g
}

// Err returns all mistakes made so far, joined, or nil.
func (g *Graph) Err() error {
	if g == nil || g.names.numbers == nil {
		return errNoGraph
	}
	return errors.Join(g.errs...)
}

var errNoGraph = errors.New("graph: want a graph that New has made, got none")

// must panics for a nil or zero graph: there is nothing that could keep the error.
func (g *Graph) must() {
	if g == nil || g.names.numbers == nil {
		panic(errNoGraph.Error())
	}
}

// Nodes returns the nodes in the order in which they were inserted, which is a topological one.
func (g *Graph) Nodes() []*Node { return slices.Clone(g.nodes) }

// Input adds a tensor that the caller feeds before each step. No other input or node may have its name.
func (g *Graph) Input(name string, t dtype.Type, dims ...int) Tensor {
	g.must()
	for _, n := range dims {
		if n < 0 {
			g.fail(1, fmt.Errorf("input %s: want extents of 0 or more, got %s", name, shape.Format(dims)))
			return Tensor{}
		}
	}
	if t.Size() == 0 {
		g.fail(1, fmt.Errorf("input %s: want an element type of fixed size, got %v", name, t))
		return Tensor{}
	}
	o := task.Operand{Type: t, Shape: slices.Clone(dims)}
	if !shape.Fits(dims, t.Size()) {
		g.fail(1, fmt.Errorf("input %s: want a size that can be addressed, got %v", name, o))
		return Tensor{}
	}
	if err := g.claim(name + g.mark); err != nil {
		g.fail(1, fmt.Errorf("input %s: %w", name, err))
		return Tensor{}
	}
	in := g.tensor(info{name: g.unique(name + g.mark), operand: o, kind: input})
	g.names.put(in.name, caller(2))
	return in
}

func (g *Graph) tensor(in info) Tensor {
	in.id, in.device = int32(len(g.tensors)), g.device
	t := numbered(in)
	g.tensors = append(g.tensors, t.info)
	return t
}

// tensors counts the tensors that were made.
var tensors atomic.Uint64

// numbered returns a new tensor.
func numbered(in info) Tensor {
	in.number = tensors.Add(1) - 1
	return Tensor{info: &in}
}

// has reports whether t is a tensor of g.
func (g *Graph) has(t Tensor) bool {
	for ; g != nil; g = g.base {
		if int(t.id) < len(g.tensors) && g.tensors[t.id] == t.info {
			return true
		}
	}
	return false
}

// unique returns name, or name_1, name_2, ... if it is taken.
func (g *Graph) unique(name string) string {
	n := g.names.ask(name)
	if n == 0 {
		return name
	}
	return g.unique(name + "_" + strconv.Itoa(n))
}

// marked returns a name with the mark of the graph. A name that was made from that of a tensor may have it already.
func (g *Graph) marked(name string) string {
	if strings.Contains(name+".", g.mark+".") {
		return name
	}
	return name + g.mark
}

// claim returns an error if a name that the caller gives is that of an earlier node, input or tensor.
func (g *Graph) claim(name string) error {
	if !utf8.ValidString(name) {
		return fmt.Errorf("want a name in UTF-8, as plans and files hold names, got %q", name)
	}
	if g.names.asked(name) == 0 {
		return nil
	}
	got := "that of a tensor"
	if at := g.names.place(name); at != "" {
		got = "one that " + at + " gave already"
	}
	return fmt.Errorf("want a name that nothing else in the graph has, got %s", got)
}

// fail keeps err with the source position skip frames above the caller of fail's caller.
func (g *Graph) fail(skip int, err error) { g.failAt(caller(skip+2), err) }

// failAt keeps an error of a call.
func (g *Graph) failAt(by uintptr, err error) {
	if at := place(by); at != "" {
		err = fmt.Errorf("%s: %w", at, err)
	}
	g.errs = append(g.errs, err)
}

// Node is an operator applied to tensors.
type Node struct {
	Op       *Operator
	Name     string
	Attrs    task.Attrs
	Resolved *task.Resolution
	Device   int // that runs the node's tasks
	Seed     int // of the node's random numbers: the graph's seed, mixed with the node's name

	graph  *Graph        // into which the node was inserted
	slots  [][]Tensor    // per slot
	passed map[int][]any // values of arguments that the caller passes, per slot
	// constraints holds those that were added to tasks.
	constraints map[task.Kind][]partition.Constraint
	wholes      [][]partition.Partition // of the tensors of slots, if these are parts
	origin      *Node                   // that this one was changed from
	after       []*Node                 // explicit dependencies
}

// Tensor returns the tensor of a slot, or none.
func (n *Node) Tensor(slot int) Tensor { return first(n.Tensors(slot)) }

// Tensors returns the tensors of a slot.
func (n *Node) Tensors(slot int) []Tensor {
	if n == nil {
		return nil
	}
	return n.slots[slot]
}

func first(ts []Tensor) Tensor {
	if len(ts) == 0 {
		return Tensor{}
	}
	return ts[0]
}

// Option changes how a node is inserted.
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

// InsertedBy names a call, a program counter of runtime.Callers, as the one that inserts the node: errors have its source line. For
// generated code, which inserts nodes that the caller asked for before.
func InsertedBy(call uintptr) Option { return func(o *options) { o.by = call } }

// choice is a slot that an option names: its number, and its name where it is the constant of an operator's package.
type choice struct {
	option string
	slot   int
	name   fmt.Stringer
}

// choose notes the slot that an option names.
func choose[S ~int](o *options, option string, slot S) {
	name, _ := any(slot).(fmt.Stringer)
	o.chosen = append(o.chosen, choice{option, int(slot), name})
}

// checkChosen reports options that name a slot of another operator, whose number would be that of any slot here. It reports whether
// there are none.
func (in *insertion) checkChosen() bool {
	for _, c := range in.opts.chosen {
		if c.name == nil || c.slot < 0 || c.slot >= len(in.op.Slots) {
			continue // a number, of which others say whether it fits
		}
		if name := c.name.String(); name != in.op.Slots[c.slot].Name {
			in.fail(fmt.Sprintf("a slot of this operator for %s", c.option), fmt.Sprintf("%T %s", c.name, name))
		}
	}
	return len(in.errs) == 0
}

// With binds an optional input, which Apply functions do not take as a parameter.
func With[S ~int](slot S, t Tensor) Option {
	return func(o *options) {
		choose(o, "With", slot)
		if o.optional == nil {
			o.optional = map[int][]Tensor{}
		}
		o.optional[int(slot)] = []Tensor{t}
	}
}

// Pass gives an argument that the caller passes, and that has a default, another value. Packages of operators have typed functions
// for it.
func Pass[S ~int](slot S, value any) Option {
	return func(o *options) {
		choose(o, "Pass", slot)
		if o.passed == nil {
			o.passed = map[int][]any{}
		}
		o.passed[int(slot)] = []any{value}
	}
}

// Request asks for an output that is made on request only. The node of another output has it.
func Request[S ~int](slot S) Option {
	return func(o *options) {
		choose(o, "Request", slot)
		o.requests = append(o.requests, int(slot))
	}
}

// Named gives the node a name, which no other node or input of the graph may have. Without it, the operator's name and a
// number make one. Variables are named after their nodes and shared by name between the plans of an engine, so a second
// graph with the same names works on the same weights.
func Named(name string) Option { return func(o *options) { o.name = name } }

// Insertion is a node that is being bound, slot by slot. S is the operator's slot type, so that a
// slot of another operator does not compile; tools use int.
type Insertion[S ~int] struct{ in insertion }

// Insert begins a node of g. Errors are reported at the source line skip calls above the caller.
func Insert[S ~int](g *Graph, skip int, op *Operator, attrs task.Attrs, opts ...Option) *Insertion[S] {
	in := new(Insertion[S])
	in.in.begin(g, skip+1, op, attrs, opts)
	return in
}

// Ask asks for n tensors of a variadic output whose number the caller decides.
func (in *Insertion[S]) Ask(slot S, n int) *Insertion[S] {
	in.in.ask(int(slot), n)
	return in
}

// Bind binds an input slot to a tensor, or a variadic one to several. A tensor that is none because
// of an earlier error makes the node fail silently: the earlier error is the one to read.
func (in *Insertion[S]) Bind(slot S, tensors ...Tensor) *Insertion[S] {
	in.in.bind(int(slot), tensors)
	return in
}

// BindArg gives an argument that the caller passes its value, or a variadic one its values.
func (in *Insertion[S]) BindArg(slot S, values ...any) *Insertion[S] {
	in.in.bindArg(int(slot), values)
	return in
}

// Node resolves shapes, makes the node's outputs and weights, and adds it to the graph. It returns
// nil after an error, which the graph keeps.
func (in *Insertion[S]) Node() *Node { return in.in.node() }

// insertion is what all insertions have in common. It is not generic: the package of an operator would compile all of it again.
type insertion struct {
	g     *Graph
	op    *Operator
	attrs task.Attrs
	opts  options
	given [][]Tensor
	wants []int // tensors of outputs made on request
	args  map[int][]any
	skip  int
	bad   bool
	errs  []error
}

// begin begins the node. Errors are reported at the source line skip calls above the caller.
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
	for _, t := range tensors {
		switch {
		case t.Valid() && in.g.has(t):
			in.given[slot] = append(in.given[slot], t)
		case t.Valid():
			in.fail("tensors of the node's graph", t.String()+" of another")
		case !in.op.Slots[slot].Optional:
			in.bad = true
		}
	}
}

// Passed returns the values of an argument that the caller of the node passes; none for other slots.
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

// checkArgs completes the values that the caller passes to the operator's tasks, and checks them.
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

// passes returns what the caller passes, but for the values of arguments. The next node of the graph uses its memory again.
func (in *insertion) passes() task.Given {
	known := &in.g.known
	for len(known.Operands) < len(in.given) {
		known.Operands, known.Values = append(known.Operands, nil), append(known.Values, 0)
	}
	given := task.Given{Operands: known.Operands[:len(in.given)], Requested: in.wants, Values: known.Values[:len(in.given)]}
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
	if err := n.divide(); err != nil {
		g.failAt(by, fmt.Errorf("node %s: %w", name, err))
		return nil
	}
	g.nodes = append(g.nodes, n)
	return n
}
