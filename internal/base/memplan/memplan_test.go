package memplan_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/base/memplan"
)

func layout(t testing.TB, buffers []memplan.Buffer, effort int) *memplan.Layout {
	t.Helper()
	l, err := memplan.Plan(buffers, effort)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// check goes through all steps. At each, the buffers that are needed must not overlap; the most bytes
// that are needed at any are the lower bound.
func check(t testing.TB, what string, buffers []memplan.Buffer, l *memplan.Layout) {
	t.Helper()
	steps := 0
	for _, b := range buffers {
		steps = max(steps, b.First+1, b.Last+1)
	}
	live := make([][]int, steps)
	for i, b := range buffers {
		if b.Bytes > 0 {
			for s := b.First; ; s = (s + 1) % steps {
				live[s] = append(live[s], i)
				if s == b.Last {
					break
				}
			}
		}
		if l.Offsets[i] < 0 || l.Offsets[i]+b.Bytes > l.Bytes {
			t.Fatalf("%s: buffer %d %+v lies at %d, outside %d bytes", what, i, b, l.Offsets[i], l.Bytes)
		}
	}
	var bound, end int64
	for s, now := range live {
		slices.SortFunc(now, func(i, j int) int { return cmp.Compare(l.Offsets[i], l.Offsets[j]) })
		var sum int64
		for n, i := range now {
			sum += buffers[i].Bytes
			end = max(end, l.Offsets[i]+buffers[i].Bytes)
			if n > 0 && l.Offsets[now[n-1]]+buffers[now[n-1]].Bytes > l.Offsets[i] {
				t.Fatalf("%s: at step %d, buffer %d %+v at %d overlaps buffer %d %+v at %d", what, s,
					now[n-1], buffers[now[n-1]], l.Offsets[now[n-1]], i, buffers[i], l.Offsets[i])
			}
		}
		bound = max(bound, sum)
	}
	if l.Bound != bound {
		t.Fatalf("%s: the bound is %d, want %d", what, l.Bound, bound)
	}
	if l.Bytes != end || end < bound {
		t.Fatalf("%s: %d bytes, but the last buffer ends at %d and the bound is %d", what, l.Bytes, end, bound)
	}
}

// random returns buffers of many or few sizes, of long or short life, some over the end of the cycle,
// some of no size.
func random(seed uint64) []memplan.Buffer {
	r := rand.New(rand.NewPCG(seed, 1))
	steps, sizes, life := 1+r.IntN(60), 1+r.IntN(300), 1+r.IntN(60)
	buffers := make([]memplan.Buffer, r.IntN(120))
	for i := range buffers {
		b := memplan.Buffer{Bytes: 8 * r.Int64N(int64(sizes)), First: r.IntN(steps)}
		b.Last = b.First + r.IntN(life)
		if r.IntN(12) == 0 {
			b.Last %= steps
		}
		b.Last = min(b.Last, steps-1)
		buffers[i] = b
	}
	return buffers
}

func TestRandom(t *testing.T) {
	t.Parallel()
	var first, usual int64
	for seed := range uint64(250) {
		buffers := random(seed)
		l := layout(t, buffers, memplan.DefaultEffort)
		check(t, fmt.Sprintf("seed %d", seed), buffers, l)
		if again := layout(t, slices.Clone(buffers), memplan.DefaultEffort); !reflect.DeepEqual(l, again) {
			t.Fatalf("seed %d: the same buffers give another layout", seed)
		}
		quick := layout(t, buffers, 0)
		check(t, fmt.Sprintf("seed %d, no effort", seed), buffers, quick)
		if l.Bytes > quick.Bytes {
			t.Errorf("seed %d: more effort gives %d bytes, none gives %d", seed, l.Bytes, quick.Bytes)
		}
		for i, off := range l.Offsets {
			if off%8 != 0 {
				t.Errorf("seed %d: buffer %d lies at %d, but all sizes are multiples of 8", seed, i, off)
			}
		}
		first, usual = first+quick.Bytes-quick.Bound, usual+l.Bytes-l.Bound
	}
	if 4*usual > 3*first {
		t.Errorf("the search leaves %d bytes above the bounds, without it there are %d", usual, first)
	}
}

// TestMany lays out more buffers than are placed by size.
func TestMany(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	const n = 30000
	buffers := make([]memplan.Buffer, n)
	for i := range buffers {
		b := memplan.Buffer{Bytes: 8 * r.Int64N(100), First: i / 3}
		b.Last = min(b.First+r.IntN(30), n/3-1)
		if i%5000 == 0 {
			b.First, b.Last = n/3-1, b.First/10
		}
		buffers[i] = b
	}
	l := layout(t, buffers, memplan.DefaultEffort)
	check(t, "many", buffers, l)
	if float64(l.Bytes) > 1.4*float64(l.Bound) {
		t.Errorf("%d bytes, but the bound is %d", l.Bytes, l.Bound)
	}
}

// TestNetworks checks how close the layouts of training steps come to the lower bound.
func TestNetworks(t *testing.T) {
	t.Parallel()
	for _, n := range networks()[:4] {
		l := layout(t, n.buffers, memplan.DefaultEffort)
		check(t, n.name, n.buffers, l)
		ratio := float64(l.Bytes) / float64(l.Bound)
		t.Logf("%s: %d buffers, bound %.1f MiB, bytes/bound %.5f", n.name, len(n.buffers), float64(l.Bound)/(1<<20), ratio)
		if ratio > 1.003 {
			t.Errorf("%s: %d bytes, but the bound is %d", n.name, l.Bytes, l.Bound)
		}
	}
}

func TestSmall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		buffers []memplan.Buffer
		want    []int64
		bytes   int64
	}{
		"none":           {nil, []int64{}, 0},
		"of no size":     {[]memplan.Buffer{{Last: 3}, {First: 2, Last: 1}}, []int64{0, 0}, 0},
		"together":       {[]memplan.Buffer{{Bytes: 1, Last: 1}, {Bytes: 2, First: 1, Last: 2}}, []int64{2, 0}, 3},
		"apart":          {[]memplan.Buffer{{Bytes: 1, Last: 1}, {Bytes: 2, First: 2, Last: 2}}, []int64{0, 0}, 2},
		"over the end":   {[]memplan.Buffer{{Bytes: 4, First: 3, Last: 1}, {Bytes: 2, First: 2, Last: 2}, {Bytes: 1, First: 3, Last: 3}, {Bytes: 3, First: 0, Last: 0}}, []int64{0, 0, 4, 4}, 7},
		"size misleads":  {[]memplan.Buffer{{Bytes: 3, Last: 1}, {Bytes: 3, First: 4, Last: 5}, {Bytes: 2, First: 1, Last: 2}, {Bytes: 2, First: 2, Last: 4}, {Bytes: 1, First: 3, Last: 4}}, nil, 6},
		"all over again": {[]memplan.Buffer{{Bytes: 4, First: 3, Last: 1}, {Bytes: 2, First: 2, Last: 0}}, []int64{0, 4}, 6},
	} {
		l := layout(t, tt.buffers, memplan.DefaultEffort)
		if len(tt.buffers) > 0 {
			check(t, name, tt.buffers, l)
		}
		if l.Bytes != tt.bytes || tt.want != nil && !slices.Equal(l.Offsets, tt.want) {
			t.Errorf("%s: got %v and %d bytes, want %v and %d", name, l.Offsets, l.Bytes, tt.want, tt.bytes)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	good := memplan.Buffer{Bytes: 1, First: 1, Last: 1}
	errors := map[string]memplan.Buffer{
		"offsets: buffer 1: want a size of at least 0, got -1 bytes":                                      {Bytes: -1},
		"offsets: buffer 1: want steps from 0 to 2147483647, got -1 to 2":                                 {First: -1, Last: 2},
		"offsets: buffer 1: want steps from 0 to 2147483647, got 2 to -1":                                 {First: 2, Last: -1},
		fmt.Sprintf("offsets: buffer 1: all sizes together are more than %d bytes", int64(math.MaxInt64)): {Bytes: math.MaxInt64},
	}
	if last := math.MaxInt; last > math.MaxInt32 {
		errors[fmt.Sprintf("offsets: buffer 1: want steps from 0 to 2147483647, got 2 to %d", last)] = memplan.Buffer{First: 2, Last: last}
	}
	for want, bad := range errors {
		l, err := memplan.Plan([]memplan.Buffer{good, bad}, memplan.DefaultEffort)
		if err == nil || err.Error() != want || l != nil {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
