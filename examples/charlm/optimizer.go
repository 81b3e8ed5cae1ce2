package main

import (
	"github.com/opgen/opgen/examples/internal/clipped"
	"github.com/opgen/opgen/generated/adamw"
	rate "github.com/opgen/opgen/generated/learningrate"
	"github.com/opgen/opgen/runtime/graph"
)

// optimizer returns AdamW. The learning rate grows in the first twentieth of the steps, and then falls to 0
// as a cosine does. The gradients of all weights together are clipped. Weights of products and embeddings
// decay, biases and what norms scale by do not. Watched are the learning rate and, if they are clipped, the
// norm of the gradients.
func (o *options) optimizer(watched *[]graph.Tensor) graph.Optimizer {
	schedule := rate.NewSchedule(rate.ScheduleKindCosine).WithSteps(o.steps).WithWarmup(o.steps / 20)
	return func(g *graph.Graph, weights, grads []graph.Tensor) {
		present := rate.Apply(g, rate.Defaults(o.rate, schedule))
		adam := func(decay float64) graph.Optimizer {
			return adamw.Optimizer(adamw.Defaults().WithBeta2(0.99).WithWeightDecay(decay), graph.With(adamw.SlotRate, present))
		}
		*watched = append(*watched, present)
		if o.clip > 0 {
			scaled, norm := clipped.Gradients(g, o.clip, grads)
			grads, *watched = scaled, append(*watched, norm)
		}
		graph.Groups(
			graph.Group{Weights: func(w graph.Tensor) bool { return len(w.Shape()) > 1 }, Optimizer: adam(o.decay)},
			graph.Group{Optimizer: adam(0)},
		)(g, weights, grads)
	}
}
