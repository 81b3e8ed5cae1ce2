package kernels_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// manyNaNs and largeNumbers return the value of elements that no task has written. A kernel that reads such an
// element gives different results with the two values. So does a kernel that does not write an element of its
// results.
func manyNaNs(t dtype.Type) float64 {
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

// TestEveryElementIsWritten runs every operator on memory that holds garbage before: outputs, saved tensors,
// gradients and scratch memory.
func TestEveryElementIsWritten(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) { checkWritten(t, mustFixture(t, s)) })
}

// checkWritten checks that results and gradients have the shapes that the spec gives, are finite, and do not
// depend on the bytes that were in memory before.
func checkWritten(t *testing.T, f *fixture) {
	t.Helper()
	p := f.everything(t)
	clean := mustRun(t, p, f.values, execution{})
	for _, x := range p.Fetched {
		if got, want := len(clean[x.Name()]), shape.Prod(x.Shape()); got > want || got < want && !counted(x) {
			t.Errorf("%v has %d elements, want %d", x, got, want)
		}
		for i, v := range clean[x.Name()] {
			if math.IsNaN(v) || math.IsInf(v, 0) && !folded(x) {
				t.Errorf("%v, element %d: got %v, want a finite value", x, i, v)
				break
			}
		}
	}
	sameBits(t, "on NaN", mustRun(t, p, f.values, execution{garbage: manyNaNs}), clean)
	sameBits(t, "on large numbers", mustRun(t, p, f.values, execution{garbage: largeNumbers}), clean)
	sameBits(t, "forward alone", mustRun(t, f.forward(t), f.values, execution{garbage: manyNaNs}), f.only(clean))
}

// folded reports whether values are folded into a tensor. Its elements may be infinite: an extreme of nothing is.
func folded(x graph.Tensor) bool {
	n := x.Node()
	return n != nil && slices.ContainsFunc(n.Op.Main().Params, func(p task.Param) bool {
		return p.Perm == perm.Reduce && slices.Contains(n.Tensors(p.Slot), x)
	})
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

// TestEmptyExtents replaces extents of the examples by 0: one at a time, all equal extents together, and all.
// Where the conditions of the operator allow it, results and gradients must still be right.
func TestEmptyExtents(t *testing.T) {
	tested := checkExtents(t, 0)
	for _, name := range []string{"linear", "element_binary", "softmax"} {
		if tested[name] == 0 {
			t.Errorf("%s: want an example that works with an extent of 0, got none", name)
		}
	}
}

// TestSingleExtents replaces extents by 1 in the same way.
func TestSingleExtents(t *testing.T) {
	tested := checkExtents(t, 1)
	for _, name := range []string{"conv_2d", "multihead_attention", "layer_norm"} {
		if tested[name] == 0 {
			t.Errorf("%s: want an example that works with an extent of 1, got none", name)
		}
	}
}

// checkExtents checks all samples in which extents can be n. It returns their number by operator.
func checkExtents(t *testing.T, n int) map[string]int {
	t.Helper()
	tested := map[string]int{}
	forEachSample(t, func(t *testing.T, s sample) {
		for _, shapes := range resized(s.shapes, n) {
			s := s
			s.shapes = shapes
			f, err := newFixture(s, domains[len(domains)-1])
			if err != nil {
				continue // a condition of the operator excludes the shapes
			}
			if f.impossible() {
				continue
			}
			t.Run(fmt.Sprint(shapes), func(t *testing.T) {
				tested[s.op.Name]++
				checkWritten(t, f)
				if s.double() && f.differentiable() {
					checkGradients(t, f, f.seeds)
				}
			})
		}
	})
	return tested
}

// impossible reports whether an input has elements, but no valid value for them. Its upper bound is then 0.
func (f *fixture) impossible() bool {
	for i := range f.op.Slots {
		if below, ok := f.node.Resolved.Below(i); ok && below <= 0 && shape.Prod(f.node.Tensor(i).Shape()) > 0 {
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
