package taskgraph

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/internal/base/pages"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// View is a tensor with the part of it that a block may touch. Nothing checks that a function keeps to it.
type View struct {
	Box  region.Box
	dims []int
	data []byte
}

// At returns the offset of an element in the tensor.
func (v *View) At(index ...int) int {
	n := 0
	for d, i := range index {
		n = n*v.dims[d] + i
	}
	return n
}

// Elements returns the elements of the tensor of a view, in row-major order. T is the type of its elements.
func Elements[T dtype.Element](v *View) []T {
	var e T
	if len(v.data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&v.data[0])), len(v.data)/int(unsafe.Sizeof(e)))
}

// BlockOf is a block that a function computes: its number along each axis of the grid, and the tensors of its
// layer. First says that the block is the first of those that fold into the same tile: it writes what the
// others add to.
type BlockOf struct {
	At              [3]int
	Inputs, Outputs []View
	First           bool
}

// Func computes a block of a task.
type Func func(b *BlockOf) error

// Instance is a task graph with memory, ready to run.
type Instance struct {
	tg      *TaskGraph
	program *exec.Program
	roots   [][]byte
	runs    uint64
}

// Load allocates the memory of a task graph. functions holds the functions of registered tasks, by name. A
// task without a function is an *Error, unless the operators of its block graph compute it.
func (tg *TaskGraph) Load(functions map[string]Func) (*Instance, error) {
	in := &Instance{tg: tg}
	in.roots = memoryOf(tg.Plan)
	scratch := 0
	for i, l := range tg.graph.layers {
		if functions[l.task] == nil && len(l.block.ops) == 0 {
			return nil, &Error{Graph: tg.graph.name, Layer: tg.graph.label(i, l), Axis: -1, Want: "a function, or operators in its block graph", Got: fmt.Sprintf("none for %q", l.task)}
		}
		scratch = max(scratch, l.block.memory.bytes)
	}
	workers := make([][]float32, tg.Plan.Schedule.Workers())
	for w := range workers {
		workers[w] = make([]float32, scratch/dtype.F32.Size())
	}
	tasks := make([]exec.Task, len(tg.Plan.Tasks))
	grid := op.Line(1, 1)
	for t := range tasks {
		at := tg.places[t]
		l := tg.graph.layers[at.layer]
		b := &body{block: BlockOf{At: at.block, First: true}, layer: l, f: functions[l.task], scratch: workers}
		for _, axis := range l.block.Folds {
			b.block.First = b.block.First && at.block[axis] == 0
		}
		for k, x := range slices.Concat(l.inputs, l.outputs) {
			var v View
			if x != nil {
				v = View{Box: l.slot(k).box(at.block), dims: x.dims, data: in.roots[x.number]}
			}
			if k < len(l.inputs) {
				b.block.Inputs = append(b.block.Inputs, v)
			} else {
				b.block.Outputs = append(b.block.Outputs, v)
			}
		}
		tasks[t] = exec.Task{Body: b, Grid: grid}
	}
	var err error
	in.program, err = exec.NewProgram(&tg.Plan.Schedule, tasks)
	return in, err
}

// memoryOf returns the memory of the roots of a plan.
func memoryOf(p *plan.Plan) [][]byte {
	arena := pages.Bytes(p.ArenaBytes, plan.Align)
	out := make([][]byte, len(p.Roots))
	for i := range p.Roots {
		r := &p.Roots[i]
		switch {
		case r.Use == plan.Variable:
			out[i] = pages.Bytes(r.Place.Bytes, plan.Align)[:r.Place.Bytes]
		case r.First <= r.Last:
			out[i] = arena[r.Place.Off : r.Place.Off+r.Place.Bytes]
		}
	}
	return out
}

// Bytes returns the memory of a tensor: of an input for the caller to write before a run, and of an output to
// read after one.
func (in *Instance) Bytes(t *DTensor) []byte { return in.roots[t.number] }

// Floats returns the elements of a tensor of f32, which Bytes returns as bytes.
func (in *Instance) Floats(t *DTensor) []float32 {
	return Elements[float32](&View{data: in.Bytes(t)})
}

