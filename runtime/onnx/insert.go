package onnx

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/shape"
)

// Network is a model in a graph.
type Network struct {
	// Outputs are the outputs of the model, in its order: of a sequence, each of its tensors.
	Outputs []graph.Tensor
	// Counts are the numbers of tensors in Outputs that each output of the model has. An optional value
	// without an element has none.
	Counts []int
	// Variables are the values of the variables that the network reads, by their names: its weights, and what
	// follows from them.
	Variables map[string]safetensors.Tensor
	// Origins maps nodes of the graph to the nodes of the model from which they were made.
	Origins map[*graph.Node]Origin
}

// Origin is the node of a model from which a node of a graph comes, perhaps with others.
type Origin struct {
	// Op is its operator; "" for a node of the graph that holds a constant.
	Domain, Op string
	Version    int // of the operator set
	// Initializer says that the constant is a tensor of the file, or follows from one.
	Initializer bool
	// Name is the name of the node or of the constant; "" if the file states none.
	Name string
	// Inputs and Outputs are the names of the node's values, "" where there is none.
	Inputs, Outputs []string
}

// Option is an option of Insert.
type Option func(*builder)

// Known sets an input of the model to a value that is known when the graph is built, such as one on which a
// branch depends.
func Known(input string, value safetensors.Tensor) Option {
	return func(b *builder) { b.given[input] = &value }
}

// Sequence sets an input of the model that is a sequence to a list of tensors of the graph.
func Sequence(input string, tensors ...graph.Tensor) Option {
	return func(b *builder) { b.lists[input] = tensors }
}

// Without leaves out an input of the model that is optional.
func Without(input string) Option {
	return func(b *builder) { b.without[input] = true }
}

// Computed names constants that nodes compute in each run, as far as other nodes give them, rather than
// Insert once: such as those that follow from extents of inputs, which another caller chooses otherwise.
func Computed(names ...string) Option {
	return func(b *builder) {
		for _, name := range names {
			b.computing[name] = true
		}
	}
}

