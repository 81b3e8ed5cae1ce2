package mesh

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// Moves are operators that cut tensors and join them, with their attributes. Both have one output.
type Moves struct {
	// Cut takes count indices of a dimension of its input, from a given one on.
	Cut func(dim, from, count int) (*graph.Operator, task.Attrs)
	// Join joins its inputs along a dimension.
	Join func(dim int) (*graph.Operator, task.Attrs)
}

// groups returns the devices that differ along axes only, in order.
func (d *divider) groups(axes []string) [][]int {
	var out [][]int
	for device, at := range d.at {
		k := slices.IndexFunc(out, func(g []int) bool {
			for axis, i := range d.at[g[0]] {
				if at[axis] != i && !slices.Contains(axes, axis) {
					return false
				}
			}
			return true
		})
		if k < 0 {
			k, out = len(out), append(out, nil)
		}
		out[k] = append(out[k], device)
	}
	return out
}

// allReduce adds parts over axes, in the order of devices.
func (d *divider) allReduce(parts []graph.Tensor, axes []string) {
	if len(axes) == 0 {
		return
	}
	for _, group := range d.groups(axes) {
		var sum []graph.Tensor
		for _, device := range group {
			if parts[device].Valid() {
				sum = append(sum, parts[device])
			}
		}
		if len(sum) > 1 {
			d.add(graph.Step{AllReduce: &graph.AllReduce{Tensors: sum}})
		}
	}
}

// gather moves the sums over devices that updates need in front of all updates, in the order in which their
// terms are computed. So the messages of all of them move at the same time, and while devices compute, where
// each update would wait for its own.
func (d *divider) gather() {
	steps := d.out.Steps
	updates := slices.IndexFunc(steps, func(s graph.Step) bool { return s.Phase == graph.Update })
	if updates < 0 {
		return
	}
	touched := map[graph.Tensor]int{} // by which step last
	ready := make([]int, len(steps))  // after which step a sum can come
	for i := range steps {
		steps[i].Each(func(t graph.Tensor, _ bool) {
			if n, ok := touched[t]; ok {
				ready[i] = max(ready[i], n)
			}
			touched[t] = i
		})
	}
	var sums, rest []int
	for i := updates; i < len(steps); i++ {
		if steps[i].AllReduce != nil && ready[i] < updates {
			sums = append(sums, i)
		} else {
			rest = append(rest, i)
		}
	}
	slices.SortStableFunc(sums, func(a, b int) int { return ready[a] - ready[b] })
	out, from := slices.Clone(steps[:updates]), slices.Clone(d.from[:updates])
	for _, i := range append(sums, rest...) {
		out, from = append(out, steps[i]), append(from, d.from[i])
	}
	d.out.Steps, d.from = out, from
}

// spread copies what only the first devices along some axes have to the others.
func (d *divider) spread(v version) {
	axes := d.apart[v].first
	if len(axes) == 0 {
		return
	}
	parts := d.of(v)
	for _, group := range d.groups(axes) { // the first of which is the first along each of them
		for _, device := range group[1:] {
			d.add(graph.Step{Copy: &graph.Copy{To: parts[device], From: parts[group[0]]}})
		}
	}
}

// sum makes a version whole on each device, or its part: it copies it to devices that lack it, adds terms of
// sums, but for those over some axes, and moves what was written to where it is read.
func (d *divider) sum(v version, but []string) error {
	other := version{v.Tensor, !v.read}
	of, gradient := d.like[v.Tensor]
	if !gradient {
		of = v.Tensor
	}
	if d.moved[of] && v.read != gradient && !d.ready[v] {
		d.ready[v] = true
		return d.move(other, v)
	}
	d.spread(v)
	var now, rest []string
	for _, axis := range d.apart[v].over {
		if slices.Contains(but, axis) {
			rest = append(rest, axis)
		} else {
			now = append(now, axis)
		}
	}
	d.allReduce(d.of(v), now)
	d.apart[v] = apart{over: rest}
	return nil
}

