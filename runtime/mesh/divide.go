package mesh

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Divided is a program for the devices of a mesh, made of one for a single device.
type Divided struct {
	// Program computes what the program for one device does, up to the rounding of sums. It has the same bits
	// for any number of ranks that share the devices.
	Program *graph.Program
	*divider
}

// Divide divides a program for one device among the devices of a mesh: inference or a training step. Each
// step becomes one for each device, on the parts of its tensors. The strategy is completed as Propagate says,
// and gradients are divided like their tensors. A gradient to which devices contribute apart is added where a
// task reads it, and so are partial sums; tensors that the strategy moves are cut, gathered and summed in
// between. Sums add in the order of devices.
//
// Variables begin as parts of what they would be on one device. The names of parts say which they are, such
// as hidden.weight[model=1]@1 on device 1.
//
// With a pipeline, the program computes micro-batches one after the other, and adds their gradients in order,
// whatever the number of stages is. Device d of stage s is device s*n+d, for a mesh of n devices.
func Divide(p *graph.Program, s *Strategy, m Moves) (*Divided, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("mesh: %w", err)
	}
	var pl *pipeline
	if s.Pipeline != nil {
		if err := s.check(); err != nil {
			return nil, err
		}
		var err error
		if pl, err = newPipeline(p, s); err != nil {
			return nil, err
		}
		p, s = pl.out, &pl.rules
	}
	nodes, gradients := nodesOf(p)
	sharding, err := complete(nodes, s, gradients)
	if err != nil {
		return nil, err
	}
	d := &divider{Sharding: sharding, moves: m, out: &graph.Program{Name: p.Name}, source: p, parts: map[version][]graph.Tensor{}, apart: map[version]apart{},
		nodes: map[*graph.Node][]*graph.Node{}, ready: map[version]bool{}, pipeline: pl}
	for number := range s.positions() {
		at := map[string]int{}
		for i := len(s.Mesh) - 1; i >= 0; i-- {
			at[s.Mesh[i].Name] = number % s.Mesh[i].Size
			number /= s.Mesh[i].Size
		}
		d.at = append(d.at, at)
	}
	last := map[graph.Tensor]int{}
	for i := range p.Steps {
		d.now = i
		p.Steps[i].Each(func(t graph.Tensor, writes bool) {
			if writes {
				last[t] = i
			}
		})
		if err := d.step(&p.Steps[i]); err != nil {
			return nil, fmt.Errorf("mesh: program %s, step %d: %w", p.Name, i, err)
		}
	}
	for _, t := range p.Fetched {
		d.now = last[t.Root()]
		if err := d.sum(version{t.Root(), false}, nil); err != nil {
			return nil, err
		}
		for _, part := range d.firsts(t) {
			if part.Valid() {
				d.out.Fetched = append(d.out.Fetched, part)
			}
		}
	}
	d.gather()
	d.collect()
	if d.failed != nil {
		return nil, d.failed
	}
	if err := d.out.Validate(); err != nil {
		return nil, fmt.Errorf("mesh: %w", err)
	}
	if pl != nil {
		stage := make([]int, len(d.out.Steps))
		for i, from := range d.from {
			stage[i] = pl.steps[from].stage
		}
		if d.staged, err = graph.Stages(d.out, stage, s.positions()); err != nil {
			return nil, fmt.Errorf("mesh: %w", err)
		}
		d.out = d.staged.Program
	}
	return &Divided{d.out, d}, nil
}

// nodesOf returns the nodes of a program in order, and of which tensors its gradients are.
func nodesOf(p *graph.Program) (nodes []*graph.Node, gradients map[graph.Tensor]graph.Tensor) {
	known := map[*graph.Node]bool{}
	gradients = map[graph.Tensor]graph.Tensor{}
	for _, s := range p.Steps {
		if s.Invocation == nil {
			continue
		}
		n := s.Invocation.Node
		if !known[n] {
			known[n] = true
			nodes = append(nodes, n)
		}
		for i, param := range s.Invocation.Signature.Params {
			for k, g := range s.Invocation.Operands[i] {
				if param.Grad && g.Valid() {
					gradients[g.Root()] = n.Tensors(param.Slot)[k].Root()
				}
			}
		}
	}
	return nodes, gradients
}

