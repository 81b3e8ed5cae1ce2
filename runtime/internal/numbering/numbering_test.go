package numbering

import (
	"math/rand/v2"
	"testing"
)

// TestAgainstMap adds random keys, some of them again, and compares with a map. A copy stays as it is.
func TestAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, room := range []int{0, 5, 6, 7, 5000} {
		x, want := New[[2]int](room), map[[2]int]int{}
		var copied *Numbering[[2]int]
		var held map[[2]int]int
		for i := range 20000 {
			if i == 7000 {
				copied, held = x.Clone(), map[[2]int]int{}
				for k, n := range want {
					held[k] = n
				}
			}
			k := [2]int{r.IntN(100), r.IntN(100)}
			n, known := want[k]
			if got, ok := x.Find(k); ok != known || ok && got != n {
				t.Fatalf("room for %d, key %v: found %d, %v, want %d, %v", room, k, got, ok, n, known)
			}
			if !known {
				n = len(want)
				want[k] = n
			}
			if got, added := x.Add(k); got != n || added == known || x.keys[n] != k || len(x.keys) != len(want) {
				t.Fatalf("room for %d, key %v: added %d, %v of %d, want %d, %v of %d", room, k, got, added, len(x.keys), n, !known, len(want))
			}
		}
		for k := range want {
			n, known := held[k]
			if got, ok := copied.Find(k); ok != known || ok && got != n {
				t.Fatalf("copy, key %v: found %d, %v, want %d, %v", k, got, ok, n, known)
			}
		}
	}
}
