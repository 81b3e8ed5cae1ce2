package onnxgo

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

// build is the network for some extents of its inputs.
type build struct {
	nodes   []*graph.Node
	inputs  []graph.Tensor
	network *onnx.Network
	places  map[graph.Tensor]place
}

// place is where a tensor comes from: an input of the network, or a slot of a node.
type place struct {
	node  int // -1 for an input
	slot  int // or the number of the input
	index int
}

// builder builds a network for several extents, to see what depends on them.
type builder struct {
	model   *onnx.Model
	ports   []onnx.Port // of each tensor
	params  []argument
	known   map[string]safetensors.Tensor
	absent  map[string]bool
	dims    [][]int // for each input and axis: the extent, or -1-i for symbol i
	symbols []symbol
	builds  []build
	// computed names constants that depend on extents.
	computed []string
}

// argument is a parameter of Build: an input that is a tensor, or a list of tensors.
type argument struct {
	name         string
	first, count int // which of the ports
	list         bool
}

// newBuilder finds the extents of the inputs that are open. Those that are given are those of the first
// build.
func newBuilder(m *onnx.Model, o Options) (*builder, error) {
	b := &builder{model: m, known: o.Known, absent: o.Absent}
	for _, p := range m.Inputs() {
		if _, ok := o.Known[p.Name]; ok {
			continue
		}
		if o.Absent[p.Name] {
			if !p.Optional {
				return nil, fmt.Errorf("input %s: want a value, since it is not optional, got none", p.Name)
			}
			continue
		}
		if p.Type == dtype.Invalid {
			return nil, fmt.Errorf("input %s: want tensors of a type that engines store, or a known value", p.Name)
		}
		given, ok := o.Extents[p.Name]
		if !p.Sequence {
			b.params = append(b.params, argument{p.Name, len(b.ports), 1, false})
			if err := b.open(p, given, ok); err != nil {
				return nil, err
			}
			continue
		}
		list, listed := o.Lists[p.Name]
		if !listed || ok {
			return nil, fmt.Errorf("input %s: want the extents of each tensor of the sequence", p.Name)
		}
		b.params = append(b.params, argument{p.Name, len(b.ports), len(list), true})
		for i, given := range list {
			one := p
			one.Name = fmt.Sprintf("%s[%d]", p.Name, i)
			if err := b.open(one, given, true); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// open adds a tensor of the inputs, and its extents that are open. Those that are given are those of the
// first build.
func (b *builder) open(p onnx.Port, given []int, ok bool) error {
	if p.Extents == nil && !ok {
		return fmt.Errorf("input %s: the file does not say how many dimensions it has: want extents to begin with", p.Name)
	}
	if ok && p.Extents != nil && len(given) != len(p.Extents) {
		return fmt.Errorf("input %s: want %s, as the file says, got %v", p.Name, english.Count(len(p.Extents), "extent"), given)
	}
	var dims []int
	for axis := range max(len(p.Extents), len(given)) {
		if p.Extents != nil && p.Extents[axis] >= 0 {
			if ok && given[axis] != p.Extents[axis] {
				return fmt.Errorf("input %s: want the extent %d in dimension %d, as the file says, got %d", p.Name, p.Extents[axis], axis, given[axis])
			}
			dims = append(dims, p.Extents[axis])
			continue
		}
		name, hint := "", 0
		if p.Extents != nil {
			name = p.Symbols[axis]
		}
		if ok {
			hint = given[axis]
		}
		i := slices.IndexFunc(b.symbols, func(s symbol) bool {
			// Tensors of a sequence may differ in an extent with a name.
			differs := p.Sequence && hint > 0 && s.hint > 0 && s.hint != hint
			return name != "" && s.name == name && !differs
		})
		if i < 0 {
			i = len(b.symbols)
			b.symbols = append(b.symbols, symbol{name: name, input: len(b.ports), axis: axis})
		}
		if s := &b.symbols[i]; hint > 0 && s.hint > 0 && s.hint != hint {
			return fmt.Errorf("input %s: want the extent %d in dimension %d, as another dimension with the name %q has, got %d", p.Name, s.hint, axis, name, hint)
		} else if hint > 0 {
			s.hint = hint
		}
		dims = append(dims, -1-i)
	}
	b.ports, b.dims = append(b.ports, p), append(b.dims, dims)
	return nil
}

// build builds the network for the extents of the symbols.
func (b *builder) build(extents []int) (build, error) {
	g := graph.New(1)
	out := build{places: map[graph.Tensor]place{}}
	inputs := map[string]graph.Tensor{}
	for i, p := range b.ports {
		dims := slices.Clone(b.dims[i])
		for axis, n := range dims {
			if n < 0 {
				dims[axis] = extents[-1-n]
			}
		}
		t := g.Input(fmt.Sprintf("input %d", i), p.Type, dims...)
		out.inputs = append(out.inputs, t)
		out.places[t] = place{-1, i, 0}
	}
	if err := g.Err(); err != nil {
		return out, err
	}
	opts := []onnx.Option{onnx.Computed(b.computed...)}
	for _, p := range b.params {
		if tensors := out.inputs[p.first : p.first+p.count]; p.list {
			opts = append(opts, onnx.Sequence(p.name, tensors...))
		} else {
			inputs[p.name] = tensors[0]
		}
	}
	for name := range b.absent {
		opts = append(opts, onnx.Without(name))
	}
	for name, v := range b.known {
		opts = append(opts, onnx.Known(name, v))
	}
	var err error
	if out.network, err = b.model.Insert(g, inputs, opts...); err != nil {
		return out, err
	}
	for i, n := range out.network.Counts {
		if p := b.model.Outputs()[i]; !p.Sequence && n != 1 && !(p.Optional && n == 0) {
			return out, fmt.Errorf("output %s: want a tensor, got %d of them", p.Name, n)
		}
	}
	out.nodes = g.Nodes()
	for i, n := range out.nodes {
		for slot := range n.Op.Slots {
			for k, t := range n.Tensors(slot) {
				if t.Node() == n {
					out.places[t] = place{i, slot, k}
				}
			}
		}
	}
	return out, nil
}

// guesses are extents with which the first build is tried where neither the file nor the caller says one.
var guesses = []int{2, 16, 64, 32, 224, 3, 1}

// all builds the network for extents that tell apart what depends on them. An extent that cannot be changed
// is fixed.
func (b *builder) all(fixed bool) error {
	hints := make([]int, len(b.symbols))
	for i := range b.symbols {
		s := &b.symbols[i]
		hints[i] = s.hint
		if s.hint > 0 {
			s.fixed, s.given = fixed, fixed
		}
	}
	if open := slices.DeleteFunc(slices.Clone(b.symbols), func(s symbol) bool { return s.fixed }); len(open) > maxSymbols {
		return fmt.Errorf("want at most %d extents that callers choose, got %d; give extents, and fix them", maxSymbols, len(open))
	}
	base, first, err := b.first(hints)
	if err != nil {
		return err
	}
	// What one symbol may be while the others stay.
	able := make([][]int, len(b.symbols))
	for i := range b.symbols {
		s := &b.symbols[i]
		able[i] = []int{base[i]}
		if s.fixed {
			continue
		}
		h := base[i]
		for _, n := range others(h) {
			if len(able[i]) == maxAble {
				break
			}
			if slices.Contains(able[i], n) {
				continue
			}
			extents := slices.Clone(base)
			extents[i] = n
			if _, err := b.build(extents); err == nil {
				able[i] = append(able[i], n)
			}
		}
		if len(able[i]) < 3 {
			able[i], s.fixed = able[i][:1], true
		}
	}
	b.join(base, able)
	b.sums(base, able)
	builds, seen := []build{first}, [][]int{base}
	for k := 1; k <= 3*maxAble && len(builds) <= maxAble+4; k++ {
		extents := slices.Clone(base)
		for i, list := range able {
			// Steps that differ by symbol, so that no two rise together.
			extents[i] = list[(k*(i+1)+k/len(list)*i)%len(list)]
			if j := b.symbols[i].same; j > 0 {
				extents[i] = extents[j-1]
			}
		}
		for i := range b.symbols {
			if s := b.symbols[i].sum; s[0] > 0 {
				extents[i] = extents[s[0]-1] + extents[s[1]-1]
			}
		}
		if slices.ContainsFunc(seen, func(e []int) bool { return slices.Equal(e, extents) }) {
			continue
		}
		if c, err := b.build(extents); err == nil {
			builds, seen = append(builds, c), append(seen, extents)
		}
	}
	for i := range b.symbols {
		s := &b.symbols[i]
		s.hint = base[i]
		for _, e := range seen {
			s.seen = append(s.seen, e[i])
		}
		if !s.fixed && len(slices.Compact(slices.Sorted(slices.Values(s.seen)))) < 3 {
			return fmt.Errorf("input %s, dimension %d: want a network for several extents, got one for %v only, while others change; give extents and fix them", b.ports[s.input].Name, s.axis, s.seen)
		}
	}
	b.builds = builds
	b.compute(seen)
	return b.alike()
}

// compute builds the network so that nodes compute the constants that depend on extents, as far as they can.
func (b *builder) compute(extents [][]int) {
	for range maxRounds {
		names := b.different()
		if len(names) == 0 {
			return
		}
		before, builds := b.computed, b.builds
		b.computed = append(slices.Clone(before), names...)
		b.builds = nil
		for _, e := range extents {
			c, err := b.build(e)
			if err != nil {
				b.computed, b.builds = before, builds // the writer names the constant
				return
			}
			b.builds = append(b.builds, c)
		}
	}
}

// maxRounds bounds how often constants are found on which others that nodes compute depend.
const maxRounds = 16

// different returns the names of constants that depend on extents, and that nodes may compute.
func (b *builder) different() (names []string) {
	for _, n := range b.builds[0].nodes {
		o := b.builds[0].network.Origins[n]
		if o.Op != "" || slices.Contains(b.computed, o.Name) || slices.Contains(names, o.Name) {
			continue
		}
		if v, _ := variableOf(n); v.Valid() && !b.same(v.Name()) {
			names = append(names, o.Name)
		}
	}
	return names
}

// maxSymbols bounds the extents that callers choose, since the network is built several times for each.
const maxSymbols = 16

// maxAble bounds the extents for which an input is built.
const maxAble = maxDivisor + 2

// others are extents that are tried in place of one.
func others(h int) []int {
	return []int{h + 1, 2 * h, h + 7, h + 2, h + 3, h + 4, h + 5, h + 6, 3 * h, h + 8, h + 16, h + 32, 4 * h, h + 64}
}

// join finds extents that cannot be changed alone, but together with another one that they are equal to, such
// as the number of examples in two inputs. They become one.
func (b *builder) join(base []int, able [][]int) {
	for i := range b.symbols {
		if !b.symbols[i].fixed || b.symbols[i].given || b.symbols[i].same > 0 {
			continue
		}
		for j := i + 1; j < len(b.symbols); j++ {
			if !b.symbols[j].fixed || b.symbols[j].given || base[i] != base[j] || b.symbols[j].same > 0 {
				continue
			}
			list := []int{base[i]}
			for _, n := range others(base[i]) {
				extents := slices.Clone(base)
				extents[i], extents[j] = n, n
				if _, err := b.build(extents); err == nil && len(list) < maxAble && !slices.Contains(list, n) {
					list = append(list, n)
				}
			}
			if len(list) >= 3 {
				able[i], able[j] = list, list
				b.symbols[i].fixed, b.symbols[j].same = false, i+1
				for k, dims := range b.dims {
					for axis, n := range dims {
						if n == -1-j {
							b.dims[k][axis] = -1 - i
						}
					}
				}
			}
		}
	}
}

// sums finds extents that are the sum of two others, such as the length of a mask of earlier and new tokens.
// Neither changes alone, but each together with its sum.
func (b *builder) sums(base []int, able [][]int) {
	open := func(i int) bool { return b.symbols[i].fixed && !b.symbols[i].given && b.symbols[i].same == 0 }
	for i := range b.symbols {
		if !open(i) {
			continue
		}
	pairs:
		for j := range b.symbols {
			for k := j + 1; k < len(b.symbols); k++ {
				if i == j || i == k || !open(j) || !open(k) || base[i] != base[j]+base[k] {
					continue
				}
				lists := [2][]int{}
				for end, part := range []int{j, k} {
					lists[end] = []int{base[part]}
					for _, n := range others(base[part]) {
						extents := slices.Clone(base)
						extents[part], extents[i] = n, base[i]-base[part]+n
						if _, err := b.build(extents); err == nil && len(lists[end]) < maxAble && !slices.Contains(lists[end], n) {
							lists[end] = append(lists[end], n)
						}
					}
				}
				if len(lists[0]) >= 3 && len(lists[1]) >= 3 {
					able[j], able[k] = lists[0], lists[1]
					b.symbols[i].fixed, b.symbols[j].fixed, b.symbols[k].fixed = false, false, false
					b.symbols[i].sum = [2]int{j + 1, k + 1}
					break pairs
				}
			}
		}
	}
}

// first returns extents for which the network can be built, and the network for them: those that are given,
// but 2 in place of 1 if it can be, since operations on one element are often left out.
func (b *builder) first(hints []int) ([]int, build, error) {
	open := slices.Contains(hints, 0)
	var err error
	for _, guess := range guesses {
		extents := slices.Clone(hints)
		for i, n := range extents {
			if n == 0 {
				extents[i] = guess
				if b.symbols[i].axis == 0 {
					extents[i] = 2
				}
			}
		}
		wide := slices.Clone(extents)
		for i, n := range wide {
			if n == 1 && !b.symbols[i].fixed {
				wide[i] = 2
			}
		}
		for _, e := range [][]int{wide, extents} {
			c, again := b.build(e)
			if again == nil {
				return e, c, nil
			}
			if err == nil || !open {
				err = again
			}
		}
		if !open {
			break
		}
	}
	return nil, build{}, err
}

// alike returns an error unless all builds are the same but for numbers that depend on extents.
func (b *builder) alike() error {
	first := &b.builds[0]
	for k := range b.builds[1:] {
		c := &b.builds[k+1]
		for i, n := range first.nodes {
			if i >= len(c.nodes) || c.nodes[i].Op != n.Op {
				return b.refuse(first, i, "which operators compute it depends on the extents of inputs")
			}
			m := c.nodes[i]
			for slot := range n.Op.Slots {
				x, y := n.Tensors(slot), m.Tensors(slot)
				if len(x) != len(y) || !slices.Equal(n.Resolved.Given().Places[slot], m.Resolved.Given().Places[slot]) {
					return b.refuse(first, i, "the number of its tensors depends on the extents of inputs")
				}
				for j := range x {
					if first.places[x[j]] != c.places[y[j]] {
						return b.refuse(first, i, "which tensors it reads depends on the extents of inputs")
					}
				}
			}
		}
		if len(c.nodes) != len(first.nodes) {
			return b.refuse(c, len(first.nodes), "whether it is there depends on the extents of inputs")
		}
		for j, n := range first.network.Counts {
			if n != c.network.Counts[j] {
				return fmt.Errorf("output %s: the number of its tensors depends on the extents of inputs; fixed extents have no such difference", b.model.Outputs()[j].Name)
			}
		}
		names := b.outputNames()
		for j, t := range first.network.Outputs {
			if first.places[t] != c.places[c.network.Outputs[j]] {
				return fmt.Errorf("output %s: which tensor it is depends on the extents of inputs", names[j])
			}
		}
	}
	return nil
}

// outputNames returns the names of the tensors of all outputs.
func (b *builder) outputNames() (names []string) {
	for i, p := range b.model.Outputs() {
		for k := range b.builds[0].network.Counts[i] {
			if p.Sequence {
				names = append(names, fmt.Sprintf("%s[%d]", p.Name, k))
			} else {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// same reports whether a variable is the same in all builds.
func (b *builder) same(name string) bool {
	first := b.builds[0].network.Variables[name]
	for _, c := range b.builds[1:] {
		if v := c.network.Variables[name]; v.Type != first.Type || !slices.Equal(v.Shape, first.Shape) || !bytes.Equal(v.Data, first.Data) {
			return false
		}
	}
	return true
}

// refuse is the error of a node that no package can compute for other extents.
func (b *builder) refuse(c *build, node int, what string) error {
	o := c.network.Origins[c.nodes[node]]
	op, name := o.Op, o.Name
	if op == "" {
		op = "Constant"
	}
	if name == "" && len(o.Outputs) > 0 {
		name = o.Outputs[0]
	}
	if name == "" {
		name = c.nodes[node].Name
	}
	if strings.Contains(what, "the extents of inputs") {
		what += "; fixed extents have no such difference"
	}
	return &onnx.Refused{Op: op, Version: o.Version, Domain: o.Domain, Node: name, Missing: what}
}
