package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
)

// Parallel returns the partitions of all slots' tensors, given those of inputs, and of weights if the caller
// chooses them. A tensor without a given partition follows. given and the result are by slot. r is a use of
// the operator on whole tensors, or on parts of them.
//
//   - A dimension that is divided has the same degree in all tensors that have it.
//   - A tensor without the dimension has a replica for each part, or, if the dimension leaves partial sums,
//     an output has a term for each.
//   - Further replicas of the inputs divide the first dimension that weights have and inputs have not. If
//     there is none, all tensors have these replicas.
//
// The error says which degree does not divide an extent, which dimension may not be divided, or which
// partitions do not fit each other.
func (o *Operator) Parallel(r *Resolution, given map[int][]partition.Partition, parts bool) ([][]partition.Partition, error) {
	dims, err := o.Divisions(r)
	if err != nil {
		return nil, err
	}
	dims = slices.DeleteFunc(dims, func(d Division) bool { return d.Once >= 0 }) // all parts have all weights
	p := &parallel{op: o, r: r, given: given, part: parts, dims: dims}
	p.degrees, p.from = make([]int, len(p.dims)), make([]string, len(p.dims))
	for d := range p.degrees {
		p.degrees[d] = 1
	}
	for _, step := range []func() error{p.check, p.divide, p.replicate} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	out := make([][]partition.Partition, len(o.Slots))
	for slot := range o.Slots {
		for _, t := range r.Operands(slot) {
			out[slot] = append(out[slot], p.of(slot, t))
		}
	}
	return out, p.compare()
}

type parallel struct {
	op      *Operator
	r       *Resolution
	given   map[int][]partition.Partition
	part    bool // r is a use on parts of tensors
	dims    []Division
	degrees []int    // of dims
	from    []string // the slot that a degree comes from
	copies  int      // replicas of all tensors
}

func (p *parallel) fail(slot int, format, want string, got any) error {
	return &op.Error{Operator: p.op.FullName(), Slot: p.op.SlotName(slot), Want: want, Got: fmt.Sprintf(format, got)}
}

// each calls f with each given partition, in the order of slots.
func (p *parallel) each(f func(slot int, t Operand, q partition.Partition) error) error {
	for slot := range p.op.Slots {
		for i, q := range p.given[slot] {
			if err := f(slot, p.r.Operands(slot)[i], q); err != nil {
				return err
			}
		}
	}
	return nil
}

// check checks each given partition by itself.
func (p *parallel) check() error {
	for slot, list := range p.given {
		if slot < 0 || slot >= len(p.op.Slots) || p.op.Slots[slot].Role != RoleInput && p.op.Slots[slot].Role != RoleWeight {
			return &op.Error{Operator: p.op.FullName(), Want: "partitions of inputs and weights", Got: "one of " + p.op.SlotName(slot)}
		}
		if n := len(p.r.Operands(slot)); n != len(list) {
			return p.fail(slot, "%v", fmt.Sprintf("partitions of %d tensors", n), len(list))
		}
	}
	return p.each(func(slot int, t Operand, q partition.Partition) error {
		if err := q.Check(); err != nil {
			return p.fail(slot, "%v", "a partition", err)
		}
		switch {
		case q.Tiles != nil:
			return p.fail(slot, "%v", "tiles of a grid", q)
		case q.Sums > 1:
			return p.fail(slot, "%v", "a tensor whose terms were added", q)
		case len(q.Extents) != len(t.Shape):
			return p.fail(slot, "%v", fmt.Sprintf("a partition of %v", t), q)
		}
		for d, n := range q.Extents {
			switch part := n / q.Degrees[d]; {
			case n%q.Degrees[d] != 0:
				return p.fail(slot, "%v", fmt.Sprintf("a degree that divides the extent %d of dimension %d", n, d), q.Degrees[d])
			case p.part && part != t.Shape[d]:
				return p.fail(slot, "%v", fmt.Sprintf("a partition whose parts are %v", t), q)
			case !p.part && n != t.Shape[d]:
				return p.fail(slot, "%v", fmt.Sprintf("a partition of %v", t), q)
			}
		}
		return nil
	})
}

