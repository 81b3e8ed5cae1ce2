package partition_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
)

// limits are the numbers of arguments that a slot may have; hi < 0 is no limit.
type limits struct{ lo, hi int }

func (l limits) arity() partition.Arity {
	switch {
	case l.hi < 0 && l.lo == 0:
		return partition.Arity{}
	case l.hi < 0:
		return partition.AtLeast(l.lo)
	case l.lo == l.hi:
		return partition.Exactly(l.lo)
	}
	return partition.Between(l.lo, l.hi)
}

// TestCounts declares random slots and launches with random numbers of arguments: a launch is refused
// exactly if a number is outside of its limits, and the error names every such slot.
func TestCounts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	groups := []partition.Group{partition.Inputs, partition.Outputs, partition.Redops, partition.Scalars}
	for range 3000 {
		var slots []partition.DeclaredSlot
		var all []limits
		for i := range 1 + r.IntN(5) {
			l := limits{lo: r.IntN(3)}
			if l.hi = l.lo + r.IntN(3); r.IntN(4) == 0 {
				l.hi = -1
			}
			all = append(all, l)
			slots = append(slots, partition.DeclaredSlot{Name: fmt.Sprintf("s%d", i), Group: groups[r.IntN(4)], Arity: l.arity()})
		}
		l := partition.New(partition.NewDeclaration("t", slots...))
		var wrong []string
		for i, s := range slots {
			n := r.IntN(5)
			if n < all[i].lo || all[i].hi >= 0 && n > all[i].hi {
				wrong = append(wrong, s.Name)
			}
			var err error
			if s.Group == partition.Scalars {
				err = l.AddScalars(s.Name, n)
			} else {
				for range n {
					err = errors.Join(err, l.Add(s.Name, &partition.Store{Shape: []int{2}}))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.Solve(partition.Machine{Procs: 1})
		var e *op.Error
		switch {
		case len(wrong) == 0 && err != nil:
			t.Errorf("%v: %v", slots, err)
		case len(wrong) > 0 && (!errors.As(err, &e) || e.Code != partition.CountMismatch):
			t.Errorf("%v: want the numbers of %v refused, got %v", slots, wrong, err)
		case len(wrong) > 0:
			for _, name := range wrong {
				if !slices.ContainsFunc(slices.Collect(words(e.Want)), func(w string) bool { return w == name }) {
					t.Errorf("the error does not name %s: %v", name, err)
				}
			}
		}
	}
}

func words(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		word := ""
		for _, c := range s + " " {
			if c == ' ' || c == ',' {
				if word != "" && !yield(word) {
					return
				}
				word = ""
				continue
			}
			word += string(c)
		}
	}
}

// TestDependents declares random constraints between single slots. Whether they contradict each other is
// decided by brute force: targets with two sources or with an align, circles, growing outputs.
func TestDependents(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	outcomes := map[op.Code]int{}
	for range 20000 {
		var slots []partition.DeclaredSlot
		n := 2 + r.IntN(3)
		for i := range n {
			slots = append(slots, partition.DeclaredSlot{Name: fmt.Sprintf("s%d", i), Group: partition.Group(r.IntN(2)), Arity: partition.Exactly(1)})
		}
		d := partition.NewDeclaration("t", slots...)
		var cs []partition.Constraint
		for range 1 + r.IntN(4) {
			a, b := r.IntN(n), r.IntN(n)
			if a == b {
				continue
			}
			c := partition.Constraint{Kind: []partition.Kind{partition.Scale, partition.Bloat, partition.Image, partition.Align}[r.IntN(4)],
				Terms: []partition.Term{partition.Whole(slots[a].Name), partition.Whole(slots[b].Name)}}
			switch c.Kind {
			case partition.Scale:
				c.Factors = []int{1 + r.IntN(2)}
			case partition.Bloat:
				c.Low, c.High = []int{r.IntN(2)}, []int{0}
			}
			cs = append(cs, c)
		}
		want := contradicts(slots, cs)
		err := d.SetConstraints(cs...).Validate()
		if (err != nil) != want {
			t.Errorf("%v, %v: contradictory is %v, got %v", slots, cs, want, err)
		}
		var e *op.Error
		if errors.As(err, &e) {
			outcomes[e.Code]++
		} else {
			outcomes[""]++
		}
	}
	for _, code := range []op.Code{"", partition.DependentConflict, partition.DependentCycle, partition.UnsupportedSource, partition.OverlappingWrite} {
		if outcomes[code] < 20 {
			t.Errorf("only %d cases ended with %q", outcomes[code], code)
		}
	}
}

// contradicts states, one pair of constraints at a time, what rules constraints out.
func contradicts(slots []partition.DeclaredSlot, cs []partition.Constraint) bool {
	follows := map[string]map[string]bool{} // target: its sources
	for _, s := range slots {
		follows[s.Name] = map[string]bool{}
	}
	for i, c := range cs {
		from, to := c.Terms[0].Name, c.Terms[1].Name
		if c.Kind == partition.Align {
			continue
		}
		follows[to][from] = true
		for k, other := range cs {
			switch {
			case i == k:
			case other.Kind == partition.Align && (other.Terms[0].Name == to || other.Terms[1].Name == to):
				return true
			case other.Kind.Form().Terms == partition.SourceTarget && other.Terms[1].Name == to && other.String() != c.String():
				return true
			case other.Kind == partition.Image && (c.Kind == partition.Scale || c.Kind == partition.Bloat) && other.Terms[1].Name == from:
				return true
			}
		}
		for _, s := range slots {
			if s.Name == to && s.Group == partition.Outputs && c.Kind == partition.Bloat && c.Low[0] > 0 {
				return true
			}
		}
	}
	for range slots { // after so many rounds, every slot follows all that it depends on
		for _, a := range follows {
			for b := range a {
				for c := range follows[b] {
					a[c] = true
				}
			}
		}
	}
	for name, sources := range follows {
		if sources[name] {
			return true
		}
	}
	return false
}

// TestCoverage partitions random launches and looks at every element: stores that are partitioned for their
// own sake are covered exactly once, axes that are broadcast are whole in each tile, aligned stores have the
// same tiles, scaled ones those of their source times the factors, and tiles are as large as asked.
func TestCoverage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	divided := 0
	for range 3000 {
		rank := 1 + r.IntN(3)
		extents := make([]int, rank)
		for d := range extents {
			extents[d] = 1 + r.IntN(9)
		}
		factors := make([]int, rank)
		scaled := make([]int, rank)
		low := make([]int, rank)
		for d := range factors {
			factors[d] = 1 + r.IntN(3)
			scaled[d] = extents[d] * factors[d]
			low[d] = r.IntN(2)
		}
		var axes []int
		for d := range rank {
			if r.IntN(3) == 0 {
				axes = append(axes, d)
			}
		}
		least := 1 + r.IntN(2)
		decl := partition.NewDeclaration("t",
			partition.DeclaredSlot{Name: "a", Group: partition.Inputs, Arity: partition.Exactly(1)},
			partition.DeclaredSlot{Name: "wide", Group: partition.Inputs, Arity: partition.Exactly(1)},
			partition.DeclaredSlot{Name: "halo", Group: partition.Inputs, Arity: partition.Exactly(1)},
			partition.DeclaredSlot{Name: "out", Group: partition.Outputs, Arity: partition.Exactly(1)},
			partition.DeclaredSlot{Name: "sum", Group: partition.Redops, Arity: partition.Exactly(1)})
		cs := []partition.Constraint{
			{Kind: partition.Align, Terms: []partition.Term{partition.Whole("a"), partition.Whole("out")}},
			{Kind: partition.MinExtents, Terms: []partition.Term{partition.Whole("a")}, Extents: slices.Repeat([]int{least}, rank)},
			{Kind: partition.Scale, Terms: []partition.Term{partition.Whole("a"), partition.Whole("wide")}, Factors: factors},
			{Kind: partition.Bloat, Terms: []partition.Term{partition.Whole("a"), partition.Whole("halo")}, Low: low, High: low},
			{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("sum")}},
		}
		if axes != nil {
			cs = append(cs, partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("out")}, Axes: axes})
		}
		l := partition.New(decl.SetConstraints(cs...))
		stores := map[string]*partition.Store{}
		for name, shape := range map[string][]int{"a": extents, "wide": scaled, "halo": extents, "out": extents, "sum": {3}} {
			stores[name] = &partition.Store{Name: name, Shape: shape, Element: partition.Element{Name: "f32", Bytes: 4}}
		}
		for _, name := range []string{"a", "wide", "halo", "out", "sum"} {
			if err := l.Add(name, stores[name]); err != nil {
				t.Fatal(err)
			}
		}
		p, err := l.Solve(partition.Machine{Kind: "cpu", Procs: 1 + r.IntN(12), Threshold: 1})
		if err != nil {
			t.Fatal(err)
		}
		a, wide, halo, out, sum := p.Argument(0).Partition, p.Argument(1).Partition, p.Argument(2).Partition, p.Argument(3).Partition, p.Argument(4).Partition
		if !sum.Equal(partition.Partition{Extents: []int{3}, Degrees: []int{1}, Sums: p.Leaves()}) {
			t.Errorf("a reduction among %d leaves is partitioned as %v", p.Leaves(), sum)
		}
		if p.Leaves() == 1 {
			continue
		}
		divided++
		if !a.Equal(out) {
			t.Errorf("aligned stores are partitioned as %v and %v", a, out)
		}
		for _, x := range []partition.Partition{a, wide, halo} {
			if err := x.Check(); err != nil || x.Parts() != p.Leaves() {
				t.Errorf("%v has %d parts in a launch of %d leaves, %v", x, x.Parts(), p.Leaves(), err)
			}
		}
		if n := visits(a); slices.Min(n) != 1 || slices.Max(n) != 1 {
			t.Errorf("%v on %d leaves: elements are covered %v times", a, p.Leaves(), n)
		}
		if n := visits(wide); slices.Min(n) != 1 || slices.Max(n) != 1 {
			t.Errorf("%v, scaled by %v to %v: elements are covered %v times", a, factors, wide, n)
		}
		if n := visits(halo); slices.Min(n) < 1 {
			t.Errorf("%v, grown by %v: elements are covered %v times", a, low, n)
		}
		for i := range p.Leaves() {
			tile, grown := a.Part(0, i), halo.Part(0, i)
			if tile.Empty() {
				continue
			}
			if !grown.Contains(tile) {
				t.Errorf("%v does not contain %v, from which it grows", grown, tile)
			}
			for d := range extents {
				if slices.Contains(axes, d) && tile.Hi[d]-tile.Lo[d] != extents[d] {
					t.Errorf("axis %d of %v is partitioned in spite of the broadcast", d, tile)
				}
				if n := tile.Hi[d] - tile.Lo[d]; n < least && n < extents[d] {
					t.Errorf("%v is smaller than %d on axis %d", tile, least, d)
				}
				if lo, hi := max(tile.Lo[d]-low[d], 0), min(tile.Hi[d]+low[d], extents[d]); grown.Lo[d] > lo || grown.Hi[d] < hi {
					t.Errorf("%v grows from %v, want [%d, %d) on axis %d", grown, tile, lo, hi, d)
				}
			}
		}
	}
	if divided < 500 {
		t.Errorf("only %d launches were partitioned", divided)
	}
}

// visits counts, for every element, the parts that hold it.
func visits(p partition.Partition) []int {
	n := 1
	for _, e := range p.Extents {
		n *= e
	}
	counts := make([]int, n)
	for i := range p.Parts() {
		part := p.Part(0, i)
		for k := range counts {
			inside, rest := true, k
			for d := len(p.Extents) - 1; d >= 0; d-- {
				at := rest % p.Extents[d]
				rest /= p.Extents[d]
				inside = inside && part.Lo[d] <= at && at < part.Hi[d]
			}
			if inside {
				counts[k]++
			}
		}
	}
	return counts
}
