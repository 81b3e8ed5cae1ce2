package validate

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// key tells the calls of a program apart.
type key struct {
	node, phase string
	task        task.ID
	gradients   string // which of them it has; "" for all
}

// keyOf returns the key of a call of the plan.
func keyOf(c *plan.Call) key {
	k := key{node: c.Node, phase: c.Phase, task: c.ID}
	for i, list := range c.Params {
		if i < len(c.Slots) && strings.HasPrefix(c.Slots[i], plan.GradOf) {
			for n, b := range list {
				if b.Root == plan.NoRoot {
					k.gradients += missing(i, n)
				}
			}
		}
	}
	return k
}

// missing is the part of a key that says that tensor n of a parameter is an unused gradient.
func missing(param, n int) string { return strconv.Itoa(param) + "." + strconv.Itoa(n) + " " }

// call is an invocation of a program.
type call struct {
	number symbol
	phase  string
	inv    *graph.Invocation
	sig    *task.Signature
	index  int    // of the task among those of its operator
	attrs  []byte // in JSON
	limits *partition.Limits
	asked  *task.Asked // of the plan; nil before it is known
}

func (v *validator) newCall(s graph.Step, number int) call {
	inv := s.Invocation
	n := inv.Node
	c := call{number: symbol(number), phase: s.Phase.String(), inv: inv, sig: inv.Signature}
	c.limits, _ = inv.Limits() // without an error, or there is no plan
	c.index = slices.Index(c.sig.Operator.Signatures, c.sig)
	// A resolution serves for all nodes with its attributes.
	same := n.Attrs == n.Resolved.Attrs
	if c.attrs = v.attrs[n.Resolved]; c.attrs == nil || !same {
		c.attrs, _ = attr.Marshal(n.Attrs) // plain data
	}
	if same {
		v.attrs[n.Resolved] = c.attrs
	}
	return c
}

func (c *call) key() key {
	k := key{node: c.inv.Node.Name, phase: c.phase, task: c.sig.ID}
	for i, list := range c.inv.Operands {
		for n, t := range list {
			if !t.Valid() && c.sig.Params[i].Grad {
				k.gradients += missing(i, n)
			}
		}
	}
	return k
}

// work returns what a step runs over.
func (c *call) work(step int) op.Grid { return c.inv.Node.Resolved.Work(c.index, step) }

// tiles returns how a step is cut into tiles; nil if it is not.
func (c *call) tiles(bound *plan.Call, step int) *task.Tiles {
	if c.asked == nil {
		asked := bound.Asked(c.sig)
		c.asked = &asked
	}
	tiles, err := c.inv.Node.Resolved.Tiles(c.index, step, *c.asked)
	if err != nil {
		return nil
	}
	return tiles
}

// find returns the call of the program that a call of the plan stands for, or nil. Those of a plan mostly
// have the order of the program.
func (v *validator) find(number int) *call {
	if n := v.found[number]; n > 0 {
		return &v.calls[n-1]
	}
	k := keyOf(&v.Calls[number])
	n := int32(v.next)
	for int(n) < len(v.calls) && v.calls[n].idle() {
		n++
	}
	if int(n) >= len(v.calls) || v.calls[n].key() != k {
		if v.numbers == nil {
			v.numbers = make(map[key]int32, len(v.calls))
			for i := range v.calls {
				v.numbers[v.calls[i].key()] = int32(i)
			}
		}
		var ok bool
		if n, ok = v.numbers[k]; !ok {
			return nil
		}
	}
	v.found[number], v.next = n+1, int(n)+1
	return &v.calls[n]
}

// fits reports whether a call of the plan says all that results depend on, besides the tensors, as the
// program does.
func (c *call) fits(got *plan.Call) bool {
	if got.Operator != c.sig.Operator.FullName() || got.Task != c.sig.Task || got.Device != c.inv.Node.Device || got.Seed != c.inv.Seed() || !c.sameAttrs(got.Attrs) ||
		!slices.Equal(got.Types, c.inv.Node.Resolved.Types) ||
		len(got.Params) != len(c.sig.Params) || len(got.Passed) != len(c.inv.Passed) || !slices.EqualFunc(got.Added, c.inv.Added, partition.Constraint.Equal) {
		return false
	}
	given := c.inv.Node.Resolved.Given()
	same := func(a, b task.Operand) bool { return a.Type == b.Type && slices.Equal(a.Shape, b.Shape) }
	for i := range c.sig.Operator.Slots {
		name := c.sig.Operator.Slots[i].Name
		if !slices.EqualFunc(got.Given[name], given.Operands[i], same) || times(got.Requested, name) != given.Requested[i] ||
			got.Values[name] != given.Values[i] || !slices.Equal(got.Places[name], given.Places[i]) {
			return false
		}
		if wholes := c.inv.Node.Wholes(); !slices.EqualFunc(got.Wholes[name], at(wholes, i), partition.Partition.Equal) {
			return false
		}
		if values, ok := c.inv.Passed[i]; ok {
			if data, err := c.sig.Arg(i).Encode(values); err != nil || !bytes.Equal(got.Passed[name], data) {
				return false
			}
		}
	}
	return true
}

