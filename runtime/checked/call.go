package checked

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// guard is the size of the guards before and behind a copy of a tensor, in bytes.
const guard = 2 * plan.Align

// guardByte fills guards.
const guardByte = 0xc5

// use says what a task may do with a tensor.
type use uint8

const (
	reads   use = iota // only reads it
	writes             // only writes it, each element
	makes              // writes each element before it reads it
	changes            // reads and writes it, or folds values in
	puts               // puts each element of a gradient
	adds               // adds to elements of a gradient
	common             // scratch memory of the task
	own                // scratch memory of a worker
)

// cell is a tensor of a call, and its copy.
type cell struct {
	tensor engine.Tensor
	param  int
	nth    int // its number in the parameter
	slot   string
	use    use
	worker int    // whose scratch memory it is
	off    int    // of the copy
	copy   []byte // which kernels see
	fenced []byte // the copy with its guards
	now    []byte // what the plan's memory holds
	next   []byte // what the plan's memory will hold; nil if that is what it holds now
	start  []byte // what the copy held before the last trial
	size   int    // of an element
	n      int    // elements
	// owner holds, for each step, the number of the range that has written an element, counted from 1.
	owner [][]int32
}

// pair is a tensor that may take the memory of another.
type pair struct{ to, of *cell }

// call is an invocation of a task.
type call struct {
	*engine.Call
	node   string
	number int // of the task among those of its operator
	cells  []*cell
	pairs  []pair
	left   struct{ all, now int } // tasks of the plan
	// stored holds the bodies that store gradients, added those that add to them. shared holds, for each
	// pair, bodies for which both tensors of the pair are one.
	stored, added []op.Body
	shared        [][]op.Body
}

func newCall(c *engine.Call) *call {
	out := &call{Call: c, number: slices.Index(c.Signature.Operator.Signatures, c.Signature)}
	for i, p := range c.Signature.Params {
		s := &c.Signature.Operator.Slots[p.Slot]
		for k, t := range c.Params[i] {
			if t.Size == 0 {
				continue
			}
			x := &cell{tensor: t, param: i, nth: k, slot: c.Signature.ParamName(i), use: useOf(p, s), size: t.Type.Size(), n: shape.Prod(t.Shape)}
			x.owner = make([][]int32, len(c.Signature.Steps))
			if x.use == own {
				x.worker = k
			} else if s.Variadic {
				x.slot += fmt.Sprintf("[%d]", k)
			}
			out.cells = append(out.cells, x)
		}
	}
	for _, p := range c.Signature.InPlace {
		grad := c.Signature.Kind == task.KindBackward
		if c.Rows && !out.sameRows(p, grad) {
			continue
		}
		to, of := out.of(p.Slot, grad), out.of(p.Of, grad)
		for k := 0; len(to) == len(of) && k < len(to); k++ {
			if to[k] != nil && of[k] != nil && to[k].tensor.Type == of[k].tensor.Type && to[k].n == of[k].n {
				out.pairs = append(out.pairs, pair{to[k], of[k]})
			}
		}
	}
	return out
}

// sameRows reports whether a tile of rows touches the same elements of both tensors of a pair. Plans do not
// cut steps in which it does not.
func (c *call) sameRows(p task.InPlace, grad bool) bool {
	tiles, err := c.Resolved.Tiles(c.number, 0, c.Asked)
	return err == nil && slices.Equal(tiles.Of(&task.Param{Slot: p.Slot, Grad: grad}), tiles.Of(&task.Param{Slot: p.Of, Grad: grad}))
}

// useOf returns what a parameter permits.
func useOf(p task.Param, s *task.Slot) use {
	made := !p.Grad && (s.Role == task.RoleOutput || s.Role == task.RoleSaved)
	switch {
	case p.Perm == perm.Scratch && s.PerWorker:
		return own
	case p.Perm == perm.Scratch:
		return common
	case p.Perm == perm.Read:
		return reads
	case p.Grad && p.Scatter:
		return adds
	case p.Grad && p.Perm == perm.Write:
		return puts
	case p.Perm == perm.Write:
		return writes
	case p.Perm == perm.ReadWrite && made:
		return makes
	}
	return changes
}

// of returns the tensors of a slot, or of its gradients, by number; nil for those without memory.
func (c *call) of(slot int, grad bool) (list []*cell) {
	i := slices.IndexFunc(c.Signature.Params, func(p task.Param) bool { return p.Slot == slot && p.Grad == grad })
	if i < 0 {
		return nil
	}
	list = make([]*cell, len(c.Params[i]))
	for _, x := range c.cells {
		if x.param == i {
			list[x.nth] = x
		}
	}
	return list
}

// size returns the memory that the copies take.
func (c *call) size() int {
	n := 0
	for _, x := range c.cells {
		x.off = n + guard
		n = x.off + (int(x.tensor.Size)+plan.Align-1)/plan.Align*plan.Align + guard
	}
	return n
}

