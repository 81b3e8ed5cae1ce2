package opimpl

import (
	"fmt"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Work gives the only step of a task its extents, and usual grains: they cut the first dimensions into as
// many ranges as task.Resolution.Ranges says. They leave the last of several dimensions whole, as kernels are
// fastest along it.
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
// have as many elements. Otherwise it is Shares.
func (r *resolver) Elements(id task.ID) {
	least, most := r.written(id)
	if least < most {
		r.Shares(id)
		return
	}
	r.loops(id)
	r.setWork(id, "", 0, []int{most})
}

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
	at := r.step(id, name)
	g := &r.res.Grids[at[0]][at[1]]
	g.Over, g.Inner = max(over[0], 0), nil
	for _, n := range over[1:] {
		g.Inner = append(g.Inner, op.Axis{Over: max(n, 0)})
	}
	if g.Cut(1); grain > 0 {
		g.Grain = grain
		return
	}
	r.usual = append(r.usual, at)
}

// mostParts is the largest number of ranges into which the last dimension of a step is divided. Each range of
// a convolution copies the filters: four take 2 % more time on one worker than one range, and sixteen 10 %.
const mostParts = 4

// cut cuts the steps that have usual grains, when the costs of their tasks are known. The last dimension is
// divided only if the spec states tiles, of which a range has two or more, and if the other dimensions are
// too short to be shared, as those of a single image are.
func (r *resolver) cut() {
	for _, at := range r.usual {
		g, n := &r.res.Grids[at[0]][at[1]], r.res.Ranges(at[0])
		g.Cut(n)
		tiles, last := r.res.Cuts[at], len(g.Inner)-1
		if others := g.Tiles(); tiles != nil && last >= 0 && others > 0 && n >= 2*others {
			g.Inner[last].Grain = max(shape.CeilDiv(g.Inner[last].Over, min(n/others, mostParts)), 2*tiles.Size[last+1])
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

// Part describes which elements of some axes of a tensor an index of a step accesses.
type Part []region.Span

// Moves returns the part of an axis that dimension d counts.
func Moves(d int) Part { return Part{region.Along(d, 1, 0, 1)} }

// Window returns the part of an axis that moves with dimension d: size elements from scale*i+shift on, where
// i is the index. Of an axis that is empty, size may be 0.
func Window(d, scale, shift, size int) Part { return Part{region.Along(d, scale, shift, max(size, 1))} }

// Flat returns the part of a run of axes whose elements dimension d counts. Only one axis is a box for every
// range; an index touches all of several.
func Flat(d, axes int) Part {
	if axes == 1 {
		return Moves(d)
	}
	return make(Part, axes)
}

// All returns the part of axes that every index accesses as a whole.
func All(axes int) Part { return make(Part, axes) }
