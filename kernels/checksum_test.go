package kernels_test

import (
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/checksum"
	"github.com/opgen/opgen/generated/segmentall"
	"github.com/opgen/opgen/generated/segmentany"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestChecksum compares checksum with results that were worked out by hand: of elements of which bits differ,
// of negative ones, and of none.
func TestChecksum(t *testing.T) {
	for _, tt := range []struct {
		x    []int32
		want int32
	}{{[]int32{0b1100, 0b1010, 0b0001}, 0b0111}, {[]int32{-1, 5}, ^5}, {[]int32{7, 7}, 0}, {nil, 0}} {
		g := graph.New(1)
		x := g.Input("x", dtype.I32, len(tt.x))
		y := checksum.Apply(g, checksum.Defaults(), x)
		if got, _ := fetched[int32](t, infer(t, g, []graph.Tensor{y}, opgen.With(x, tt.x)), y); got[0] != tt.want {
			t.Errorf("%v: got %d, want %d", tt.x, got[0], tt.want)
		}
	}
}

// TestSegmentsWithoutRows folds booleans into segments, one of which has no row: any of none is false, all of
// none true.
func TestSegmentsWithoutRows(t *testing.T) {
	g := graph.New(1)
	x, s := g.Input("x", dtype.Bool, 4), g.Input("s", dtype.I32, 4)
	some := segmentany.Apply(g, segmentany.Defaults(4), segmentany.Data(x), segmentany.Segment(s))
	all := segmentall.Apply(g, segmentall.Defaults(4), segmentall.Data(x), segmentall.Segment(s))
	p := infer(t, g, []graph.Tensor{some, all}, opgen.With(x, []bool{true, false, true, false}), opgen.With(s, []int32{0, 0, 1, 3}))
	for y, want := range map[graph.Tensor][4]bool{some: {true, true, false, false}, all: {false, true, true, false}} {
		if got, _ := fetched[bool](t, p, y); [4]bool(got) != want {
			t.Errorf("%s: got %v, want %v", y.Name(), got, want)
		}
	}
}