// divider divides a program.
type divider struct {
	*Sharding
	moves  Moves
	source *graph.Program
	out    *graph.Program
	phase  graph.Phase
	at     []map[string]int // by device: where it is along each axis
	parts  map[version][]graph.Tensor
	apart  map[version]apart
	ready  map[version]bool // versions that were moved
	nodes  map[*graph.Node][]*graph.Node
	now    int   // the step of source that is divided
	from   []int // by step of out: that of source
	moving int   // nodes that move parts
	failed error // of the first values of a variable
	// pipeline made source, and staged is what it became. Both are nil without one.
	pipeline *pipeline
	staged   *graph.Staged
}

// apart says that devices have terms of a sum: over which axes. Zeros are terms of any. Of other axes, only
// the first devices have the tensor: where a node reads the gradient of a weight that counts once.
type apart struct {
	zeros bool
	over  []string
	first []string
}

// Parts returns what each device has of a tensor of the program for one device. Of several devices with the
// same part, and of those that have none, only the first has one here: others have no tensor. With a
// pipeline, the devices are those of a stage, for each micro-batch that has a part of its own.
func (d *divider) Parts(t graph.Tensor) []graph.Tensor {
	return d.placed(t, d.firsts)
}

// Inputs returns the tensors that each device takes for an input of the program for one device, as Parts
// says.
func (d *divider) Inputs(t graph.Tensor) []graph.Tensor {
	return d.placed(t, func(t graph.Tensor) []graph.Tensor { return d.of(version{t.Root(), false}) })
}

// placed returns what f returns for a tensor, or for each micro-batch, on the devices of its stage.
func (d *divider) placed(t graph.Tensor, f func(graph.Tensor) []graph.Tensor) []graph.Tensor {
	if d.staged == nil {
		return f(t)
	}
	var out []graph.Tensor
	for _, t := range d.pipeline.results(t) {
		for _, part := range f(t) {
			if part.Valid() {
				part = d.staged.Tensor(part)
			}
			out = append(out, part)
		}
	}
	return out
}

// firsts returns the parts of a tensor by device, each once.
func (d *divider) firsts(t graph.Tensor) []graph.Tensor {
	v := version{t.Root(), false}
	out := slices.Clone(d.of(v))
	for device := range out {
		if d.first(v, device) != device {
			out[device] = graph.Tensor{}
		}
	}
	return out
}

// layout returns the axes over which a version is divided, by dimension.
func (d *divider) layout(v version) []string { return d.axes(version{d.tensor(v.Tensor), v.read}) }

// first returns the first device that has the same part of a version as a device.
func (d *divider) first(v version, device int) int {
	layout := d.layout(v)
	return slices.IndexFunc(d.at, func(at map[string]int) bool {
		return !slices.ContainsFunc(layout, func(axis string) bool { return axis != "" && at[axis] != d.at[device][axis] })
	})
}

// lacks reports whether a device has zeros in place of a weight that counts once, and no gradient of it.
func (d *divider) lacks(t graph.Tensor, device int) bool {
	axis := d.once[d.tensor(t)]
	return axis != "" && d.at[device][axis] > 0
}

// dims returns the extents of the parts of a version.
func (d *divider) dims(v version) []int {
	out := v.Shape()
	for i, axis := range d.layout(v) {
		if axis != "" {
			out[i] /= d.strategy.size(axis)
		}
	}
	return out
}

// name returns the name of a part.
func (d *divider) name(v version, device int) string {
	name := v.Name()
	for _, axis := range d.layout(v) {
		if axis != "" {
			name += fmt.Sprintf("[%s=%d]", axis, d.at[device][axis])
		}
	}
	if v.read {
		name += " as read"
	}
	return on(name, device)
}

// on returns the name of what is on a device.
func on(name string, device int) string {
	if device > 0 {
		name += fmt.Sprintf("@%d", device)
	}
	return name
}

// of returns the parts of a version by device. A device without a part has no tensor.
func (d *divider) of(v version) []graph.Tensor {
	if parts, ok := d.parts[v]; ok {
		return parts
	}
	parts := make([]graph.Tensor, len(d.at))
	d.parts[v] = parts
	_, gradient := d.like[v.Tensor]
	for device := range parts {
		switch first := d.first(v, device); {
		case d.lacks(v.Tensor, device) && gradient:
		case d.lacks(v.Tensor, device):
			parts[device] = v.Piece(device, on("zeros for "+v.Name(), device), d.dims(v))
		case !v.Variable():
			parts[device] = v.Piece(device, d.name(v, device), d.dims(v))
		case first < device:
			parts[device] = v.Piece(device, d.name(v, device), d.dims(v))
			parts[device].BeginAs(parts[first])
		default:
			parts[device] = v.Piece(device, d.name(v, device), d.dims(v))
			d.begin(v, parts[device])
		}
	}
	return parts
}

