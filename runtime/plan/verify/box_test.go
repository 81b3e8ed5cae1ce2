package verify

import (
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// TestBoxes compares the boxes of tiles with the least and the greatest index that spans with two ends give,
// index by index.
func TestBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var box region.Box
	for range 3000 {
		task := plan.Task{Over: 1 + r.IntN(5), Grain: 1 + r.IntN(3), Inner: []op.Axis{{Over: 1 + r.IntN(5), Grain: 1 + r.IntN(3)}}}
		shape := []int{1 + r.IntN(8), 1 + r.IntN(8)}
		a := region.Access{Region: region.Whole(0, shape)}
		for range shape {
			s := region.Between(r.IntN(2), [2]int{r.IntN(7) - 3, r.IntN(7) - 3}, [2]int{r.IntN(7) - 3, r.IntN(7)})
			if r.IntN(5) == 0 {
				s = region.Span{}
			}
			a.Footprint = append(a.Footprint, s)
		}
		task.Access = []region.Access{a}
		g := task.Grid()
		c := checker{&plan.Plan{Roots: []plan.Root{{Shape: shape}}, Tasks: []plan.Task{task}}}
		for k := range g.Tiles() {
			c.Tasks[0].Tile = k + 1
			c.box(0, 0, &box)
			tile := g.Tile(k)
			for d, s := range a.Footprint {
				lo, hi := 0, shape[d]
				if s.Of > 0 {
					first, end := tile.Dim(s.Of - 1)
					lo, hi = 1<<30, -1<<30
					for i := first; i < end; i++ {
						lo, hi = min(lo, s.Scale*i+s.Shift), max(hi, (s.Scale+s.Grow)*i+s.Shift+s.Size)
					}
					lo, hi = max(lo, 0), min(hi, shape[d])
				}
				if box.Lo[d] != lo || box.Hi[d] != hi {
					t.Fatalf("%v, %+v: tile %v touches [%d, %d) of axis %d, the box is %v", &g, s, tile, lo, hi, d, box)
				}
			}
		}
	}
}
