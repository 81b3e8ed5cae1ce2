package task

import "github.com/opgen/opgen/runtime/region"

// Tiles says how a step is cut into tiles that may be tasks of their own.
type Tiles struct {
	Size []int // extents of a tile, for each dimension of the step's grid
	// Footprints says, per slot, what an index touches; nil is the whole tensor.
	Footprints []region.Footprint
}

// Tiles returns how a step of the operator's task number t is cut; nil if it is not.
func (r *Resolution) Tiles(t, step int) *Tiles { return r.Cuts[[2]int{t, step}] }
