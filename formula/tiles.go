package formula

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

func init() { task.TileFormulas(tilesOf) }

// tilesOf returns how a task with loops is cut into tiles, for one use of its operator: a grid over the first
// axes of its results, and the elements that each index of the grid reads and writes, which follow from the
// formula. The error is the reason if the task has no tiles.
func tilesOf(o *task.Operator, r *task.Resolution, number int, asked task.Asked) (*task.Tiles, float64, error) {
	s := o.Signatures[number]
	if err := noRows(s); err != nil {
		return nil, 0, err
	}
	u, err := useOf(o, r.Attrs, r, 0, zeros(o))
	if err != nil {
		return nil, 0, err
	}
	return rowsOf(s, u, r, asked)
}

// zeros returns zero values for all single arguments that the caller passes. Programs do not depend on the
// values.
func zeros(o *task.Operator) *task.Passed {
	values := map[int][]any{}
	for _, s := range o.Signatures {
		for _, a := range s.Args {
			if a.From == task.FromCall && !o.Slots[a.Slot].Variadic {
				values[a.Slot] = []any{reflect.Zero(a.Type).Interface()}
			}
		}
	}
	return task.NewPassed(values)
}

// noRows returns the reason why a task has no tiles in any use, or nil.
func noRows(s *task.Signature) error {
	switch {
	case s.Kind != task.KindForward && s.Kind != task.KindBackward && s.Kind != task.KindUpdate:
		return errors.New("no formula computes it")
	case slices.ContainsFunc(s.Args, func(a task.Arg) bool { return a.From == task.FromCall && s.Operator.Slots[a.Slot].Variadic }):
		return errors.New("the caller passes a list, of a length of its own")
	case slices.ContainsFunc(s.Params, func(p task.Param) bool { return p.Perm == perm.Reduce }):
		return errors.New("it folds values into a tensor")
	case len(s.Steps) != 1:
		return errors.New("it has several steps")
	}
	return nil
}

// Tiles returns how the task is cut into tiles of rows in this use. The error is the reason if it has no
// tiles.
func (r *Run) Tiles() (*task.Tiles, error) {
	if err := noRows(r.signature); err != nil {
		return nil, err
	}
	tiles, _, err := rowsOf(r.signature, r.use, r.resolution, "")
	return tiles, err
}

// askedMemory returns memory for the tensors of a task that computes only the gradients in asked.
func askedMemory(s *task.Signature, r *task.Resolution, asked task.Asked) func(slot int, grad bool) []task.Buffer {
	memory := memoryOf(r)
	if asked == "" {
		return memory
	}
	return func(slot int, grad bool) []task.Buffer {
		out := memory(slot, grad)
		param := slices.IndexFunc(s.Params, func(p task.Param) bool { return p.Slot == slot && p.Grad && p.Perm.Writes() })
		if !grad || param < 0 {
			return out
		}
		out = slices.Clone(out)
		for k := range out {
			present, mode := asked.Of(s, param, k)
			if out[k].Mode = mode; !present {
				out[k] = task.Buffer{}
			}
		}
		return out
	}
}

// rowsOf is tilesOf for a use. A row is an index of as many of the first axes as the formula and the loops
// permit.
func rowsOf(s *task.Signature, u *program.Use, r *task.Resolution, asked task.Asked) (tiles *task.Tiles, effort float64, why error) {
	a := &task.Accessor{Signature: s, Attrs: r.Attrs, Resolved: r, Memory: askedMemory(s, r, asked)}
	for k := op.MaxRank; k > 0; k-- {
		l := &layout{kernel: loopKernel{s, nil}, accessor: a, task: slices.Index(s.Operator.Signatures, s), axes: k}
		x, err := l.compiled(u)
		if err == nil && x.code == nil {
			return nil, 0, fmt.Errorf("the interpreter computes it: %w", x.why)
		}
		if err == nil {
			effort = 0
			for g := range x.code.Groups() {
				effort += float64(x.code.Work(g))
			}
			err = x.notRows
		}
		if err == nil && l.rows == nil {
			return nil, 0, errors.New("it computes nothing")
		}
		if err == nil {
			tiles, err = l.tiles()
			return tiles, effort, err
		}
		why = err
	}
	return nil, effort, why
}

