package deps

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// reach returns, for each task, the set of tasks that come before it, directly or not.
func reach(g *schedule.Graph) []map[int32]bool {
	out := make([]map[int32]bool, g.Len())
	for t := range out {
		out[t] = map[int32]bool{}
		for _, p := range g.Preds(t) {
			out[t][p] = true
			for q := range out[p] {
				out[t][q] = true
			}
		}
	}
	return out
}

// conflict says, element by element, whether two accesses must be ordered.
func conflict(a, b Access, size []int) bool {
	if a.Root != b.Root || !perm.Conflict(a.Perm, b.Perm) {
		return false
	}
	in := func(x Access, at []int) bool {
		for d, i := range at {
			if x.Box != nil && (i < x.Box.Lo[d] || i >= x.Box.Hi[d]) {
				return false
			}
		}
		return true
	}
	for i := range size[0] {
		for j := range size[1] {
			if at := []int{i, j}; in(a, at) && in(b, at) {
				return true
			}
		}
	}
	return false
}

// TestAgainstBruteForce checks, on random programs, that the conflicting pairs are ordered, and no others.
func TestAgainstBruteForce(t *testing.T) {
	size := []int{4, 5}
	for seed := range uint64(3100) {
		r := rand.New(rand.NewPCG(seed, 0))
		roots, n, whole := 1+r.IntN(3), 1+r.IntN(14), 2
		if seed >= 3000 { // so many accesses to parts that buckets are made again several times
			roots, n, whole = 1, 80, 40
		}
		b := NewBuilder(roots, n)
		var accs [][]Access
		var explicit [][]int
		for i := range n {
			var list []Access
			for range 1 + r.IntN(3) {
				a := Access{Root: int32(r.IntN(roots)), Perm: perm.Perm(1 + r.IntN(5))}
				if r.IntN(whole) > 0 {
					a.Box = &region.Box{}
					for _, e := range size {
						lo := r.IntN(e + 1)
						a.Box.Lo, a.Box.Hi = append(a.Box.Lo, lo), append(a.Box.Hi, lo+r.IntN(e+1-lo))
					}
				}
				list = append(list, a)
			}
			var after []int
			if i > 0 && r.IntN(5) == 0 {
				after = []int{r.IntN(i)}
			}
			if _, err := b.Task(list, after...); err != nil {
				t.Fatal(err)
			}
			accs, explicit = append(accs, list), append(explicit, after)
		}
		got := reach(b.Graph())
		// What must be ordered, closed under transitivity.
		want := make([]map[int32]bool, n)
		for i := range n {
			want[i] = map[int32]bool{}
			for j := range i {
				must := slices.Contains(explicit[i], j)
				for _, x := range accs[i] {
					for _, y := range accs[j] {
						must = must || conflict(x, y, size)
					}
				}
				if must {
					want[i][int32(j)] = true
					for q := range want[j] {
						want[i][q] = true
					}
				}
			}
			if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
				t.Fatalf("seed %d, task %d: ordered after %v, want %v; accesses %v", seed, i, got[i], want[i], accs)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	b := NewBuilder(2, 1)
	if _, err := b.Task([]Access{{Root: 2, Perm: perm.Read}}); err == nil || err.Error() != "deps: task 0 accesses root 2 of 2" {
		t.Errorf("unknown root: %v", err)
	}
	if _, err := b.Task(nil, 0); err == nil || err.Error() != "deps: task 0 is to run after 0, which is not an earlier task" {
		t.Errorf("self: %v", err)
	}
	if n, err := b.Task([]Access{{Root: 0, Perm: perm.Write}}); n != 0 || err != nil {
		t.Errorf("after errors: task %d, %v", n, err)
	}
}

// TestTiles chains sweeps over tiles with halos: each tile comes after the tiles of the sweep before whose
// elements it touches, and after no others.
func TestTiles(t *testing.T) {
	const side, sweeps = 40, 5
	b := NewBuilder(2, side*side*sweeps)
	for s := range sweeps {
		for k := range side * side {
			y, x := 4*(k/side), 4*(k%side)
			read := &region.Box{Lo: []int{max(y-1, 0), max(x-1, 0)}, Hi: []int{y + 5, x + 5}}
			write := &region.Box{Lo: []int{y, x}, Hi: []int{y + 4, x + 4}}
			if _, err := b.Task([]Access{{Root: int32(s % 2), Perm: perm.Read, Box: read}, {Root: int32(1 - s%2), Perm: perm.Write, Box: write}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	g := b.Graph()
	for task := range g.Len() {
		s, y, x := task/(side*side), task/side%side, task%side
		var want []int32
		for v := max(y-1, 0); s > 0 && v < min(y+2, side); v++ {
			for u := max(x-1, 0); u < min(x+2, side); u++ {
				want = append(want, int32((s-1)*side*side+v*side+u))
			}
		}
		got := slices.Clone(g.Preds(task))
		slices.Sort(got)
		if got = slices.DeleteFunc(got, func(p int32) bool { return int(p) < (s-1)*side*side }); !slices.Equal(got, want) {
			t.Fatalf("task %d comes after %v, want %v", task, got, want)
		}
	}
}

// BenchmarkTiles measures how long it takes to order a million tiles of a hundred sweeps.
func BenchmarkTiles(b *testing.B) {
	const side, sweeps = 100, 100
	b.ReportAllocs()
	for b.Loop() {
		d := NewBuilder(sweeps+1, side*side*sweeps)
		read, write := region.Box{Lo: make([]int, 2), Hi: make([]int, 2)}, region.Box{Lo: make([]int, 2), Hi: make([]int, 2)}
		for s := range sweeps {
			for k := range side * side {
				for i, at := range [2]int{4 * (k / side), 4 * (k % side)} {
					read.Lo[i], read.Hi[i], write.Lo[i], write.Hi[i] = max(at-1, 0), at+5, at, at+4
				}
				if _, err := d.Task([]Access{{Root: int32(s), Perm: perm.Read, Box: &read}, {Root: int32(s + 1), Perm: perm.Write, Box: &write}}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(side*side*sweeps), "ns/tile")
}