// Insert adds the network to a graph. Inputs are tensors of the graph, by the names of the model's inputs:
// their extents are those for which the network is built. What the catalogue does not compute is an error, a
// *Refused, after which the graph holds parts of the network.
func (m *Model) Insert(g *graph.Graph, inputs map[string]graph.Tensor, opts ...Option) (*Network, error) {
	b := newBuilder(newFolder(m), g)
	b.variables, b.initializers = map[string]safetensors.Tensor{}, map[string]bool{}
	for _, t := range m.graph.GetInitializer() {
		b.initializers[t.GetName()] = true
	}
	for _, o := range opts {
		o(b)
	}
	defer b.fold.close()
	s := newScope(nil, m.opsets)
	if err := s.initializers(b.fold, m.graph); err != nil {
		return nil, err
	}
	taken := 0
	for _, v := range m.graph.GetInput() {
		x, err := b.argument(port(v), inputs)
		if err != nil {
			return nil, fmt.Errorf("onnx: input %s: %w", v.GetName(), err)
		}
		if x != nil {
			s.values[v.GetName()] = x
			taken++
		} else if s.values[v.GetName()] == nil {
			return nil, fmt.Errorf("onnx: want a tensor for the input %s, got none", v.GetName())
		}
	}
	if taken != len(inputs)+len(b.given)+len(b.lists)+len(b.without) {
		var names []string
		for _, list := range [][]string{slices.Collect(maps.Keys(inputs)), slices.Collect(maps.Keys(b.given)), slices.Collect(maps.Keys(b.lists)), slices.Collect(maps.Keys(b.without))} {
			names = append(names, list...)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("onnx: want tensors and values for inputs of the model, each of them once, got %q", names)
	}
	outs, err := b.run(s, m.graph.GetNode(), outputNames(m.graph))
	if err != nil {
		return nil, err
	}
	net := &Network{Variables: b.variables, Origins: b.origins}
	for i, v := range outs {
		list := []*value{v}
		if v.sequence != nil && (v.sequence.other == "" || v.sequence.other == without) {
			list = v.sequence.values
		}
		for _, v := range list {
			t, err := b.output(v)
			if err != nil {
				return nil, fmt.Errorf("onnx: output %s: %w", m.graph.GetOutput()[i].GetName(), err)
			}
			net.Outputs = append(net.Outputs, t)
		}
		net.Counts = append(net.Counts, len(list))
	}
	return net, nil
}

// argument returns the value that the caller gives for an input of the model; nil for none.
func (b *builder) argument(p Port, inputs map[string]graph.Tensor) (*value, error) {
	t, ok := inputs[p.Name]
	known := b.given[p.Name]
	list, listed := b.lists[p.Name]
	n := 0
	for _, given := range []bool{ok, known != nil, listed, b.without[p.Name]} {
		if given {
			n++
		}
	}
	switch {
	case n == 0:
		return nil, nil
	case n > 1:
		return nil, errors.New("want a tensor, a known value, a list of tensors or none, got more than one of them")
	case b.without[p.Name] && !p.Optional:
		return nil, errors.New("want a value, since it is not optional, got none")
	case b.without[p.Name]:
		return strange(p.Name, without), nil
	case p.Sequence != listed:
		return nil, fmt.Errorf("want %s, got %s", kindOfInput(p.Sequence), kindOfInput(listed))
	case known != nil:
		if p.Type != known.Type || !fits(p.Extents, known.Shape) || len(known.Data) != shape.Prod(known.Shape)*known.Type.Size() {
			return nil, fmt.Errorf("want a value of %v%v, got %d bytes of %v%v", p.Type, p.Extents, len(known.Data), known.Type, known.Shape)
		}
		v := constant(p.Name, *known)
		v.narrow = p.narrow
		return v, nil
	}
	if !listed {
		list = []graph.Tensor{t}
	}
	var values []*value
	for _, t := range list {
		if p.Type != t.Type() || !fits(p.Extents, t.Shape()) {
			return nil, fmt.Errorf("want a tensor of %v%v, got %v", p.Type, p.Extents, t)
		}
		v := b.bound(t)
		v.narrow = p.narrow
		values = append(values, v)
	}
	if !listed {
		return values[0], nil
	}
	outs, err := sequenceOf(values)
	if err != nil {
		return nil, err
	}
	outs[0].name = p.Name
	return outs[0], nil
}

func kindOfInput(sequence bool) string {
	if sequence {
		return "a list of tensors"
	}
	return "a tensor"
}

func outputNames(g *onnxpb.GraphProto) (names []string) {
	for _, v := range g.GetOutput() {
		names = append(names, v.GetName())
	}
	return names
}

// fits reports whether extents are those of a port, of which -1 are open.
func fits(want, got []int) bool {
	if want == nil {
		return true
	}
	return slices.EqualFunc(want, got, func(w, g int) bool { return w < 0 || w == g })
}

// value is a tensor of the network. It is a tensor of the graph, or it is constant: its elements are known,
// or they follow from those of other constants by a node.
type value struct {
	name   string
	tensor graph.Tensor
	data   *safetensors.Tensor
	later  *later
	// counted says that a run decides how many rows there are.
	counted bool
	// sequence says that it is a list of tensors, and no tensor.
	sequence *sequence
	narrow   dtype.Type // the element type in the network, where engines hold it in a wider one
}

// later is a node that computes constants from constants.
type later struct {
	*call
	row    int      // how many nodes stand behind each other up to it, see maxRow
	values []*value // of its outputs
}

func constant(name string, t safetensors.Tensor) *value { return &value{name: name, data: &t} }

func (v *value) constant() bool { return v.data != nil || v.later != nil }

// scope holds the values of names, of a graph within those of the graphs around it, and the attributes of the
// function whose body it is.
type scope struct {
	values map[string]*value
	outer  *scope
	opsets map[string]int
	attrs  map[string]*onnxpb.AttributeProto
	absent map[string]bool // inputs of the function that its caller leaves out
}

func newScope(outer *scope, opsets map[string]int) *scope {
	return &scope{values: map[string]*value{}, outer: outer, opsets: opsets}
}

func (s *scope) find(name string) *value {
	for ; s != nil; s = s.outer {
		if v := s.values[name]; v != nil {
			return v
		}
	}
	return nil
}

// initializers adds the tensors that a graph holds.
func (s *scope) initializers(f *folder, g *onnxpb.GraphProto) error {
	for _, p := range g.GetInitializer() {
		v, err := f.inFile(p.GetName(), p)
		if err == nil {
			err = s.add(g, v)
		}
		if err != nil {
			return fmt.Errorf("onnx: %w", err)
		}
	}
	for _, p := range g.GetSparseInitializer() {
		v, err := f.sparseInFile(p.GetValues().GetName(), p)
		if err == nil {
			err = s.add(g, v)
		}
		if err != nil {
			return fmt.Errorf("onnx: %w", err)
		}
	}
	return nil
}

// add adds a tensor that a graph holds.
func (s *scope) add(g *onnxpb.GraphProto, v *value) error {
	if s.values[v.name] != nil {
		return fmt.Errorf("graph %s: want one tensor %s, got another one", g.GetName(), v.name)
	}
	s.values[v.name] = v
	return nil
}

// builder inserts nodes into a graph. There is one for the graph of the network, and one for each graph that
// computes constants.
type builder struct {
	m       *Model
	g       *graph.Graph
	fold    *folder
	given   map[string]*safetensors.Tensor
	lists   map[string][]graph.Tensor
	without map[string]bool
	tensors map[*value]graph.Tensor
	// variables collects the constants that the network reads. It is nil in a graph of constants, where they
	// are inputs.
	variables map[string]safetensors.Tensor
	fed       map[string]*safetensors.Tensor
	names     map[string]bool // of the first seen nodes of the graph
	seen      int
	frozen    bool // the network is not trained
	depth     int
	expanded  int    // nodes of functions and branches
	wanted    *value // what a graph of constants computes
	entries   bool   // whether no definition is tried in front of the entries of a catalogue
	origins   map[*graph.Node]Origin
	// initializers holds the names of the tensors of the file.
	initializers map[string]bool
	computing    map[string]bool // names of constants that nodes compute in each run
	inserting    int             // how many of them are inserted, of which one reads the other
}

func newBuilder(f *folder, g *graph.Graph) *builder {
	return &builder{m: f.m, g: g, fold: f, given: map[string]*safetensors.Tensor{}, lists: map[string][]graph.Tensor{}, without: map[string]bool{}, tensors: map[*value]graph.Tensor{}, names: map[string]bool{}, origins: map[*graph.Node]Origin{}, computing: map[string]bool{}}
}

// bound returns the value of a tensor of the builder's graph.
func (b *builder) bound(t graph.Tensor) *value { return &value{name: t.Name(), tensor: t} }

// run computes the nodes of a graph and returns the values of names.
func (b *builder) run(s *scope, nodes []*onnxpb.NodeProto, names []string) ([]*value, error) {
	if b.depth++; b.depth > maxDepth {
		return nil, fmt.Errorf("onnx: want functions and branches at most %d deep within each other", maxDepth)
	}
	defer func() { b.depth-- }()
	if b.depth > 1 {
		if b.expanded += len(nodes); b.expanded > maxExpanded {
			return nil, fmt.Errorf("onnx: want functions and branches of at most %d nodes", maxExpanded)
		}
	}
	for _, n := range b.freeze(s, nodes, names) {
		c := &call{node: n, scope: s, domain: domain(n.GetDomain())}
		c.version = s.opsets[c.domain]
		for i, a := range n.GetAttribute() {
			if slices.ContainsFunc(n.GetAttribute()[:i], func(b *onnxpb.AttributeProto) bool { return a.GetName() == b.GetName() }) {
				return nil, c.refused(fmt.Sprintf("want one attribute %s, got another one", a.GetName()), nil)
			}
		}
		for _, name := range n.GetInput() {
			v := s.find(name)
			if v == nil && name != "" && !s.absent[name] {
				return nil, c.refused(fmt.Sprintf("want a value of %s, got none before the node", name), nil)
			}
			c.inputs = append(c.inputs, v)
		}
		outs, err := b.call(c)
		if err != nil {
			return nil, err
		}
		for i, name := range n.GetOutput() {
			if name != "" && s.values[name] != nil {
				return nil, c.refused(fmt.Sprintf("want one value of %s, got another one before the node", name), nil)
			}
			if name != "" && i < len(outs) && outs[i] != nil {
				if outs[i].name == "" {
					outs[i].name = name
				}
				s.values[name] = outs[i]
			}
		}
	}
	outs := make([]*value, len(names))
	for i, name := range names {
		if outs[i] = s.find(name); outs[i] == nil {
			return nil, fmt.Errorf("onnx: want a node that computes the output %s, got none", name)
		}
	}
	return outs, nil
}

// maxDepth bounds how deep functions and branches stand within each other, and maxExpanded how many nodes
// they have together, each as often as it is called.
const (
	maxDepth    = 64
	maxExpanded = 1 << 18
)

// tensorOf returns the tensor of a value in the builder's graph.
func (b *builder) tensorOf(v *value) (graph.Tensor, error) {
	if v.tensor.Valid() {
		return v.tensor, nil
	}
	var t graph.Tensor
	var err error
	if b.variables == nil && v.data == nil && v.sequence == nil {
		if _, ok := b.tensors[v]; !ok {
			err = b.compute(v.later)
		}
		if err == nil && v.counted && v != b.wanted {
			// What goes on with rows that a run counts reads those that count.
			if err = b.fold.value(v); err == nil {
				delete(b.tensors, v)
			}
		}
	}
	if v.sequence != nil {
		return t, fmt.Errorf("want a tensor, got %v", v.sequence)
	}
	if t, ok := b.tensors[v]; ok && err == nil {
		return t, nil
	}
	switch {
	case err != nil:
	case b.variables == nil && v.data == nil: // the node gave nothing
	case b.variables == nil:
		t = b.g.Input(fmt.Sprintf("constant %d", len(b.fed)), v.data.Type, v.data.Shape...)
		b.fed[t.Name()] = v.data
	case b.computing[v.name] && v.later != nil && !isNumber(v):
		b.inserting++
		err = b.compute(v.later)
		b.inserting--
		t = b.tensors[v]
	case b.computing[v.name] && isNumbers(v):
		b.inserting++
		t, err = b.numbers(v)
		b.inserting--
	default:
		if err = b.fold.value(v); err == nil {
			t, err = b.variable(v)
		}
	}
	if err == nil {
		err = b.g.Err()
	}
	if err == nil && !t.Valid() {
		err = fmt.Errorf("want a tensor, got none")
	}
	if err != nil {
		return t, err
	}
	b.tensors[v] = t
	return t, nil
}

// isNumber reports whether a constant is an integer whose value is known, and isNumbers whether it is a list
// of some of them, or one.
func isNumber(v *value) bool { return isNumbers(v) && len(v.data.Shape) == 0 }
func isNumbers(v *value) bool {
	if v.data == nil || v.data.Type != dtype.I64 || len(v.data.Shape) > 1 || len(v.data.Data) == 0 || len(v.data.Data) > 8*maxNumbers {
		return false
	}
	for i := 0; i < len(v.data.Data); i += 8 {
		// Attributes of numbers hold larger integers inexactly.
		if n := int64(binary.LittleEndian.Uint64(v.data.Data[i:])); n <= -1<<53 || n >= 1<<53 {
			return false
		}
	}
	return true
}

// maxNumbers bounds the length of a list of which nodes compute each integer.
const maxNumbers = 16

// numbers inserts nodes that compute integers, from attributes of their own.
func (b *builder) numbers(v *value) (graph.Tensor, error) {
	c := &call{node: &onnxpb.NodeProto{Name: new(v.name)}}
	one := constant("", integersOf([]int{}, 1))
	var parts []*value
	for i := 0; i < len(v.data.Data); i += 8 {
		n := int(binary.LittleEndian.Uint64(v.data.Data[i:]))
		part, err := b.insert(c, "Range", nil, constant("", integersOf([]int{}, n)), constant("", integersOf([]int{}, n+1)), one)
		if err != nil {
			return graph.Tensor{}, err
		}
		parts = append(parts, part)
	}
	all, err := parts[0], error(nil)
	switch {
	case len(v.data.Shape) == 0:
		all, err = b.insert(c, "Reshape", nil, all, constant("", integersOf([]int{0})))
	case len(parts) > 1:
		all, err = b.insert(c, "Concat", map[string]any{"axis": 0}, parts...)
	}
	if err != nil {
		return graph.Tensor{}, err
	}
	return b.tensorOf(all)
}

// variable adds a variable of the graph with the elements of a constant. Truth values are stored as integers.
func (b *builder) variable(v *value) (graph.Tensor, error) {
	if v.data.Type == dtype.Bool {
		t, err := b.variable(constant(v.name, safetensors.Tensor{Type: dtype.U8, Shape: v.data.Shape, Data: v.data.Data}))
		if err != nil {
			return t, err
		}
		to := &onnxpb.AttributeProto{Name: new("to"), Type: onnxpb.AttributeProto_INT.Enum(), I: new(int64(onnxpb.TensorProto_BOOL))}
		c := &call{node: &onnxpb.NodeProto{OpType: new("Cast"), Attribute: []*onnxpb.AttributeProto{to}}, version: newest, inputs: []*value{b.bound(t)}}
		outs, err := b.mapped(c)
		if err != nil {
			return t, err
		}
		return outs[0].tensor, nil
	}
	outs, err := b.call(&call{node: &onnxpb.NodeProto{OpType: new(mapping.Storage)}, version: cmp.Or(b.m.opsets[""], newest), stored: v})
	if err != nil {
		return graph.Tensor{}, err
	}
	t, n := outs[0].tensor, outs[0].tensor.Node()
	for slot := range n.Op.Slots {
		for _, w := range n.Tensors(slot) {
			if w.Variable() {
				b.variables[w.Name()] = *v.data
			}
		}
	}
	return t, nil
}

// output returns the tensor of an output of the network, which a node of the graph computes.
func (b *builder) output(v *value) (graph.Tensor, error) {
	t, err := b.tensorOf(v)
	if err == nil && t.Node() == nil {
		c := &call{node: &onnxpb.NodeProto{OpType: new("Identity")}, version: cmp.Or(b.m.opsets[""], newest), inputs: []*value{v}}
		var outs []*value
		if outs, err = b.mapped(c); err == nil {
			t = outs[0].tensor
		}
	}
	return t, err
}

// typeOf returns the element type and the shape of a value.
func (b *builder) typeOf(v *value) (dtype.Type, []int, error) {
	if v.tensor.Valid() {
		return v.tensor.Type(), v.tensor.Shape(), nil
	}
	if err := b.fold.value(v); err != nil {
		return dtype.Invalid, nil, err
	}
	return v.data.Type, v.data.Shape, nil
}

// kindOf returns the element type of a value.
func (b *builder) kindOf(v *value) (dtype.Type, error) {
	if b.variables != nil || v.data != nil {
		t, _, err := b.typeOf(v)
		return t, err
	}
	t, err := b.tensorOf(v) // what computes a constant reads it
	if err != nil {
		return dtype.Invalid, err
	}
	return t.Type(), nil
}