// aligned returns memory that is aligned like that of plans.
func aligned(n int) []byte {
	raw := make([]byte, n+plan.Align-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % plan.Align)
	return raw[skip : skip+n]
}

// bind binds the call to copies of its tensors.
func (c *call) bind(memory []byte) error {
	for _, x := range c.cells {
		end := x.off + int(x.tensor.Size)
		x.copy = memory[x.off:end:end]
		x.fenced = memory[x.off-guard : end+guard]
		x.start = make([]byte, len(x.copy))
	}
	var err error
	if c.stored, err = c.bindAs(tensor.Store, pair{}); err != nil {
		return err
	}
	if slices.ContainsFunc(c.cells, func(x *cell) bool { return x.use == puts }) {
		if c.added, err = c.bindAs(tensor.Accumulate, pair{}); err != nil {
			return err
		}
	}
	for _, p := range c.pairs {
		bodies, err := c.bindAs(tensor.Store, p)
		if err != nil {
			return err
		}
		c.shared = append(c.shared, bodies)
	}
	return nil
}

// bindAs binds the call to its copies. Gradients have the given mode. The tensors of the pair are one.
func (c *call) bindAs(mode tensor.Mode, p pair) ([]op.Body, error) {
	as := *c.Call
	as.Params = make([][]engine.Tensor, len(c.Params))
	next := 0
	for i := range c.Params {
		for _, t := range c.Params[i] {
			if t.Size > 0 {
				x := c.cells[next]
				next++
				if x == p.to {
					x = p.of
				}
				t.Region = engine.Region{Memory: x, Size: t.Size}
				if c.cells[next-1].use == puts {
					t.Mode = mode
				}
			}
			as.Params[i] = append(as.Params[i], t)
		}
	}
	return c.Variant.Bind(as.Accessor(func(r engine.Region) []byte { return r.Memory.(*cell).copy }))
}

// whole reports whether a body of a step computes all of it in the first range, which is then the only one,
// and to which all elements belong.
func (c *call) whole(step int) bool {
	for _, bodies := range append([][]op.Body{c.stored, c.added}, c.shared...) {
		if bodies != nil && op.IsWhole(bodies[step]) {
			return true
		}
	}
	return false
}

// begin prepares the call for a run of the plan.
func (c *call) begin() {
	c.left.now = c.left.all
	for _, x := range c.cells {
		for _, o := range x.owner {
			clear(o)
		}
	}
}

// load reads what the tensors hold now.
func (c *call) load(b *Backend) error {
	for _, x := range c.cells {
		if x.now == nil {
			x.now = make([]byte, len(x.copy))
		}
		if err := b.Read(x.now, x.tensor.Region); err != nil {
			return err
		}
		x.next = nil
		x.fence()
	}
	return nil
}

// store writes the results to the memory of the plan.
func (c *call) store(b *Backend) error {
	for _, x := range c.cells {
		if x.next == nil {
			continue
		}
		if err := b.Write(x.tensor.Region, x.next); err != nil {
			return err
		}
	}
	return nil
}

// owners returns the numbers of the ranges of a step that have written the elements.
func (x *cell) owners(step int) []int32 {
	if x.owner[step] == nil {
		x.owner[step] = make([]int32, x.n)
	}
	return x.owner[step]
}

// before reports whether an earlier step has written an element.
func (x *cell) before(step, i int) bool {
	for _, o := range x.owner[:step] {
		if o != nil && o[i] != 0 {
			return true
		}
	}
	return false
}

// fence writes the guards.
func (x *cell) fence() {
	for i := range guard {
		x.fenced[i], x.fenced[len(x.fenced)-1-i] = guardByte, guardByte
	}
}

// damaged returns the byte that is nearest to the tensor of those in its guards that were written, counted
// from the begin of the tensor.
func (x *cell) damaged() (at int, ok bool) {
	for i := range guard {
		if x.fenced[guard-1-i] != guardByte {
			return -1 - i, true
		}
		if x.fenced[len(x.fenced)-guard+i] != guardByte {
			return len(x.copy) + i, true
		}
	}
	return 0, false
}

// index returns the index of an element.
func (x *cell) index(i int) []int { return shape.Index(i, x.tensor.Shape) }

// box returns the elements of a tensor that a range touches according to a footprint.
func (x *cell) box(f region.Footprint, r op.Range) []bool {
	a := region.Access{Region: region.Whole(0, x.tensor.Shape), Footprint: f}
	var box region.Box
	a.On(r, &box)
	in := make([]bool, x.n)
	for i := range in {
		in[i] = true
		for d, k := range x.index(i) {
			in[i] = in[i] && box.Lo[d] <= k && k < box.Hi[d]
		}
	}
	return in
}

// accumulates reports whether the plan adds to a gradient.
func (x *cell) accumulates() bool { return x.tensor.Mode == tensor.Accumulate }

// remembers reports whether a step may read what an earlier one has written.
func (x *cell) remembers() bool { return x.use == writes || x.use == makes || x.use == common }
