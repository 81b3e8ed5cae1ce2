package onnx

import (
	"math"
	"slices"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/safetensors"
)

// Frozen says that the network is not trained where it is inserted. Then what follows a convolution or a
// product with constant weights, and only scales and shifts its channels by constants, becomes a part of the
// weights: normalization of batches, and sums, differences, products and quotients with constants. Outputs
// differ by rounding only. Quotients with a constant below become products. The network has other variables
// then.
func Frozen() Option { return func(b *builder) { b.frozen = true } }

// linear says where an operator has its weights and its channels.
type linear struct {
	bias bool // whether input 2 is added to each channel
	last bool // whether channels are the last dimension of the output, and not its second one
	// channel returns the dimension of the weights that counts the channels of a group, and the number of
	// groups.
	channel func(n *onnxpb.NodeProto) (dimension, groups int)
}

// linears are the operators that take part, by name. Their weights are input 1.
var linears = map[string]linear{
	"Conv":          {bias: true, channel: func(*onnxpb.NodeProto) (int, int) { return 0, 1 }},
	"ConvTranspose": {bias: true, channel: func(n *onnxpb.NodeProto) (int, int) { return 1, integerOf(n, "group", 1) }},
	"Gemm":          {bias: true, last: true, channel: func(n *onnxpb.NodeProto) (int, int) { return 1 - integerOf(n, "transB", 0), 1 }},
	"MatMul":        {last: true, channel: func(*onnxpb.NodeProto) (int, int) { return 1, 1 }},
}

// sinceBroadcast is the version of the operator set from which on operands are broadcast as in NumPy.
const sinceBroadcast = 7

// freezer rewrites the nodes of a graph.
type freezer struct {
	b      *builder
	s      *scope
	nodes  []*onnxpb.NodeProto
	makers map[string]*onnxpb.NodeProto // of values
	reads  map[string]int               // how often a value is read
	reader map[string]int               // the number of the last node that reads a value
}

// freeze returns the nodes of a graph in which parts of weights were computed. Constants of new nodes go into
// the scope. The nodes of the model stay as they are.
func (b *builder) freeze(s *scope, nodes []*onnxpb.NodeProto, names []string) []*onnxpb.NodeProto {
	if !b.frozen || s.opsets[""] < sinceBroadcast {
		return nodes
	}
	z := &freezer{b, s, slices.Clone(nodes), map[string]*onnxpb.NodeProto{}, map[string]int{}, map[string]int{}}
	for _, name := range names {
		z.reads[name]++
	}
	for i, n := range nodes {
		for _, name := range n.GetInput() {
			z.reads[name]++
			z.reader[name] = i
		}
		for _, name := range n.GetOutput() {
			z.makers[name] = n
		}
		for _, a := range n.GetAttribute() {
			z.within(a)
		}
	}
	for i, n := range nodes {
		if l, ok := linears[n.GetOpType()]; ok && z.known(n) {
			z.fold(i, &l)
		}
	}
	for i, n := range z.nodes {
		if n.GetOpType() == "Div" && z.known(n) {
			z.nodes[i] = z.product(n)
		}
	}
	return slices.DeleteFunc(z.nodes, func(n *onnxpb.NodeProto) bool { return n == nil })
}

// within counts what the graphs of an attribute may read of the graph around them.
func (z *freezer) within(a *onnxpb.AttributeProto) {
	for _, g := range append(a.GetGraphs(), a.GetG()) {
		for _, v := range g.GetOutput() {
			z.reads[v.GetName()]++
		}
		for _, n := range g.GetNode() {
			for _, name := range n.GetInput() {
				z.reads[name]++
			}
			for _, a := range n.GetAttribute() {
				z.within(a)
			}
		}
	}
}

// known reports whether a node has the operator of ONNX of its name, and attributes of its own.
func (z *freezer) known(n *onnxpb.NodeProto) bool {
	return domain(n.GetDomain()) == "" && z.b.m.functions[functionKey{"", n.GetOpType()}] == nil &&
		!slices.ContainsFunc(n.GetAttribute(), func(a *onnxpb.AttributeProto) bool { return a.GetRefAttrName() != "" })
}

// constant returns a constant of a floating-point type that has a value before any node runs, or nil.
func (z *freezer) constant(name string) *safetensors.Tensor {
	var v *value
	if n := z.makers[name]; n == nil {
		v = z.s.find(name)
	} else if n.GetOpType() == "Constant" && z.known(n) {
		if outs, err := z.b.constantNode(&call{node: n, scope: z.s}); err == nil {
			v = outs[0]
		}
	}
	if v == nil || v.data == nil || v.data.Type != dtype.F32 && v.data.Type != dtype.F64 {
		return nil
	}
	return v.data
}

