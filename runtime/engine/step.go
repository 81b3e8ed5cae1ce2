package engine

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// bound is a call with its bound steps, and how far the tasks of the plan have come with it.
type bound struct {
	*Call
	steps   []Launchable
	checked *region.Access // the first of the accesses that were checked last, for step
	step    int            // that ran last; -1 before the first
	tile    int            // of it
}

// number returns the number of the call's task among those of its operator.
func (c *bound) number() int { return slices.Index(c.Signature.Operator.Signatures, c.Signature) }

// tiles returns how a step is cut. The error says why it is not.
func (c *Call) tiles(step int) (*task.Tiles, error) {
	return c.Resolved.Tiles(slices.Index(c.Signature.Operator.Signatures, c.Signature), step, c.Asked)
}

// cutInRows reports whether a step is cut into tiles of rows.
func (c *Call) cutInRows(step int) bool {
	tiles, err := c.tiles(step)
	return err == nil && tiles.Rows != nil
}

// next returns the first step from number from on that has anything to do.
func (c *bound) next(from int) int {
	for from < len(c.steps) {
		if g := c.Resolved.Work(c.number(), from); g.Tiles() > 0 {
			break
		}
		from++
	}
	return from
}

// advance checks that a task is the next step of its call: each step that has anything to do runs once, in
// the order of the signature. A step whose tiles are tasks runs once for each of them.
func (c *bound) advance(t *plan.Task) error {
	want := c.next(c.step + 1)
	again := t.Tile > 0 && c.tile > 0 && t.Step == c.step
	if t.Step < 0 || t.Step >= len(c.steps) || t.Step != want && !again {
		if want == len(c.steps) {
			return fmt.Errorf("want no more steps of the call, got step %d", t.Step)
		}
		return fmt.Errorf("want step %d of %d, got step %d", want, len(c.steps), t.Step)
	}
	c.step, c.tile = t.Step, t.Tile
	return c.checkGrid(t)
}

// checkGrid checks that a step of a call runs over what its operator says, in tiles that the operator
// permits. A task that folds runs in one range, so that its operations have one order.
func (c *bound) checkGrid(t *plan.Task) error {
	number := c.number()
	got, want := t.Grid(), c.Resolved.Work(number, t.Step)
	if t.Tile > 0 {
		tiles, err := c.tiles(t.Step)
		if err != nil {
			return fmt.Errorf("want step %d as one task, got a tile of it: %w", t.Step, err)
		}
		want = tiles.Grid(want)
	}
	if rows := t.Tile > 0 && c.cutInRows(t.Step); rows != c.Rows {
		return fmt.Errorf("want tiles of one grid for all steps, or none")
	}
	ok := got.Rank() == want.Rank()
	for d := 0; ok && d < want.Rank(); d++ {
		ok = got.Dim(d).Over == want.Dim(d).Over
	}
	if !ok {
		return fmt.Errorf("want step %d over %v, got %v", t.Step, &want, &got)
	}
	if got.Tiles() > 1 && slices.ContainsFunc(c.Signature.Params, func(p task.Param) bool { return p.Perm == perm.Reduce }) {
		return fmt.Errorf("want step %d in one range, since it folds values, got %v", t.Step, &got)
	}
	if t.Elementwise && !c.Resolved.Elementwise(c.Signature, t.Step) {
		return fmt.Errorf("want step %d as a task that does not run element by element, got one that does", t.Step)
	}
	return nil
}

// footprint returns what an index of a step touches of a tensor of a parameter, as the operator says; nil for
// all.
func (c *bound) footprint(t *plan.Task, p *task.Param, b plan.Bound, rank int) region.Footprint {
	tiles := c.Resolved.Cuts[[2]int{c.number(), t.Step}]
	if tiles == nil && t.Tile > 0 {
		tiles, _ = c.tiles(t.Step) // checkGrid has refused a tile of a step without tiles
	}
	if tiles == nil || b.Shape != nil || len(tiles.Of(p)) != rank {
		return nil
	}
	return tiles.Of(p)
}

// expected returns the permission that a task of the call needs for a parameter. What the call makes and then
// reads, its first step writes.
func (c *bound) expected(t *plan.Task, p *task.Param, mode tensor.Mode) perm.Perm {
	role := c.Signature.Operator.Slots[p.Slot].Role
	switch {
	case p.Grad && p.Perm == perm.Write && mode == tensor.Accumulate:
		return perm.ReadWrite
	case p.Perm == perm.ReadWrite && !p.Grad && (role == task.RoleOutput || role == task.RoleSaved) && t.Step == c.next(0):
		return perm.Write
	}
	return p.Perm
}

// checkAccess checks that a task declares one access for each tensor of its call, in this order, and no
// other: the verifier and the order of tasks rely on that.
func (in *Instance) checkAccess(t *plan.Task, call *bound) error {
	c, sig := &in.plan.Calls[t.Call], call.Signature
	n := 0
	for i := range sig.Params {
		p := &sig.Params[i]
		passed := 0 // tensors
		for _, b := range c.Params[i] {
			if b.Root == plan.NoRoot {
				continue
			}
			want := call.expected(t, p, b.Mode)
			if n >= len(t.Access) || !in.declares(&t.Access[n], b.Root, want, p.Redop) {
				return &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task, Slot: sig.Operator.Slots[p.Slot].Name,
					Want: fmt.Sprintf("an access to all of %s that permits to %v", in.plan.Roots[b.Root].Name, want), Got: "none"}
			}
			a := &t.Access[n]
			if f := call.footprint(t, p, b, len(a.Lo)); len(a.Footprint) > 0 && !slices.Equal(a.Footprint, f) {
				return misfit(sig, sig.Operator.Slots[p.Slot].Name, fmt.Sprintf("tiles that touch %v", f), fmt.Sprint(a.Footprint))
			}
			if p.Perm != perm.Scratch && !call.demands(i, passed, a, b.Shape != nil) {
				return misfit(sig, sig.Operator.Slots[p.Slot].Name, "tiles as large as constraints demand", fmt.Sprintf("a demand of %v", a.Least))
			}
			passed++
			n++
		}
	}
	if n < len(t.Access) {
		return misfit(sig, "", fmt.Sprintf("%d accesses", n), fmt.Sprint(len(t.Access)))
	}
	return nil
}

// demands reports whether an access demands from tiles what constraints say of tensor k of a parameter, or
// more.
func (c *bound) demands(param, k int, a *region.Access, view bool) bool {
	if c.limits == nil {
		return true
	}
	limit := c.limits.Of(c.Signature.ParamName(param), k)
	if limit.Extents == nil {
		return true
	}
	want := a.Hi
	if !view || len(limit.Extents) == len(a.Hi) {
		want = c.Resolved.Least(c.number(), limit, a)
	}
	for d, n := range want {
		if n > 1 && (d >= len(a.Least) || a.Least[d] < n) {
			return false
		}
	}
	return true
}

// declares reports whether an access is one to all of a root, with a permission and a reduction.
func (in *Instance) declares(a *region.Access, root region.Root, p perm.Perm, r perm.Redop) bool {
	return a.Root == root && a.Perm == p && a.Redop == r && a.Covers(in.plan.Roots[root].Shape)
}