// begin makes the part of a variable begin as the part of what the variable would begin as.
func (d *divider) begin(v version, part graph.Tensor) {
	device := part.Device()
	whole := v.Temporary(device, on("first "+v.Name(), device), v.Shape())
	var nodes []*graph.Node
	at, dims := whole, v.Shape()
	layout := d.layout(v)
	for i, axis := range layout {
		if axis == "" {
			continue
		}
		dims[i] /= d.strategy.size(axis)
		to := part
		if slices.ContainsFunc(layout[i+1:], func(a string) bool { return a != "" }) {
			to = d.temporary(v, device, dims)
		}
		o, attrs := d.moves.Cut(i, d.at[device][axis]*dims[i], dims[i])
		n, err := d.mover(o, attrs, to, at)
		if err != nil {
			d.failed = err
			return
		}
		nodes, at = append(nodes, n), to
	}
	part.BeginBy(v.Tensor, whole, nodes...)
}

func (d *divider) temporary(v version, device int, dims []int) graph.Tensor {
	d.moving++
	return v.Temporary(device, on(fmt.Sprintf("part %d of %s", d.moving, v.Name()), device), dims)
}

// mover returns a node that cuts or joins tensors on a device.
func (d *divider) mover(o *graph.Operator, attrs task.Attrs, to graph.Tensor, from ...graph.Tensor) (*graph.Node, error) {
	d.moving++
	return graph.Moving(o, attrs, to.Device(), on(fmt.Sprintf("move %d", d.moving), to.Device()), to, from...)
}

// run appends a step that cuts or joins tensors on a device.
func (d *divider) run(o *graph.Operator, attrs task.Attrs, to graph.Tensor, from ...graph.Tensor) error {
	n, err := d.mover(o, attrs, to, from...)
	if err != nil {
		return err
	}
	inv, err := n.Invoke()
	d.add(graph.Step{Invocation: inv})
	return err
}

// movement is a step from one division of a tensor to another.
type movement struct {
	kind string // scatter, gather or cut
	dim  int
	axis string
}

// move computes a version from the other one of its tensor. Terms of a sum over the axis along which the
// result is divided are added to each part where it is needed (reduce-scatter); those of other sums are added
// everywhere before (all-reduce). Then dimensions become whole (all-gather), and others are cut.
func (d *divider) move(from, to version) error {
	before, after := d.layout(from), d.layout(to)
	var moves, cuts []movement
	var scattered []string
	for dim := range before {
		a, b := before[dim], after[dim]
		if a == b {
			continue
		}
		if a != "" {
			moves = append(moves, movement{"gather", dim, a})
		}
		switch {
		case b == "":
		case a == "" && slices.Contains(d.apart[from].over, b):
			moves, scattered = append([]movement{{"scatter", dim, b}}, moves...), append(scattered, b)
		default:
			cuts = append(cuts, movement{"cut", dim, b})
		}
	}
	if err := d.sum(from, scattered); err != nil {
		return err
	}
	now, dims := d.of(from), d.dims(from)
	moves = append(moves, cuts...)
	for i, m := range moves {
		size := d.strategy.size(m.axis)
		if m.kind == "gather" {
			dims[m.dim] *= size
		} else {
			dims[m.dim] /= size
		}
		next := make([]graph.Tensor, len(now))
		if i == len(moves)-1 {
			next = d.of(to)
		} else {
			for device := range next {
				next[device] = d.temporary(from, device, dims)
			}
		}
		if err := d.moveOnce(m, dims, from, now, next); err != nil {
			return err
		}
		now = next
	}
	if len(moves) == 0 {
		d.parts[to] = now
	}
	d.apart[to] = apart{}
	return nil
}

// moveOnce appends the steps of a movement. dims are the extents of the parts that it makes.
func (d *divider) moveOnce(m movement, dims []int, of version, from, to []graph.Tensor) error {
	for _, group := range d.groups([]string{m.axis}) {
		// here returns a tensor on a device: t itself, or a copy.
		here := func(t graph.Tensor, device int) graph.Tensor {
			if t.Device() == device {
				return t
			}
			c := d.temporary(of, device, t.Shape())
			d.add(graph.Step{Copy: &graph.Copy{To: c, From: t}})
			return c
		}
		for k, device := range group {
			switch m.kind {
			case "gather":
				var parts []graph.Tensor
				for _, other := range group {
					parts = append(parts, here(from[other], device))
				}
				o, attrs := d.moves.Join(m.dim)
				if err := d.run(o, attrs, to[device], parts...); err != nil {
					return err
				}
			case "cut":
				o, attrs := d.moves.Cut(m.dim, k*dims[m.dim], dims[m.dim])
				if err := d.run(o, attrs, to[device], from[device]); err != nil {
					return err
				}
			case "scatter":
				for i, other := range group {
					o, attrs := d.moves.Cut(m.dim, k*dims[m.dim], dims[m.dim])
					term := d.temporary(of, other, dims)
					if err := d.run(o, attrs, term, from[other]); err != nil {
						return err
					}
					if i == 0 {
						d.add(graph.Step{Copy: &graph.Copy{To: to[device], From: term}})
					} else {
						d.add(graph.Step{Add: &graph.Add{To: to[device], From: here(term, device)}})
					}
				}
			}
		}
	}
	return nil
}

