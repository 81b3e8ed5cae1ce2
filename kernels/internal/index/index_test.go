package index

import (
	"testing"

	"github.com/opgen/opgen/runtime/shape"
)

func TestWalk(t *testing.T) {
	for _, s := range [][]int{{}, {1}, {5}, {2, 3}, {2, 1, 3}, {3, 2, 2, 2}} {
		from := make([]int, len(s)) // every other dimension is repeated
		for d := range s {
			from[d] = s[d]
			if d%2 == 1 {
				from[d] = 1
			}
		}
		own, rep := shape.Strides(s), shape.BroadcastStrides(from, s)
		n := shape.Prod(s)
		for start := range n {
			w := New(s, start, own, rep)
			for i := start; i < n; i++ {
				want := 0
				for d, rest := len(s)-1, i; d >= 0; d-- {
					want += rest % s[d] * rep[d]
					rest /= s[d]
				}
				if w.Offset(0) != i || w.Offset(1) != want {
					t.Fatalf("shape %v, start %d, element %d: offsets %d, %d; want %d, %d", s, start, i, w.Offset(0), w.Offset(1), i, want)
				}
				w.Next()
			}
			if w.Offset(0) != 0 || w.Offset(1) != 0 {
				t.Fatalf("shape %v, start %d: does not end at the beginning", s, start)
			}
		}
	}
}
