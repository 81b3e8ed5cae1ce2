package checked

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// changed returns an element that a trial leaves otherwise than the first did: an element that the range
// writes has another value, or another element has not kept its value. within, unless nil, selects elements
// that are written.
func (j *judge) changed(within func(i int) bool, shared pair) (*cell, int, uint64) {
	for _, x := range j.call.cells {
		mine := j.mine[x]
		if mine == nil || x.use == common || x == shared.of {
			continue
		}
		from := x
		if x == shared.to {
			from = shared.of
		}
		for i := range x.n {
			want := from.began(i)
			if mine[i] && (within == nil || within(i)) {
				want = load(j.first[x], x.size, i)
			}
			if v := from.at(i); v != want {
				return x, i, v
			}
		}
	}
	return nil, 0, 0
}

// gradients runs the range with gradients that are added to. An element that is put once then grows by what
// is stored. It also sets the results for gradients of that mode.
func (j *judge) gradients() error {
	bodies, base := j.call.added, map[*cell][]uint64{}
	used := false
	for _, x := range j.call.cells {
		if x.use == puts || x.use == adds {
			used = true
			if base[x] = j.basis(x); x.use == adds {
				base[x] = slices.Repeat([]uint64{x.infinite()}, x.n)
			}
		}
	}
	if !used {
		return nil
	}
	if bodies == nil {
		bodies = j.call.stored
	}
	if err := j.try(trial{bodies: bodies, r: j.r, base: base}); err != nil {
		return err
	}
	for _, x := range j.call.cells {
		b := base[x]
		if b == nil {
			continue
		}
		scale := 0.0
		for i := range x.n {
			if v := math.Abs(x.number(load(j.first[x], x.size, i))); j.mine[x][i] && v > scale && !math.IsInf(v, 0) {
				scale = v
			}
		}
		for i := range x.n {
			if x.use == adds {
				j.judgeAdd(x, i)
			} else {
				j.judgePut(x, i, b[i], scale)
			}
		}
	}
	return j.accumulate()
}

// basis returns what gradients that are put hold before they are added to: the values that the range puts,
// and 1 where it puts none or 0, so that twice the value cannot be mistaken. Where twice the value is too
// great for the type, it is half of the value, with the other sign.
func (j *judge) basis(x *cell) []uint64 {
	b := make([]uint64, x.n)
	for i := range b {
		b[i] = load(j.first[x], x.size, i)
		if v := x.number(b[i]); !j.mine[x][i] || v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			b[i] = x.bits(1)
		} else if math.IsInf(x.number(x.bits(2*v)), 0) {
			b[i] = x.bits(-v / 2)
		}
	}
	return b
}

// number returns the value of an element's bits, bits those of a value.
func (x *cell) number(v uint64) float64 {
	var b [8]byte
	save(b[:], x.size, 0, v)
	return x.tensor.Type.Float64(b[:])
}

func (x *cell) bits(v float64) uint64 {
	var b [8]byte
	x.tensor.Type.PutFloat64(b[:], v)
	return load(b[:], x.size, 0)
}

// infinite returns the bits of infinity, which no finite sum hides: beside 1, large values leave what they
// leave beside 0.
func (x *cell) infinite() uint64 { return x.bits(math.Inf(1)) }

// judgePut judges an element of a gradient that held base before. scale is the largest element that the range
// puts.
func (j *judge) judgePut(x *cell, i int, base uint64, scale float64) {
	v, b, got := x.number(load(j.first[x], x.size, i)), x.number(base), x.number(x.at(i))
	if !j.mine[x][i] {
		if got != b {
			j.report(Put, x, i, "one value put", fmt.Sprintf("none if values are stored, and %v if they are added", got-b))
		}
		return
	}
	sum := x.number(x.bits(b + v)) // which may be beyond the type
	if math.IsNaN(v) || math.IsInf(v, 0) || got == b+v || math.IsInf(sum, 0) && got == sum {
		return
	}
	// Sums that are added to in parts are rounded otherwise.
	tolerance := 1e-4
	if x.tensor.Type == dtype.F64 {
		tolerance = 1e-10
	}
	if twice := x.number(x.bits(x.number(x.bits(b+v)) + v)); got == twice && math.Abs(v) > tolerance*scale { // less may be what rounding leaves
		j.report(Put, x, i, "one value put", fmt.Sprintf("%v twice", v))
	} else if math.Abs(got-b-v) > 0.25*math.Abs(v)+tolerance*scale {
		j.report(Put, x, i, "one value put", fmt.Sprintf("%v if it is stored, and %v if it is added", v, got-b))
	}
}

// judgeAdd judges an element of a gradient that is added to. One that does not depend on what was there
// before is stored.
func (j *judge) judgeAdd(x *cell, i int) {
	if v := load(j.first[x], x.size, i); j.mine[x][i] && x.held(i) == 0 && x.at(i) == v && !math.IsNaN(x.number(v)) && !math.IsInf(x.number(v), 0) {
		j.report(Add, x, i, "a value added", fmt.Sprintf("%v stored", x.number(v)))
	}
}

// accumulate sets the results for gradients that are added to, which the trials of other rules do not
// compute.
func (j *judge) accumulate() error {
	base, used := map[*cell][]uint64{}, false
	for _, x := range j.call.cells {
		if x.use != puts || !x.accumulates() {
			continue
		}
		used = true
		base[x] = make([]uint64, x.n)
		for i := range base[x] {
			base[x][i] = x.held(i)
		}
	}
	if !used {
		return nil
	}
	if err := j.try(trial{bodies: j.call.added, r: j.r, base: base}); err != nil {
		return err
	}
	for _, x := range j.call.cells {
		for i := range base[x] {
			if j.mine[x][i] {
				save(x.next, x.size, i, x.at(i))
			}
		}
	}
	return nil
}

