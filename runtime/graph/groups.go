package graph

import "fmt"

// Group is a set of weights with an optimizer of its own (a parameter group).
type Group struct {
	// Weights reports whether a weight belongs to the group; nil means all.
	Weights func(Tensor) bool
	// Optimizer updates the weights; nil freezes them.
	Optimizer Optimizer
}

// Groups returns an optimizer that updates each weight by the first group to which it belongs: biases
// without weight decay, for example. A weight without a group, or a group without weights, is an error of
// the program.
func Groups(groups ...Group) Optimizer {
	return func(g *Graph, weights, grads []Tensor) {
		members := make([]struct{ weights, grads []Tensor }, len(groups))
	each:
		for i, w := range weights {
			for k := range groups {
				if groups[k].Weights == nil || groups[k].Weights(w) {
					members[k].weights, members[k].grads = append(members[k].weights, w), append(members[k].grads, grads[i])
					continue each
				}
			}
			g.errs = append(g.errs, fmt.Errorf("groups: want a group of weight %s, got none among %d groups", w.Name(), len(groups)))
		}
		for k, m := range members {
			switch {
			case len(m.weights) == 0:
				g.errs = append(g.errs, fmt.Errorf("groups: want a weight in group %d of %d, got none: groups before it have all that it would take", k, len(groups)))
			case groups[k].Optimizer != nil:
				groups[k].Optimizer(g, m.weights, m.grads)
			}
		}
	}
}