// node returns what a node is on a device.
func (d *divider) node(n *graph.Node, device int) (*graph.Node, error) {
	list := d.nodes[n]
	if list == nil {
		list = make([]*graph.Node, len(d.at))
		d.nodes[n] = list
	}
	if list[device] != nil {
		return list[device], nil
	}
	attrs := n.Attrs
	var wholes [][]partition.Partition
	for _, u := range d.uses[n] {
		var err error
		if attrs, err = u.Divide(&n.Op.Operator, attrs, d.strategy.size(u.over.Axis)); err != nil {
			return nil, err
		}
	}
	tensors := map[int][]graph.Tensor{}
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role == task.RoleSaved {
			continue
		}
		for _, t := range n.Tensors(slot) {
			tensors[slot] = append(tensors[slot], d.of(d.actual(n, slot, t))[device])
		}
	}
	if len(d.uses[n]) > 0 {
		wholes = wholesOf(n, d.uses[n], d.strategy.size)
	} else {
		wholes = n.Wholes()
	}
	var err error
	list[device], err = n.Piece(device, on(n.Name, device), attrs, tensors, wholes)
	return list[device], err
}

// actual returns the version of a tensor itself that a node has in a slot.
func (d *divider) actual(n *graph.Node, slot int, t graph.Tensor) version {
	return version{t.Root(), d.version(n, slot, t).read}
}

// written returns the version of a tensor that tasks write, but for what a node makes of its inputs: that of
// what is read, for the gradient of a tensor that is moved.
func (d *divider) written(t graph.Tensor) version {
	of, gradient := d.like[t.Root()]
	return version{t.Root(), gradient && d.moved[of]}
}

func (d *divider) add(s graph.Step) {
	s.Phase = d.phase
	d.out.Steps, d.from = append(d.out.Steps, s), append(d.from, d.now)
}

// step divides a step of the program.
func (d *divider) step(s *graph.Step) error {
	switch d.phase = s.Phase; {
	case s.Fill != nil:
		v := d.written(s.Fill.Tensor)
		for _, t := range d.of(v) {
			if t.Valid() {
				d.add(graph.Step{Fill: &graph.Fill{Tensor: t, Value: s.Fill.Value, Identity: s.Fill.Identity}})
			}
		}
		d.apart[v] = apart{zeros: s.Fill.Value == 0 && s.Fill.Identity == perm.NoRedop}
		return nil
	case s.Add != nil:
		to, from := d.written(s.Add.To), d.written(s.Add.From)
		return d.addTo(to, from, d.of(from))
	case s.Invocation != nil:
		return d.invoke(s.Invocation)
	case s.Copy != nil && d.pipeline != nil: // a sum over micro-batches begins
		to, from := d.written(s.Copy.To), d.written(s.Copy.From)
		if !slices.Equal(d.layout(to), d.layout(from)) {
			return fmt.Errorf("want a sum over micro-batches that is divided as its terms are, got %v", s.Copy.To)
		}
		for device, t := range d.of(to) {
			d.add(graph.Step{Copy: &graph.Copy{To: t, From: d.of(from)[device]}})
		}
		d.apart[to] = d.apart[from]
		return nil
	}
	return errSeveral(s)
}

// errSeveral returns the error of a step that is none of a program for one device.
func errSeveral(s *graph.Step) error {
	if s.Copy != nil {
		return fmt.Errorf("want a program for one device, got one that copies %v", s.Copy.From)
	}
	return fmt.Errorf("want a program for one device, got one that adds tensors of several")
}

// addTo adds parts to a version. The parts are terms of the sums of the version from.
func (d *divider) addTo(to, from version, parts []graph.Tensor) error {
	if !slices.Equal(d.apart[to].over, d.apart[from].over) || d.apart[to].zeros {
		if err := d.sum(to, nil); err != nil {
			return err
		}
		d.allReduce(parts, d.apart[from].over)
		d.apart[from] = apart{}
	}
	for device, t := range d.of(to) {
		if t.Valid() {
			d.add(graph.Step{Add: &graph.Add{To: t, From: parts[device]}})
		}
	}
	return nil
}

