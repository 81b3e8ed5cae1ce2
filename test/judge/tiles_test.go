package main

import (
	"flag"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

var (
	tileFormulas = flag.Int("tile-formulas", 120, "how many random formulas run in tiles")
	tileSeed     = flag.Uint64("tile-seed", 2, "which random formulas they are")
)

// TestTiles judges random formulas, every third of a kind with sums that loops split, that run in tiles of
// random sizes: they have the same bits as without tiles. The backend that checks accesses alters all that
// the footprint of a tile leaves out.
func TestTiles(t *testing.T) {
	formulas := *tileFormulas
	if testing.Short() {
		formulas /= 4
	}
	r := newRunner(false)
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range uint64(formulas) {
		c := caseOf([]string{"", "", "strides"}[i%3], *tileSeed, i)
		if i%3 == 2 {
			c.Dims = map[string]int{"N": 3, "K": 3, "M": 3}
			c.Dims[[]string{"N", "K"}[i%2]] = 96 // loops split long ranges only
		}
		o, _ := check(c)
		if o == nil {
			continue
		}
		d := draw(c)
		want, err := r.run(o, c, d, variant{workers: 1})
		if err != nil {
			continue // which other tests judge
		}
		for _, checked := range []bool{false, true} {
			got, err := r.run(o, c, d, variant{workers: 3, tiles: true, checked: checked})
			switch {
			case got == nil && err == nil: // there are no tiles
			case err != nil && checked && r.refuses(o, c, d): // also without tiles
			case err != nil:
				t.Errorf("formula %d, checked %v: %v\n%s", i, checked, err, c.Spec())
			case bits(got) != bits(want):
				t.Errorf("formula %d, checked %v: other bits than without tiles\n%s", i, checked, c.Spec())
			}
		}
	}
	t.Logf("%d plans of %d had tiles", r.tiled, 2*formulas)
	if r.tiled < formulas/6 {
		t.Errorf("want tiles in a twelfth of %d plans, got them in %d", 2*formulas, r.tiled)
	}
}

// TestTilesOfNothing checks gradients that are 0 in tiles: where they are added to, nothing computes them,
// and the tiles are those of the plan nevertheless.
func TestTilesOfNothing(t *testing.T) {
	r := newRunner(false)
	for kind, number := range map[string]uint64{"by_hand": 18, "histograms": 108} {
		c := caseOf(kind, 51, number)
		o, why := check(c)
		if o == nil {
			t.Fatal(why)
		}
		d := draw(c)
		want, err := r.run(o, c, d, variant{workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.run(o, c, d, variant{workers: 3, tiles: true, checked: true}); err != nil || got == nil || bits(got) != bits(want) {
			t.Errorf("kind %s: want the bits of the whole task, got %v, %v\n%s", kind, got, err, c.Spec())
		}
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// refuses reports whether the backend that checks accesses refuses a case without tiles.
func (r *runner) refuses(o *liveOperator, c *randomformula.Case, d drawn) bool {
	_, err := r.run(o, c, d, variant{workers: 3, checked: true})
	return err != nil
}
