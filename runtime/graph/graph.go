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
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Operator is an operator as generated packages export it: its description, and what fills its weights at
// first.
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

// Gradient is a tensor that is bound as the gradient of another. It is a type of its own, so that a tensor is
// not passed where its gradient is meant.
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

// Graph is a graph of operators under construction. It is not safe for concurrent use. New makes one; adding
// to a nil or a zero Graph panics.
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

// New returns an empty graph. The seed decides, together with the names of weights and nodes, the first
// values of weights and what nodes draw at random.
func New(seed uint64) *Graph {
	return &Graph{seed: seed, names: newNames()}
}

// OnDevice returns an empty graph like New, whose tensors lie on a device and whose operators run there.
// Names of nodes and inputs end in @ and the number of the device, unless it is 0, which is that of all other
// graphs. So graphs of several devices can be parts of one program.
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

// marked returns a name with the mark of the graph. A name that was made from that of a tensor may have it
// already.
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
