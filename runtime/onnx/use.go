package onnx

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/task"
)

// use is an entry applied to a node.
type use struct {
	b *builder
	c *call
	e *mapping.Entry
	// values are the inputs and outputs by the names that expressions use: slots and constants.
	values map[string]*value
	here   map[string]bool // whether the caller gives an input, or wants an output
	consts map[string]any
	failed error           // the first error of a name that an expression reads
	bound  map[string]bool // names of weights that slots read
}

// applies finds the inputs of the entry. It returns why the entry does not compute the node, or "".
func (x *use) applies() (unmet string, err error) {
	if n := len(x.e.Inputs); len(x.c.inputs) > n && (n == 0 || !x.variadic(x.e.Inputs[n-1].Slot)) {
		for _, v := range x.c.inputs[n:] {
			if v != nil {
				return fmt.Sprintf("%s of at most %d inputs", x.e.Operator, n), nil
			}
		}
	}
	x.values, x.here, x.consts = map[string]*value{}, map[string]bool{}, map[string]any{}
	for i, o := range x.e.Inputs {
		v := x.c.input(i)
		name := cmp.Or(o.Slot, o.Const)
		x.values[name], x.here[name] = v, v != nil
	}
	for i, o := range x.e.Outputs {
		x.here[o.Slot] = i < len(x.c.node.GetOutput()) && x.c.node.GetOutput()[i] != ""
	}
	if x.e.When != "" {
		if v, err := x.eval(x.e.When); err != nil || v != true {
			return fmt.Sprintf("%s when %s", x.e.Operator, x.e.When), err
		}
	}
	return x.types()
}

// types returns which element types the operator takes, if an input has another one.
func (x *use) types() (unmet string, err error) {
	o := x.operator()
	if o == nil {
		return "", nil // insert says so
	}
	for _, in := range x.e.Inputs {
		v, slot := x.values[in.Slot], x.slot(in.Slot)
		if v == nil || slot < 0 || in.Type != "" {
			continue
		}
		of := slices.IndexFunc(o.Types, func(t task.TypeVar) bool { return t.Name == o.Slots[slot].Type })
		if of < 0 {
			continue
		}
		kind, err := x.b.kindOf(v)
		if err != nil {
			return "", err
		}
		if !slices.Contains(o.Types[of].Types, kind) {
			return fmt.Sprintf("%s of elements of %s, and not of %s", x.e.Operator, dtype.Format(o.Types[of].Types), kind), nil
		}
	}
	return "", nil
}

func (x *use) operator() *graph.Operator { return x.b.m.catalogue.operators[x.e.Operator] }

func (x *use) slot(name string) int {
	return slices.IndexFunc(x.operator().Slots, func(s task.Slot) bool { return s.Name == name })
}

func (x *use) variadic(name string) bool {
	i := x.slot(name)
	return i >= 0 && x.operator().Slots[i].Variadic
}

// eval computes an expression of the entry.
func (x *use) eval(text string) (any, error) {
	e, err := mapping.Parse(text)
	if err != nil {
		return nil, err
	}
	v, err := e.Eval(x.lookup, x.about)
	if x.failed != nil {
		return nil, x.failed
	}
	return v, err
}

// lookup returns the value of a name: a constant, or an attribute of the node.
func (x *use) lookup(name string) any {
	if v, ok := x.consts[name]; ok || x.failed != nil {
		return v
	}
	switch name {
	case "opset":
		return x.c.version
	case "outputs":
		return len(x.c.node.GetOutput())
	case "inputs":
		return len(x.c.inputs)
	}
	for _, a := range x.e.Let {
		if a.Name == name {
			v, err := x.eval(a.Value)
			if err != nil && x.failed == nil {
				x.failed = fmt.Errorf("%s: %w", name, err)
			}
			return v
		}
	}
	var out any
	if given, ok := x.values[name]; ok {
		if given == nil {
			return nil
		}
		err := x.b.fold.value(given)
		if err == nil {
			out, err = known(*given.data)
		}
		if err != nil {
			x.failed = fmt.Errorf("%s: %w", name, err)
		}
	} else if x.c.stored != nil {
		return stored(name, x.c.stored)
	} else if a := x.c.attribute(name); a != nil {
		v, err := attribute(a)
		if err != nil {
			x.failed = err
		}
		out = v
	}
	x.consts[name] = out
	return out
}

// stored returns what an entry of the operator that stores a constant may ask.
func stored(name string, v *value) any {
	switch name {
	case "extents":
		return append([]int{}, v.data.Shape...)
	case "elements":
		return v.data.Type.String()
	}
	return nil
}