// sameAttrs reports whether attributes in JSON are those of the program. The order of their names does not
// matter.
func (c *call) sameAttrs(data []byte) bool {
	if bytes.Equal(data, c.attrs) {
		return true
	}
	attrs, err := c.sig.Operator.DecodeAttrs(data)
	if err != nil {
		return false
	}
	again, err := attr.Marshal(attrs)
	return err == nil && bytes.Equal(again, c.attrs)
}

// at returns the partitions of a slot.
func at(wholes [][]partition.Partition, slot int) []partition.Partition {
	if slot >= len(wholes) {
		return nil
	}
	return wholes[slot]
}

// idle reports whether no step of the call has anything to do.
func (c *call) idle() bool {
	for step := range c.sig.Steps {
		if g := c.work(step); g.Tiles() > 0 {
			return false
		}
	}
	return true
}

// own reports whether a call reads of a parameter only what it has written itself.
func (c *call) own(p *task.Param) bool {
	role := c.sig.Operator.Slots[p.Slot].Role
	return p.Perm == perm.Write || p.Perm == perm.ReadWrite && !p.Grad && (role == task.RoleOutput || role == task.RoleSaved)
}

// view returns the parameter of whose tensors those of parameter i are views, or -1.
func (c *call) view(i int) int {
	p := &c.sig.Params[i]
	for _, pair := range c.sig.InPlace {
		if pair.View && pair.Slot == p.Slot && p.Grad == (c.sig.Kind == task.KindBackward) {
			return slices.IndexFunc(c.sig.Params, func(q task.Param) bool { return q.Slot == pair.Of && q.Grad == p.Grad })
		}
	}
	return -1
}

// operand is a tensor of a call. One that is not valid is an unused gradient.
type operand[K any] struct {
	tensor K
	valid  bool
	mode   tensor.Mode
}

// operands lists the tensors of each parameter of a call. The next call uses its memory again.
type operands[K any] struct {
	list    []operand[K]
	ends    []int // per parameter
	results []result[K]
}

// result is what a call writes to a tensor.
type result[K any] struct {
	tensor K
	symbol symbol
}

func (o *operands[K]) reset() { o.list, o.ends = o.list[:0], o.ends[:0] }

// add adds a tensor to the parameter whose list is open, and end ends the list.
func (o *operands[K]) add(x operand[K]) { o.list = append(o.list, x) }
func (o *operands[K]) end()             { o.ends = append(o.ends, len(o.list)) }

// of returns the tensors of a parameter.
func (o *operands[K]) of(param int) []operand[K] {
	from := 0
	if param > 0 {
		from = o.ends[param-1]
	}
	return o.list[from:o.ends[param]]
}

// apply runs a call: it reads all that it reads, and then writes.
func apply[K any](m *memory[K], c *call, operands *operands[K]) {
	inputs := m.symbols.symbol(called, 0, c.number, 0)
	for i := range c.sig.Params {
		p := &c.sig.Params[i]
		if p.Perm == perm.Scratch {
			continue
		}
		for _, o := range operands.of(i) {
			switch {
			case !o.valid:
				inputs = m.symbols.symbol(readsUnused, i, inputs, 0)
			case c.own(p):
				inputs = m.symbols.symbol(readsOwn, i, inputs, 0)
			default:
				inputs = m.symbols.symbol(reads, i, inputs, m.get(o.tensor))
			}
		}
	}
	results := operands.results[:0]
	for i := range c.sig.Params {
		p := &c.sig.Params[i]
		if p.Perm == perm.Read || p.Perm == perm.Scratch || p.Perm == perm.None {
			continue
		}
		for k, o := range operands.of(i) {
			if !o.valid {
				continue
			}
			s := m.symbols.symbol(returns, i, symbol(k), inputs)
			if of := c.view(i); of >= 0 && len(operands.of(i)) == len(operands.of(of)) && operands.of(of)[k].valid {
				s = m.get(operands.of(of)[k].tensor)
			}
			if p.Grad {
				switch o.mode {
				case tensor.Discard:
					continue
				case tensor.Accumulate:
					s = m.symbols.sum(m.get(o.tensor), s)
				}
			}
			results = append(results, result[K]{o.tensor, s})
		}
	}
	for _, r := range results {
		m.set(r.tensor, r.symbol)
	}
	operands.results = results
}

