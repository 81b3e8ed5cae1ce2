package conform

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/runtime/safetensors"
)

// unsorted runs a case whose outputs may have any order along the last dimension, which out.indices gives. It
// first puts the outputs of the case, and their gradients, into the order of the operator.
func (x *execution) unsorted(ctx context.Context) (*Case, map[string]safetensors.Tensor, error) {
	theirs, ok := x.c.Tensors["out.indices"]
	if !ok {
		computed, err := x.plain(ctx)
		return x.c, computed, err
	}
	first, err := x.plain(ctx)
	if err != nil {
		return nil, nil, err
	}
	places, err := order(theirs, first["out.indices"])
	if err != nil {
		return nil, nil, err
	}
	c := *x.c
	c.Tensors = maps.Clone(c.Tensors)
	for name, t := range c.Tensors {
		if slices.Equal(t.Shape, theirs.Shape) && (name == "grad_out.output" || name == "out.output" || name == "out.indices") {
			c.Tensors[name] = rearranged(t, places)
		}
	}
	second := *x
	second.c = &c
	computed, err := second.plain(ctx)
	return &c, computed, err
}

// order returns, for each element of the operator's indices, the place where the case has the same index
// in the same row.
func order(theirs, ours safetensors.Tensor) ([]int, error) {
	if !slices.Equal(theirs.Shape, ours.Shape) || len(ours.Shape) == 0 {
		return nil, fmt.Errorf("out.indices: want shape %v, got %v", theirs.Shape, ours.Shape)
	}
	want, have := theirs.Float64s(), ours.Float64s()
	k := ours.Shape[len(ours.Shape)-1]
	places := make([]int, len(have))
	for i, v := range have {
		row := i / k * k
		at := slices.Index(want[row:row+k], v)
		if at < 0 || slices.Contains(have[row:i], v) {
			return nil, fmt.Errorf("out.indices: %g in row %d, which has %v in any order", v, i/k, want[row:row+k])
		}
		places[i] = row + at
	}
	return places, nil
}

// rearranged returns the elements of a tensor at places.
func rearranged(t safetensors.Tensor, places []int) safetensors.Tensor {
	size := t.Type.Size()
	data := make([]byte, 0, len(t.Data))
	for _, p := range places {
		data = append(data, t.Data[p*size:(p+1)*size]...)
	}
	return safetensors.Tensor{Type: t.Type, Shape: t.Shape, Data: data}
}
