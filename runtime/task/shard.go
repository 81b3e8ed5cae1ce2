package task

import (
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
)

// Shard is a dimension along which an operator may be divided among devices.
type Shard struct {
	Dim string `json:"dim"` // its name in the spec
	// Partial tells that each device is left with a partial sum of the outputs that do not have the
	// dimension. Otherwise these are the same everywhere. Of the outputs that have it, and of the weight
	// that an optimizer changes, each has its part.
	Partial bool `json:"partial,omitempty"`
}

// ShardAxes says where a slot's tensors have a dimension that may be divided: axes Lo to Hi-1, more than
// one if it is a run of dimensions, any of which may be divided.
type ShardAxes struct{ Slot, Lo, Hi int }

// dimension is one dimension of a shard.
type dimension struct {
	*Shard
	axes map[int]int // by slot
}

// dimensions returns the dimensions along which the operator may be divided, with these attributes and
// shapes.
func (o *Operator) dimensions(r *Resolution) []dimension {
	var out []dimension
	for k, axes := range r.Shards {
		run := 0
		for _, a := range axes {
			run = max(run, a.Hi-a.Lo)
		}
		for j := range run {
			d := dimension{&o.Shards[k], map[int]int{}}
			for _, a := range axes {
				if a.Lo+j < a.Hi {
					d.axes[a.Slot] = a.Lo + j
				}
			}
			out = append(out, d)
		}
	}
	return out
}

// dims returns the dimensions along which launches of the task may be divided. Gradients are divided like
// their tensors. Of a gradient that the task computes, and that lacks the dimension, each device is left with
// a partial sum.
func (s *Signature) dims(r *Resolution) []partition.Dim {
	var out []partition.Dim
	for _, d := range s.Operator.dimensions(r) {
		dim := partition.Dim{Name: d.Dim, Axes: map[string]int{}}
		for i, p := range s.Params {
			axis, ok := d.axes[p.Slot]
			switch {
			case p.Perm == perm.Scratch:
			case ok:
				dim.Axes[s.ParamName(i)] = axis
			case p.Perm.Writes() && (p.Grad || d.Partial && s.Operator.Slots[p.Slot].Role == RoleOutput):
				dim.Sums = append(dim.Sums, s.ParamName(i))
			}
		}
		out = append(out, dim)
	}
	return out
}
