package box_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/box"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// TestBoxes compares copies and sums of products over random boxes with loops over all indices, in all modes.
func TestBoxes(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 3))
		axes := drawAxes(random)
		checkBox[float32](t, axes, random, 1e-6)
		checkBox[float64](t, axes, random, 1e-14)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestPlanes does so for planes that are transposed, copied by rows and filled, and for sums of many strips.
func TestPlanes(t *testing.T) {
	for i, axes := range [][]box.Axis{
		{{Extent: 70, C: 150, A: 1}, {Extent: 150, C: 1, A: 70}},
		{{Extent: 3, C: 200, A: 1}, {Extent: 2, C: 100, A: 300}, {Extent: 100, C: 1, A: 3}},
		{{Extent: 5, C: 40, A: 90}, {Extent: 33, C: 1, A: 1}},
		{{Extent: 5, C: 700, A: 1}, {Extent: 600, C: 1, A: 0}},
		{{Extent: 300, C: 1, A: 1, B: 0}, {Extent: 40, C: 0, A: 300, B: 1}},
		{{Extent: 4, C: 1, A: 600, B: 0}, {Extent: 600, C: 0, A: 1, B: 1}},
		{{Extent: 4, C: 1, A: 600, B: 0}, {Extent: 20, C: 0, A: 30, B: 1}, {Extent: 30, C: 0, A: 1, B: 20}},
		{{Extent: 520, C: 1, A: 1, B: 1}},
		{{Extent: 3, C: 300, A: 1, B: 0}, {Extent: 300, C: 1, A: 0, B: 1}},
		{{Extent: 3, C: 300, A: 1, B: 1}, {Extent: 300, C: 1, A: 0, B: 0}},
		{{Extent: 300, C: 1, A: 0, B: 0}, {Extent: 3, C: 0, A: 1, B: 1}},
	} {
		random := rand.New(rand.NewPCG(uint64(i), 4))
		checkBox[float32](t, axes, random, 1e-6)
		checkBox[float64](t, axes, random, 1e-14)
	}
}

// drawAxes returns up to four axes. The elements of c that they have differ where distances are not 0.
func drawAxes(random *rand.Rand) []box.Axis {
	axes := make([]box.Axis, random.IntN(5))
	step := 1 + random.IntN(2)
	for _, i := range random.Perm(len(axes)) {
		x := &axes[i]
		x.Extent = 1 + random.IntN(5)
		switch random.IntN(12) {
		case 0:
			x.Extent = 0
		case 1:
			x.Extent = 10 + random.IntN(30)
		}
		x.A, x.B = random.IntN(4), random.IntN(4)
		if random.IntN(3) > 0 {
			x.C = step
			step *= max(x.Extent, 1) + random.IntN(2)
		}
	}
	return axes
}

// reach returns how many elements a tensor has at least.
func reach(axes []box.Axis, distance func(box.Axis) int) int {
	n := 1
	for _, x := range axes {
		n += max(x.Extent-1, 0) * distance(x)
	}
	return n
}

func checkBox[T dtype.Float](t *testing.T, axes []box.Axis, random *rand.Rand, tolerance float64) {
	t.Helper()
	draw := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(random.Float64()*2 - 1)
		}
		return x
	}
	kept := slices.DeleteFunc(slices.Clone(axes), func(x box.Axis) bool { return x.C == 0 })
	a := draw(reach(axes, func(x box.Axis) int { return x.A }))
	b := draw(reach(axes, func(x box.Axis) int { return x.B }))
	before := draw(reach(axes, func(x box.Axis) int { return x.C }))
	for _, mode := range []tensor.Mode{tensor.Store, tensor.Accumulate, tensor.Discard} {
		check := func(name string, axes []box.Axis, factor bool, put func(tensor.OutMat[T])) {
			want, size := make([]float64, len(before)), make([]float64, len(before))
			for i, x := range before {
				want[i], size[i] = float64(x), 1
			}
			if mode == tensor.Store {
				visit(axes, func(c, _, _ int) { want[c] = 0 }, true)
			}
			visit(axes, func(i, j, k int) {
				p := float64(a[j])
				if factor {
					p *= float64(b[k])
				}
				if mode != tensor.Discard {
					want[i] += p
					size[i] += math.Abs(p)
				}
			}, false)
			got := slices.Clone(before)
			put(tensortest.RW(got, len(got)).Out(0, 1, len(got), mode))
			for i := range got {
				if !(math.Abs(float64(got[i])-want[i]) <= tolerance*size[i]) {
					t.Fatalf("%s over %v, mode %d: element %d is %v, want %v", name, axes, mode, i, got[i], want[i])
				}
			}
		}
		x, y := tensortest.RO(a, len(a)).Span(0, len(a)), tensortest.RO(b, len(b)).Span(0, len(b))
		check("Put", kept, false, func(c tensor.OutMat[T]) { box.Put(c, x, kept) })
		check("PutSums", axes, false, func(c tensor.OutMat[T]) { box.PutSums(c, x, axes) })
		check("PutProducts", axes, true, func(c tensor.OutMat[T]) { box.PutProducts(c, x, y, axes) })
	}
}

// visit calls f for all elements of a box. With results, it visits the elements of c only, also those whose
// sums have no terms.
func visit(axes []box.Axis, f func(c, a, b int), results bool) {
	if len(axes) == 0 {
		f(0, 0, 0)
		return
	}
	x := axes[0]
	n := x.Extent
	if results && x.C == 0 {
		n = 1
	}
	for i := range n {
		visit(axes[1:], func(c, a, b int) { f(c+i*x.C, a+i*x.A, b+i*x.B) }, results)
	}
}

// TestMisuse computes over boxes that reach beyond a tensor, and with views that have gaps.
func TestMisuse(t *testing.T) {
	row := tensortest.RW(make([]float32, 6), 6).Out(0, 1, 6, tensor.Store)
	list := tensortest.RO(make([]float32, 6), 6).Span(0, 6)
	for _, tt := range []struct {
		want string
		f    func()
	}{
		{"beyond the 6 elements of c", func() { box.Put(row, list, []box.Axis{{Extent: 4, C: 2, A: 1}}) }},
		{"beyond the 6 elements of a", func() { box.PutSums(row, list, []box.Axis{{Extent: 3, A: 1}, {Extent: 3, A: 2}}) }},
		{"beyond the 6 elements of b", func() { box.PutProducts(row, list, list, []box.Axis{{Extent: 3, C: 1, A: 1, B: 3}}) }},
		{"beyond", func() { box.Put(row, list, []box.Axis{{Extent: -1, C: 1, A: 1}}) }},
		{"beyond", func() { box.Put(row, list, []box.Axis{{Extent: math.MaxInt / 4, C: math.MaxInt / 4, A: 1}}) }},
		{"want a result of one row, got 2", func() {
			box.Put(tensortest.RW(make([]float32, 6), 6).Out(0, 2, 3, tensor.Store), list, nil)
		}},
		{"want neighboring elements", func() { box.Put(row, tensortest.RO(make([]float32, 6), 3, 2).Along(0).Lane(0), nil) }},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, tt.want) {
					t.Errorf("got %q, want a panic that says %q", text, tt.want)
				}
			}()
			tt.f()
		}()
	}
}
