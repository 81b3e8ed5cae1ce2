package checked

import (
	"bytes"
	"fmt"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// judge checks the ranges of a step of a call.
type judge struct {
	call   *call
	step   int
	tile   int // the number of the only range that the task runs, counted from 1; 0 stands for all
	grid   op.Grid
	ranges []op.Range // of the grid
	ctx    op.Ctx
	found  findings

	// Of the range that runs:
	r     op.Range
	id    int32 // the number of the range, counted from 1
	mine  map[*cell][]bool
	first map[*cell][]byte // what the first trial left
	inner map[*cell][]bool // the elements that belong to the indices; tensors that are not listed belong as a whole
}

// trial is a run of a range on copies.
type trial struct {
	bodies []op.Body
	r      op.Range
	kind   int                // of poison
	other  *cell              // memory that gets the other kind
	alter  map[*cell][]bool   // elements that the range must not read
	base   map[*cell][]uint64 // what gradients hold before
	shared pair               // tensors that share memory
}

// report adds an error about an element of a tensor, or about the tensor if the element is negative.
func (j *judge) report(rule Rule, x *cell, i int, want, got string) {
	j.found.add(j.fault(rule, x, i, want, got))
}

// fault returns an error about an element of a tensor, or about the tensor if the element is negative.
func (j *judge) fault(rule Rule, x *cell, i int, want, got string) *Error {
	sig := j.call.Signature
	e := &Error{Rule: rule, Node: j.call.node, Operator: sig.Operator.FullName(), Task: sig.Task, Step: sig.Steps[j.step].Name,
		Slot: x.slot, Range: j.r, Want: want, Got: got}
	if i >= 0 {
		e.Index = x.index(i)
	}
	return e
}

// run runs a range several times and judges it. The error is that of the kernel.
func (j *judge) run(k int, r op.Range) error {
	j.r, j.id = r, int32(k+1)
	if j.tile > 0 {
		j.id = int32(j.tile)
	}
	j.inner = j.belongs(r)
	if j.below() {
		return j.found.err()
	}
	if err := j.try(trial{bodies: j.call.stored, r: r}); err != nil {
		return err
	}
	j.keep()
	if err := j.unread(); err != nil {
		return err
	}
	if err := j.gradients(); err != nil {
		return err
	}
	j.inPlace()
	j.inside()
	return nil
}

// try fills the copies and runs a range. It reports memory that the range writes and must not. The error is
// that of the kernel.
func (j *judge) try(t trial) error {
	for _, x := range j.call.cells {
		j.fill(x, &t)
	}
	if err := guarded(t.bodies[j.step], &j.ctx, t.r); err != nil {
		return err
	}
	j.found.merge(j.harm(t.shared))
	return nil
}

// harm returns what a trial has written and must not.
func (j *judge) harm(shared pair) (f findings) {
	for _, x := range j.call.cells {
		if at, ok := x.damaged(); ok {
			f.add(j.fault(Guard, x, -1, fmt.Sprintf("writes to %d bytes only", len(x.copy)), fmt.Sprintf("one at byte %d", at)))
			x.fence()
		}
		if x == shared.of || bytes.Equal(x.copy, x.start) {
			continue
		}
		if x.use == own && x.worker != j.ctx.Worker {
			f.add(j.fault(Worker, x, -1, fmt.Sprintf("use of the memory of worker %d", j.ctx.Worker), fmt.Sprintf("a write to that of worker %d", x.worker)))
		}
		for i := 0; x.use == reads && i < x.n; i++ {
			if x.at(i) != x.began(i) {
				f.add(j.fault(ReadOnly, x, i, "an element that keeps its value "+x.text(x.began(i)), x.text(x.at(i))))
			}
		}
	}
	return f
}

// fill sets what the copy of a tensor holds before a trial.
func (j *judge) fill(x *cell, t *trial) {
	kind := t.kind
	if x == t.other {
		kind = 1 - kind
	}
	switch x.use {
	case reads, changes, adds:
		copy(x.start, x.now)
	default:
		p := poison(x.tensor.Type, kind)
		for i := range x.n {
			v := p
			if x.remembers() && x.before(j.step, i) {
				v = x.held(i)
			}
			save(x.start, x.size, i, v)
		}
	}
	for i, v := range t.base[x] {
		save(x.start, x.size, i, v)
	}
	for i, lost := range t.alter[x] {
		if lost {
			save(x.start, x.size, i, j.call.another(x, i))
		}
	}
	copy(x.copy, x.start)
}

// belongs returns the elements that belong to the indices of a range, of tensors of which not all do.
func (j *judge) belongs(r op.Range) map[*cell][]bool {
	c, in := j.call, map[*cell][]bool{}
	var tiles *task.Tiles
	if j.tile > 0 {
		tiles, _ = c.Resolved.Tiles(c.number, j.step, c.Asked) // the engine has refused a tile of a step without tiles
	}
	grid := c.Resolved.Work(c.number, j.step)
	for _, x := range c.cells {
		var f region.Footprint
		if tiles != nil {
			f = tiles.Of(&c.Signature.Params[x.param])
		}
		switch {
		case x.use == own:
		case len(f) > 0 && len(f) == len(x.tensor.Shape):
			in[x] = x.box(f, r)
		case tiles != nil && tiles.Rows != nil: // all of it
		case !c.Resolved.Elementwise(c.Signature, j.step) || c.whole(j.step):
		case x.n == grid.Over:
			in[x] = make([]bool, x.n)
			for i := r.Lo; i < r.Hi; i++ {
				in[x][i] = true
			}
		case x.use != reads:
			in[x] = make([]bool, x.n)
		}
	}
	return in
}

// below checks the values of integer inputs that have a bound.
func (j *judge) below() bool {
	for _, x := range j.call.cells {
		bound, ok := j.call.bound(x)
		if !ok || x.use != reads || j.id > 1 && j.tile == 0 {
			continue
		}
		for i := range x.n {
			if in := j.inner[x]; j.tile > 0 && in != nil && !in[i] {
				continue
			}
			if v := int(x.tensor.Type.Float64(x.now[i*x.size:])); !bound.Holds(v) {
				j.report(Below, x, i, bound.String(), fmt.Sprint(v))
			}
		}
	}
	return j.found.has(Below)
}

// keep keeps what the first trial left.
func (j *judge) keep() {
	j.mine, j.first = map[*cell][]bool{}, map[*cell][]byte{}
	for _, x := range j.call.cells {
		if x.use != reads && x.use != own {
			j.mine[x], j.first[x] = make([]bool, x.n), bytes.Clone(x.copy)
		}
	}
}

// unread runs the range on other poison. Elements that differ depend on it, and elements that are still
// poison are not written. What is written becomes part of the results.
func (j *judge) unread() error {
	if err := j.try(trial{bodies: j.call.stored, r: j.r, kind: 1}); err != nil {
		return fmt.Errorf("only if memory that the task must not read holds other values: %w", err)
	}
	differ := false
	for _, x := range j.call.cells {
		mine, first := j.mine[x], j.first[x]
		if mine == nil {
			continue
		}
		kept := x.now
		if x.use != changes && x.use != adds {
			kept = nil
		}
		for i := range x.n {
			a, b := load(first, x.size, i), x.at(i)
			switch {
			case kept != nil && a == b && a == load(kept, x.size, i):
			case kept == nil && j.untouched(x, i, a, b):
			case a == b:
				mine[i] = true
				j.write(x, i, a)
			case x.use != common:
				differ = true
			}
		}
	}
	if differ {
		j.blame()
	}
	return nil
}

// untouched reports whether an element holds in both trials what it held before.
func (j *judge) untouched(x *cell, i int, a, b uint64) bool {
	if x.remembers() && x.before(j.step, i) {
		return a == x.held(i) && b == x.held(i)
	}
	return a == poison(x.tensor.Type, 0) && b == poison(x.tensor.Type, 1)
}

// write makes an element that the range has written part of the results.
func (j *judge) write(x *cell, i int, v uint64) {
	if x.next == nil {
		x.next = bytes.Clone(x.now)
	}
	save(x.next, x.size, i, v)
	owners := x.owners(j.step)
	switch other := owners[i]; {
	case other == 0:
		owners[i] = j.id
	case other != j.id:
		rule, want := Apart, "one range of the step to write the element"
		if x.use == puts {
			rule, want = Put, "one value put"
		}
		j.report(rule, x, i, want, fmt.Sprintf("one in this range and one in range %v", j.rangeOf(other)))
	}
	if x.use == puts && x.before(j.step, i) {
		j.report(Put, x, i, "one value put", "one in this step and one in a step before")
	}
	if in := j.inner[x]; in != nil && !in[i] {
		j.report(Inside, x, i, "no write outside of the elements that belong to the range", "one")
	}
}

// rangeOf returns the range of a number.
func (j *judge) rangeOf(id int32) op.Range {
	return j.grid.Tile(int(id) - 1)
}

// blame reports which memory the results depend on.
func (j *judge) blame() {
	if err := j.try(trial{bodies: j.call.stored, r: j.r}); err != nil {
		return
	}
	if x, i, v := j.differs(nil); x != nil {
		j.report(Same, x, i, "the same bits in each run of the range", x.text(load(j.first[x], x.size, i))+" and "+x.text(v))
		return
	}
	for _, s := range j.call.cells {
		if s.use == reads || s.use == changes || s.use == adds {
			continue
		}
		if err := j.try(trial{bodies: j.call.stored, r: j.r, other: s}); err != nil {
			j.report(Unread, s, -1, "results that do not depend on what the memory held", err.Error())
			continue
		}
		if x, i, v := j.differs(s); x != nil {
			j.report(Unread, s, -1, "results that do not depend on what the memory held",
				fmt.Sprintf("%s%v = %s for one content and %s for another", x.slot, x.index(i), x.text(load(j.first[x], x.size, i)), x.text(v)))
		}
	}
}

// differs returns an element that differs from what the first trial left, besides those of s that still hold
// what they held before.
func (j *judge) differs(s *cell) (*cell, int, uint64) {
	for _, x := range j.call.cells {
		if j.mine[x] == nil || x.use == common {
			continue
		}
		for i := range x.n {
			if v := x.at(i); v != load(j.first[x], x.size, i) && (x != s || v != x.began(i)) {
				return x, i, v
			}
		}
	}
	return nil, 0, 0
}
