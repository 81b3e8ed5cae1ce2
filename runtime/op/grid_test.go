package op

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTiles checks grids of all ranks: the tiles hold every index of the domain once, in ranges of the grain
// that begin at its multiples.
func TestTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		g := Grid{Axis: Axis{r.IntN(12), 1 + r.IntN(5)}}
		for range r.IntN(MaxRank) {
			g.Inner = append(g.Inner, Axis{r.IntN(7), 1 + r.IntN(4)})
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		seen := map[[MaxRank]int]int{}
		for k := range g.Tiles() {
			tile := g.Tile(k)
			if n := g.Number(tile); n != k {
				t.Fatalf("%v: tile %d has number %d", g, k, n)
			}
			var at [MaxRank]int
			var walk func(d int)
			walk = func(d int) {
				if d == MaxRank {
					seen[at]++
					return
				}
				lo, hi := tile.Dim(d)
				if lo >= hi || d < g.Rank() && (lo%g.Dim(d).Grain != 0 || hi != min(lo+g.Dim(d).Grain, g.Dim(d).Over)) || d >= g.Rank() && (lo != 0 || hi != 1) {
					t.Fatalf("%v: tile %d is %v", &g, k, tile)
				}
				for at[d] = lo; at[d] < hi; at[d]++ {
					walk(d + 1)
				}
			}
			walk(0)
		}
		want := 1
		for d := range g.Rank() {
			want *= g.Dim(d).Over
		}
		if len(seen) != want {
			t.Errorf("%v: tiles hold %d indices, want %d", &g, len(seen), want)
		}
		for at, n := range seen {
			if n != 1 {
				t.Errorf("%v: index %v is in %d tiles", &g, at, n)
			}
		}
	}
}

// beyond32 has more than 31 bits where integers do, and is negative elsewhere.
const beyond32 = (math.MaxInt32+1)*(math.MaxInt>>62) - (1 - math.MaxInt>>62)

// TestGridCheck lists grids that are refused.
func TestGridCheck(t *testing.T) {
	for _, g := range []Grid{
		{Axis: Axis{-1, 1}},
		{Axis: Axis{1, 0}},
		{Axis: Axis{1, 1}, Inner: []Axis{{1, 1}, {1, 1}, {1, 1}}},
		{Axis: Axis{1, 1}, Inner: []Axis{{1, -1}}},
		{Axis: Axis{1, 1}, Inner: []Axis{{-1, 1}}},
		{Axis: Axis{math.MaxInt, 1}, Inner: []Axis{{2, 1}}},
		{Axis: Axis{1, 1}, Inner: []Axis{{beyond32, 1}}},
	} {
		if g.Check() == nil {
			t.Errorf("%v is accepted", &g)
		}
	}
	for _, g := range []Grid{{Axis: Axis{0, 1}}, {Axis: Axis{math.MaxInt, math.MaxInt}, Inner: []Axis{{math.MaxInt32, 1}}}} {
		if err := g.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestRange checks the bounds and the text of ranges.
func TestRange(t *testing.T) {
	line, flat, cube := Range{Lo: 2, Hi: 5}, Box([2]int{2, 5}, [2]int{0, 4}), Box([2]int{0, 1}, [2]int{3, 4}, [2]int{5, 7})
	for _, tt := range []struct {
		r    Range
		want string
	}{{line, "[2, 5)"}, {Range{Hi: 1}, "[0, 1)"}, {flat, "[2, 5) x [0, 4)"}, {cube, "[0, 1) x [3, 4) x [5, 7)"}} {
		if got := tt.r.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	if Box([2]int{2, 5}) != line {
		t.Error("a box of one dimension is another than a range")
	}
	if lo, hi := line.Dim(2); lo != 0 || hi != 1 {
		t.Errorf("a dimension that is not there is [%d, %d)", lo, hi)
	}
	g := Grid{Axis: Axis{64, 16}, Inner: []Axis{{32, 8}}}
	if g.Whole() != Box([2]int{0, 64}, [2]int{0, 32}) || g.String() != "64 x 32 by 16 x 8" || g.Equal(Line(64, 16)) || !g.Equal(&g) {
		t.Errorf("the whole of %v is %v", &g, g.Whole())
	}
}

// TestCut cuts grids into ranges: of several dimensions, the last one stays whole.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		over  []int
		n     int
		grain []int
	}{{[]int{100}, 16, []int{7}}, {[]int{100}, 1, []int{100}}, {[]int{0}, 4, []int{1}}, {[]int{3}, 8, []int{1}},
		{[]int{4, 100}, 8, []int{1, 100}}, {[]int{4, 100, 9}, 8, []int{1, 50, 9}}, {[]int{4, 100, 9}, 1, []int{4, 100, 9}}} {
		g := Grid{Axis: Axis{Over: x.over[0], Grain: 1}}
		for _, n := range x.over[1:] {
			g.Inner = append(g.Inner, Axis{Over: n, Grain: 1})
		}
		g.Cut(x.n)
		for d, want := range x.grain {
			if got := g.Dim(d).Grain; got != want {
				t.Errorf("%v in %d: want grains %v, got %v", x.over, x.n, x.grain, g)
			}
		}
	}
}
