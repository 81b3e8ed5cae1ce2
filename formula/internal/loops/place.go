package loops

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// extremePlace finds the index of the maximum or minimum of its first register. NaN counts as more extreme
// than all numbers. Its second register, if any, is the guard.
type extremePlace[T simd.Float] struct {
	number  *address[T] // the number of an element, which is the result
	least   bool        // whether it searches the minimum
	guarded bool
}

// extremePlace emits an argmax or argmin. number is the number of an element, which is the result.
func (z *vectorizer[T]) extremePlace(r *term.Reduction, number *term.Term) {
	o := &extremePlace[T]{}
	was := z.c.lenient
	z.c.lenient = was || r.Guard != nil
	defer func() { z.c.lenient = was }()
	uses := []int{z.vector(z.real(r.Body))}
	if o.guarded = r.Guard != nil; o.guarded {
		uses = append(uses, z.vector(z.real(r.Guard)))
	}
	f := rewrite.Linear(number)
	o.number, o.least = z.count(f, z.c.value(f)), r.Kind == reduction.ArgMin
	z.other(o, -1, uses...)
}

func (o *extremePlace[T]) exec(s *state[T], in *instruction[T], n int) {
	number, step, sign, x := o.number.at(s), o.number.step, 1.0, s.regs[in.uses[0]][:n]
	if o.least {
		sign = -1
	}
	var mask []T
	if o.guarded {
		mask = s.regs[in.uses[1]][:n]
	}
	switch {
	case o.guarded || n <= fewCompared:
		for i, w := range x {
			if w := float64(w) * sign; (!o.guarded || mask[i] != 0) && s.better(w) {
				s.best, s.found, s.index = w, true, number+i*step
			}
		}
	default:
		lanes := &s.lanes[0]
		lanes.Fill(T(math.Inf(int(-sign))))
		var extreme T
		if o.least {
			simd.MinInto(lanes, x)
			extreme = lanes.Min()
		} else {
			simd.MaxInto(lanes, x)
			extreme = lanes.Max()
		}
		if w := float64(extreme) * sign; s.better(w) {
			s.best, s.found, s.index = w, true, number+firstOfLanes(lanes, x, extreme)*step
		}
	}
}

func (o *extremePlace[T]) text(p *lister[T], x []string) string {
	name, guard := "argmax", ""
	if o.least {
		name = "argmin"
	}
	if o.guarded {
		guard = " if " + x[1]
	}
	return fmt.Sprintf("%s %s at %s%s", name, x[0], p.form(o.number.offset), guard)
}

// better reports whether a value is more extreme than the best one so far. NaN is more extreme than all
// numbers.
func (s *state[T]) better(w float64) bool {
	return !s.found || w > s.best || w != w && s.best == s.best
}

// firstOfLanes returns the position of the first element of x that equals v, or is NaN if v is NaN. It
// searches only the elements of lanes whose extreme is v.
func firstOfLanes[T simd.Float](lanes *simd.Lanes[T], x []T, v T) int {
	same := func(w T) bool { return w == v || w != w && v != v }
	first := len(x)
	for lane, w := range lanes {
		if !same(w) {
			continue
		}
		for i := lane; i < first; i += len(lanes) {
			if same(x[i]) {
				first = i
			}
		}
	}
	return first
}