// running is a call of which some steps have run.
type running struct {
	call     int // of the plan
	next     int // step
	left     int // steps
	step     int // the last
	tile     int // of it
	operands operands[region.Root]
}

// step runs a step of a call. The call has its effect at the first.
func (v *validator) step(m *memory[region.Root], now *running, t int, part *plan.Task) *plan.Error {
	bound := &v.Calls[part.Call]
	c := v.find(part.Call)
	if c == nil {
		return v.TaskErrorf(t, "want a call of the program, got another")
	}
	if part.Tile > 1 { // the tiles of a step stand one behind the other
		if now.call != part.Call || now.step != part.Step || now.tile != part.Tile-1 {
			return v.TaskErrorf(t, "want tile %d of step %d of call %d, got tile %d of step %d of call %d", now.tile+1, now.step, now.call, part.Tile, part.Step, part.Call)
		}
		now.tile = part.Tile
		return v.extents(t, c, bound, part)
	}
	if now.left == 0 {
		if !c.fits(bound) {
			return v.TaskErrorf(t, "want the attributes and tensors that the program gives it, got others")
		}
		*now = running{call: part.Call, operands: now.operands}
		for step := range c.sig.Steps {
			if w := c.work(step); w.Tiles() > 0 {
				now.left++
			}
		}
		now.operands.reset()
		for _, list := range bound.Params {
			for _, b := range list {
				now.operands.add(operand[region.Root]{b.Root, b.Root != plan.NoRoot, b.Mode})
			}
			now.operands.end()
		}
		if err := v.arity(t, c, bound); err != nil {
			return err
		}
		apply(m, c, &now.operands)
	}
	for now.next < len(c.sig.Steps) {
		if w := c.work(now.next); w.Tiles() > 0 {
			break
		}
		now.next++
	}
	if now.call != part.Call || now.next != part.Step || now.left == 0 {
		return v.TaskErrorf(t, "want step %d of call %d, got step %d of call %d", now.next, now.call, part.Step, part.Call)
	}
	now.next++
	now.left--
	now.step, now.tile = part.Step, part.Tile
	return v.extents(t, c, bound, part)
}

// extents checks what a step runs over, and what it accesses.
func (v *validator) extents(t int, c *call, bound *plan.Call, part *plan.Task) *plan.Error {
	w := c.work(part.Step)
	grid := part.Grid()
	same := true
	if part.Tile > 0 {
		if tiles := c.tiles(bound, part.Step); tiles != nil {
			w = tiles.Grid(w)
		} else {
			same = false
		}
	}
	same = same && grid.Rank() == w.Rank()
	for d := 0; same && d < w.Rank(); d++ {
		same = grid.Dim(d).Over == w.Dim(d).Over
	}
	if own := c.inv.Node.Resolved.Elementwise(c.sig, part.Step); !same || part.Elementwise && !own {
		return v.TaskErrorf(t, "want a step over %v, elementwise: %v, got %v, %v", &w, own, &grid, part.Elementwise)
	}
	return v.accesses(t, c, bound, part)
}

// arity checks that a call has the tensors of its invocation.
func (v *validator) arity(t int, c *call, bound *plan.Call) *plan.Error {
	for i := range c.sig.Params {
		p := &c.sig.Params[i]
		slot := &c.sig.Operator.Slots[p.Slot]
		want := len(c.inv.Operands[i])
		if p.Perm == perm.Scratch {
			if want = len(c.inv.Node.Resolved.Operands(p.Slot)); slot.PerWorker {
				want = 0
			}
		}
		if len(bound.Params[i]) != want {
			return v.TaskErrorf(t, "want %d tensors for slot %s, got %d", want, slot.Name, len(bound.Params[i]))
		}
	}
	return nil
}

// accesses checks that a step may do what its signature says with all tensors of its call.
func (v *validator) accesses(t int, c *call, bound *plan.Call, part *plan.Task) *plan.Error {
	n := 0
	for i := range c.sig.Params {
		p := &c.sig.Params[i]
		passed := 0 // tensors
		for _, b := range bound.Params[i] {
			if b.Root == plan.NoRoot {
				continue
			}
			reads := p.Perm != perm.Scratch && !c.own(p) || p.Grad && b.Mode == tensor.Accumulate
			if n >= len(part.Access) || !v.permits(&part.Access[n], b.Root, reads, p.Perm != perm.Read) || part.Access[n].Redop != p.Redop || part.Tile > 0 && !c.touches(bound, part, p, &part.Access[n]) {
				e := v.TaskErrorf(t, "want an access to all of a tensor that permits to %v, got none", p.Perm)
				e.Root, e.Slot = v.Roots[b.Root].Name, c.sig.Operator.Slots[p.Slot].Name
				return e
			}
			if want := c.least(part, i, passed, &part.Access[n], b.Shape != nil); !slices.Equal(part.Access[n].Least, want) {
				return v.TaskErrorf(t, "want tiles of at least %v of %s, as constraints say, got %v", want, c.sig.ParamName(i), part.Access[n].Least)
			}
			passed++
			n++
		}
	}
	return nil
}

