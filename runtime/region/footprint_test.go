package region

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/op"
)

// point is an index of a domain, or of a root.
type point [3]int

// each calls f for the indices of a box.
func each(lo, hi []int, f func(point)) {
	var at point
	var walk func(d int)
	walk = func(d int) {
		if d == len(lo) {
			f(at)
			return
		}
		for at[d] = lo[d]; at[d] < hi[d]; at[d]++ {
			walk(d + 1)
		}
		at[d] = 0
	}
	walk(0)
}

// touched returns the elements that the indices of a range touch, index by index and axis by axis.
func touched(f Footprint, shape []int, r op.Range) map[point]bool {
	out := map[point]bool{}
	var lo, hi [op.MaxRank]int
	for d := range op.MaxRank {
		lo[d], hi[d] = r.Dim(d)
	}
	each(lo[:], hi[:], func(i point) {
		each(make([]int, len(shape)), shape, func(e point) {
			for d, s := range f {
				at := i[max(s.Of-1, 0)]
				if lo := s.Scale*at + s.Shift; s.Of > 0 && (e[d] < lo || e[d] >= lo+s.Size+s.Grow*at) {
					return
				}
			}
			out[e] = true
		})
	})
	return out
}

// random returns a grid, a shape and a footprint that fits both.
func random(r *rand.Rand) (op.Grid, []int, Footprint) {
	g := op.Grid{Axis: op.Axis{Over: 1 + r.IntN(4), Grain: 1 + r.IntN(3)}}
	for range r.IntN(3) {
		g.Inner = append(g.Inner, op.Axis{Over: 1 + r.IntN(3), Grain: 1 + r.IntN(3)})
	}
	var shape []int
	var f Footprint
	for range 1 + r.IntN(3) {
		shape = append(shape, 1+r.IntN(6))
		s := Span{}
		if r.IntN(4) > 0 {
			s = Along(r.IntN(g.Rank()), r.IntN(7)-3, r.IntN(5)-2, 1+r.IntN(3))
			if r.IntN(3) == 0 {
				s.Grow = r.IntN(7) - 3
			}
		}
		f = append(f, s)
	}
	return g, shape, f
}

// TestFootprint checks the boxes of tiles against the elements that their indices touch. A box holds them
// all. Along each axis it is the smallest that does, unless a stride steps over elements, or an index touches
// none.
func TestFootprint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var box Box
	for range 2000 {
		g, shape, f := random(r)
		if err := f.Check(g.Rank(), len(shape)); err != nil {
			t.Fatal(err)
		}
		a := Access{Region: Whole(0, shape), Footprint: f}
		for k := range g.Tiles() {
			tile := g.Tile(k)
			a.On(tile, &box)
			for e := range touched(f, shape, tile) {
				for d := range shape {
					if e[d] < box.Lo[d] || e[d] >= box.Hi[d] {
						t.Fatalf("%v, %+v: tile %v touches %v, which is not in %v", &g, f, tile, e, box)
					}
				}
			}
			for d, s := range f {
				low, high := shape[d], 0
				every := true // index touches some, and the next one begins where it ends or before
				if s.Of > 0 {
					first, end := tile.Dim(s.Of - 1)
					for i := first; i < end; i++ {
						size := s.Size + s.Grow*i
						every = every && size > 0 && s.Scale*i+s.Shift < shape[d] && s.Scale*i+s.Shift+size > 0
						every = every && max(s.Scale, -s.Scale-s.Grow) <= size && max(s.Scale+s.Grow, -s.Scale) <= size+s.Grow
					}
				}
				for e := range touched(Footprint{s}, shape[d:d+1], tile) {
					low, high = min(low, e[0]), max(high, e[0]+1)
				}
				if low < high && every && (low != box.Lo[d] || high != box.Hi[d]) {
					t.Fatalf("%v, %+v: tile %v touches [%d, %d) of axis %d, the box is %v", &g, f, tile, low, high, d, box)
				}
			}
		}
	}
}

