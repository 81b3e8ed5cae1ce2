package engine

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// checkGrid checks that a step of a call runs over what its operator says, in tiles that the operator
// permits.
func (c *bound) checkGrid(t *plan.Task) error {
	if t.Tile == 0 && t.Inner == nil {
		return nil
	}
	number := slices.Index(c.Signature.Operator.Signatures, c.Signature)
	got, want := t.Grid(), c.Resolved.Work(number, t.Step)
	ok := got.Rank() == want.Rank()
	for d := range want.Rank() {
		ok = ok && got.Dim(d).Over == want.Dim(d).Over
	}
	if !ok {
		return fmt.Errorf("want step %d over %v, got %v", t.Step, &want, &got)
	}
	if t.Tile > 0 && c.Resolved.Tiles(number, t.Step) == nil {
		return fmt.Errorf("want step %d as one task, got a tile of it", t.Step)
	}
	return nil
}

// footprint returns what an index of a step touches of a tensor of a parameter, as the operator says; nil for
// all.
func (c *bound) footprint(t *plan.Task, p task.Param, b plan.Bound) region.Footprint {
	tiles := c.Resolved.Tiles(slices.Index(c.Signature.Operator.Signatures, c.Signature), t.Step)
	if t.Tile == 0 || tiles == nil || b.Shape != nil {
		return nil
	}
	return tiles.Footprints[p.Slot]
}