// about computes the functions of tensors.
func (x *use) about(function, name string) (any, error) {
	v, ok := x.values[name]
	if function == "present" {
		here, declared := x.here[name]
		if !declared {
			return nil, fmt.Errorf("want an input or an output of %s, got %s", x.e.Op, name)
		}
		return here, nil
	}
	switch function {
	case "known":
		// In a graph of constants, these are inputs.
		return v != nil && v.constant() && x.b.variables != nil, nil
	case "alike":
		return x.alike(name)
	}
	if a := x.c.attribute(name); !ok && function == "type" && a.GetT() != nil {
		return typeName(onnxpb.TensorProto_DataType(a.GetT().GetDataType())), nil
	}
	if !ok || v == nil {
		return nil, fmt.Errorf("want a tensor for %s, got none", name)
	}
	if function == "type" && v.narrow != dtype.Invalid {
		return v.narrow.String(), nil
	}
	t, shape, err := x.b.typeOf(v)
	if err != nil {
		return nil, err
	}
	switch function {
	case "shape":
		return append([]int{}, shape...), nil
	case "rank":
		return len(shape), nil
	}
	return t.String(), nil
}

// alike reports whether an input and all behind it have the same extents.
func (x *use) alike(name string) (bool, error) {
	first := slices.IndexFunc(x.e.Inputs, func(o mapping.Operand) bool { return o.Slot == name })
	var extents []int
	for i, v := range x.c.inputs[min(max(first, 0), len(x.c.inputs)):] {
		if v == nil {
			return false, fmt.Errorf("want a tensor for %s, got none", name)
		}
		_, shape, err := x.b.typeOf(v)
		if err != nil {
			return false, err
		}
		if i > 0 && !slices.Equal(shape, extents) {
			return false, nil
		}
		extents = shape
	}
	return true, nil
}

// repeat inserts the operator as often as the entry says.
func (x *use) repeat() ([]*value, error) {
	if x.e.Times == "" {
		return x.insert()
	}
	v, err := x.eval(x.e.Times)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]int)
	if !ok || len(list) > maxTimes {
		return nil, fmt.Errorf("want at most %d integers as times, got %v", maxTimes, v)
	}
	first := cmp.Or(x.e.Inputs[0].Slot, x.e.Inputs[0].Const)
	outs := []*value{x.values[first]}
	for _, n := range list {
		x.consts["i"] = n
		if outs, err = x.insert(); err != nil {
			return nil, err
		}
		x.c = &call{node: x.c.node, scope: x.c.scope, domain: x.c.domain, version: x.c.version, inputs: slices.Clone(x.c.inputs)}
		x.c.inputs[0], x.values[first] = outs[0], outs[0]
	}
	if outs[0] == nil {
		return nil, fmt.Errorf("want a tensor for %s, got none", first)
	}
	if x.b.variables == nil && !outs[0].tensor.Valid() {
		// A graph of constants wants a tensor of its own.
		t, err := x.b.tensorOf(outs[0])
		return []*value{x.b.bound(t)}, err
	}
	return outs, nil
}

// maxTimes bounds how often an entry applies an operator.
const maxTimes = 64

// insert inserts the operator and returns the values of the node's outputs.
func (x *use) insert() ([]*value, error) {
	o := x.operator()
	if o == nil {
		return nil, fmt.Errorf("want an operator of the catalogue, got %s", x.e.Operator)
	}
	if err := x.attributes(); err != nil {
		return nil, err
	}
	given := map[string]any{}
	var passed []func(*graph.Insertion[int])
	for _, a := range x.e.Attrs {
		v, err := x.eval(a.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		if v == nil {
			continue
		}
		if slot := x.slot(a.Name); slot >= 0 && o.Slots[slot].Role == task.RoleArgument {
			passed = append(passed, func(in *graph.Insertion[int]) { in.BindArg(slot, argument(v)) })
			continue
		}
		given[a.Name] = jsonValue(v)
	}
	text, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	attrs, err := o.DecodeAttrs(text)
	if err != nil {
		return nil, err
	}
	x.bound = map[string]bool{}
	var opts []graph.Option
	var bind []func(*graph.Insertion[int])
	for i := range x.e.Inputs {
		opt, f, err := x.bindInput(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(x.e.Inputs[i].Slot, x.e.Inputs[i].Const), err)
		}
		opts = append(opts, opt...)
		bind = append(bind, f...)
	}
	for i, out := range x.e.Outputs {
		slot := x.slot(out.Slot)
		if slot < 0 {
			continue
		}
		if s := &o.Slots[slot]; s.Asked() {
			n := len(x.c.node.GetOutput()) - i
			bind = append(bind, func(in *graph.Insertion[int]) { in.Ask(slot, n) })
		} else if s.OnRequest && x.here[out.Slot] {
			opts = append(opts, graph.Request(slot))
		}
	}
	if v := x.c.stored; v != nil {
		opts = append(opts, x.b.stored(o, v)...)
	}
	in := graph.Insert[int](x.b.g, 0, o, attrs, opts...)
	for _, f := range append(bind, passed...) {
		f(in)
	}
	n := in.Node()
	if n == nil {
		return nil, x.b.g.Err()
	}
	if err := x.weights(n); err != nil {
		return nil, err
	}
	x.b.origins[n] = x.b.origin(x.c)
	return x.outputs(n)
}