// divide finds the degree of each dimension.
func (p *parallel) divide() error {
	return p.each(func(slot int, _ Operand, q partition.Partition) error {
		for axis, n := range q.Degrees {
			d := slices.IndexFunc(p.dims, func(d Division) bool { at, ok := d.Axes[slot]; return ok && at == axis })
			switch {
			case d < 0 && n > 1:
				return p.fail(slot, "degree %v", fmt.Sprintf("dimension %d undivided, since each part of the result needs all of it; %s", axis, p.fits(slot)), n)
			case d < 0:
			case p.from[d] != "" && p.degrees[d] != n:
				return p.fail(slot, "%v", fmt.Sprintf("degree %d of dimension %d, as of %s", p.degrees[d], axis, p.from[d]), n)
			default:
				p.degrees[d], p.from[d] = n, p.op.SlotName(slot)
			}
		}
		return nil
	})
}

// fits says which dimensions of a slot's tensors may be divided.
func (p *parallel) fits(slot int) string {
	var axes []int
	for _, d := range p.dims {
		if at, ok := d.Axes[slot]; ok {
			axes = append(axes, at)
		}
	}
	switch slices.Sort(axes); len(axes) {
	case 0:
		if divideFormula == nil && len(p.op.Formula) > 0 {
			return "no dimension may be divided by [sharding] alone, and the program does not import package formula, which knows more"
		}
		return "no dimension may be divided"
	case 1:
		return fmt.Sprintf("dimension %d may be divided", axes[0])
	}
	return fmt.Sprintf("dimensions %s may be divided", strings.Join(strings.Fields(strings.Trim(fmt.Sprint(axes), "[]")), ", "))
}

// name returns what messages call a dimension that a weight has.
func (p *parallel) name(dim, slot, axis int) string {
	if n := p.dims[dim].Name; n != "" {
		return n
	}
	return fmt.Sprintf("dimension %d of %s", axis, p.op.SlotName(slot))
}

// replicate finds what the replicas of inputs that no dimension asks for do.
func (p *parallel) replicate() error {
	p.copies = 1
	first := ""
	more := 1
	err := p.each(func(slot int, t Operand, q partition.Partition) error {
		if p.op.Slots[slot].Role != RoleInput {
			return nil
		}
		want := max(p.of(slot, t).Replicas, 1)
		n := max(q.Replicas, 1)
		switch {
		case n%want != 0:
			return p.fail(slot, "%v", fmt.Sprintf("a multiple of %d replicas, one for each part of what it is combined with", want), n)
		case first != "" && n/want != more:
			return p.fail(slot, "%v", fmt.Sprintf("%d replicas, as %s has them", want*more, first), n)
		}
		first, more = p.op.SlotName(slot), n/want
		return nil
	})
	if err != nil || more == 1 {
		return err
	}
	for d := range p.dims {
		if slot, axis := p.weights(d); slot >= 0 && p.from[d] == "" {
			extent := p.r.Operands(slot)[0].Shape[axis]
			if !p.part && extent%more != 0 {
				return p.fail(slot, "%v", fmt.Sprintf("replicas whose number divides the extent %d of %s", extent, p.name(d, slot, axis)), more)
			}
			p.degrees[d], p.from[d] = more, first
			return nil
		}
	}
	p.copies = more
	return nil
}

// weights returns a weight with a dimension that no input has and that leaves no sums, and its axis; or -1.
func (p *parallel) weights(dim int) (slot, axis int) {
	d := &p.dims[dim]
	slot = -1
	for s := range p.op.Slots {
		at, ok := d.Axes[s]
		switch {
		case !ok:
		case p.op.Slots[s].Role == RoleInput || d.Partial:
			return -1, 0
		case p.op.Slots[s].Role == RoleWeight && slot < 0 && len(p.r.Operands(s)) > 0:
			slot, axis = s, at
		}
	}
	return slot, axis
}

// of returns the partition of a tensor of a slot.
func (p *parallel) of(slot int, t Operand) partition.Partition {
	q := partition.Undivided(t.Shape)
	replicas, sums := p.copies, 1
	for i, d := range p.dims {
		axis, ok := d.Axes[slot]
		switch {
		case ok:
			q.Degrees[axis] *= p.degrees[i]
			if p.part {
				q.Extents[axis] *= p.degrees[i]
			}
		case d.Partial && p.op.Slots[slot].Role == RoleOutput:
			sums *= p.degrees[i]
		default:
			replicas *= p.degrees[i]
		}
	}
	if replicas > 1 {
		q.Replicas = replicas
	}
	if sums > 1 {
		q.Sums = sums
	}
	return q
}

// compare reports a given partition that is not what follows, such as one with too few replicas.
func (p *parallel) compare() error {
	return p.each(func(slot int, t Operand, q partition.Partition) error {
		if want := p.of(slot, t); !want.Equal(q) {
			return p.fail(slot, "%v", want.String(), q)
		}
		return nil
	})
}
