package partition

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/region"
)

// TestPartitionParts checks, on random partitions, that each element lies in exactly one tile, so in as many
// parts as there are replicas and terms of the sum.
func TestPartitionParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := Undivided(make([]int, r.IntN(4)))
		p.Replicas, p.Sums = r.IntN(3), r.IntN(3)
		volume := 1
		for d := range p.Extents {
			p.Extents[d], p.Degrees[d] = r.IntN(7), 1+r.IntN(4)
			volume *= p.Extents[d]
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		copies, total := max(p.Replicas, 1)*max(p.Sums, 1), 0
		for i := range p.Parts() {
			a := p.Part(1, i)
			total += a.Volume()
			if !region.Whole(1, p.Extents).Contains(a) {
				t.Errorf("%v: part %d, %v, is not within the tensor", p, i, a)
			}
			for k := range i {
				if b := p.Part(1, k); a.Overlaps(b) && (i-k)%p.tiles() != 0 {
					t.Errorf("%v: parts %v and %v overlap", p, a, b)
				}
			}
		}
		if total != copies*volume {
			t.Errorf("%v: parts hold %d elements, want %d", p, total, copies*volume)
		}
		data, err := json.Marshal(p)
		var back Partition
		if err != nil || json.Unmarshal(data, &back) != nil || !back.Equal(p) {
			t.Errorf("%v becomes %s, %v", p, data, err)
		}
	}
}

func TestPartitionCheck(t *testing.T) {
	t.Parallel()
	good := Partition{Extents: []int{8, 3}, Degrees: []int{2, 1}, Replicas: 2, Sums: 4}
	if got, want := good.String(), "[8/2, 3] x2 replicas x4 sums"; got != want || good.Check() != nil {
		t.Errorf("got %s, %v, want %s", got, good.Check(), want)
	}
	for want, p := range map[string]Partition{
		"a degree for each":  {Extents: []int{8, 3}, Degrees: []int{2}},
		"degrees of 1":       {Extents: []int{8}, Degrees: []int{0}},
		"extents of 0":       {Extents: []int{-1}, Degrees: []int{1}},
		"replicas and sums":  {Extents: []int{8}, Degrees: []int{1}, Sums: -1},
		"tiles of 1":         {Extents: []int{8}, Degrees: []int{1}, Tiles: []Box{{Lo: []int{0, 0}, Hi: []int{1, 1}}}},
		"tiles within":       {Extents: []int{8}, Degrees: []int{1}, Tiles: []Box{{Lo: []int{4}, Hi: []int{9}}}},
		"[8] in 1 tiles: wa": {Extents: []int{8}, Degrees: []int{1}, Tiles: []Box{{Lo: []int{-1}, Hi: []int{9}}}},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want ...%s", p, err, want)
		}
	}
	if good.Equal(Undivided(good.Extents)) || !Undivided(nil).Equal(Partition{Replicas: 1}) {
		t.Error("Equal is wrong")
	}
}