// fold puts what follows a node into its weights.
func (z *freezer) fold(at int, l *linear) {
	n := z.nodes[at]
	if n == nil || len(n.GetInput()) < 2 || len(n.GetOutput()) != 1 || z.reads[n.GetInput()[1]] != 1 {
		return
	}
	weight := z.constant(n.GetInput()[1])
	if weight == nil || len(weight.Shape) < 2 || l.last && len(weight.Shape) != 2 {
		return
	}
	dimension, groups := l.channel(n)
	if dimension < 0 || dimension > 1 || groups < 1 || groups > weight.Shape[0] {
		return
	}
	each := weight.Shape[dimension]
	channels := each * groups
	scale, shift := slices.Repeat([]float64{1}, channels), make([]float64, channels)
	if l.bias && len(n.GetInput()) > 2 && n.GetInput()[2] != "" {
		bias := z.vector(n.GetInput()[2], channels, weight.Type)
		if l.last {
			bias = z.perChannel(n.GetInput()[2], n, l, weight, channels)
		}
		if bias == nil {
			return
		}
		beta := 1.0
		for _, a := range n.GetAttribute() {
			if a.GetName() == "beta" {
				beta = float64(a.GetF())
			}
		}
		for i, v := range bias {
			shift[i] = beta * v
		}
	}
	last, out := at, n.GetOutput()[0]
	for z.reads[out] == 1 {
		next, direct := z.reader[out]
		if !direct || next <= last || z.nodes[next] == nil {
			break
		}
		a, c, ok := z.affine(z.nodes[next], out, n, l, weight, channels)
		if !ok {
			break
		}
		for i := range scale {
			scale[i], shift[i] = a[i]*scale[i], a[i]*shift[i]+c[i]
		}
		last, out = next, z.nodes[next].GetOutput()[0]
		z.nodes[next], z.nodes[at] = nil, nil
		at = last
		z.nodes[at] = n // stands for what was folded until it is replaced
	}
	if out == n.GetOutput()[0] {
		return
	}
	z.nodes[at] = z.node(n, l, weight, dimension, groups, out, scale, shift)
}

// product returns the product with a reciprocal for a quotient with a constant below, which takes several
// times as long.
func (z *freezer) product(n *onnxpb.NodeProto) *onnxpb.NodeProto {
	if len(n.GetInput()) != 2 || len(n.GetOutput()) != 1 {
		return n
	}
	t := z.constant(n.GetInput()[1])
	if t == nil {
		return n
	}
	values := elements(t, elementsOf(t), t.Type.Size())
	for i, v := range values {
		values[i] = 1 / v
		if a := math.Abs(values[i]); !(a <= math.MaxFloat32 && a >= smallest) {
			return n
		}
	}
	return &onnxpb.NodeProto{Name: n.Name, OpType: new("Mul"), Input: []string{n.GetInput()[0], z.add(n.GetInput()[1]+".reciprocal", t.Type, t.Shape, values)}, Output: n.Output}
}

// smallest is the least number of float32 that has all of its digits.
const smallest = 0x1p-126

// node returns a node with other weights.
func (z *freezer) node(n *onnxpb.NodeProto, l *linear, weight *safetensors.Tensor, dimension, groups int, out string, scale, shift []float64) *onnxpb.NodeProto {
	each := weight.Shape[dimension]
	behind := 1
	for _, e := range weight.Shape[dimension+1:] {
		behind *= e
	}
	of := func(i int) int { // the channel of element i of the weights
		c := i / behind % each
		if groups > 1 {
			c += i / (behind * each) / (weight.Shape[0] / groups) * each
		}
		return c
	}
	y := &onnxpb.NodeProto{Name: n.Name, OpType: n.OpType, Domain: n.Domain, Output: []string{out}}
	for _, a := range n.GetAttribute() {
		if a.GetName() != "beta" { // the bias has it
			y.Attribute = append(y.Attribute, a)
		}
	}
	y.Input = []string{n.GetInput()[0], n.GetInput()[1]}
	if slices.ContainsFunc(scale, func(v float64) bool { return v != 1 }) {
		scaled := elements(weight, elementsOf(weight), weight.Type.Size())
		for i := range scaled {
			scaled[i] *= scale[of(i)]
		}
		y.Input[1] = z.add(out+".weight", weight.Type, weight.Shape, scaled)
	}
	if l.bias {
		y.Input = append(y.Input, z.add(out+".bias", weight.Type, []int{len(shift)}, shift))
	}
	return y
}

// affine returns by what a node scales and shifts each channel of a value, if it does nothing else.
func (z *freezer) affine(n *onnxpb.NodeProto, in string, of *onnxpb.NodeProto, l *linear, weight *safetensors.Tensor, channels int) (scale, shift []float64, ok bool) {
	if !z.known(n) || len(n.GetOutput()) == 0 || slices.ContainsFunc(n.GetOutput()[1:], func(name string) bool { return name != "" }) {
		return nil, nil, false
	}
	scale, shift = slices.Repeat([]float64{1}, channels), make([]float64, channels)
	if n.GetOpType() == "BatchNormalization" {
		ok = z.normalization(n, in, of, l, weight, scale, shift)
	} else if len(n.GetInput()) == 2 {
		first := n.GetInput()[0] == in
		other := n.GetInput()[0]
		if first {
			other = n.GetInput()[1]
		}
		if v := z.perChannel(other, of, l, weight, channels); v != nil {
			ok = arithmetic(n.GetOpType(), first, v, scale, shift)
		}
	}
	finite := func(v float64) bool { return math.Abs(v) <= math.MaxFloat32 }
	for i := range scale {
		ok = ok && finite(scale[i]) && finite(shift[i]) && (l.bias || shift[i] == 0)
	}
	return scale, shift, ok
}

