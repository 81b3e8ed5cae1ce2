package explain

import (
	"testing"

	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// TestTilesText lists what is said of spans: whole axes, single indices, windows, masks and reversed axes.
func TestTilesText(t *testing.T) {
	o := &task.Operator{Slots: []task.Slot{{Name: "x"}, {Name: "w"}, {Name: "y"}}}
	tiles := &task.Tiles{Rows: []int{4, 6}, Footprints: []region.Footprint{
		{region.Along(0, 2, -1, 3), {}, region.Between(1, [2]int{0, 0}, [2]int{1, 1})}, nil,
		{region.Along(0, 1, 0, 1), region.Along(1, -1, 5, 1), region.Along(0, 0, 3, 2)},
	}}
	want := "of 4 x 6 rows [i, j], each of which touches x[2*i - 1:2*i + 2, :, 0:j + 1], y[i, -j + 5, 3:5]"
	if got := tilesText(o, tiles); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
