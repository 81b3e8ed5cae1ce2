package task

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

// Divisible returns, for each of the operator's shards, the slots with that dimension; none where the
// operator, with these attributes and shapes, may not be divided so. Of inputs and weights without the
// dimension, every device needs all.
func (r *Resolution) Divisible() [][]ShardAxes { return r.shards }

// MayShard tells that tensors of a slot may be divided along axes lo to hi-1, as the operator's shard
// number k says. Generated Resolve functions call it.
func MayShard[S ~int](r *Resolution, k int, slot S, lo, hi int) {
	if len(r.operands[slot]) > 0 && lo < hi {
		r.shards[k] = append(r.shards[k], ShardAxes{int(slot), lo, hi})
	}
}
