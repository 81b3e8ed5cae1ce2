package onnx

import (
	"errors"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/safetensors"
)

// constantNode returns the value in an attribute of the node.
func (b *builder) constantNode(c *call) ([]*value, error) {
	name := ""
	if len(c.node.GetOutput()) > 0 {
		name = c.node.GetOutput()[0]
	}
	for _, given := range c.node.GetAttribute() {
		a := c.attribute(given.GetName()) // that of a function, if the node refers to it
		if a == nil {
			continue
		}
		switch given.GetName() {
		case "value":
			v, err := b.fold.inFile(name, a.GetT())
			return []*value{v}, err
		case "sparse_value":
			v, err := b.fold.sparseInFile(name, a.GetSparseTensor())
			return []*value{v}, err
		case "value_string", "value_strings":
			return []*value{strange(name, "strings")}, nil
		case "value_int":
			return []*value{constant(name, integersOf([]int{}, int(a.GetI())))}, nil
		case "value_ints":
			v, err := attribute(a)
			list, _ := v.([]int)
			return []*value{constant(name, integersOf([]int{len(list)}, list...))}, err
		case "value_float":
			t, err := safetensors.Of([]int{}, []float32{a.GetF()})
			return []*value{constant(name, t)}, err
		case "value_floats":
			t, err := safetensors.Of([]int{len(a.GetFloats())}, a.GetFloats())
			return []*value{constant(name, t)}, err
		}
	}
	return nil, errors.New("want the value of a tensor, integers, floats or strings")
}

// identity returns the input.
func (b *builder) identity(c *call) ([]*value, error) {
	if c.input(0) == nil {
		return nil, errors.New("want an input")
	}
	if b.variables == nil {
		return nil, nil // a graph of constants has tensors
	}
	return []*value{c.input(0)}, nil
}

// shape returns the extents of the input, or a part of them.
func (b *builder) shape(c *call) ([]*value, error) {
	if c.input(0) == nil {
		return nil, errors.New("want an input")
	}
	_, extents, err := b.typeOf(c.input(0))
	if err != nil {
		return nil, err
	}
	rank := len(extents)
	bound := func(name string, missing int) int {
		n := missing
		if a := c.attribute(name); a != nil {
			n = int(a.GetI())
		}
		if n < 0 {
			n += rank
		}
		return min(max(n, 0), rank)
	}
	lo, hi := bound("start", 0), bound("end", rank)
	part := extents[lo:max(lo, hi)]
	return []*value{constant("", integersOf([]int{len(part)}, part...))}, nil
}

// size returns the number of elements of the input.
func (b *builder) size(c *call) ([]*value, error) {
	if c.input(0) == nil {
		return nil, errors.New("want an input")
	}
	_, extents, err := b.typeOf(c.input(0))
	n := 1
	for _, e := range extents {
		n *= e
	}
	return []*value{constant("", integersOf([]int{}, n))}, err
}

// nonzero returns the indices of the elements of a constant that are not 0, which decide about its extents.
func (b *builder) nonzero(c *call) ([]*value, error) {
	v := c.input(0)
	if v == nil || !v.constant() {
		return nil, errors.New("want a constant, since its elements decide about the extents of the output")
	}
	if err := b.fold.value(v); err != nil {
		return nil, err
	}
	size, rank := v.data.Type.Size(), len(v.data.Shape)
	var places []int
	for i := range len(v.data.Data) / size {
		if v.data.Type.Float64(v.data.Data[i*size:]) != 0 {
			places = append(places, i)
		}
	}
	out := make([]int, rank*len(places))
	stride := 1
	for d := rank - 1; d >= 0; d-- {
		for k, i := range places {
			out[d*len(places)+k] = i / stride % v.data.Shape[d]
		}
		stride *= v.data.Shape[d]
	}
	return []*value{constant("", integersOf([]int{rank, len(places)}, out...))}, nil
}

// function computes the body of a function of the model.
func (b *builder) function(c *call, f *onnxpb.FunctionProto) ([]*value, error) {
	sets := opsets(f.GetOpsetImport())
	s := newScope(nil, sets)
	s.attrs, s.absent = map[string]*onnxpb.AttributeProto{}, map[string]bool{}
	for _, a := range f.GetAttributeProto() {
		s.attrs[a.GetName()] = a
	}
	for _, a := range c.node.GetAttribute() {
		if given := c.attribute(a.GetName()); given != nil {
			s.attrs[a.GetName()] = given
		}
	}
	for i, name := range f.GetInput() {
		if v := c.input(i); v != nil {
			s.values[name] = v
		} else {
			s.absent[name] = true
		}
	}
	outs, err := b.run(s, f.GetNode(), f.GetOutput())
	if err != nil {
		return nil, c.refused("a function", err)
	}
	return outs, nil
}