// TestDisjoint checks footprints that are said to be disjoint against the elements that indices touch.
func TestDisjoint(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 3000 {
		g, shape, f := random(r)
		if !f.Disjoint(&g) {
			continue
		}
		found++
		owner := map[point]int{}
		var a, b Box
		whole := Access{Region: Whole(0, shape), Footprint: f}
		for k := range g.Tiles() {
			for e := range touched(f, shape, g.Tile(k)) {
				if j, ok := owner[e]; ok && j != k {
					t.Fatalf("%v, %+v: tiles %d and %d touch %v", &g, f, j, k, e)
				}
				owner[e] = k
			}
			for j := range k {
				whole.On(g.Tile(j), &a)
				whole.On(g.Tile(k), &b)
				if !a.Empty() && !b.Empty() && !a.Intersect(b).Empty() {
					t.Fatalf("%v, %+v: the boxes of tiles %d and %d meet", &g, f, j, k)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d footprints are disjoint", found)
	}
}

// TestFootprintCheck lists footprints that are refused.
func TestFootprintCheck(t *testing.T) {
	ok := Along(0, 1, 0, 1)
	for _, f := range []Footprint{{ok}, {ok, ok, ok}, {ok, Along(1, 1, 0, 1)}, {ok, Along(0, 1, 0, 0)}, {ok, Along(0, 0, 3, -1)}, {ok, {Of: -1}}} {
		if f.Check(1, 2) == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
	for _, f := range []Footprint{nil, {ok, Along(0, 0, 0, 1)}, {ok, Along(0, -1, 7, 1)}, {ok, Between(0, [2]int{0, 0}, [2]int{1, 1})}} {
		if err := f.Check(1, 2); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// TestSpans lists what tiles of indices touch through masks, reversed axes and constant ranges.
func TestSpans(t *testing.T) {
	causal, rest := Between(0, [2]int{0, 0}, [2]int{1, 1}), Between(0, [2]int{1, 1}, [2]int{0, 8})
	tests := []struct {
		name     string
		s        Span
		lo, hi   int // of the indices 2 and 3 of 8
		disjoint bool
	}{
		{"up to i", causal, 0, 4, false},
		{"behind i", rest, 3, 8, false},
		{"backwards", Along(0, -1, 7, 1), 4, 6, true},
		{"pairs backwards", Along(0, -2, 14, 2), 8, 12, true},
		{"pairs that overlap", Along(0, -1, 7, 2), 4, 7, false},
		{"the same for all", Along(0, 0, 3, 2), 3, 5, false},
		{"growing blocks", Between(0, [2]int{2, 0}, [2]int{3, 1}), 4, 10, false},
		{"shrinking blocks", Between(0, [2]int{9, 0}, [2]int{8, 8}), 18, 32, true},
	}
	for _, tt := range tests {
		a := Access{Region: Whole(0, []int{99}), Footprint: Footprint{tt.s}}
		var box Box
		a.On(op.Range{Lo: 2, Hi: 4}, &box)
		if box.Lo[0] != tt.lo || box.Hi[0] != tt.hi || a.Footprint.Disjoint(op.Line(8, 2)) != tt.disjoint {
			t.Errorf("%s: %+v touches %v; disjoint: %v", tt.name, tt.s, box, !tt.disjoint)
		}
	}
}

// TestReaches compares the first dimension along which tiles are too small with what their boxes say.
func TestReaches(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	small := 0
	var box Box
	for range 3000 {
		g, shape, f := random(r)
		least := make([]int, len(shape))
		for d := range least {
			least[d] = r.IntN(4)
		}
		a := Access{Region: Whole(0, shape), Footprint: f}
		bad := map[int]bool{}
		for k := range g.Tiles() {
			a.On(g.Tile(k), &box)
			for d, s := range f {
				if s.Of > 0 && g.Dim(s.Of-1).Grain < g.Dim(s.Of-1).Over && box.Hi[d]-box.Lo[d] < least[d] {
					bad[s.Of-1] = true
				}
			}
		}
		d, _ := f.Cut(&g, shape, least)
		if d < 0 && len(bad) > 0 || d >= 0 && !bad[d] {
			t.Fatalf("%v, %+v, shape %v, least %v: tiles are too small along %d, want one of %v", &g, f, shape, least, d, bad)
		}
		if d >= 0 {
			small++
		}
	}
	if small < 100 {
		t.Errorf("only %d footprints have tiles that are too small", small)
	}
}

// TestLeading enlarges tiles of a domain whose indices stand for the leading axes of a root until they are
// large enough, and compares each tile with the indices that it holds.
func TestLeading(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	cut := 0
	for range 3000 {
		shape, least := make([]int, 1+r.IntN(3)), []int(nil)
		for d := range shape {
			shape[d] = 1 + r.IntN(5)
			least = append(least, []int{0, 1, 2, shape[d]}[r.IntN(4)])
			least[d] = min(least[d], shape[d])
		}
		k := 1 + r.IntN(len(shape))
		over := 1
		for _, n := range shape[:k] {
			over *= n
		}
		g := op.Grid{Axis: op.Axis{Over: over, Grain: 1 + r.IntN(over)}}
		if k > 1 && r.IntN(2) == 0 {
			g = op.Grid{Axis: op.Axis{Over: shape[0], Grain: 1 + r.IntN(shape[0])}}
			for _, n := range shape[1:k] {
				g.Inner = append(g.Inner, op.Axis{Over: n, Grain: 1 + r.IntN(n)})
			}
		}
		for d, grain := Footprint(nil).Cut(&g, shape, least); d >= 0; d, grain = Footprint(nil).Cut(&g, shape, least) {
			if cut++; grain <= g.Dim(d).Grain {
				t.Fatalf("%v, shape %v, least %v: the next extent along %d is %d", &g, shape, least, d, grain)
			}
			if d == 0 {
				g.Grain = grain
			} else {
				g.Inner[d-1].Grain = grain
			}
		}
		for tile := range g.Tiles() {
			lines := make([]map[string]int, k) // by axis: how many indices of a line along it the tile has
			for flat := range over {
				at, rest := make([]int, k), flat
				for d := k - 1; d >= 0; d-- {
					at[d], rest = rest%shape[d], rest/shape[d]
				}
				x, inside := g.Tile(tile), true
				for d := range g.Rank() {
					i := flat
					if g.Rank() > 1 {
						i = at[d]
					}
					from, to := x.Dim(d)
					inside = inside && from <= i && i < to
				}
				if !inside {
					continue
				}
				for d := range at {
					if lines[d] == nil {
						lines[d] = map[string]int{}
					}
					line := slices.Clone(at)
					line[d] = 0
					lines[d][fmt.Sprint(line)]++
				}
			}
			for d := range k {
				for line, n := range lines[d] {
					if n < least[d] && g.Tiles() > 1 {
						t.Fatalf("%v, shape %v, least %v: tile %d has %d indices along axis %d at %s", &g, shape, least, tile, n, d, line)
					}
				}
			}
		}
	}
	if cut < 300 {
		t.Errorf("only %d tiles were too small", cut)
	}
}
