package intset

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSet compares sets with sorted slices.
func TestSet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 63, 64, 65, 4096, 4097, 300_000} {
		s := New(n)
		var want []int
		for range 400 {
			i := r.IntN(n)
			if len(want) > 0 && r.IntN(2) == 0 {
				i = min(max(want[r.IntN(len(want))]+r.IntN(3)-1, 0), n-1)
			}
			at, ok := slices.BinarySearch(want, i)
			below, above := None, None
			if at > 0 {
				below = want[at-1]
			}
			next := at
			if ok {
				next++
			}
			if next < len(want) {
				above = want[next]
			}
			if got := s.Below(i); got != below {
				t.Fatalf("%d of %v: below %d, want %d", i, want, got, below)
			}
			if got := s.Above(i); got != above {
				t.Fatalf("%d of %v: above %d, want %d", i, want, got, above)
			}
			if ok {
				s.Remove(i)
				want = slices.Delete(want, at, at+1)
			} else {
				s.Add(i)
				want = slices.Insert(want, at, i)
			}
		}
		first, last := None, None
		if len(want) > 0 {
			first, last = want[0], want[len(want)-1]
		}
		if s.Above(-1) != first || s.Below(n) != last {
			t.Errorf("ends of %v: got %d and %d", want, s.Above(-1), s.Below(n))
		}
	}
}
