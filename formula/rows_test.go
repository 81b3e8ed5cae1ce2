package formula

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// rowsOfTask compares runs of a task as a whole with runs in tiles of rows.
type rowsOfTask struct {
	*testing.T
	*rand.Rand
	s     *task.Signature
	r     *task.Resolution
	n     int // of the task
	tiles *task.Tiles
	asked task.Asked
	of    func(slot int, grad bool) []task.Buffer
}

// CompareRows runs a task as a whole, and again in tiles of random sizes, in a random order. Before a tile
// runs, all elements outside of its footprints are overwritten: by NaN, or by other integers within their
// bounds. The tile must not change these elements, and the results must have the same bits. It does so again
// with an output in the memory of an input, where the task permits that. The task computes the gradients in
// asked.
func CompareRows(t *testing.T, s *task.Signature, r *task.Resolution, tiles *task.Tiles, asked task.Asked, rng *rand.Rand) {
	x := &rowsOfTask{t, rng, s, r, slices.Index(s.Operator.Signatures, s), tiles, asked, askedMemory(s, r, asked)}
	x.compare()
	for _, pair := range s.InPlace {
		grad := s.Kind == task.KindBackward
		to, from := x.of(pair.Slot, grad), x.of(pair.Of, grad)
		if len(to) == 1 && len(from) == 1 && to[0].Type == from[0].Type && slices.Equal(to[0].Shape, from[0].Shape) &&
			slices.Equal(tiles.Of(&task.Param{Slot: pair.Slot, Grad: grad}), tiles.Of(&task.Param{Slot: pair.Of, Grad: grad})) {
			of := x.of
			x.of = func(slot int, g bool) []task.Buffer {
				if slot == pair.Slot && g == grad {
					return from
				}
				return of(slot, g)
			}
			x.compare()
			x.of = of
		}
	}
}

// compare compares the results of tiles with those of the whole task.
func (x *rowsOfTask) compare() {
	x.draw()
	start := x.copied()
	x.run(false)
	want := x.copied()
	x.restore(start)
	x.run(true)
	for i, b := range x.buffers() {
		if !bytes.Equal(b.Bytes, want[i]) {
			x.Errorf("%s: tiles of %v by %v: tensor %d of shape %v differs", x.s.Task, x.tiles.Rows, x.tiles.Size, i, b.Shape)
		}
	}
}

// each calls f with each tensor of the task. Of two tensors in the same memory, it passes the first one only.
func (x *rowsOfTask) each(f func(p *task.Param, b task.Buffer)) {
	seen := map[*byte]bool{}
	for i := range x.s.Params {
		p := &x.s.Params[i]
		if !p.Grad && !x.r.Takes(x.n, p.Slot) {
			continue
		}
		for _, b := range x.of(p.Slot, p.Grad) {
			if b.Type == dtype.Invalid {
				continue // an unused gradient
			}
			if at := unsafe.SliceData(b.Bytes); len(b.Bytes) == 0 || !seen[at] {
				seen[at] = true
				f(p, b)
			}
		}
	}
}

func (x *rowsOfTask) buffers() (out []task.Buffer) {
	x.each(func(_ *task.Param, b task.Buffer) { out = append(out, b) })
	return out
}

func (x *rowsOfTask) copied() (out [][]byte) {
	for _, b := range x.buffers() {
		out = append(out, bytes.Clone(b.Bytes))
	}
	return out
}

func (x *rowsOfTask) restore(from [][]byte) {
	for i, b := range x.buffers() {
		copy(b.Bytes, from[i])
	}
}

// put stores a random element. If wrong is set, a real number is NaN instead.
func (x *rowsOfTask) put(p *task.Param, b task.Buffer, i int, wrong bool) {
	to := b.Bytes[i*b.Type.Size():][:b.Type.Size()]
	switch v := 0.1 + x.Float64(); b.Type {
	case dtype.F64:
		if wrong {
			v = math.NaN()
		}
		binary.LittleEndian.PutUint64(to, math.Float64bits(v))
	case dtype.F32:
		if wrong {
			v = math.NaN()
		}
		binary.LittleEndian.PutUint32(to, math.Float32bits(float32(v)))
	case dtype.Bool:
		to[0] = byte(x.IntN(2))
	default:
		below := 2
		if bound, ok := x.r.Bound(p.Slot); ok {
			below = max(bound.Below, 1)
		}
		b.Type.PutFloat64(to, float64(x.IntN(below)))
	}
}

