package opimpl

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/runtime/shape"
)

// The methods below implement functions of expressions. A shape that does not exist is an error of the
// resolution.

// Slice returns dims[lo:hi], or an error if there is no such slice.
func (r *resolver) Slice(dims []int, lo, hi int) []int {
	if lo < 0 || hi < lo || hi > len(dims) {
		r.fail(none, 0, fmt.Sprintf("a slice of %s", shape.Format(dims)), fmt.Sprintf("[%d:%d]", lo, hi))
		return nil
	}
	return dims[lo:hi:hi]
}

// Index returns dims[i], or an error if there is no such dimension.
func (r *resolver) Index(dims []int, i int) int {
	if i < 0 || i >= len(dims) {
		r.fail(none, 0, fmt.Sprintf("a dimension of %s", shape.Format(dims)), fmt.Sprint(i))
		return 0
	}
	return dims[i]
}

// Run returns runs[i], the run of dimensions that stands for tensor i of a variadic slot, or an error
// if there is no such tensor.
func (r *resolver) Run(runs [][]int, i int) []int {
	if i < 0 || i >= len(runs) {
		r.fail(none, 0, fmt.Sprintf("a tensor's number below %d", len(runs)), fmt.Sprint(i))
		return nil
	}
	return runs[i]
}

// Broadcast returns the shape that a and b have in common, or an error.
func (r *resolver) Broadcast(a, b []int) []int {
	s, ok := shape.Broadcast(a, b)
	if !ok {
		r.fail(none, 0, "shapes that broadcast: equal extents, or 1", shape.Format(a)+" and "+shape.Format(b))
	}
	return s
}

// Keep returns the extents at axes, in the order of dims.
func (r *resolver) Keep(dims, axes []int) []int {
	return r.choose(dims, axes, func(extent int, in bool) (int, bool) { return extent, in })
}

// Drop returns the extents at other places than axes.
func (r *resolver) Drop(dims, axes []int) []int {
	return r.choose(dims, axes, func(extent int, in bool) (int, bool) { return extent, !in })
}

// Ones returns dims with 1 at axes.
func (r *resolver) Ones(dims, axes []int) []int {
	return r.choose(dims, axes, func(extent int, in bool) (int, bool) { return shape.If(in, 1, extent), true })
}

// choose calls f with each extent and whether axes name its dimension. It returns the results that f keeps.
func (r *resolver) choose(dims, axes []int, f func(extent int, in bool) (int, bool)) []int {
	if !r.distinct(axes, len(dims), dims) {
		return nil
	}
	var out []int
	for d, n := range dims {
		if n, ok := f(n, slices.Contains(axes, d)); ok {
			out = append(out, n)
		}
	}
	return out
}

// Insert returns dims with an extent of 1 inserted for each of axes, which say where it then stands.
func (r *resolver) Insert(dims, axes []int) []int {
	out := make([]int, len(dims)+len(axes))
	if !r.distinct(axes, len(out), dims) {
		return nil
	}
	for d := range out {
		if slices.Contains(axes, d) {
			out[d] = 1
		} else {
			out[d], dims = dims[0], dims[1:]
		}
	}
	return out
}

// Permute returns the extents at axes, in the order of axes, which name every dimension once.
func (r *resolver) Permute(dims, axes []int) []int {
	if !r.distinct(axes, len(dims), dims) {
		return nil
	}
	if len(axes) != len(dims) {
		r.fail(none, 0, "every dimension of "+shape.Format(dims)+" once", shape.Format(axes))
		return nil
	}
	return shape.Permute(dims, axes)
}

// distinct checks that axes are different numbers below rank; dims is what they refer to.
func (r *resolver) distinct(axes []int, rank int, dims []int) bool {
	for i, a := range axes {
		if a < 0 || a >= rank || slices.Contains(axes[:i], a) {
			r.fail(none, 0, fmt.Sprintf("different axes from 0 to %d for %s", rank-1, shape.Format(dims)), shape.Format(axes))
			return false
		}
	}
	return true
}

// Min returns the least of a list, or an error if it is empty.
func (r *resolver) Min(list []int) int {
	if len(list) == 0 {
		r.fail(none, 0, "a list with an element, whose least one is asked for", "an empty one")
		return 0
	}
	return slices.Min(list)
}

// Max returns the greatest of a list, or an error if it is empty.
func (r *resolver) Max(list []int) int {
	if len(list) == 0 {
		r.fail(none, 0, "a list with an element, whose greatest one is asked for", "an empty one")
		return 0
	}
	return slices.Max(list)
}

// The methods below compute with integers that an int may not hold, which is an error of the resolution. They
// return 1 then, by which expressions that follow may divide.

// Add returns the sum of integers, or an error.
func (r *resolver) Add(terms ...int) int {
	sum := terms[0]
	for _, n := range terms[1:] {
		var ok bool
		if sum, ok = shape.Add(sum, n); !ok {
			return r.overflow(terms, " + ")
		}
	}
	return sum
}

// Sub returns a - b, or an error.
func (r *resolver) Sub(a, b int) int {
	n, ok := shape.Sub(a, b)
	if !ok {
		return r.overflow([]int{a, b}, " - ")
	}
	return n
}

// Mul returns the product of integers, or an error.
func (r *resolver) Mul(factors ...int) int {
	n, ok := shape.Mul(factors...)
	if !ok {
		return r.overflow(factors, " * ")
	}
	return n
}

// Sum returns the sum of a list, 0 of none, or an error.
func (r *resolver) Sum(list []int) int {
	if len(list) == 0 {
		return 0
	}
	return r.Add(list...)
}

// Prod returns the product of a list, 1 of none, or an error.
func (r *resolver) Prod(list []int) int { return r.Mul(list...) }

// Ceil returns the least integer that is not below x, or an error.
func (r *resolver) Ceil(x float64) int {
	if n := math.Ceil(x); math.Abs(n) < 1<<(bits.UintSize-1) {
		return int(n)
	}
	r.fail(none, 0, tooLarge, fmt.Sprint(x))
	return 1
}

// tooLarge says which integers resolutions compute with.
var tooLarge = fmt.Sprintf("integers that %d bits hold", bits.UintSize)

func (r *resolver) overflow(operands []int, op string) int {
	text := make([]string, len(operands))
	for i, n := range operands {
		text[i] = strconv.Itoa(n)
	}
	r.fail(none, 0, tooLarge, strings.Join(text, op))
	return 1
}

// Common returns the length that lists have in common, over which one index goes, or an error.
func (r *resolver) Common(lengths ...int) int {
	if slices.Min(lengths) != slices.Max(lengths) {
		r.fail(none, 0, "lists of the same length", fmt.Sprintf("lengths %v", lengths))
		return 0
	}
	return lengths[0]
}

// Extents returns what a Go function that a spec names gives: a run of dimensions, or an error.
func (r *resolver) Extents(dims []int, err error) []int {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("operator %s: %w", r.op.FullName(), err)
	}
	return dims
}