// Run runs the tasks once, on as many workers as the plan has queues. The error is that of a function, or the
// cause of the end of ctx.
func (in *Instance) Run(ctx context.Context) error {
	pool := exec.NewPool(in.tg.Plan.Schedule.Workers())
	defer pool.Close()
	return in.on(ctx, pool)
}

// on runs the tasks once, by an executor.
func (in *Instance) on(ctx context.Context, by exec.Runner) error {
	in.runs++
	return by.Run(ctx, in.program, in.runs-1)
}

// body computes a block, with its function or its operators.
type body struct {
	block   BlockOf
	layer   *layer
	f       Func
	scratch [][]float32 // by worker: the memory of tiles
}

// Run computes the block.
func (b *body) Run(c *op.Ctx, _ op.Range) error {
	if b.f != nil {
		return b.f(&b.block)
	}
	b.layer.block.run(&b.block, b.scratch[c.Worker])
	return nil
}

// run computes a block with its operators, on tiles in memory: for each round of the for-loop it loads the
// tiles of inputs, each before the first operator that uses it.
func (b *Block) run(at *BlockOf, memory []float32) {
	m := &b.memory
	tiles := make([]values, len(m.tiles))
	for i, a := range m.tiles {
		from := a.Offset / dtype.F32.Size()
		n := a.Bytes / dtype.F32.Size()
		tiles[i].data = memory[from : from+n : from+n]
	}
	run := func(o *operator, round int) {
		args := make([]values, len(o.args))
		for i, a := range o.args {
			args[i] = tiles[m.at[a]]
		}
		out := &tiles[m.at[o.out]]
		switch {
		case !o.accum:
			o.compute(out, args)
		case round == 0:
			out.resize(args[0].dims...)
			copy(out.data, args[0].data)
		default:
			for i, v := range args[0].data {
				out.data[i] += v
			}
		}
	}
	for round := range b.loops() {
		loaded := map[*STensor]bool{}
		for _, o := range m.order[:m.loop] {
			b.load(o, at, tiles, round, loaded)
			run(o, round)
		}
	}
	loaded := map[*STensor]bool{}
	for _, o := range m.order[m.loop:] {
		b.load(o, at, tiles, 0, loaded)
		run(o, 0)
	}
	for k, s := range b.outputs {
		v := &at.Outputs[k]
		copyBox(v, v.Box, tiles[m.at[s.output]].data, func(element, tile *float32) {
			if at.First {
				*element = *tile
			} else {
				*element += *tile
			}
		})
	}
}

// load loads the tiles of the inputs of an operator, unless they are.
func (b *Block) load(o *operator, at *BlockOf, tiles []values, round int, loaded map[*STensor]bool) {
	for _, a := range o.args {
		k := slices.Index(b.inputs, a)
		if k < 0 || loaded[a] {
			continue
		}
		loaded[a] = true
		v := &at.Inputs[k]
		box := region.Box{Lo: slices.Clone(v.Box.Lo), Hi: slices.Clone(v.Box.Hi)}
		if d := a.forLoop; d >= 0 {
			box.Lo[d] = min(v.Box.Lo[d]+round*a.dims[d], v.Box.Hi[d])
			box.Hi[d] = min(box.Lo[d]+a.dims[d], v.Box.Hi[d])
		}
		t := &tiles[b.memory.at[a]]
		dims := make([]int, len(box.Lo))
		for d := range dims {
			dims[d] = box.Hi[d] - box.Lo[d]
		}
		t.resize(dims...)
		copyBox(v, box, t.data, func(element, tile *float32) { *tile = *element })
	}
}

// copyBox calls move with each element of a box of a tensor, and with that of a tile with the box's extents.
func copyBox(v *View, box region.Box, tile []float32, move func(element, tile *float32)) {
	if box.Empty() {
		return
	}
	all := Elements[float32](v)
	index := slices.Clone(box.Lo)
	for n := range shape.Prod(extents(box)) {
		move(&all[v.At(index...)], &tile[n])
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < box.Hi[d] {
				break
			}
			index[d] = box.Lo[d]
		}
	}
}

// extents returns those of a box.
func extents(b region.Box) []int {
	out := make([]int, len(b.Lo))
	for d := range out {
		out[d] = b.Hi[d] - b.Lo[d]
	}
	return out
}