// contribution is a gradient that a backward task adds to one of other terms, and so writes apart at first.
type contribution struct {
	to    version
	over  []string
	parts []graph.Tensor
}

// invoke divides an invocation.
func (d *divider) invoke(inv *graph.Invocation) error {
	n := inv.Node
	fail := func(err error) error { return fmt.Errorf("node %s: %w", n.Name, err) }
	if len(n.Preceding()) > 0 {
		return fail(fmt.Errorf("want no explicit dependencies in a program that is divided, got one on node %s", n.Preceding()[0].Name))
	}
	first := d.onFirst(n)
	if err := d.checkFirst(inv, first); err != nil {
		return fail(err)
	}
	if err := d.read(inv, first); err != nil {
		return fail(err)
	}
	grads := map[graph.Tensor][]graph.Tensor{} // that the task has, by device
	var later []contribution
	for i, p := range inv.Signature.Params {
		for _, g := range inv.Operands[i] {
			switch {
			case !p.Grad || !g.Valid():
			case p.Perm.Reads():
				grads[g.Root()] = d.of(version{g.Root(), false})
			default:
				if c := d.contribute(n, p, g); c != nil {
					later = append(later, *c)
					grads[g.Root()] = c.parts
				} else {
					grads[g.Root()] = d.of(d.written(g))
				}
			}
		}
	}
	for device := range d.at {
		if d.behind(device, first) {
			continue // the node updates a weight that is zeros here, or reads the gradient of one
		}
		m, err := d.node(n, device)
		if err != nil {
			return fail(err)
		}
		part := &graph.Invocation{Node: m, Signature: inv.Signature, Operands: make([][]graph.Tensor, len(inv.Operands)), Passed: inv.Passed, Added: inv.Added}
		for i, p := range inv.Signature.Params {
			if !p.Grad && len(inv.Operands[i]) > 0 {
				part.Operands[i] = m.Tensors(p.Slot)
			}
			for _, g := range inv.Operands[i] {
				if !p.Grad {
					break
				}
				var t graph.Tensor
				if g.Valid() {
					t = grads[g.Root()][device]
				}
				temporary := slices.ContainsFunc(later, func(c contribution) bool { return c.parts[device] == t })
				if t.Valid() && g.Mode() == tensor.Accumulate && (!temporary || p.Scatter) {
					t = t.Accumulated()
				}
				if t.Valid() || n.Op.Slots[p.Slot].Variadic {
					part.Operands[i] = append(part.Operands[i], t)
				}
			}
		}
		d.add(graph.Step{Invocation: part})
	}
	for _, c := range later {
		d.allReduce(c.parts, c.over)
		if err := d.addTo(c.to, version{}, c.parts); err != nil {
			return err
		}
	}
	d.note(inv, first)
	return nil
}

// read makes whole what a task reads on each device: it adds terms of sums, and moves what the strategy
// moves. first are the axes of which it runs on the first devices only.
func (d *divider) read(inv *graph.Invocation, first []string) error {
	n := inv.Node
	for i, p := range inv.Signature.Params {
		for _, t := range inv.Operands[i] {
			if !t.Valid() || !p.Perm.Reads() || n.Op.Slots[p.Slot].Role == task.RoleSaved {
				continue
			}
			v := d.actual(n, p.Slot, t)
			if p.Grad {
				v = version{t.Root(), false}
			}
			nothing := d.apart[d.written(t)].zeros
			if here := d.apart[v]; len(here.first) > 0 && len(here.over) == 0 && !v.read && within(here.first, first) {
				continue
			}
			if err := d.sum(v, nil); err != nil {
				return err
			}
			for _, u := range d.uses[n] {
				if _, has := u.Axes[p.Slot]; p.Grad && !has && !u.Partial && !nothing {
					return &op.Error{Operator: n.Op.FullName(), Task: inv.Signature.Task, Slot: n.Op.SlotName(p.Slot),
						Want: "no gradient of what all devices compute, where " + u.over.String() + " divides the other results", Got: t.String()}
				}
			}
		}
	}
	return nil
}

