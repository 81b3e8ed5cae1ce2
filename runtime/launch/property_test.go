package launch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/launch"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// limits are the numbers of arguments that a slot may have; hi < 0 is no limit.
type limits struct{ lo, hi int }

func (l limits) arity() task.Arity {
	switch {
	case l.hi < 0 && l.lo == 0:
		return task.Arity{}
	case l.hi < 0:
		return task.AtLeast(l.lo)
	case l.lo == l.hi:
		return task.Exactly(l.lo)
	}
	return task.Between(l.lo, l.hi)
}

// TestCounts declares random slots and launches with random numbers of arguments: a launch is refused
// exactly if a number is outside of its limits, and the error names every such slot.
func TestCounts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	groups := []task.Group{task.Inputs, task.Outputs, task.Redops, task.Scalars}
	for range 3000 {
		var slots []task.DeclaredSlot
		var all []limits
		for i := range 1 + r.IntN(5) {
			l := limits{lo: r.IntN(3)}
			if l.hi = l.lo + r.IntN(3); r.IntN(4) == 0 {
				l.hi = -1
			}
			all = append(all, l)
			slots = append(slots, task.DeclaredSlot{Name: fmt.Sprintf("s%d", i), Group: groups[r.IntN(4)], Arity: l.arity()})
		}
		l := launch.New(task.NewDeclaration("t", slots...))
		var wrong []string
		for i, s := range slots {
			n := r.IntN(5)
			if n < all[i].lo || all[i].hi >= 0 && n > all[i].hi {
				wrong = append(wrong, s.Name)
			}
			var err error
			if s.Group == task.Scalars {
				err = l.AddScalars(s.Name, n)
			} else {
				for range n {
					err = errors.Join(err, l.Add(s.Name, &launch.Store{Shape: []int{2}}))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.Solve(launch.Machine{Procs: 1})
		var e *task.Error
		switch {
		case len(wrong) == 0 && err != nil:
			t.Errorf("%v: %v", slots, err)
		case len(wrong) > 0 && (!errors.As(err, &e) || e.Code != task.CountMismatch):
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
	outcomes := map[task.Code]int{}
	for range 20000 {
		var slots []task.DeclaredSlot
		n := 2 + r.IntN(3)
		for i := range n {
			slots = append(slots, task.DeclaredSlot{Name: fmt.Sprintf("s%d", i), Group: task.Group(r.IntN(2)), Arity: task.Exactly(1)})
		}
		d := task.NewDeclaration("t", slots...)
		var cs []task.Constraint
		for range 1 + r.IntN(4) {
			a, b := r.IntN(n), r.IntN(n)
			if a == b {
				continue
			}
			c := task.Constraint{Kind: []task.ConstraintKind{task.Scale, task.Bloat, task.Image, task.Align}[r.IntN(4)],
				Terms: []task.Term{task.Whole(slots[a].Name), task.Whole(slots[b].Name)}}
			switch c.Kind {
			case task.Scale:
				c.Factors = []int{1 + r.IntN(2)}
			case task.Bloat:
				c.Low, c.High = []int{r.IntN(2)}, []int{0}
			}
			cs = append(cs, c)
		}
		want := contradicts(slots, cs)
		err := d.SetConstraints(cs...).Validate()
		if (err != nil) != want {
			t.Errorf("%v, %v: contradictory is %v, got %v", slots, cs, want, err)
		}
		var e *task.Error
		if errors.As(err, &e) {
			outcomes[e.Code]++
		} else {
			outcomes[""]++
		}
	}
	for _, code := range []task.Code{"", task.DependentConflict, task.DependentCycle, task.UnsupportedSource, task.OverlappingWrite} {
		if outcomes[code] < 20 {
			t.Errorf("only %d cases ended with %q", outcomes[code], code)
		}
	}
}

// contradicts states, one pair of constraints at a time, what rules constraints out.
func contradicts(slots []task.DeclaredSlot, cs []task.Constraint) bool {
	follows := map[string]map[string]bool{} // target: its sources
	for _, s := range slots {
		follows[s.Name] = map[string]bool{}
	}
	for i, c := range cs {
		from, to := c.Terms[0].Name, c.Terms[1].Name
		if c.Kind == task.Align {
			continue
		}
		follows[to][from] = true
		for k, other := range cs {
			switch {
			case i == k:
			case other.Kind == task.Align && (other.Terms[0].Name == to || other.Terms[1].Name == to):
				return true
			case other.Kind.Dependent() && other.Terms[1].Name == to && other.String() != c.String():
				return true
			case other.Kind == task.Image && (c.Kind == task.Scale || c.Kind == task.Bloat) && other.Terms[1].Name == from:
				return true
			}
		}
		for _, s := range slots {
			if s.Name == to && s.Group == task.Outputs && c.Kind == task.Bloat && c.Low[0] > 0 {
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

// TestCoverage divides random launches and looks at every element: stores that are divided for their own
// sake are covered exactly once, axes that are broadcast are whole in each tile, aligned stores have the
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
		decl := task.NewDeclaration("t",
			task.DeclaredSlot{Name: "a", Group: task.Inputs, Arity: task.Exactly(1)},
			task.DeclaredSlot{Name: "wide", Group: task.Inputs, Arity: task.Exactly(1)},
			task.DeclaredSlot{Name: "halo", Group: task.Inputs, Arity: task.Exactly(1)},
			task.DeclaredSlot{Name: "out", Group: task.Outputs, Arity: task.Exactly(1)},
			task.DeclaredSlot{Name: "sum", Group: task.Redops, Arity: task.Exactly(1)})
		cs := []task.Constraint{
			{Kind: task.Align, Terms: []task.Term{task.Whole("a"), task.Whole("out")}},
			{Kind: task.MinExtents, Terms: []task.Term{task.Whole("a")}, Extents: slices.Repeat([]int{least}, rank)},
			{Kind: task.Scale, Terms: []task.Term{task.Whole("a"), task.Whole("wide")}, Factors: factors},
			{Kind: task.Bloat, Terms: []task.Term{task.Whole("a"), task.Whole("halo")}, Low: low, High: low},
			{Kind: task.Broadcast, Terms: []task.Term{task.Whole("sum")}},
		}
		if axes != nil {
			cs = append(cs, task.Constraint{Kind: task.Broadcast, Terms: []task.Term{task.Whole("out")}, Axes: axes})
		}
		l := launch.New(decl.SetConstraints(cs...))
		stores := map[string]*launch.Store{}
		for name, shape := range map[string][]int{"a": extents, "wide": scaled, "halo": extents, "out": extents, "sum": {3}} {
			stores[name] = &launch.Store{Name: name, Shape: shape, Element: launch.Element{Name: "f32", Bytes: 4}}
		}
		for _, name := range []string{"a", "wide", "halo", "out", "sum"} {
			if err := l.Add(name, stores[name]); err != nil {
				t.Fatal(err)
			}
		}
		p, err := l.Solve(launch.Machine{Kind: "cpu", Procs: 1 + r.IntN(12), Threshold: 1})
		if err != nil {
			t.Fatal(err)
		}
		a, wide, halo, out, sum := p.Argument(0).Parallel, p.Argument(1).Parallel, p.Argument(2).Parallel, p.Argument(3).Parallel, p.Argument(4).Parallel
		if !sum.Equal(region.Parallel{Extents: []int{3}, Degrees: []int{1}, Sums: p.Leaves()}) {
			t.Errorf("a reduction among %d leaves is divided as %v", p.Leaves(), sum)
		}
		if p.Leaves() == 1 {
			continue
		}
		divided++
		if !a.Equal(out) {
			t.Errorf("aligned stores are divided as %v and %v", a, out)
		}
		for _, x := range []region.Parallel{a, wide, halo} {
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
					t.Errorf("axis %d of %v is divided in spite of the broadcast", d, tile)
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
		t.Errorf("only %d launches were divided", divided)
	}
}

// visits counts, for every element, the parts that hold it.
func visits(p region.Parallel) []int {
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
