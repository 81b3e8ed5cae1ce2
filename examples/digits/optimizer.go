package main

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/examples/internal/clipped"
	"github.com/opgen/opgen/generated/adam"
	rate "github.com/opgen/opgen/generated/learningrate"
	average "github.com/opgen/opgen/generated/movingaverage"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/graph"
)

// schedules lists how the learning rate may change during training.
var schedules = []string{"constant", "step", "exponential", "linear", "cosine"}

// bounded returns an optimizer whose gradients have a norm of at most limit, taken over all weights.
func bounded(limit float64, next graph.Optimizer) graph.Optimizer {
	return func(g *graph.Graph, weights, grads []graph.Tensor) {
		scaled, _ := clipped.Gradients(g, limit, grads)
		next(g, weights, scaled)
	}
}

// averages are the names of the moving averages of weights, by the names of the weights.
type averages map[string]string

// of returns an optimizer that also keeps a moving average of each weight behind its update.
func (a averages) of(decay float64, next graph.Optimizer) graph.Optimizer {
	return func(g *graph.Graph, weights, grads []graph.Tensor) {
		next(g, weights, grads)
		for _, w := range weights {
			name := "average of " + w.Name()
			average.Apply(g, average.Defaults().WithDecay(decay).WithWarmup(true), w, graph.Named(name))
			a[w.Name()] = name + ".average"
		}
	}
}

// decaying returns an optimizer that makes weights of products smaller in each step, and biases not.
func decaying(schedule string, steps int, decay float64) (graph.Optimizer, error) {
	weights, err := newOptimizer(schedule, steps, decay)
	if err != nil || decay == 0 {
		return weights, err
	}
	biases, err := newOptimizer(schedule, steps, 0)
	return graph.Groups(
		graph.Group{Weights: func(w graph.Tensor) bool { return len(w.Shape()) > 1 }, Optimizer: weights},
		graph.Group{Optimizer: biases},
	), err
}

// newOptimizer returns Adam with a learning rate that follows a schedule over the steps of training, and a
// decay of weights.
func newOptimizer(schedule string, steps int, decay float64) (graph.Optimizer, error) {
	warmup := steps / 20
	grows := func(kind rate.ScheduleKind) rate.Schedule { return rate.NewSchedule(kind).WithWarmup(warmup) }
	var s rate.Schedule
	switch schedule {
	case "constant":
		return adam.Optimizer(adam.Defaults().WithWeightDecay(decay)), nil
	case "step":
		s = grows(rate.ScheduleKindStep).WithMilestones(attr.ListOf(steps/2, steps*3/4))
	case "exponential":
		s = grows(rate.ScheduleKindExponential).WithGamma(1 - 3/float64(max(steps, 4))).WithBounds(attr.ListOf(1e-4, 1))
	case "linear":
		s = grows(rate.ScheduleKindLinear).WithSteps(steps)
	case "cosine":
		s = grows(rate.ScheduleKindCosine).WithSteps(steps)
	default:
		return nil, fmt.Errorf("schedule: want one of %v, got %s", slices.Sorted(slices.Values(schedules)), schedule)
	}
	base := adam.Defaults().Alpha
	return func(g *graph.Graph, weights, grads []graph.Tensor) {
		present := rate.Apply(g, rate.Defaults(2*base, s)) // twice the constant rate, since it falls
		adam.Optimizer(adam.Defaults().WithWeightDecay(decay), graph.With(adam.SlotRate, present))(g, weights, grads)
	}, nil
}
