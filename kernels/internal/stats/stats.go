// Package stats computes sums and moments of groups of a tensor's elements.
//
// Sums and moments are computed in float64, in the order of the elements, so results do not depend on how work is split
// among workers.
package stats

import (
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
)

// Sum returns the sum of the elements of the current group.
func Sum[T dtype.Float](x tensor.RO[T], g *index.Groups) float64 {
	var sum float64
	for run := range g.Runs() {
		for i := range run.Len {
			sum += float64(x.At(run.From + i*run.Step))
		}
	}
	return sum
}

// Fold combines start with the elements of the current group, one after the other.
func Fold[T, A dtype.Number](x tensor.RO[T], g *index.Groups, start A, combine func(acc A, x T) A) A {
	for run := range g.Runs() {
		for i := range run.Len {
			start = combine(start, x.At(run.From+i*run.Step))
		}
	}
	return start
}

// Moments returns the mean of the elements of the current group, and the mean of their squared distances
// from it. It takes two passes: the difference of two means would lose the digits of a variance that is
// small compared with the mean.
func Moments[T dtype.Float](x tensor.RO[T], g *index.Groups) (mean, variance float64) {
	n := float64(g.Size())
	mean = Sum(x, g) / n
	for run := range g.Runs() {
		for i := range run.Len {
			d := float64(x.At(run.From+i*run.Step)) - mean
			variance += d * d
		}
	}
	return mean, variance / n
}

// MeanSquare returns the mean of the squares of the elements of the current group.
func MeanSquare[T dtype.Float](x tensor.RO[T], g *index.Groups) float64 {
	sum := Fold(x, g, 0, func(sum float64, x T) float64 { return sum + float64(x)*float64(x) })
	return sum / float64(g.Size())
}
