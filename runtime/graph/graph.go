// Package graph builds graphs of operators and expands them into programs: sequences of task
// invocations for inference, training or initialization.
//
// Operators come from generated packages, whose Apply functions insert nodes. The graph collects errors of
// insertions, with positions in the caller's source. Every function that uses the graph returns them.
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

// Operator is an operator as generated packages export it: its description, and the initializers of its
// weights.
type Operator struct {
	task.Operator
	// Initializers maps weight slots to the operators that initialize them.
	Initializers map[int]*Operator
}

// kind is the role of a tensor in a graph.
type kind uint8

const (
	input      kind = iota // fed by the caller
	variable               // persists between steps
	activation             // temporary of a step
	gradient
	constant // filled with one value by the program
)

type info struct {
	number  uint64 // unique in the process
	name    string
	operand task.Operand
	id      int32 // index in its graph
	kind    kind
	train   bool // of a variable: it gets a gradient and an update
	device  int
	node    *Node                // the producer, or the owner of a weight
	init    *initializer         // of a variable
	source  Tensor               // of a variable: the tensor of which it begins as a copy, or none
	begin   *beginning           // of a variable: how it begins as a piece of another, or nil
	value   float64              // of a constant
	whole   *partition.Partition // the partition of which the tensor is a part; nil if it is no part
}

// Tensor is a handle of a tensor in a graph. Handles are comparable; the zero Tensor is "no tensor".
type Tensor struct {
	*info
	// add is set on a gradient to which an earlier task has contributed.
	add bool
}

// Gradient is a tensor that is bound as a gradient. The distinct type prevents that a tensor is passed in
// place of its gradient.
type Gradient Tensor

// Node returns the node that produces the tensor or owns it as a weight; nil for inputs.
func (t Tensor) Node() *Node {
	if t.info == nil {
		return nil
	}
	return t.node
}

// Valid reports whether t is not the zero Tensor.
func (t Tensor) Valid() bool { return t.info != nil }

// Device returns the number of the tensor's device.
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

// Operand returns a copy of the type and shape; the zero Operand for the zero Tensor.
func (t Tensor) Operand() task.Operand {
	if !t.Valid() {
		return task.Operand{}
	}
	return task.Operand{Type: t.operand.Type, Shape: slices.Clone(t.operand.Shape)}
}

// ShapeIs reports whether the tensor has these extents.
func (t Tensor) ShapeIs(dims []int) bool { return t.Valid() && shape.Equal(t.operand.Shape, dims) }

// Elements returns the number of elements; 0 for the zero Tensor.
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

// Graph is a graph of operators under construction. It is not safe for concurrent use. New creates one;
// adding to a nil or a zero Graph panics.
type Graph struct {
	seed    uint64
	device  int
	mark    string // suffix of the names of nodes and inputs
	nodes   []*Node
	tensors []*info
	names   names
	errs    []error
	base    *Graph // another graph whose tensors nodes may read; nil if none
	limiter task.Limiter
	// resolutions caches shape inference. known is reused memory for the arguments of the current insertion.
	resolutions task.Resolutions
	known       task.Given
}

// New returns an empty graph. The initial values of weights and the random numbers of nodes depend on the
// seed and on the names of weights and nodes.
func New(seed uint64) *Graph {
	return &Graph{seed: seed, names: newNames()}
}

// OnDevice returns an empty graph like New, for a device. Names of nodes and inputs get the suffix
// "@device", unless the device is 0, the default. So the graphs of several devices can be merged into one
// program.
func OnDevice(seed uint64, device int) *Graph {
	g := New(seed)
	if g.device = device; device > 0 {
		g.mark = fmt.Sprintf("@%d", device)
	}
	return g
}

// Err returns the errors of all insertions so far, joined, or nil.
func (g *Graph) Err() error {
	if g == nil || g.names.numbers == nil {
		return errNoGraph
	}
	return errors.Join(g.errs...)
}

var errNoGraph = errors.New("graph: want a graph that New has made, got none")

// must panics for a nil or zero graph, which cannot record an error.
func (g *Graph) must() {
	if g == nil || g.names.numbers == nil {
		panic(errNoGraph.Error())
	}
}

// Nodes returns the nodes in order of insertion, which is a topological order.
func (g *Graph) Nodes() []*Node { return slices.Clone(g.nodes) }

// Input adds a tensor that the caller feeds before each step. Its name must be unique in the graph.
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

// tensors counts the tensors of the process.
var tensors atomic.Uint64

// numbered returns a new tensor with a unique number.
func numbered(in info) Tensor {
	in.number = tensors.Add(1) - 1
	return Tensor{info: &in}
}

// has reports whether t is a tensor of g or of its base.
func (g *Graph) has(t Tensor) bool {
	for ; g != nil; g = g.base {
		if int(t.id) < len(g.tensors) && g.tensors[t.id] == t.info {
			return true
		}
	}
	return false
}

// unique returns name, or name_1, name_2, ... if it is taken, and reserves it.
func (g *Graph) unique(name string) string {
	n := g.names.ask(name)
	if n == 0 {
		return name
	}
	return g.unique(name + "_" + strconv.Itoa(n))
}

// marked returns a name with the graph's suffix, unless the name contains the suffix already.
func (g *Graph) marked(name string) string {
	if strings.Contains(name+".", g.mark+".") {
		return name
	}
	return name + g.mark
}

// claim returns an error if a name that the caller chose is taken.
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

// fail records err with the source position skip frames above the caller of fail's caller.
func (g *Graph) fail(skip int, err error) { g.failAt(caller(skip+2), err) }

// failAt records an error with the position of a call.
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
	Seed     int // a hash of the graph's seed and the node's name

	graph  *Graph        // nil for nodes of initializers
	slots  [][]Tensor    // per slot
	passed map[int][]any // by slot: the values of arguments of the call
	// constraints holds the constraints that the caller added, by task.
	constraints map[task.Kind][]partition.Constraint
	wholes      [][]partition.Partition // by slot: of the whole tensors; nil if the tensors are no parts
	origin      *Node                   // the node of the graph from which Change derived this one
	after       []*Node                 // explicit dependencies
}

// Tensor returns the first tensor of a slot, or the zero Tensor.
func (n *Node) Tensor(slot int) Tensor { return first(n.Tensors(slot)) }

// Tensors returns the tensors of a slot.
func (n *Node) Tensors(slot int) []Tensor {
	if n == nil {
		return nil
	}
	return n.slots[slot]
}

// Placed returns a list with tensors at places, and absent ones between them. Without places, it is the
// tensors.
func Placed(tensors []Tensor, places []int) []Tensor {
	if len(places) == 0 || len(places) != len(tensors) {
		return tensors
	}
	out := make([]Tensor, places[len(places)-1]+1)
	for i, at := range places {
		out[at] = tensors[i]
	}
	return out
}

func first(ts []Tensor) Tensor {
	if len(ts) == 0 {
		return Tensor{}
	}
	return ts[0]
}
