package optest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// A kernel that reads an element which no task has written gives different results with NaNs and with
// largeNumbers. So does a kernel that does not write an element of its results.

// NaNs is garbage for memory: NaN for floating-point numbers, and 1 for other types.
func NaNs(t dtype.Type) float64 {
	if t.IsFloat() {
		return math.NaN()
	}
	return 1
}

func largeNumbers(t dtype.Type) float64 {
	switch {
	case t.IsFloat():
		return -1e30
	case t == dtype.Bool:
		return 0
	}
	return 113
}

// EveryElementIsWritten runs every operator on memory that holds garbage before: outputs, saved tensors,
// gradients and scratch memory.
func (k *Kit) EveryElementIsWritten(t *testing.T) {
	k.forEachSample(t, "EveryElementIsWritten", func(t *testing.T, s sample) { checkWritten(t, s.fixture(t)) })
}

// checkWritten checks that results and gradients have the shapes that the spec gives, are finite where the
// formula or the reference gives finite numbers, and do not depend on the bytes that were in memory before.
// It returns them.
func checkWritten(t *testing.T, f *fixture) values {
	t.Helper()
	p := f.everything(t)
	clean := f.run(t, p, f.values, Execution{})
	for _, x := range p.Fetched {
		if got, want := len(clean[x.Name()]), shape.Prod(x.Shape()); got > want || got < want && !counted(x) {
			f.errorf(t, "%v has %d elements, want %d", x, got, want)
		}
	}
	f.checkFinite(t, p, clean)
	x := Execution{Garbage: NaNs}
	dirty := f.load(t, p, x)
	defer f.close(t, dirty)
	f.sameBits(t, "memory that held NaN before, next to memory of zeros", f.runLoaded(t, dirty, f.values, x), clean)
	x.Garbage = largeNumbers
	f.sameBits(t, "memory that held large numbers before, next to memory of zeros", f.runLoaded(t, dirty, f.values, x), clean)
	f.sameBits(t, "forward without backward, on memory that held NaN", f.run(t, f.forward(t), f.values, Execution{Garbage: NaNs}), f.only(clean))
	return clean
}

// counted reports whether values decide how many rows of an output count.
func counted(x graph.Tensor) bool {
	n := x.Node()
	return n != nil && slices.ContainsFunc(n.Op.Slots, func(s task.Slot) bool {
		return s.CountedBy != "" && slices.Contains(n.Tensors(n.Op.SlotNamed(s.Name)), x)
	})
}

// only returns the results of v, without gradients.
func (f *fixture) only(v values) values {
	out := values{}
	for _, r := range f.results {
		out[r.Name()] = v[r.Name()]
	}
	return out
}

// EmptyExtents replaces extents of the examples by 0: one at a time, all equal extents together, and all.
// Where the conditions of the operator allow it, results and gradients must still be right: those of formulas
// in double precision, of references, and of difference quotients. It returns how many shapes it tested, by
// operator.
func (k *Kit) EmptyExtents(t *testing.T) map[string]int { return k.checkExtents(t, "EmptyExtents", 0) }

// SingleExtents replaces extents by 1 in the same way.
func (k *Kit) SingleExtents(t *testing.T) map[string]int {
	return k.checkExtents(t, "SingleExtents", 1)
}

// checkExtents checks all samples in which extents can be n. It returns their number by operator.
func (k *Kit) checkExtents(t *testing.T, check string, n int) map[string]int {
	t.Helper()
	tested := map[string]int{}
	k.forEachSample(t, check, func(t *testing.T, s sample) {
		for _, shapes := range resized(s.shapes, n) {
			s := s.with(shapes)
			f, err := newFixture(s, domains[len(domains)-1])
			if s.excludes(t, err) {
				continue
			}
			if f.impossible() {
				continue
			}
			t.Run(fmt.Sprint(shapes), func(t *testing.T) {
				tested[s.title()]++
				got := checkWritten(t, f)
				if s.double() {
					checkFormula(t, f, got)
				}
				if f.differentiable() && (s.double() || !s.widens()) {
					compareGradients(t, f, f.seeds, f.whole, f.grads, got)
				}
			})
		}
	})
	return tested
}

// with returns the sample with other shapes.
func (s sample) with(shapes map[string][]int) sample {
	s.shapes, s.resized = shapes, true
	return s
}

// impossible reports whether an input has elements, but no valid value for them.
func (f *fixture) impossible() bool {
	for i := range f.op.Slots {
		if bound, ok := f.node.Resolved.Bound(i); ok && !bound.Possible() && shape.Prod(f.node.Tensor(i).Shape()) > 0 {
			return true
		}
	}
	return false
}

// resized returns copies of shapes in which n replaces one extent, all extents that are equal, or all.
func resized(shapes map[string][]int, n int) []map[string][]int {
	all := []map[string][]int{shapes}
	add := func(change func(name string, d, extent int) bool) {
		c := map[string][]int{}
		for name, s := range shapes {
			c[name] = slices.Clone(s)
			for d, m := range s {
				if change(name, d, m) {
					c[name][d] = n
				}
			}
		}
		if !slices.ContainsFunc(all, func(o map[string][]int) bool { return maps.EqualFunc(o, c, slices.Equal) }) {
			all = append(all, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for d, m := range shapes[name] {
			add(func(name2 string, d2, _ int) bool { return name2 == name && d2 == d })
			add(func(_ string, _, m2 int) bool { return m2 == m })
		}
	}
	add(func(string, int, int) bool { return true })
	return all[1:]
}
