package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// sequence is a list of tensors of a network, whose length is known when the graph is built. Values of this
// kind have no tensor of their own.
type sequence struct {
	values []*value
	other  string // what it is instead of a list of tensors; "" for a list
}

func (s *sequence) String() string { return cmp.Or(s.other, "a sequence") }

// without is what an optional value without an element is.
const without = "an optional value without an element"

// strange returns a value that only operators of sequences may pass on.
func strange(name, what string) *value { return &value{name: name, sequence: &sequence{other: what}} }

// maxSequence bounds the length of a sequence.
const maxSequence = 1 << 12

func sequenceOf(values []*value) ([]*value, error) {
	if len(values) > maxSequence {
		return nil, fmt.Errorf("want a sequence of at most %d tensors, got %d", maxSequence, len(values))
	}
	return []*value{{sequence: &sequence{values: values}}}, nil
}

// list returns the tensors of an input that is a sequence.
func (c *call) list(i int) ([]*value, error) {
	if v := c.input(i); v != nil && v.sequence != nil && v.sequence.other == "" {
		return v.sequence.values, nil
	}
	return nil, fmt.Errorf("want a sequence as input %d", i)
}

// integers returns the elements of an input that must be known, and how many dimensions it has.
func (b *builder) integers(c *call, i int) (list []int, rank int, err error) {
	v := c.input(i)
	if v == nil || !v.constant() {
		return nil, 0, fmt.Errorf("want integers that are known when the graph is built as input %d", i)
	}
	if err := b.fold.value(v); err != nil {
		return nil, 0, err
	}
	of, err := known(*v.data)
	if n, ok := of.(int); ok {
		return []int{n}, 0, err
	}
	list, ok := of.([]int)
	if err == nil && !ok {
		err = fmt.Errorf("want integers as input %d", i)
	}
	return list, len(v.data.Shape), err
}

// place returns a place in a list of n, which an input gives, or the last one without the input.
func (b *builder) place(c *call, i, n, last int) (int, error) {
	if c.input(i) == nil {
		return last, nil
	}
	list, _, err := b.integers(c, i)
	if err != nil {
		return 0, err
	}
	if len(list) != 1 || list[0] < -n || list[0] > last {
		return 0, fmt.Errorf("want a place from %d to %d in a sequence, got %v", -n, last, list)
	}
	if list[0] < 0 {
		return list[0] + n, nil
	}
	return list[0], nil
}

// onSequence computes an operator of sequences.
func (b *builder) onSequence(c *call) ([]*value, error) {
	switch c.node.GetOpType() {
	case "SequenceEmpty":
		return sequenceOf(nil)
	case "SequenceConstruct":
		if slices.Contains(c.inputs, nil) {
			return nil, errors.New("want tensors")
		}
		return sequenceOf(slices.Clone(c.inputs))
	case "SplitToSequence":
		return b.splitToSequence(c)
	case "SequenceMap":
		return b.sequenceMap(c)
	}
	list, err := c.list(0)
	if err != nil {
		return nil, err
	}
	n := len(list)
	switch c.node.GetOpType() {
	case "SequenceLength":
		return []*value{constant("", integersOf([]int{}, n))}, nil
	case "SequenceAt":
		at, err := b.place(c, 1, n, n-1)
		if err != nil || c.input(1) == nil {
			return nil, missing(err, "want a place")
		}
		return []*value{list[at]}, nil
	case "SequenceErase":
		at, err := b.place(c, 1, n, n-1)
		if err != nil || n == 0 {
			return nil, missing(err, "want a tensor in the sequence")
		}
		return sequenceOf(slices.Delete(slices.Clone(list), at, at+1))
	case "SequenceInsert":
		at, err := b.place(c, 2, n, n)
		if err != nil || c.input(1) == nil {
			return nil, missing(err, "want a tensor")
		}
		return sequenceOf(slices.Insert(slices.Clone(list), at, c.input(1)))
	}
	// ConcatFromSequence
	if n == 0 || c.attribute("axis") == nil {
		return nil, errors.New("want tensors in the sequence, and an axis")
	}
	axis := int(c.attribute("axis").GetI())
	if c.attribute("new_axis").GetI() == 1 {
		return b.stacked(c, nil, [][]*value{list}, []int64{int64(axis)}, nil)
	}
	all, err := b.insert(c, "Concat", map[string]any{"axis": axis}, list...)
	return []*value{all}, err
}

