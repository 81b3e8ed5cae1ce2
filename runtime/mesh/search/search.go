// Package search finds strategies by predicted times of the programs that they divide. It divides a program
// in many ways, plans each for ranks, and predicts how long it takes from the operations and bytes of tasks
// and from messages.
package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/task"
)

// Config says for what a strategy is sought.
type Config struct {
	Devices int
	Machine Machine
	// Moves are operators that cut and join tensors.
	Moves mesh.Moves
	// Memory is how many bytes of tensors a device may have; 0 for any number.
	Memory int64
	// Each, if there is one, is called with each strategy that is tried.
	Each func(*Found)
}

// Found is a strategy and what is predicted of it.
type Found struct {
	Strategy *mesh.Strategy
	*Prediction
	Memory int64 // bytes of the tensors of the rank with most of them
}

// choice is what may be divided over an axis: dimensions of one input, or of weights that are alike.
type choice []mesh.Rule

// Best returns the strategy for which the least time is predicted, of those that it tries, for a program for
// one device: inference or a training step. It is an error if none of them fits.
//
// Meshes have one axis or two. On each, it divides one dimension of the inputs or weights after the other, as
// long as that shortens the step, and each time that which shortens it most. Weights of nodes that have the
// same operator and the same shapes, such as those of the layers of a network, are divided alike. Pipelines
// and tables read are not tried.
func Best(p *graph.Program, c Config) (*Found, error) {
	if err := c.Machine.check(); err != nil {
		return nil, err
	}
	if c.Devices < 1 {
		return nil, fmt.Errorf("search: want 1 device or more, got %d", c.Devices)
	}
	choices := choicesOf(p)
	var best *Found
	for _, axes := range meshes(c.Devices) {
		found, err := c.grow(p, axes, choices)
		if err != nil {
			return nil, err
		}
		if best == nil || c.better(found, best) {
			best = found
		}
	}
	if c.Memory > 0 && best.Memory > c.Memory {
		return nil, fmt.Errorf("search: want a strategy with at most %d bytes on a device, got %v", c.Memory, best)
	}
	return best, c.prove(p, best.Strategy)
}

// prove proves the parts of the ranks.
func (c *Config) prove(p *graph.Program, s *mesh.Strategy) error {
	divided, err := mesh.Divide(p, s, c.Moves)
	if err != nil {
		return err
	}
	whole, owner, parts, err := divide(divided.Program, c.Devices)
	if err != nil {
		return err
	}
	return verify.Ranks(whole, owner, parts)
}

// meshes returns the meshes of some devices with one axis or two.
func meshes(devices int) [][]mesh.Axis {
	out := [][]mesh.Axis{{{Name: "data", Size: devices}}}
	for n := 2; n < devices; n++ {
		if devices%n == 0 {
			out = append(out, []mesh.Axis{{Name: "data", Size: n}, {Name: "model", Size: devices / n}})
		}
	}
	return out
}

// choicesOf returns what of a program may be divided, in the order of inputs and nodes.
func choicesOf(p *graph.Program) (all []choice) {
	for _, t := range p.Fed {
		for dim, extent := range t.Shape() {
			if extent > 1 {
				all = append(all, choice{{Tensor: t.Name(), Dim: dim}})
			}
		}
	}
	alike, known := map[string]int{}, map[graph.Tensor]bool{}
	for _, s := range p.Steps {
		if s.Invocation == nil || s.Invocation.Signature.Kind != task.KindForward {
			continue
		}
		n := s.Invocation.Node
		for slot := range n.Op.Slots {
			for _, t := range n.Tensors(slot) {
				if n.Op.Slots[slot].Role != task.RoleWeight || known[t.Root()] {
					continue
				}
				known[t.Root()] = true
				for dim, extent := range t.Shape() {
					if extent < 2 {
						continue
					}
					key := fmt.Sprint(n.Op.FullName(), slot, t.Shape(), dim)
					at, ok := alike[key]
					if !ok {
						at = len(all)
						alike[key], all = at, append(all, nil)
					}
					all[at] = append(all[at], mesh.Rule{Tensor: t.Name(), Dim: dim})
				}
			}
		}
	}
	return all
}

// grow divides dimensions over the axes of a mesh while that shortens the step, or, as long as a device has
// more tensors than it may have, the tensors of the device with most of them.
func (c *Config) grow(p *graph.Program, axes []mesh.Axis, choices []choice) (*Found, error) {
	best, err := c.try(p, &mesh.Strategy{Mesh: axes})
	if err != nil {
		return nil, err
	}
	done := map[int]bool{}
	for {
		var next *Found
		chosen := -1
		for i := range len(choices) * len(axes) {
			if done[i] {
				continue
			}
			rules := slices.Clone(best.Strategy.Rules)
			for _, r := range choices[i/len(axes)] {
				r.Axis = axes[i%len(axes)].Name
				rules = append(rules, r)
			}
			found, err := c.try(p, &mesh.Strategy{Mesh: axes, Rules: rules})
			if err == nil && c.better(found, best) && (next == nil || c.better(found, next)) { // others do not fit
				next, chosen = found, i
			}
		}
		if next == nil {
			return best, nil
		}
		done[chosen], best = true, next
	}
}

// better reports whether a strategy is better than another one: one that fits into memory, or fits more
// nearly, and then the faster one. The same time is not better.
func (c *Config) better(a, b *Found) bool {
	if over := func(f *Found) int64 { return max(f.Memory-c.Memory, 0) }; c.Memory > 0 && over(a) != over(b) {
		return over(a) < over(b)
	}
	return a.Seconds < b.Seconds*(1-1e-9)
}

// try divides a program, and predicts how long it takes.
func (c *Config) try(p *graph.Program, s *mesh.Strategy) (*Found, error) {
	divided, err := mesh.Divide(p, s, c.Moves)
	if err != nil {
		return nil, err
	}
	out := &Found{Strategy: s}
	if out.Prediction, out.Memory, err = c.Machine.Predict(divided.Program, c.Devices); err == nil && c.Each != nil {
		c.Each(out)
	}
	return out, err
}

// String says what is predicted, in a line.
func (f *Found) String() string {
	var axes, rules []string
	for _, a := range f.Strategy.Mesh {
		axes = append(axes, fmt.Sprintf("%s = %d", a.Name, a.Size))
	}
	for _, r := range f.Strategy.Rules {
		rules = append(rules, fmt.Sprintf("%s = { %d = %q }", r.Tensor, r.Dim, r.Axis))
	}
	return fmt.Sprintf("%.3g ms with %d messages, %.1f MiB on a device: %s; %s", 1e3*f.Seconds, f.Messages, float64(f.Memory)/(1<<20), strings.Join(axes, ", "), strings.Join(rules, ", "))
}
