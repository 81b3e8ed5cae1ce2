package loops

import (
	"math"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// each returns code that calls visit for each iteration of the loops over vars at which the guard holds.
func (c *compiler[T]) each(vars []*term.Variable, guard *term.Term) func(s *state[T], visit func()) {
	if len(vars) == 0 {
		if guard == nil {
			return func(_ *state[T], visit func()) { visit() }
		}
		holds := c.condition(guard)
		return func(s *state[T], visit func()) {
			if holds(s) {
				visit()
			}
		}
	}
	lo, hi, at := c.integer(vars[0].Lo), c.integer(vars[0].Hi), c.place(vars[0])
	inner := c.each(vars[1:], guard)
	return func(s *state[T], visit func()) {
		for i, end := lo(s), hi(s); i < end; i++ {
			s.vars[at] = i
			inner(s, visit)
		}
	}
}

// reduceReal returns scalar code for a reduction to a real number.
func (c *compiler[T]) reduceReal(r *term.Reduction) func(*state[T]) float64 {
	each, x := c.each(r.Vars, r.Guard), c.real(r.Body)
	fold := func(first float64, f func(a, b float64) float64) func(*state[T]) float64 {
		return func(s *state[T]) float64 {
			v := first
			each(s, func() { v = f(v, x(s)) })
			return v
		}
	}
	switch r.Kind {
	case reduction.Sum:
		return fold(0, func(a, b float64) float64 { return a + b })
	case reduction.Prod:
		return fold(1, func(a, b float64) float64 { return a * b })
	case reduction.Max:
		return fold(math.Inf(-1), func(a, b float64) float64 { return max(a, b) })
	case reduction.Min:
		return fold(math.Inf(1), func(a, b float64) float64 { return min(a, b) })
	}
	switch r.Kind {
	case reduction.Mean:
		return func(s *state[T]) float64 {
			sum, n := 0.0, 0.0
			each(s, func() { sum += x(s); n++ })
			return sum / n
		}
	case reduction.Variance:
		return func(s *state[T]) float64 {
			sum, n, first := 0.0, 0.0, 0.0 // differences keep the mean of equal elements exact
			each(s, func() {
				v := x(s)
				if n == 0 {
					first = v
				}
				sum += v - first
				n++
			})
			mean := first + sum/n
			sum = 0
			each(s, func() { d := x(s) - mean; sum += float64(d * d) })
			return sum / n
		}
	}
	most := c.real(r.At[0])
	return func(s *state[T]) float64 { // logsumexp
		top, sum := most(s), 0.0
		each(s, func() { sum += math.Exp(x(s) - top) })
		return logarithm(sum)
	}
}

// logarithm returns the log of a sum of exponentials relative to their maximum. It returns 0 if the maximum
// was not finite.
func logarithm(sum float64) float64 {
	if !(sum > 0) {
		return 0
	}
	return math.Log(sum)
}

// reduceInteger returns scalar code for a reduction to an integer.
func (c *compiler[T]) reduceInteger(r *term.Reduction) func(*state[T]) int {
	if r.Kind == reduction.Count {
		return c.counted(r.Vars, r.Guard, func(*state[T]) bool { return true })
	}
	each := c.each(r.Vars, r.Guard)
	if r.Kind.Is(reduction.Argument) {
		return c.argument(r, each)
	}
	fold, first := integerFolds[r.Kind], r.Kind.IntegerIdentity()
	if values := c.folded(r); values != nil {
		outer := c.each(r.Vars[:len(r.Vars)-1], nil)
		return func(s *state[T]) int {
			v := first
			all := func(_ int, x []int) { v = fold(v, x) } // allocated once, not per call
			outer(s, func() { values(s, all) })
			return v
		}
	}
	x := c.integer(r.Body)
	return func(s *state[T]) int {
		v := first
		var one [1]int
		each(s, func() {
			one[0] = x(s)
			v = fold(v, one[:])
		})
		return v
	}
}

// integerFolds are functions that reduce a slice of integers, from an initial value v.
var integerFolds = map[reduction.Kind]func(v int, x []int) int{
	reduction.Sum: func(v int, x []int) int {
		for _, y := range x {
			v += y
		}
		return v
	},
	reduction.Prod: func(v int, x []int) int {
		for _, y := range x {
			v *= y
		}
		return v
	},
	reduction.Max: func(v int, x []int) int {
		for _, y := range x {
			v = max(v, y)
		}
		return v
	},
	reduction.Min: func(v int, x []int) int {
		for _, y := range x {
			v = min(v, y)
		}
		return v
	},
}

// argument returns scalar code for argmax or argmin. The result is the index of the first extreme, or its
// row-major number if several indices are reduced. NaN counts as more extreme than all numbers.
func (c *compiler[T]) argument(r *term.Reduction, each func(*state[T], func())) func(*state[T]) int {
	at := c.value(rewrite.Linear(r.Number))
	if r.Body.Kind == term.Integer {
		return c.wholeArgument(r, each, at)
	}
	x, sign := c.real(r.Body), 1.0
	if r.Kind == reduction.ArgMin {
		sign = -1
	}
	return func(s *state[T]) int {
		best, found, out := 0.0, false, 0
		each(s, func() {
			v := x(s) * sign
			if !found || v > best || math.IsNaN(v) && !math.IsNaN(best) {
				best, found, out = v, true, at(s)
			}
		})
		return out
	}
}

// wholeArgument is argument for integers, which float64 does not represent exactly.
func (c *compiler[T]) wholeArgument(r *term.Reduction, each func(*state[T], func()), at func(*state[T]) int) func(*state[T]) int {
	least := r.Kind == reduction.ArgMin
	if values := c.folded(r); values != nil {
		outer, place := c.each(r.Vars[:len(r.Vars)-1], nil), c.place(r.Vars[len(r.Vars)-1])
		return func(s *state[T]) int {
			best, found, out := 0, false, 0
			search := func(first int, x []int) {
				for i, v := range x {
					if !found || v > best && !least || v < best && least {
						s.vars[place] = first + i
						best, found, out = v, true, at(s)
					}
				}
			}
			outer(s, func() { values(s, search) })
			return out
		}
	}
	x := c.integer(r.Body)
	return func(s *state[T]) int {
		best, found, out := 0, false, 0
		each(s, func() {
			if v := x(s); !found || v > best && !least || v < best && least {
				best, found, out = v, true, at(s)
			}
		})
		return out
	}
}

// quantified returns scalar code for the reductions any and all.
func (c *compiler[T]) quantified(r *term.Reduction) func(*state[T]) bool {
	x := c.condition(r.Body)
	if r.Kind == reduction.All {
		fail := c.counted(r.Vars, r.Guard, func(s *state[T]) bool { return !x(s) })
		return func(s *state[T]) bool { return fail(s) == 0 }
	}
	hold := c.counted(r.Vars, r.Guard, x)
	return func(s *state[T]) bool { return hold(s) > 0 }
}

// counted returns code that counts the iterations at which guard and holds are true. The code does not
// allocate.
func (c *compiler[T]) counted(vars []*term.Variable, guard *term.Term, holds func(*state[T]) bool) func(*state[T]) int {
	if len(vars) == 0 {
		through := c.holds(guard)
		return func(s *state[T]) int {
			if through(s) && holds(s) {
				return 1
			}
			return 0
		}
	}
	lo, hi, at := c.integer(vars[0].Lo), c.integer(vars[0].Hi), c.place(vars[0])
	inner := c.counted(vars[1:], guard, holds)
	return func(s *state[T]) int {
		n := 0
		for i, end := lo(s), hi(s); i < end; i++ {
			s.vars[at] = i
			n += inner(s)
		}
		return n
	}
}