// arithmetic computes the scales and shifts of an operator with a constant behind its other operand, or in
// front of it.
func arithmetic(op string, behind bool, v, scale, shift []float64) bool {
	for i, v := range v {
		switch {
		case op == "Mul":
			scale[i] = v
		case op == "Div" && behind:
			scale[i] = 1 / v
		case op == "Add":
			shift[i] = v
		case op == "Sub" && behind:
			shift[i] = -v
		case op == "Sub":
			scale[i], shift[i] = -1, v
		default:
			return false
		}
	}
	return true
}

// normalization computes the scales and shifts of a normalization by stored statistics.
func (z *freezer) normalization(n *onnxpb.NodeProto, in string, of *onnxpb.NodeProto, l *linear, weight *safetensors.Tensor, scale, shift []float64) bool {
	if len(n.GetInput()) != 5 || n.GetInput()[0] != in || of.GetOpType() == "MatMul" || integerOf(n, "training_mode", 0) != 0 || integerOf(n, "spatial", 1) != 1 {
		return false
	}
	epsilon := float64(float32(1e-5))
	for _, a := range n.GetAttribute() {
		if a.GetName() == "epsilon" {
			epsilon = float64(a.GetF())
		}
	}
	var given [4][]float64 // scale, bias, mean and variance
	for i, name := range n.GetInput()[1:] {
		if given[i] = z.vector(name, len(scale), weight.Type); given[i] == nil {
			return false
		}
	}
	for i := range scale {
		scale[i] = given[0][i] / math.Sqrt(given[3][i]+epsilon)
		shift[i] = given[1][i] - given[2][i]*scale[i]
	}
	return true
}

// perChannel returns the element of a constant for each channel; nil if it has others, or if it would give
// the output more dimensions.
func (z *freezer) perChannel(name string, of *onnxpb.NodeProto, l *linear, weight *safetensors.Tensor, channels int) []float64 {
	t := z.constant(name)
	if t == nil || t.Type != weight.Type {
		return nil
	}
	shape := t.Shape
	switch {
	case l.last:
		if len(shape) > 1 && (of.GetOpType() != "Gemm" || len(shape) > 2 || shape[0] != 1) {
			return nil
		}
		shape = shape[max(len(shape)-1, 0):]
	case len(shape) > len(weight.Shape):
		return nil
	default:
		behind := min(len(weight.Shape)-2, len(shape)) // dimensions behind that of channels
		for i, e := range shape {
			if e != 1 && i != len(shape)-behind-1 {
				return nil
			}
		}
		shape = shape[max(len(shape)-behind-1, 0) : len(shape)-behind]
	}
	switch {
	case len(shape) == 1 && shape[0] == channels:
		return elements(t, channels, t.Type.Size())
	case elementsOf(t) == 1:
		return elements(t, channels, 0)
	}
	return nil
}

// vector returns the elements of a constant that is a list of n of a type, or nil.
func (z *freezer) vector(name string, n int, of dtype.Type) []float64 {
	t := z.constant(name)
	if t == nil || t.Type != of || !slices.Equal(t.Shape, []int{n}) {
		return nil
	}
	return elements(t, n, of.Size())
}

// elements returns n elements of a tensor that lie some bytes apart.
func elements(t *safetensors.Tensor, n, apart int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = t.Type.Float64(t.Data[i*apart:])
	}
	return out
}

// add adds a constant to the scope, and returns its name.
func (z *freezer) add(name string, t dtype.Type, shape []int, values []float64) string {
	for z.s.find(name) != nil || z.makers[name] != nil {
		name += "'"
	}
	var data safetensors.Tensor
	if t == dtype.F64 {
		data = tensorOf(shape, values)
	} else {
		narrow := make([]float32, len(values))
		for i, v := range values {
			narrow[i] = float32(v)
		}
		data = tensorOf(shape, narrow)
	}
	z.s.values[name] = constant(name, data)
	if z.b.initializers != nil {
		z.b.initializers[name] = true
	}
	return name
}

// tensorOf returns a tensor of as many values as a shape has.
func tensorOf[T float32 | float64](shape []int, values []T) safetensors.Tensor {
	t, _ := safetensors.Of(shape, values) // it errs where their numbers differ
	return t
}

// elementsOf returns the number of elements of a tensor.
func elementsOf(t *safetensors.Tensor) int { return len(t.Data) / t.Type.Size() }

// integerOf returns an integer attribute of a node.
func integerOf(n *onnxpb.NodeProto, name string, otherwise int) int {
	for _, a := range n.GetAttribute() {
		if a.GetName() == name {
			return int(a.GetI())
		}
	}
	return otherwise
}