// divide finds the rows of the statements that the task runs. It returns the number of rows and the
// temporaries that are computed before all rows. It is an error if there is only one row.
func (l *layout) divide(statements []*program.Statement) (n int, before map[int]bool, err error) {
	x, err := derive.Rows(l.program, statements, l.axes, func(t int) bool { return l.tensors[t].Local && !l.tensors[t].Planned })
	if err != nil {
		return 0, nil, err
	}
	l.rows, l.touches = x.Over, x.Of
	if n = shape.Prod(l.rows); n < 2 {
		return 0, nil, errors.New("it has one row")
	}
	return n, x.Before, nil
}

// tiles returns the footprints of slots and of their gradients, and the size of tiles. It is an error if a
// row reads elements of a result other than those that it writes.
func (l *layout) tiles() (*task.Tiles, error) {
	s := l.kernel.signature
	n := len(s.Operator.Slots)
	out := &task.Tiles{Rows: l.rows, Footprints: make([]region.Footprint, n), Grads: make([]region.Footprint, n)}
	seen := map[int]bool{} // parameters
	for t, at := range l.places {
		p := &s.Params[at.param]
		list := out.Footprints
		if p.Grad {
			list = out.Grads
		}
		f := l.touches[t]
		if f != nil && !slices.ContainsFunc(f, func(s region.Span) bool { return s.Of > 0 }) {
			f = nil
		}
		if seen[at.param] && !slices.Equal(f, list[p.Slot]) {
			f = nil // the tensors of a slot are touched at different elements
		}
		list[p.Slot], seen[at.param] = f, true
	}
	for param := range s.Params {
		if p := &s.Params[param]; seen[param] && p.Perm != perm.Read && out.Of(p) == nil {
			return nil, fmt.Errorf("a row reads other elements of %s than it gives", s.ParamName(param))
		}
	}
	out.Size = sizeOf(l.rows, work(l.accessor.Resolved, l.task))
	return out, nil
}

// work estimates the operations of a task plus the elements of its tensors.
func work(r *task.Resolution, number int) float64 {
	n := 0.0
	if number < len(r.Costs) {
		n = r.Costs[number].Flops
	}
	for _, operands := range r.Slots {
		for _, o := range operands {
			n += float64(shape.Prod(o.Shape))
		}
	}
	return n
}

// A task has up to mostTiles tiles, each with about leastWork operations and elements. Tiles may be that
// small because a task without tiles is a barrier between its neighbors, which takes longer.
const (
	mostTiles = 16
	leastWork = 1 << 8
)

// sizeOf returns the size of a tile along each axis of the rows. The number of tiles is about a power of 2,
// so that tiles of neighboring tasks begin at the same rows. The first axes are cut before later ones.
func sizeOf(rows []int, work float64) []int {
	left := 1
	for left < mostTiles && work >= float64(2*left*leastWork) {
		left *= 2
	}
	var out []int
	for _, n := range rows {
		size := max(shape.CeilDiv(n, left), 1)
		out = append(out, size)
		left = max(left/max(shape.CeilDiv(n, size), 1), 1)
	}
	return out
}

// rowBody computes boxes of rows. It runs all groups of loops on one contiguous range of rows after the
// other. The first tile in a run of the plan also computes the groups that come before all rows, while other
// tiles wait.
type rowBody struct {
	loopBody
	rows    []int
	checked []checkedIndices
	before  []int    // groups that run once, before all rows
	by      [][2]int // ranges of groups that run for each row
	mu      sync.Mutex
	ran     atomic.Uint64 // the last run in which the groups of before ran
}

// checkedIndices is an integer tensor with a bound. A tile checks the elements in its footprint.
type checkedIndices struct {
	indices
	touches region.Access
}

// Whole reports false: each range is a box of rows.
func (b *rowBody) Whole() bool { return false }

// Rows reports true.
func (b *rowBody) Rows() bool { return true }

// first runs the groups that come before all rows, once in each run of the plan.
func (b *rowBody) first(ctx *op.Ctx) error {
	if len(b.before) == 0 || b.ran.Load() == ctx.Run && ctx.Run > 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ran.Load() == ctx.Run && ctx.Run > 0 {
		return nil
	}
	for _, g := range b.before {
		if err := b.groups(ctx, g, g+1, 0, 1, 1); err != nil {
			return err
		}
	}
	b.ran.Store(ctx.Run)
	return nil
}