// least returns what constraints demand from the tiles of tensor k of a parameter.
func (c *call) least(part *plan.Task, param, k int, a *region.Access, view bool) []int {
	if c.limits == nil {
		return nil
	}
	limit := c.limits.Of(c.sig.ParamName(param), k)
	switch {
	case limit.Extents == nil:
		return nil
	case view && len(limit.Extents) != len(a.Hi):
		return a.Hi
	}
	return c.inv.Node.Resolved.Least(c.index, limit, a)
}

// touches reports whether tiles touch what an access says: what the operator says, or all of the tensor.
func (c *call) touches(bound *plan.Call, part *plan.Task, p *task.Param, a *region.Access) bool {
	return len(a.Footprint) == 0 || slices.Equal(a.Footprint, c.tiles(bound, part.Step).Of(p))
}

// explicit checks that every task of a node waits for the tasks of the nodes after which it explicitly runs.
func (v *validator) explicit(prog *graph.Program) *plan.Error {
	var steps map[string][]int // tasks of calls of forward and update, by node
	for _, s := range prog.Steps {
		if s.Invocation == nil || s.Phase == graph.Backward || len(s.Invocation.Node.Preceding()) == 0 {
			continue
		}
		if steps == nil {
			steps = v.stepsOf()
		}
		for _, t := range steps[s.Invocation.Node.Name] {
			after := map[int]bool{}
			for _, before := range v.Tasks[t].After {
				after[before] = true
			}
			for _, m := range s.Invocation.Node.Preceding() {
				for _, before := range steps[m.Name] {
					if !after[before] {
						return v.TaskErrorf(t, "want it to run explicitly after %s, got no such order", v.Label(before))
					}
				}
			}
		}
	}
	return nil
}

// stepsOf returns the tasks of calls of forward and update, by node.
func (v *validator) stepsOf() map[string][]int {
	steps := make(map[string][]int, len(v.Calls))
	for t := range v.Tasks {
		parts := v.Tasks[t : t+1]
		if g := v.Tasks[t].Group; g != nil {
			parts = g.Parts
		}
		for i := range parts {
			if parts[i].Builtin != nil {
				continue
			}
			if c := &v.Calls[parts[i].Call]; c.Phase != graph.Backward.String() {
				steps[c.Node] = append(steps[c.Node], t)
			}
		}
	}
	return steps
}

// states checks that the plan makes the states of the nodes whose operators have some, in the order of the
// program, and no others.
func (v *validator) states(prog *graph.Program) *plan.Error {
	var want []*graph.Node
	var open map[string]bool // nodes with calls whose state is not listed yet
	for _, s := range prog.Steps {
		if s.Invocation == nil || s.Invocation.Node.Op.Signature(task.KindInit) == nil {
			continue
		}
		if open == nil {
			open = make(map[string]bool, len(v.Calls))
			for i := range v.Calls {
				open[v.Calls[i].Node] = true
			}
		}
		if !open[s.Invocation.Node.Name] {
			continue
		}
		open[s.Invocation.Node.Name] = false
		want = append(want, s.Invocation.Node)
	}
	if len(want) != len(v.States) {
		return v.Errorf("want the states of %d nodes, got %d", len(want), len(v.States))
	}
	for i, n := range want {
		s := &v.States[i]
		if s.Node != n.Name || !v.makes(&s.Init, n, task.KindInit) || s.Cleanup != nil && !v.makes(s.Cleanup, n, task.KindCleanup) {
			return v.Errorf("want the state of node %s (operator %s), got another of node %q", n.Name, n.Op.FullName(), s.Node)
		}
	}
	return nil
}

// makes reports whether a call makes, or frees, the state of a node.
func (v *validator) makes(got *plan.Call, n *graph.Node, kind task.Kind) bool {
	sig := n.Op.Signature(kind)
	if sig == nil {
		return false
	}
	c := v.newCall(graph.Step{Invocation: &graph.Invocation{Node: n, Signature: sig, Operands: make([][]graph.Tensor, len(sig.Params))}}, 0)
	return got.Node == n.Name && c.fits(got)
}

// times returns how many elements of a list are x.
func times(list []string, x string) int {
	n := 0
	for _, y := range list {
		if y == x {
			n++
		}
	}
	return n
}
