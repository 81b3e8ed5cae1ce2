package optest

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

var (
	randomUses = flag.Int("random-uses", 1, "how many random uses of each example's operator are judged")
	usesSeed   = flag.Uint64("uses-seed", 1, "which random uses they are")
)

// TestRandomUses judges the formulas of all operators, also of those with kernels by hand, with random
// attributes and extents. The loops that are made of a formula must give what the formula means, and so must
// kernels by hand.
func TestRandomUses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	loops := k.formulas(t, formula.Register)
	judged := map[string]int{}
	for _, o := range k.operators {
		if len(o.Formula) == 0 {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			samples := k.samples(t, o)
			r := rand.New(rand.NewPCG(*usesSeed, uint64(len(o.Name))))
			for i := range *randomUses * len(o.Examples) {
				s, ok := varied(samples[r.IntN(len(samples))], o, r)
				if !ok {
					continue
				}
				f, err := newFixture(s, domains[i%len(domains)])
				if err != nil || f.impossible() {
					continue // other attributes or extents do not fit
				}
				p := f.everything(t)
				if _, _, ok := f.question(); !ok {
					continue
				}
				judged[o.Name]++
				for _, by := range []struct {
					name  string
					tasks *task.Registry
				}{{"loops", loops}, {"kernels", k.tasks}} {
					got, err := run(p, f.values, Execution{tasks: by.tasks, plans: f.plans})
					if err != nil {
						s.errorf(t, "attributes %+v: %s: %v", s.attrs, by.name, err)
						continue
					}
					for _, d := range f.meaningDifferences(got) {
						s.errorf(t, "attributes %+v: %s: %s, as the formula means", s.attrs, by.name, d)
					}
				}
			}
		})
	}
	if len(judged) < 80 {
		t.Errorf("want 80 operators at least, got %d: %v", len(judged), judged)
	}
}

// varied returns a sample with other extents, each of which changes in all shapes, and with other attributes.
// ok is false if the attributes are not valid.
func varied(s sample, o *graph.Operator, r *rand.Rand) (sample, bool) {
	to := map[int]int{}
	shapes := map[string][]int{}
	for _, name := range slices.Sorted(maps.Keys(s.shapes)) {
		shapes[name] = []int{}
		for _, n := range s.shapes[name] {
			if _, known := to[n]; !known {
				to[n] = []int{n, n, n + 1, n + 2, 1, 2 * n, 3, 7, 17}[r.IntN(9)]
			}
			shapes[name] = append(shapes[name], to[n])
		}
	}
	s.shapes, s.resized = shapes, true
	object, err := attr.Object(s.attrs)
	if err != nil {
		return s, false
	}
	for _, name := range o.AttrNames {
		if r.IntN(2) == 0 {
			continue
		}
		var other map[string]any
		if x := o.Examples[r.IntN(len(o.Examples))]; json.Unmarshal([]byte(x.Attrs), &other) == nil && other[name] != nil && r.IntN(2) == 0 {
			object[name] = other[name]
			continue
		}
		switch v := object[name].(type) {
		case bool:
			object[name] = !v
		case json.Number:
			if n, err := v.Int64(); err == nil {
				object[name] = n + int64(r.IntN(4)) - 1
			}
		}
	}
	data, err := attr.Marshal(object)
	if err != nil {
		return s, false
	}
	s.attrs, err = o.DecodeAttrs(data)
	return s, err == nil
}
