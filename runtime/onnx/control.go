package onnx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
)

// maxTrips bounds how often the body of a loop is inserted.
const maxTrips = 1 << 10

// body is a graph within a node: the names in it, and its tensors, which all runs of it share.
type body struct {
	*onnxpb.GraphProto
	scope *scope
}

// body returns the graph in an attribute of the node.
func (b *builder) body(c *call, name string) (*body, error) {
	g := c.attribute(name).GetG()
	if g == nil {
		return nil, fmt.Errorf("want the graph %s, got none", name)
	}
	s := newScope(c.scope, c.scope.opsets)
	s.attrs = c.scope.attrs
	return &body{g, s}, s.initializers(b.fold, g)
}

// run computes the outputs of a body for values of its inputs.
func (g *body) run(b *builder, inputs ...*value) ([]*value, error) {
	if len(inputs) != len(g.GetInput()) {
		return nil, fmt.Errorf("want a graph of %d inputs, got %d", len(inputs), len(g.GetInput()))
	}
	s := newScope(g.scope, g.scope.opsets)
	s.attrs = g.scope.attrs
	for i, v := range g.GetInput() {
		s.values[v.GetName()] = inputs[i]
	}
	return b.run(s, g.GetNode(), outputNames(g.GraphProto))
}

// truth returns a truth value that is known.
func (b *builder) truth(v *value) (bool, error) {
	if err := b.fold.value(v); err != nil {
		return false, err
	}
	if v.data.Type != dtype.Bool || len(v.data.Data) != 1 {
		return false, fmt.Errorf("want one truth value as the condition, got %v%v", v.data.Type, v.data.Shape)
	}
	return v.data.Data[0] != 0, nil
}

// branch computes the branch that a constant condition selects. Of another condition, it computes both
// branches, which have no effects, and chooses among what they give.
func (b *builder) branch(c *call) ([]*value, error) {
	cond := c.input(0)
	if cond == nil {
		return nil, errors.New("want a condition")
	}
	if cond.constant() {
		yes, err := b.truth(cond)
		if err != nil {
			return nil, err
		}
		name := "else_branch"
		if yes {
			name = "then_branch"
		}
		g, err := b.body(c, name)
		if err != nil {
			return nil, err
		}
		return g.run(b)
	}
	var outs [2][]*value
	for i, name := range []string{"then_branch", "else_branch"} {
		g, err := b.body(c, name)
		if err == nil {
			outs[i], err = g.run(b)
		}
		if err != nil {
			return nil, fmt.Errorf("both branches of a condition that only a run knows: %w", err)
		}
	}
	if len(outs[0]) != len(outs[1]) {
		return nil, fmt.Errorf("want branches of as many outputs, got %d and %d", len(outs[0]), len(outs[1]))
	}
	return b.chosen(c, cond, outs[0], outs[1])
}