// weights refuses a node of which the caller left out an input that is a weight. The graph has made a
// variable for it, whose value the file does not say.
func (x *use) weights(n *graph.Node) error {
	for slot := range n.Op.Slots {
		s := &n.Op.Slots[slot]
		if s.Role != task.RoleWeight || x.c.stored != nil {
			continue
		}
		for _, t := range n.Tensors(slot) {
			if t.Valid() && !x.bound[t.Name()] {
				return fmt.Errorf("want a tensor for %s, got none", s.Name)
			}
		}
	}
	return nil
}

// attributes refuses attributes of the node that the entry does not read.
func (x *use) attributes() error {
	reads, err := x.e.Reads()
	if err != nil {
		return err
	}
	for _, a := range x.c.node.GetAttribute() {
		if !slices.Contains(reads, a.GetName()) && !slices.Contains(x.e.Ignore, a.GetName()) {
			return fmt.Errorf("the attribute %s has no meaning here", a.GetName())
		}
	}
	return nil
}

// bindInput returns what binds an input to its slot.
func (x *use) bindInput(i int) ([]graph.Option, []func(*graph.Insertion[int]), error) {
	o := x.e.Inputs[i]
	slot := x.slot(o.Slot)
	if slot < 0 {
		return nil, nil, nil
	}
	list := []*value{x.c.input(i)}
	if s := &x.operator().Slots[slot]; s.Variadic {
		list = x.c.inputs[min(i, len(x.c.inputs)):]
	}
	var tensors []graph.Tensor
	var last *value
	for _, v := range list {
		if v == nil {
			if x.operator().Slots[slot].Gaps {
				tensors = append(tensors, graph.Tensor{})
			}
			continue
		}
		v, err := x.adapt(v, o, false)
		if err != nil {
			return nil, nil, err
		}
		last = v
		t, err := x.b.tensorOf(v)
		if err != nil {
			return nil, nil, err
		}
		tensors = append(tensors, t)
	}
	if last == nil {
		return nil, nil, nil
	}
	switch s := &x.operator().Slots[slot]; {
	case s.Role == task.RoleWeight:
		t := weightOf(tensors[0])
		if !s.Trainable && x.bound[t.Name()] && last.constant() {
			// Training updates the slot: it reads a tensor of its own, where a file has one for several
			// inputs.
			err := x.b.fold.value(last)
			if err == nil {
				t, err = x.b.tensorOf(constant(last.name, *last.data))
			}
			if err != nil {
				return nil, nil, err
			}
			t = weightOf(t)
		}
		x.bound[t.Name()] = true
		return []graph.Option{graph.Weight(slot, t)}, nil, nil
	case s.Optional && !s.Variadic:
		return []graph.Option{graph.With(slot, tensors[0])}, nil, nil
	}
	return nil, []func(*graph.Insertion[int]){func(in *graph.Insertion[int]) { in.Bind(slot, tensors...) }}, nil
}

// weightOf returns the variable that a tensor repeats, or the tensor itself.
func weightOf(t graph.Tensor) graph.Tensor {
	n := t.Node()
	if n == nil || len(n.Op.Callees) > 0 {
		return t
	}
	for slot := range n.Op.Slots {
		if w := n.Tensor(slot); n.Op.Slots[slot].Role == task.RoleWeight && w.Valid() && w.Name() == n.Name+"."+n.Op.Slots[slot].Name &&
			!slices.ContainsFunc(n.Op.Slots, func(s task.Slot) bool { return s.Role == task.RoleInput }) {
			return w
		}
	}
	return t
}