// inPlace runs the range with the memory of another tensor for a tensor that may take it.
func (j *judge) inPlace() {
	for k, p := range j.call.pairs {
		if err := j.try(trial{bodies: j.call.shared[k], r: j.r, shared: p}); err != nil {
			j.report(InPlace, p.to, -1, "the same results in the memory of "+p.of.slot, err.Error())
		} else if x, i, v := j.changed(nil, p); x != nil {
			j.report(InPlace, x, i, fmt.Sprintf("the same result if %s takes the memory of %s", p.to.slot, p.of.slot),
				x.text(v)+" rather than "+x.text(load(j.first[x], x.size, i)))
		}
	}
}

// inside alters elements that do not belong to the range. Results must not change. A range of a step that
// goes element by element also runs in two parts.
func (j *judge) inside() {
	j.alter(j.outside(j.inner), j.r, nil)
	c := j.call
	if c.Rows || !c.Resolved.Elementwise(c.Signature, j.step) || c.whole(j.step) || j.r.Hi-j.r.Lo < 2 {
		return // an index of rows stands for no element
	}
	middle := (j.r.Lo + j.r.Hi) / 2
	for _, part := range []op.Range{{Lo: j.r.Lo, Hi: middle}, {Lo: middle, Hi: j.r.Hi}} {
		j.alter(j.outside(j.belongs(part)), part, func(i int) bool { return part.Lo <= i && i < part.Hi })
	}
}

// outside returns the elements that do not belong to a range, of tensors that the task reads.
func (j *judge) outside(in map[*cell][]bool) map[*cell][]bool {
	out := map[*cell][]bool{}
	for x, inner := range in {
		if x.use != reads && x.use != changes {
			continue
		}
		some, lost := false, make([]bool, x.n)
		for i := range lost {
			lost[i] = !inner[i]
			some = some || lost[i]
		}
		if some {
			out[x] = lost
		}
	}
	return out
}

// alter runs a range with other values for the given elements, and reports the tensor on which results
// depend.
func (j *judge) alter(lost map[*cell][]bool, r op.Range, within func(i int) bool) {
	const want = "results that do not depend on elements outside of those that belong to the range"
	if len(lost) == 0 {
		return
	}
	if err := j.try(trial{bodies: j.call.stored, r: r, alter: lost}); err == nil {
		if x, _, _ := j.changed(within, pair{}); x == nil {
			return
		}
	}
	whole := j.r
	j.r = r
	defer func() { j.r = whole }()
	for _, s := range j.call.cells {
		if lost[s] == nil {
			continue
		}
		if err := j.try(trial{bodies: j.call.stored, r: r, alter: map[*cell][]bool{s: lost[s]}}); err != nil {
			j.report(Inside, s, -1, want, err.Error())
		} else if x, i, v := j.changed(within, pair{}); x != nil {
			j.report(Inside, s, -1, want, fmt.Sprintf("%s%v = %s or %s", x.slot, x.index(i), x.text(load(j.first[x], x.size, i)), x.text(v)))
		}
	}
}

// lost runs ranges again for tensors that take the memory of others. What the other ranges, and steps before,
// have written there is lost to a range, so results must not depend on it.
func (j *judge) lost() {
	if j.call.Resolved.Elementwise(j.call.Signature, j.step) {
		return // has been found out already
	}
	for k, r := range j.ranges {
		id := int32(k + 1)
		if j.tile > 0 {
			id = int32(j.tile)
		}
		for _, p := range j.call.pairs {
			some, gone := false, make([]bool, p.to.n)
			for i, o := range p.to.owners(j.step) {
				gone[i] = o != 0 && o != id || p.to.before(j.step, i)
				some = some || gone[i]
			}
			if some && p.of.use == reads {
				j.r = r
				j.again(r, id, p, gone)
			}
		}
	}
}

// again runs a range with other values for elements that are lost, and compares what it writes with the
// results.
func (j *judge) again(r op.Range, id int32, p pair, gone []bool) {
	want := fmt.Sprintf("results that do not depend on elements in whose place %s is written before", p.to.slot)
	if err := j.try(trial{bodies: j.call.stored, r: r, alter: map[*cell][]bool{p.of: gone}}); err != nil {
		j.report(InPlace, p.of, -1, want, err.Error())
		return
	}
	for _, x := range j.call.cells {
		if x.next == nil || x.use == common || x.use == own || x.use == puts && x.accumulates() {
			continue
		}
		for i, o := range x.owners(j.step) {
			if o != id {
				continue
			}
			if v := x.at(i); v != load(x.next, x.size, i) {
				j.report(InPlace, p.of, -1, want, fmt.Sprintf("%s%v = %s or %s", x.slot, x.index(i), x.text(load(x.next, x.size, i)), x.text(v)))
				return
			}
		}
	}
}

// whole checks that the ranges of all steps have written every element.
func (j *judge) whole() {
	for _, x := range j.call.cells {
		if x.use != writes && x.use != makes && x.use != puts {
			continue
		}
		j.r = j.grid.Whole()
		for i := range x.n {
			switch {
			case x.before(len(x.owner), i):
			case x.use == puts:
				j.report(Put, x, i, "one value put", "none")
			default:
				j.report(Written, x, i, "an element that a range writes", "none that does")
			}
		}
	}
}