// Run computes the rows in the box r.
func (b *rowBody) Run(ctx *op.Ctx, r op.Range) error {
	var box region.Box
	for i := range b.checked {
		x := &b.checked[i]
		if x.touches.On(r, &box); box.Empty() {
			continue
		}
		if err := x.checkBox(&box); err != nil {
			return err
		}
	}
	if err := b.first(ctx); err != nil {
		return err
	}
	return b.runs(ctx, r, 0, 0, 1)
}

// runs computes the rows in the box r, by recursion over its dimensions from d on. first is the row-major
// number of the row's index in the dimensions before d, and n the number of all rows in these dimensions.
func (b *rowBody) runs(ctx *op.Ctx, r op.Range, d, first, n int) error {
	lo, hi := r.Dim(d)
	n *= b.rows[d]
	whole := true // whether all rows of the axes behind this one are in the box
	for e := d + 1; e < len(b.rows); e++ {
		from, to := r.Dim(e)
		whole = whole && from == 0 && to == b.rows[e]
	}
	if whole {
		return b.share(ctx, first*b.rows[d]+lo, first*b.rows[d]+hi, n)
	}
	for i := lo; i < hi; i++ {
		if err := b.runs(ctx, r, d+1, first*b.rows[d]+i, n); err != nil {
			return err
		}
	}
	return nil
}

// share runs all groups on the rows lo to hi-1 of n rows.
func (b *rowBody) share(ctx *op.Ctx, lo, hi, n int) error {
	for _, by := range b.by {
		if err := b.groups(ctx, by[0], by[1], lo, hi, n); err != nil {
			return err
		}
	}
	return nil
}

// groups runs the groups from start to end-1 on the rows lo to hi-1 of n rows.
func (b *rowBody) groups(ctx *op.Ctx, start, end, lo, hi, n int) error {
	if err := b.run.Run(start, end, loops.Time{Step: ctx.Step, Run: ctx.Run, Stop: ctx.Stop}, lo, hi, n); err != nil {
		return mistake(b.operator, err.Error())
	}
	return nil
}

// checkBox returns an error for the first element out of bounds in a box.
func (x *indices) checkBox(b *region.Box) error {
	run := 1 // elements in one piece
	d := len(x.shape) - 1
	for ; d >= 0; d-- {
		run *= b.Hi[d] - b.Lo[d]
		if b.Lo[d] > 0 || b.Hi[d] < x.shape[d] {
			break
		}
	}
	at := slices.Clone(b.Lo)
	for {
		n := 0
		for d, i := range at {
			n = n*x.shape[d] + i
		}
		if err := x.check(n, n+run, len(x.narrow)+len(x.wide)); err != nil {
			return err
		}
		e := d - 1
		for ; e >= 0; e-- {
			if at[e]++; at[e] < b.Hi[e] {
				break
			}
			at[e] = b.Lo[e]
		}
		if e < 0 {
			return nil
		}
	}
}

// rowBodies returns the body of a kernel that computes tiles of rows.
func (l *layout) rowBodies(u *use) ([]op.Body, error) {
	tiles, err := l.accessor.Resolved.Tiles(l.task, 0, l.accessor.Grid)
	if err == nil && u.code == nil {
		err = u.why
	}
	if err == nil {
		err = u.notRows
	}
	if err != nil {
		return nil, mistake(l.kernel.signature.Operator.FullName(), "want rows that are computed by themselves: "+err.Error())
	}
	l.follow()
	b := &rowBody{rows: tiles.Rows}
	b.run, b.operator = u.code.Bind(l.memory), l.kernel.signature.Operator.FullName()
	for g := range u.code.Groups() {
		switch n := len(b.by); {
		case u.code.Before(g):
			b.before = append(b.before, g)
		case n > 0 && b.by[n-1][1] == g:
			b.by[n-1][1]++
		default:
			b.by = append(b.by, [2]int{g, g + 1})
		}
	}
	for _, x := range l.indices() {
		b.checked = append(b.checked, checkedIndices{x, region.Access{Region: region.Whole(0, x.shape), Footprint: tiles.Footprints[x.number]}})
	}
	return []op.Body{b}, nil
}