// adapt gives a value the type, the shape and the order of dimensions of an operand of the entry.
func (x *use) adapt(v *value, o mapping.Operand, behind bool) (*value, error) {
	steps := []struct {
		text, op string
	}{{o.Type, "Cast"}, {o.Shape, "Reshape"}, {o.Expand, "Expand"}, {o.Permute, "Transpose"}}
	if behind {
		slices.Reverse(steps)
	}
	for _, s := range steps {
		if s.text == "" {
			continue
		}
		want, err := x.eval(s.text)
		if err != nil {
			return nil, err
		}
		if want == nil {
			continue
		}
		t, shape, err := x.b.typeOf(v)
		if err != nil {
			return nil, err
		}
		node := &onnxpb.NodeProto{OpType: new(s.op), Name: x.c.node.Name, Output: []string{""}}
		inputs := []*value{v}
		switch s.op {
		case "Cast":
			if want == t.String() {
				continue
			}
			to, err := onnxType(want)
			if err != nil {
				return nil, err
			}
			node.Attribute = []*onnxpb.AttributeProto{{Name: new("to"), Type: onnxpb.AttributeProto_INT.Enum(), I: new(int64(to))}}
		case "Reshape":
			list, ok := want.([]int)
			if !ok {
				return nil, fmt.Errorf("want a list of extents, got %v", want)
			}
			if slices.Equal(list, shape) {
				continue
			}
			inputs = append(inputs, constant("", integersOf([]int{len(list)}, list...)))
			node.Attribute = []*onnxpb.AttributeProto{{Name: new("allowzero"), Type: onnxpb.AttributeProto_INT.Enum(), I: new(int64(1))}}
		case "Expand":
			list, ok := want.([]int)
			if !ok {
				return nil, fmt.Errorf("want a list of extents, got %v", want)
			}
			if slices.Equal(list, shape) {
				continue
			}
			inputs = append(inputs, constant("", integersOf([]int{len(list)}, list...)))
		case "Transpose":
			list, ok := want.([]int)
			if !ok {
				return nil, fmt.Errorf("want the order of dimensions, got %v", want)
			}
			if slices.IsSorted(list) {
				continue
			}
			perm := make([]int64, len(list))
			for i, n := range list {
				perm[i] = int64(n)
			}
			node.Attribute = []*onnxpb.AttributeProto{{Name: new("perm"), Type: onnxpb.AttributeProto_INTS.Enum(), Ints: perm}}
		}
		outs, err := x.b.call(&call{node: node, scope: x.c.scope, version: newest, inputs: inputs})
		if err != nil {
			return nil, err
		}
		if outs[0].name == "" && v.constant() {
			outs[0].name = v.name // what follows from a weight has its name
		}
		v = outs[0]
	}
	return v, nil
}

// newest is a version of the operator set in which nodes that are inserted for others are looked up.
const newest = 24

// onnxType returns the number of an element type in files.
func onnxType(name any) (int32, error) {
	for k, t := range elementTypes {
		if t.String() == name {
			return int32(k), nil
		}
	}
	return 0, fmt.Errorf("want an element type, got %v", name)
}

// outputs returns the values of the node's outputs.
func (x *use) outputs(n *graph.Node) ([]*value, error) {
	outs := make([]*value, len(x.c.node.GetOutput()))
	if len(outs) == 0 {
		outs = make([]*value, 1)
	}
	for i, o := range x.e.Outputs {
		slot := x.slot(o.Slot)
		if slot < 0 || i >= len(outs) {
			continue
		}
		tensors := n.Tensors(slot)
		x.values[o.Slot] = nil
		for k, t := range tensors {
			if i+k >= len(outs) {
				break
			}
			if n := len(t.Shape()); n > maxDims {
				return nil, fmt.Errorf("want at most %d dimensions, got %d", maxDims, n)
			}
			v := x.b.bound(t)
			x.values[o.Slot] = v
			v, err := x.adapt(v, o, true)
			if err != nil {
				return nil, err
			}
			if !v.tensor.Valid() {
				if v.tensor, err = x.b.tensorOf(v); err != nil {
					return nil, err
				}
			}
			v.counted = x.operator().Slots[slot].CountedBy != ""
			outs[i+k] = v
		}
	}
	for i, name := range x.c.node.GetOutput() {
		if name != "" && outs[i] == nil {
			return nil, fmt.Errorf("want no output %d, got %s", i, name)
		}
	}
	return outs, nil
}

// jsonValue returns a value as attributes hold it in JSON, where numbers that JSON lacks are strings.
func jsonValue(v any) any {
	f, ok := v.(float64)
	switch {
	case ok && math.IsInf(f, 1):
		return "inf"
	case ok && math.IsInf(f, -1):
		return "-inf"
	case ok && math.IsNaN(f):
		return "nan"
	case ok && f == math.Trunc(f) && math.Abs(f) < 1<<63:
		return json.Number(strconv.FormatFloat(f, 'f', 1, 64))
	}
	return v
}

// argument returns the value of an argument, which is a float unless it is a list or a truth value.
func argument(v any) any {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v
}

// stored returns the options of the node that stores a constant: its name, and how it begins.
func (b *builder) stored(o *graph.Operator, v *value) []graph.Option {
	name := v.name
	for k := 2; name == "" || b.hasNode(name); k++ {
		name = cmp.Or(v.name, "constant") + " " + strconv.Itoa(k)
	}
	return []graph.Option{graph.Named(name)}
}

// hasNode reports whether the graph has a node of a name.
func (b *builder) hasNode(name string) bool {
	nodes := b.g.Nodes()
	for _, n := range nodes[b.seen:] {
		b.names[n.Name] = true
	}
	b.seen = len(nodes)
	return b.names[name]
}