// chosen returns the first values where a condition of one element holds, and the second ones otherwise.
func (b *builder) chosen(c *call, cond *value, first, second []*value) ([]*value, error) {
	scalar, err := b.insert(c, "Reshape", nil, cond, constant("", integersOf([]int{0})))
	if err != nil {
		return nil, err
	}
	outs := make([]*value, len(first))
	for i := range first {
		if first[i] == second[i] {
			outs[i] = first[i]
			continue
		}
		t, shape, err := b.typeOf(first[i])
		if err != nil {
			return nil, err
		}
		u, other, err := b.typeOf(second[i])
		if err != nil {
			return nil, err
		}
		if t != u || !slices.Equal(shape, other) {
			return nil, fmt.Errorf("want a condition that is known when the graph is built, or equal types and shapes of output %d, got %v%v and %v%v", i, t, shape, u, other)
		}
		if outs[i], err = b.insert(c, "Where", nil, scalar, first[i], second[i]); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// insert inserts a node with an attribute for another node, and returns its output.
func (b *builder) insert(c *call, op string, attrs map[string]any, inputs ...*value) (*value, error) {
	n := &onnxpb.NodeProto{OpType: &op, Name: c.node.Name, Output: []string{""}}
	for name, v := range attrs {
		p, err := attributeProto(name, v)
		if err != nil {
			return nil, err
		}
		n.Attribute = append(n.Attribute, p)
	}
	outs, err := b.call(&call{node: n, scope: newScope(nil, nil), version: newest, inputs: inputs})
	if err != nil {
		return nil, err
	}
	return outs[0], nil
}

// loop inserts the body of a loop as often as it runs. The number of runs must be known; a condition that
// only a run knows chooses after each run between what it gave and what was there before.
func (b *builder) loop(c *call) ([]*value, error) {
	g, err := b.body(c, "body")
	if err != nil {
		return nil, err
	}
	trips, limit := maxTrips+1, maxTrips
	if v := c.input(0); v != nil {
		if !v.constant() {
			return nil, errors.New("want a number of runs that is known when the graph is built")
		}
		if err := b.fold.value(v); err != nil {
			return nil, err
		}
		n, err := known(*v.data)
		if list, ok := n.([]int); ok && len(list) == 1 {
			n = list[0]
		}
		count, ok := n.(int)
		if err != nil || !ok {
			return nil, fmt.Errorf("want a number of runs, got %v", n)
		}
		trips = count
	}
	cond := c.input(1)
	carried := slices.Clone(c.inputs[min(2, len(c.inputs)):])
	scans := len(g.GetOutput()) - 1 - len(carried)
	if scans < 0 {
		return nil, fmt.Errorf("want a graph of at least %d outputs, got %d", len(carried)+1, len(g.GetOutput()))
	}
	collected := make([][]*value, scans)
	for t := 0; t < trips; t++ {
		if cond != nil && cond.constant() {
			if yes, err := b.truth(cond); err != nil {
				return nil, err
			} else if !yes {
				break
			}
		} else if cond != nil && (scans > 0 || trips > limit) {
			return nil, errors.New("want a condition that is known when the graph is built")
		}
		if t == limit {
			return nil, fmt.Errorf("want a loop of at most %d runs", limit)
		}
		now := cond
		if now == nil {
			now = constant("", truthOf(true))
		}
		outs, err := g.run(b, append([]*value{constant("", integersOf([]int{}, t)), now}, carried...)...)
		if err != nil {
			return nil, err
		}
		next := outs[1 : 1+len(carried)]
		if cond == nil || cond.constant() {
			cond = outs[0]
		} else {
			if next, err = b.chosen(c, cond, next, carried); err != nil {
				return nil, err
			}
			// A loop that ended does not run on.
			if cond, err = b.insert(c, "And", nil, cond, outs[0]); err != nil {
				return nil, err
			}
		}
		carried = slices.Clone(next)
		for i := range collected {
			collected[i] = append(collected[i], outs[1+len(carried)+i])
		}
	}
	return b.stacked(c, carried, collected, nil, nil)
}

// scan inserts the body of a scan for each element of its inputs along their axes. Before version 9, the
// inputs have a batch, of which each example is scanned by itself.
func (b *builder) scan(c *call) ([]*value, error) {
	g, err := b.body(c, "body")
	if err != nil {
		return nil, err
	}
	if c.version >= 9 {
		return b.scanned(c, g)
	}
	if c.input(0) != nil || len(c.inputs) < 2 || slices.Contains(c.inputs[1:], nil) {
		return nil, errors.New("want inputs that are scanned, and no lengths of sequences")
	}
	var lists [][]*value // by output
	batch := -1
	for i, v := range c.inputs[1:] {
		_, shape, err := b.typeOf(v)
		if err != nil {
			return nil, err
		}
		if len(shape) == 0 || batch >= 0 && shape[0] != batch || shape[0] > maxTrips {
			return nil, fmt.Errorf("want inputs of one batch of up to %d, got %v as input %d", maxTrips, shape, i+1)
		}
		batch = shape[0]
	}
	if batch == 0 {
		return nil, errors.New("want a batch of at least 1, got 0")
	}
	for at := range batch {
		one := &call{node: c.node, scope: c.scope, domain: c.domain, version: c.version}
		for _, v := range c.inputs[1:] {
			part, err := b.insert(c, "Gather", map[string]any{"axis": 0}, v, constant("", integersOf([]int{}, at)))
			if err != nil {
				return nil, err
			}
			one.inputs = append(one.inputs, part)
		}
		outs, err := b.scanned(one, g)
		if err != nil {
			return nil, err
		}
		if lists == nil {
			lists = make([][]*value, len(outs))
		}
		for i, v := range outs {
			lists[i] = append(lists[i], v)
		}
	}
	return b.stacked(c, nil, lists, nil, nil)
}

// scanned inserts the body of a scan of inputs without a batch.
func (b *builder) scanned(c *call, g *body) ([]*value, error) {
	count := int(c.attribute("num_scan_inputs").GetI())
	if count < 1 || count > len(c.inputs) || slices.Contains(c.inputs, nil) {
		return nil, fmt.Errorf("want 1 to %d inputs that are scanned, got %d", len(c.inputs), count)
	}
	states, inputs := slices.Clone(c.inputs[:len(c.inputs)-count]), c.inputs[len(c.inputs)-count:]
	scans := len(g.GetOutput()) - len(states)
	if scans < 0 {
		return nil, fmt.Errorf("want a graph of at least %d outputs, got %d", len(states), len(g.GetOutput()))
	}
	lists := map[string][]int64{}
	for name, n := range map[string]int{"scan_input_axes": count, "scan_input_directions": count, "scan_output_axes": scans, "scan_output_directions": scans} {
		lists[name] = c.attribute(name).GetInts()
		if name == "scan_input_directions" && c.version < 9 {
			lists[name] = c.attribute("directions").GetInts()
		}
		if len(lists[name]) != n && len(lists[name]) != 0 {
			return nil, fmt.Errorf("want %d integers as %s, got %v", n, name, lists[name])
		}
		if len(lists[name]) == 0 {
			lists[name] = make([]int64, n)
		}
	}
	trips := -1
	axes := make([]int, count)
	for i, v := range inputs {
		_, shape, err := b.typeOf(v)
		if err != nil {
			return nil, err
		}
		axes[i] = int(lists["scan_input_axes"][i])
		if axes[i] < 0 {
			axes[i] += len(shape)
		}
		if axes[i] < 0 || axes[i] >= len(shape) || trips >= 0 && shape[axes[i]] != trips || shape[axes[i]] > maxTrips {
			return nil, fmt.Errorf("want inputs that are scanned of one extent up to %d, got %v along %d", maxTrips, shape, axes[i])
		}
		trips = shape[axes[i]]
	}
	collected := make([][]*value, scans)
	for t := range trips {
		given := slices.Clone(states)
		for i, v := range inputs {
			at := t
			if lists["scan_input_directions"][i] == 1 {
				at = trips - 1 - t
			}
			part, err := b.insert(c, "Gather", map[string]any{"axis": axes[i]}, v, constant("", integersOf([]int{}, at)))
			if err != nil {
				return nil, err
			}
			given = append(given, part)
		}
		outs, err := g.run(b, given...)
		if err != nil {
			return nil, err
		}
		states = slices.Clone(outs[:len(states)])
		for i := range collected {
			collected[i] = append(collected[i], outs[len(states)+i])
		}
	}
	return b.stacked(c, states, collected, lists["scan_output_axes"], lists["scan_output_directions"])
}

// stacked returns values, and behind them lists of values that are joined along new axes, by default the
// first one.
func (b *builder) stacked(c *call, outs []*value, lists [][]*value, axes, directions []int64) ([]*value, error) {
	for i, list := range lists {
		if len(list) == 0 {
			return nil, fmt.Errorf("want a run at least, whose output %d says a shape", i)
		}
		axis := 0
		if axes != nil {
			axis = int(axes[i])
		}
		if directions != nil && directions[i] == 1 {
			slices.Reverse(list)
		}
		rows := make([]*value, len(list))
		for k, v := range list {
			var err error
			if rows[k], err = b.insert(c, "Unsqueeze", nil, v, constant("", integersOf([]int{1}, axis))); err != nil {
				return nil, err
			}
		}
		all, err := b.insert(c, "Concat", map[string]any{"axis": axis}, rows...)
		if err != nil {
			return nil, err
		}
		outs = append(outs, all)
	}
	return outs, nil
}
