package opimpl

import (
	"fmt"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// usualTiles is the number of tiles into which the usual grains cut a grid, about.
const usualTiles = 16

// smallTask is up to how many operations and elements of tensors a task stays whole, with usual grains. It
// takes some microseconds, so a worker spends more on taking its tiles than it saves.
const smallTask = 1 << 16

// Work gives the only step of a task its extents, and usual grains: they cut as many dimensions, from the
// first on, as make some sixteen tiles. They leave the last of several dimensions whole, as kernels are
// fastest along it. A small task stays whole.
func (r *resolver) Work(id task.ID, over ...int) { r.setWork(id, "", 0, over) }

// WorkBy is Work with a grain for the first dimension.
func (r *resolver) WorkBy(id task.ID, grain int, over ...int) { r.setWork(id, "", grain, over) }

// Step is Work for a step of a task that has several.
func (r *resolver) Step(id task.ID, name string, over ...int) { r.setWork(id, name, 0, over) }

// StepBy is Step with a grain for the first dimension.
func (r *resolver) StepBy(id task.ID, name string, grain int, over ...int) {
	r.setWork(id, name, grain, over)
}

// Elements says that loops of a formula compute a task, element by element where all tensors that it writes
// have as many elements. Ranges are small then, so that the next such task finds their results in the cache.
// Otherwise it is Shares.
func (r *resolver) Elements(id task.ID) {
	least, most := r.written(id)
	if least < most {
		r.Shares(id)
		return
	}
	r.loops(id)
	r.setWork(id, "", elementwiseGrain, []int{most})
	r.usual = append(r.usual, r.step(id, ""))
}

// elementwiseGrain is how many elements a range of a task that works element by element has: 16 KiB of
// float32.
const elementwiseGrain = 4096

// Shares says that loops of a formula compute a task. The loops decide what they go over, in one phase or in
// several. Each range is a share of every phase: its share of the elements of the operator's largest tensor.
// There are none if all tensors that the task writes are empty.
func (r *resolver) Shares(id task.ID) {
	n := 0
	if _, most := r.written(id); most > 0 {
		for _, operands := range r.res.Slots {
			for _, o := range operands {
				n = max(n, shape.Prod(o.Shape))
			}
		}
	}
	r.loops(id)
	r.setWork(id, "", 0, []int{n})
	if r.res.Shares == nil {
		r.res.Shares = map[int]bool{}
	}
	r.res.Shares[r.task(id)] = true
}

// OnCPUs says that loops of a formula compute a task on CPUs, over what the spec says. Its tiles may then
// follow from the formula.
func (r *resolver) OnCPUs(id task.ID) { r.loops(id) }

// loops notes that loops of a formula compute a task.
func (r *resolver) loops(id task.ID) {
	if r.res.Loops == nil {
		r.res.Loops = map[int]bool{}
	}
	r.res.Loops[r.task(id)] = true
}

// written returns the least and the greatest number of elements of the tensors that a task writes.
func (r *resolver) written(id task.ID) (least, most int) {
	least = -1
	for _, p := range r.op.Signatures[r.task(id)].Params {
		for _, o := range r.res.Slots[p.Slot] {
			if n := shape.Prod(o.Shape); p.Perm.Writes() {
				if most = max(most, n); least < 0 || n < least {
					least = n
				}
			}
		}
	}
	return max(least, 0), most
}

func (r *resolver) setWork(id task.ID, name string, grain int, over []int) {
	left := usualTiles
	usual := func(n int) op.Axis {
		a := op.Axis{Over: max(n, 0), Grain: max(shape.CeilDiv(n, left), 1)}
		left = shape.CeilDiv(left, max(n, 1))
		return a
	}
	var g op.Grid
	if g.Axis = usual(over[0]); grain > 0 {
		g.Grain, left = grain, 1
	} else {
		r.usual = append(r.usual, r.step(id, name))
	}
	for i, n := range over[1:] {
		if i == len(over)-2 {
			left = 1
		}
		g.Inner = append(g.Inner, usual(n))
	}
	at := r.step(id, name)
	r.res.Grids[at[0]][at[1]] = g
}

// keepSmall leaves the steps of small tasks whole, if they have usual grains.
func (r *resolver) keepSmall() {
	elements := 0
	for _, operands := range r.res.Slots {
		for _, o := range operands {
			elements += shape.Prod(o.Shape)
		}
	}
	for _, at := range r.usual {
		if g := &r.res.Grids[at[0]][at[1]]; float64(elements)+r.res.Costs[at[0]].Flops <= smallTask {
			g.Grain = max(g.Over, g.Grain, 1)
			for d := range g.Inner {
				g.Inner[d].Grain = max(g.Inner[d].Over, 1)
			}
		}
	}
}

// step returns the numbers of a task and of one of its steps.
func (r *resolver) step(id task.ID, name string) [2]int {
	t := r.task(id)
	for i, s := range r.op.Signatures[t].Steps {
		if s.Name == name {
			return [2]int{t, i}
		}
	}
	panic(fmt.Sprintf("opimpl: operator %s has no step %s", r.op.FullName(), name)) // generated code names steps that exist
}

// Tiles gives the tiles of a step their extents.
func (r *resolver) Tiles(id task.ID, step string, size ...int) {
	if r.res.Cuts == nil {
		r.res.Cuts = map[[2]int]*task.Tiles{}
	}
	for i, n := range size {
		size[i] = max(n, 1)
	}
	r.res.Cuts[r.step(id, step)] = &task.Tiles{Size: size, Footprints: make([]region.Footprint, len(r.op.Slots))}
}

func (r *resolver) footprint(id task.ID, step string, slot int, parts []Part) {
	var f region.Footprint
	for _, p := range parts {
		f = append(f, p...)
	}
	r.res.Cuts[r.step(id, step)].Footprints[slot] = f
}

// Part is what an index touches of some axes of a tensor.
type Part []region.Span

// Moves returns the part of an axis that dimension d counts.
func Moves(d int) Part { return Part{region.Along(d, 1, 0, 1)} }

// Window returns the part of an axis that moves with dimension d: size elements from scale*i+shift on, where
// i is the index.
func Window(d, scale, shift, size int) Part { return Part{region.Along(d, scale, shift, size)} }

// Flat returns the part of a run of axes whose elements dimension d counts. Only one axis is a box for every
// range; an index touches all of several.
func Flat(d, axes int) Part {
	if axes == 1 {
		return Moves(d)
	}
	return make(Part, axes)
}

// All returns the part of axes all of which every index touches.
func All(axes int) Part { return make(Part, axes) }