// Gather returns the program that makes the variables of the program for one device of their parts, on device
// 0. Programs for one device, such as one that answers, then have what was trained.
func (d *divider) Gather() (*graph.Program, error) {
	p := *d
	p.out, p.from = &graph.Program{Name: "gather"}, nil
	for _, t := range d.source.Variables {
		v := version{t.Root(), false}
		if !slices.ContainsFunc(d.layout(v), func(axis string) bool { return axis != "" }) && d.here(v, 0).Device() == 0 {
			continue
		}
		if _, err := p.assemble(v, 0, map[string]int{}, true); err != nil {
			return nil, err
		}
	}
	p.source = &graph.Program{}
	p.collect()
	return p.out, p.out.Validate()
}

// here returns the part of a version on a device of the mesh, where its stage has it.
func (d *divider) here(v version, device int) graph.Tensor {
	if d.staged == nil {
		return d.of(v)[device]
	}
	return d.staged.Tensor(d.of(v)[device])
}

// assemble returns the part of a version on device 0 that devices at some places along axes have together: it
// is divided along dimensions below dim only. The outermost one is the variable itself.
func (d *divider) assemble(v version, dim int, at map[string]int, outermost bool) (graph.Tensor, error) {
	layout := d.layout(v)
	for dim < len(layout) && layout[dim] == "" {
		dim++
	}
	if dim == len(layout) {
		device := slices.IndexFunc(d.at, func(of map[string]int) bool {
			return !slices.ContainsFunc(layout, func(axis string) bool { return axis != "" && of[axis] != at[axis] })
		})
		part := d.here(v, device)
		if part.Device() == 0 {
			return part, nil
		}
		c := v.Tensor
		if !outermost {
			c = d.temporary(v, 0, part.Shape())
		}
		d.add(graph.Step{Copy: &graph.Copy{To: c, From: part}})
		return c, nil
	}
	var parts []graph.Tensor
	for i := range d.strategy.size(layout[dim]) {
		at[layout[dim]] = i
		part, err := d.assemble(v, dim+1, at, false)
		if err != nil {
			return graph.Tensor{}, err
		}
		parts = append(parts, part)
	}
	to := v.Tensor
	if !outermost {
		dims := parts[0].Shape()
		dims[dim] *= len(parts)
		to = d.temporary(v, 0, dims)
	}
	o, attrs := d.moves.Join(dim)
	return to, d.run(o, attrs, to, parts...)
}

// Cut returns the elements that each device holds of a tensor of the program for one device, in the order of
// Inputs: the values of inputs. whole holds all elements in row-major order.
func Cut[T any](d *Divided, t graph.Tensor, whole []T) (out [][]T) {
	pieces := []graph.Tensor{t.Root()}
	if d.pipeline != nil {
		pieces = d.pipeline.results(t)
	}
	for batch, piece := range pieces {
		dims, part := t.Shape(), whole
		for dim, n := range piece.Shape() {
			if n != dims[dim] {
				part = cut(part, dims, dim, batch, len(pieces))
			}
		}
		layout := d.layout(version{piece, false})
		for _, at := range d.at {
			dims, part := piece.Shape(), part
			for dim, axis := range layout {
				if axis != "" {
					part = cut(part, dims, dim, at[axis], d.strategy.size(axis))
				}
			}
			out = append(out, part)
		}
	}
	return out
}

// cut returns the elements of part i of n equal parts of a dimension. It changes dims to those of the part.
func cut[T any](whole []T, dims []int, dim, i, n int) (out []T) {
	rows, inner := 1, 1
	for k, extent := range dims {
		if k < dim {
			rows *= extent
		} else if k > dim {
			inner *= extent
		}
	}
	count := dims[dim] / n
	for row := range rows {
		from := (row*dims[dim] + i*count) * inner
		out = append(out, whole[from:from+count*inner]...)
	}
	dims[dim] = count
	return out
}
