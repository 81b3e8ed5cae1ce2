// Package clipped bounds the norm of gradients.
package clipped

import (
	"github.com/opgen/opgen/generated/clipbynorm"
	"github.com/opgen/opgen/generated/elementnary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/sumofsquares"
	"github.com/opgen/opgen/runtime/graph"
)

// Gradients returns gradients that are scaled by one factor, so that their norm, taken over all of them, is
// at most limit. It also returns the norm before, in f64. A NaN in one of them makes all of them NaN. Squares
// are computed in f32, unless gradients are f64: if they are too large for it, the norm is infinite, and
// gradients become 0.
//
// Each gradient has a sum of its own, so a strategy may divide each in another way.
func Gradients(g *graph.Graph, limit float64, grads []graph.Tensor) (scaled []graph.Tensor, norm graph.Tensor) {
	var sums []graph.Tensor
	for _, t := range grads {
		sums = append(sums, sumofsquares.Apply(g, sumofsquares.Defaults(), t))
	}
	norm = elementunary.Sqrt(g, elementnary.Sum(g, sums), graph.Named("norm of gradients"))
	for _, t := range grads {
		scaled = append(scaled, clipbynorm.Apply(g, clipbynorm.Defaults(limit), clipbynorm.Input(t), clipbynorm.Norm(norm)))
	}
	return scaled, norm
}