func (x *rowsOfTask) draw() {
	x.each(func(p *task.Param, b task.Buffer) {
		for i := range shape.Prod(b.Shape) {
			if len(b.Bytes) > 0 {
				x.put(p, b, i, false)
			}
		}
	})
}

// passed returns a value for each argument that the caller passes.
func (x *rowsOfTask) passed() *task.Passed {
	values := map[int][]any{}
	for _, a := range x.s.Args {
		if a.From != task.FromCall {
			continue
		}
		v := reflect.ValueOf(0.5)
		if a.Type.Kind() != reflect.Float64 {
			v = reflect.ValueOf(1)
		}
		values[a.Slot] = []any{v.Convert(a.Type).Interface()}
	}
	return task.NewPassed(values)
}

// run runs the task, as a whole or in tiles.
func (x *rowsOfTask) run(rows bool) {
	x.Helper()
	a := &task.Accessor{Signature: x.s, Attrs: x.r.Attrs, Resolved: x.r, Memory: x.of, Rows: rows, Grid: x.asked, Passed: x.passed()}
	bodies, err := loopKernel{x.s, &uses{}}.bind(a)
	if err != nil {
		x.Fatal(err)
	}
	ctx := &op.Ctx{Run: op.NextRun()}
	if !rows {
		if err := bodies[0].Run(ctx, op.Range{Hi: x.r.Work(x.n, 0).Over}); err != nil {
			x.Fatal(err)
		}
		return
	}
	for d, n := range x.tiles.Rows {
		x.tiles.Size[d] = 1 + x.IntN(n)
	}
	grid := x.tiles.Grid(op.Grid{})
	for _, k := range x.Perm(grid.Tiles()) {
		tile := grid.Tile(k)
		before := x.copied()
		x.each(func(p *task.Param, b task.Buffer) { x.outside(p, b, tile, func(i int) { x.put(p, b, i, true) }) })
		wrong := x.copied()
		if err := bodies[0].Run(ctx, tile); err != nil {
			x.Fatal(err)
		}
		at := 0
		x.each(func(p *task.Param, b task.Buffer) {
			size := b.Type.Size()
			x.outside(p, b, tile, func(i int) {
				if got := b.Bytes[i*size:][:size]; !bytes.Equal(got, wrong[at][i*size:][:size]) {
					x.Errorf("%s: tile %v of %v changes element %d of slot %s of shape %v, which is not in its footprint %+v", x.s.Task, tile, x.tiles.Rows, i,
						x.s.ParamName(slices.IndexFunc(x.s.Params, func(q task.Param) bool { return q.Slot == p.Slot && q.Grad == p.Grad })), b.Shape, x.tiles.Of(p))
				}
				copy(b.Bytes[i*size:][:size], before[at][i*size:])
			})
			at++
		})
		if x.Failed() {
			return
		}
	}
}

// outside calls f with the elements of a tensor that a tile does not access. A tensor without a footprint has
// none. A tensor that is written must have a footprint.
func (x *rowsOfTask) outside(p *task.Param, b task.Buffer, tile op.Range, f func(i int)) {
	print := x.tiles.Of(p)
	if p.Perm != perm.Read && len(print) == 0 && len(b.Bytes) > 0 {
		x.Fatalf("%s: slot %d is written, and has no footprint", x.s.Task, p.Slot)
	}
	if len(print) == 0 || len(b.Bytes) == 0 {
		return
	}
	a := region.Access{Region: region.Whole(0, b.Shape), Footprint: print}
	var box region.Box
	a.On(tile, &box)
	for i := range shape.Prod(b.Shape) {
		for d, k := range shape.Index(i, b.Shape) {
			if k < box.Lo[d] || k >= box.Hi[d] {
				f(i)
				break
			}
		}
	}
}