// contribute notes of which sums a gradient that a task writes is a term. It returns what is to be added to
// the gradient after the task, if the terms before are those of another sum.
func (d *divider) contribute(n *graph.Node, p task.Param, g graph.Tensor) *contribution {
	var over []string
	for _, u := range d.uses[n] {
		if _, has := u.Axes[p.Slot]; !has && u.Once != p.Slot {
			over = append(over, u.over.Axis)
		}
	}
	slices.Sort(over)
	v := d.written(g)
	before := d.apart[v]
	if g.Mode() != tensor.Accumulate || before.zeros || slices.Equal(before.over, over) {
		d.apart[v] = apart{over: over}
		return nil
	}
	c := &contribution{to: v, over: over, parts: make([]graph.Tensor, len(d.at))}
	for device := range d.at {
		if d.of(v)[device].Valid() {
			d.moving++
			c.parts[device] = v.Piece(device, on(fmt.Sprintf("%s by %s, %d", v.Name(), n.Name, d.moving), device), d.dims(v))
			if p.Scatter {
				d.add(graph.Step{Fill: &graph.Fill{Tensor: c.parts[device]}})
			}
		}
	}
	return c
}

// onFirst returns the axes of which a node runs on the first devices only: it updates weights that count
// once, or reads them or their gradients.
func (d *divider) onFirst(n *graph.Node) (axes []string) {
	for slot := range n.Op.Slots {
		if slices.ContainsFunc(d.uses[n], func(u use) bool { return u.Once == slot }) {
			continue
		}
		for _, t := range n.Tensors(slot) {
			if axis := d.once[d.tensor(t)]; axis != "" && !slices.Contains(axes, axis) {
				axes = append(axes, axis)
			}
		}
	}
	return axes
}

// checkFirst returns an error for a task that runs on the first devices along some axes, though others have
// parts of what it computes, or need a gradient from it.
func (d *divider) checkFirst(inv *graph.Invocation, first []string) error {
	n := inv.Node
	for i, p := range inv.Signature.Params {
		for _, t := range inv.Operands[i] {
			if !t.Valid() {
				continue
			}
			fail := func(want string) error {
				return &op.Error{Operator: n.Op.FullName(), Task: inv.Signature.Task, Slot: n.Op.SlotName(p.Slot), Want: want, Got: t.String()}
			}
			for _, axis := range first {
				if slices.ContainsFunc(d.uses[n], func(u use) bool { _, has := u.Axes[p.Slot]; return has && u.over.Axis == axis }) {
					return fail("a tensor undivided over " + axis + ", beside a weight that counts once over it")
				}
				if p.Grad && p.Perm.Writes() && d.once[d.tensor(t)] != axis {
					return fail("no gradient of what all devices have, beside a weight that counts once over " + axis)
				}
			}
		}
	}
	return nil
}

// behind reports whether a device is not the first one along some axes.
func (d *divider) behind(device int, axes []string) bool {
	return slices.ContainsFunc(axes, func(axis string) bool { return d.at[device][axis] > 0 })
}

// within reports whether some axes are among others.
func within(axes, of []string) bool {
	return !slices.ContainsFunc(axes, func(axis string) bool { return !slices.Contains(of, axis) })
}

// note notes of which sums the outputs of a task are terms, and of which axes the first devices alone have
// them.
func (d *divider) note(inv *graph.Invocation, first []string) {
	for i, p := range inv.Signature.Params {
		for _, t := range inv.Operands[i] {
			if p.Grad || !p.Perm.Writes() || !t.Valid() || inv.Node.Op.Slots[p.Slot].Role != task.RoleOutput {
				continue
			}
			d.apart[version{t.Root(), false}] = apart{over: slices.Clone(d.sums[d.tensor(t)]), first: first}
		}
	}
}

// collect lists the inputs and the variables of the steps.
func (d *divider) collect() {
	seen := map[graph.Tensor]bool{}
	fed := map[graph.Tensor]bool{}
	for _, t := range d.source.Fed {
		for _, part := range d.of(version{t.Root(), false}) {
			fed[part] = true
		}
	}
	for i := range d.out.Steps {
		d.out.Steps[i].Each(func(t graph.Tensor, _ bool) {
			switch {
			case seen[t]:
			case fed[t]:
				d.out.Fed = append(d.out.Fed, t)
			case t.Variable():
				d.out.Variables = append(d.out.Variables, t)
			}
			seen[t] = true
		})
	}
}