// sequenceMap computes a graph of each tensor of a sequence, beside those of other sequences or other
// tensors.
func (b *builder) sequenceMap(c *call) ([]*value, error) {
	first, err := c.list(0)
	if err != nil {
		return nil, err
	}
	g, err := b.body(c, "body")
	if err != nil {
		return nil, err
	}
	lists := make([][]*value, len(g.GetOutput()))
	for t := range first {
		given := slices.Clone(c.inputs)
		for i, v := range given {
			if v == nil || v.sequence == nil {
				continue
			}
			list, err := c.list(i)
			if err == nil && len(list) != len(first) {
				err = fmt.Errorf("want sequences of %d tensors, got %d as input %d", len(first), len(list), i)
			}
			if err != nil {
				return nil, err
			}
			given[i] = list[t]
		}
		outs, err := g.run(b, given...)
		if err != nil {
			return nil, err
		}
		for i, v := range outs {
			lists[i] = append(lists[i], v)
		}
	}
	var outs []*value
	for _, list := range lists {
		s, err := sequenceOf(list)
		if err != nil {
			return nil, err
		}
		outs = append(outs, s...)
	}
	return outs, nil
}

// onOptional computes an operator of values that may be without an element.
func (b *builder) onOptional(c *call) ([]*value, error) {
	v := c.input(0)
	has := v != nil && (v.sequence == nil || v.sequence.other != without)
	switch c.node.GetOpType() {
	case "OptionalHasElement":
		return []*value{constant("", truthOf(has))}, nil
	case "OptionalGetElement":
		if !has {
			return nil, errors.New("want a value with an element")
		}
	case "Optional":
		if v == nil {
			return []*value{strange("", without)}, nil
		}
	}
	return []*value{v}, nil
}

func missing(err error, what string) error {
	if err != nil {
		return err
	}
	return errors.New(what)
}

// splitToSequence cuts a tensor along an axis: into parts of one extent, of given ones, or into its elements,
// which lose the axis unless keepdims holds.
func (b *builder) splitToSequence(c *call) ([]*value, error) {
	if c.input(0) == nil {
		return nil, errors.New("want a tensor")
	}
	_, shape, err := b.typeOf(c.input(0))
	if err != nil {
		return nil, err
	}
	axis := int(c.attribute("axis").GetI())
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) {
		return nil, fmt.Errorf("want an axis of %v, got %d", shape, axis)
	}
	parts, single := []int{}, c.input(1) == nil
	if single {
		parts = slices.Repeat([]int{1}, min(shape[axis], maxSequence+1))
	} else if list, rank, err := b.integers(c, 1); err != nil {
		return nil, err
	} else if rank > 0 {
		parts = list
	} else if list[0] < 1 {
		return nil, fmt.Errorf("want parts of at least 1, got %d", list[0])
	} else {
		for at := 0; at < shape[axis] && len(parts) <= maxSequence; at += list[0] {
			parts = append(parts, min(list[0], shape[axis]-at))
		}
	}
	var out []*value
	at := 0
	for _, n := range parts {
		if n < 0 || n > shape[axis]-at {
			return nil, fmt.Errorf("want parts of %d elements, got %v", shape[axis], parts)
		}
		one := func(n int) *value { return constant("", integersOf([]int{1}, n)) }
		part, err := b.insert(c, "Slice", nil, c.input(0), one(at), one(at+n), one(axis))
		if keep := c.attribute("keepdims"); err == nil && single && keep != nil && keep.GetI() == 0 {
			part, err = b.insert(c, "Squeeze", nil, part, one(axis))
		}
		if err != nil {
			return nil, err
		}
		out, at = append(out, part), at+n
	}
	if at != shape[axis] {
		return nil, fmt.Errorf("want parts of %d elements, got %v", shape[axis], parts)
	}
	return sequenceOf(out)
}
