package main

import (
	"testing"
	"time"
)

// TestCheckOfSlow checks formulas that take minutes to run, since the gradient of a product takes the square
// of its elements, or a sum the cube of an extent. The check takes no such time.
func TestCheckOfSlow(t *testing.T) {
	for _, f := range []struct {
		kind         string
		seed, number uint64
	}{{"", 77003, 1011}, {"", 9302, 66}, {"", 9303, 114}, {"triangles", 7, 454}, {"triangles", 7, 518}, {"triangles", 7, 952}} {
		c := caseOf(f.kind, f.seed, f.number)
		for name, n := range c.Dims {
			if n > 1 {
				c.Dims[name] = 300
			}
		}
		start := time.Now()
		o, why := check(c)
		if o == nil {
			t.Errorf("kind %q, seed %d, formula %d is refused: %s", f.kind, f.seed, f.number, why)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("kind %q, seed %d, formula %d: want its check within 1 s, it took %v", f.kind, f.seed, f.number, took)
		}
	}
}
