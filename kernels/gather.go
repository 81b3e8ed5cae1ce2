package kernels

import (
	"fmt"

	"github.com/opgen/opgen/generated/gather"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Gather is the kernel of gather. Lanes run along the dimension that index counts along.
type Gather[T dtype.Float | dtype.Index | bool, L dtype.Index] struct{}

// Forward takes the elements of lanes.
func (Gather[T, L]) Forward(_ *op.Ctx, a *gather.Forward[T, L], r op.Range) error {
	along := len(a.Dims.A)
	index, output := a.Index.Along(along), a.Output.Along(along)
	for i := r.Lo; i < r.Hi; i++ {
		for m := range a.Dims.M {
			k, err := indexAt("index", index.Lane(i), m, a.Dims.R)
			if err != nil {
				return err
			}
			output.Lane(i).Set(m, a.Input.Lane(i).At(k))
		}
	}
	return nil
}

// GatherBackward is the kernel of gather's backward.
type GatherBackward[T dtype.Float, L dtype.Index] struct{}

// Backward adds the gradient of lanes to the elements that were taken.
func (GatherBackward[T, L]) Backward(_ *op.Ctx, a *gather.Backward[T, L], r op.Range) error {
	along := len(a.Dims.A)
	index, grad := a.Index.Along(along), a.GradOutput.Along(along)
	for i := r.Lo; i < r.Hi; i++ {
		for m := range a.Dims.M {
			k, err := indexAt("index", index.Lane(i), m, a.Dims.R)
			if err != nil {
				return err
			}
			a.GradInput.Lane(i).Add(k, grad.Lane(i).At(m))
		}
	}
	return nil
}

// indexAt returns element i of a lane of indices, which must be in [0, below).
func indexAt[L dtype.Index](slot string, indices tensor.ROLane[L], i, below int) (int, error) {
	k := int(indices.At(i))
	if k < 0 || k >= below {
		return 0, fmt.Errorf("slot %s: want indices from 0 to %d, got %d", slot, below-1, k)
	}
	return k, nil
}
