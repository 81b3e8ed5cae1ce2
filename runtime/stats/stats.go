// Package stats computes sums and moments of groups of a tensor's elements.
//
// It computes in float64, in the order of the elements, so results do not depend on how work is split
// among workers.
package stats

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/index"
	"github.com/opgen/opgen/runtime/tensor"
)

// Sum returns the sum of the elements of the current group.
func Sum[T dtype.Float](x tensor.RO[T], g *index.Groups) float64 {
	var sum float64
	for _, i := range g.All() {
		sum += float64(x.At(i))
	}
	return sum
}

// Fold combines start with the elements of the current group, one after the other.
func Fold[T dtype.Float](x tensor.RO[T], g *index.Groups, start float64, combine func(acc, x float64) float64) float64 {
	for _, i := range g.All() {
		start = combine(start, float64(x.At(i)))
	}
	return start
}

// Moments returns the mean of the elements of the current group, and the mean of their squared distances
// from it. It takes two passes: the difference of two means would lose the digits of a variance that is
// small compared with the mean.
func Moments[T dtype.Float](x tensor.RO[T], g *index.Groups) (mean, variance float64) {
	n := float64(g.Size())
	mean = Sum(x, g) / n
	for _, i := range g.All() {
		d := float64(x.At(i)) - mean
		variance += d * d
	}
	return mean, variance / n
}

// MeanSquare returns the mean of the squares of the elements of the current group.
func MeanSquare[T dtype.Float](x tensor.RO[T], g *index.Groups) float64 {
	var sum float64
	for _, i := range g.All() {
		v := float64(x.At(i))
		sum += v * v
	}
	return sum / float64(g.Size())
}
