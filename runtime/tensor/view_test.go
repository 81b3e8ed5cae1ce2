package tensor

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/internal/unlock"
)

var shapes = [][]int{{}, {1}, {5}, {2, 3}, {3, 1, 2}, {2, 3, 4}, {2, 2, 1, 3}, {0}, {3, 0}, {0, 3}, {2, 0, 3}, {2, 3, 0, 2}}

func numbers(n int) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = float64(i)
	}
	return d
}

func size(shape []int) int {
	n := 1
	for _, e := range shape {
		n *= e
	}
	return n
}

// lanes returns the elements of every lane along dimension dim, in the order of the lanes: a lane for
// each row-major index of the other dimensions.
func lanes(shape []int, dim int) [][]int {
	if len(shape) == 0 {
		return [][]int{{0}}
	}
	var out [][]int
	others := append(append([]int{}, shape[:dim]...), shape[dim+1:]...)
	for lane := range size(others) {
		index, rest := make([]int, len(shape)), lane
		for d := len(shape) - 1; d >= 0; d-- {
			if d != dim {
				index[d] = rest % shape[d]
				rest /= shape[d]
			}
		}
		elements := []int{}
		for k := range shape[dim] {
			index[dim] = k
			number := 0
			for d, i := range index {
				number = number*shape[d] + i
			}
			elements = append(elements, number)
		}
		out = append(out, elements)
	}
	return out
}

// TestLanes compares the lanes of every kind of view along every dimension with index arithmetic.
func TestLanes(t *testing.T) {
	for _, shape := range shapes {
		for dim := range max(len(shape), 1) {
			t.Run(fmt.Sprintf("%v along %d", shape, dim), func(t *testing.T) {
				n := size(shape)
				read, written, both, put, added := numbers(n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
				ro := MakeRO(unlock.Seal(read), shape).Along(dim)
				wo := MakeWO(unlock.Seal(written), shape).Along(dim)
				rw := MakeRW(unlock.Seal(both), shape).Along(dim)
				grad := MakeGrad(unlock.Seal(put), shape, n, Store).Along(dim)
				scatter := MakeScatter(unlock.Seal(added), shape, n).Along(dim)
				all := lanes(shape, dim)
				for i, want := range all {
					l := ro.Lane(i)
					for _, length := range []int{l.Len(), wo.Lane(i).Len(), rw.Lane(i).Len(), grad.Lane(i).Len(), scatter.Lane(i).Len()} {
						if length != len(want) {
							t.Fatalf("lane %d has %d elements, want %d", i, length, len(want))
						}
					}
					for k, number := range want {
						if got := l.At(k); got != float64(number) {
							t.Errorf("lane %d, element %d is number %v, want %d", i, k, got, number)
						}
						wo.Lane(i).Set(k, float64(number))
						rw.Lane(i).Set(k, rw.Lane(i).At(k)+float64(number))
						grad.Lane(i).Put(k, float64(number))
						scatter.Lane(i).Add(k, float64(number))
					}
					mustPanic(t, "ROLane.At after the end", func() { l.At(len(want)) })
					mustPanic(t, "ROLane.At(-1)", func() { l.At(-1) })
					mustPanic(t, "WOLane.Set after the end", func() { wo.Lane(i).Set(len(want), 0) })
					mustPanic(t, "RWLane.At after the end", func() { rw.Lane(i).At(len(want)) })
					mustPanic(t, "GradLane.Put after the end", func() { grad.Lane(i).Put(len(want), 0) })
					mustPanic(t, "ScatterLane.Add after the end", func() { scatter.Lane(i).Add(len(want), 0) })
				}
				for i := range n {
					if x := float64(i); written[i] != x || both[i] != x || put[i] != x || added[i] != x {
						t.Errorf("element %d: %v, %v, %v, %v", i, written[i], both[i], put[i], added[i])
					}
				}
				if n > 0 {
					mustPanic(t, "the lane after the last", func() { ro.Lane(len(all)) })
					mustPanic(t, "lane -1", func() { ro.Lane(-1) })
				}
			})
		}
	}
}

// TestElements checks addressing by number, and spans.
func TestElements(t *testing.T) {
	data := numbers(12)
	shape := []int{3, 4}
	ro, wo, rw := MakeRO(unlock.Seal(data), shape), MakeWO(unlock.Seal(data), shape), MakeRW(unlock.Seal(data), shape)
	if ro.Len() != 12 || wo.Len() != 12 || rw.Len() != 12 || len(ro.Shape()) != 2 || ro.Shape()[1] != 4 {
		t.Errorf("lengths %d, %d, %d, shape %v", ro.Len(), wo.Len(), rw.Len(), ro.Shape())
	}
	wo.Set(3, 30)
	rw.Set(4, rw.At(4)*10)
	if ro.At(3) != 30 || rw.RO().At(4) != 40 {
		t.Errorf("elements %v, %v", ro.At(3), ro.At(4))
	}
	rw.WO().Set(5, 50)
	s := ro.Span(3, 6)
	if s.Len() != 3 || s.At(0) != 30 || s.At(2) != 50 {
		t.Errorf("span of %d: %v, %v", s.Len(), s.At(0), s.At(2))
	}
	wo.Span(0, 2).Set(1, -1)
	rw.Span(0, 2).Set(0, -2)
	if ro.At(0) != -2 || ro.At(1) != -1 || rw.Span(0, 2).RO().At(0) != -2 {
		t.Errorf("spans wrote %v, %v", ro.At(0), ro.At(1))
	}
	rw.Span(0, 2).WO().Set(0, -3)
	if ro.At(0) != -3 || ro.Span(12, 12).Len() != 0 {
		t.Error("a span is wrong")
	}
	for name, f := range map[string]func(){
		"RO.At":         func() { ro.At(12) },
		"RO.At below":   func() { ro.At(-1) },
		"WO.Set":        func() { wo.Set(12, 0) },
		"RW.Set":        func() { rw.Set(-1, 0) },
		"RO.Span":       func() { ro.Span(3, 13) },
		"RO.Span back":  func() { ro.Span(3, 2) },
		"ROLane.At":     func() { s.At(3) },
		"WOLane.Set":    func() { wo.Span(0, 2).Set(2, 0) },
		"RWLane.Set":    func() { rw.Span(0, 2).Set(2, 0) },
		"RO.Along":      func() { ro.Along(2) },
		"RO.Mat":        func() { ro.Mat(1, 3, 4) },
		"WO.Mat":        func() { wo.Mat(0, 4, 4) },
		"RW.Out":        func() { rw.Out(0, 4, 4, Store) },
		"PerWorker.Of":  func() { MakePerWorker([]RW[float64]{rw}).Of(1) },
		"empty RO.At":   func() { MakeRO(unlock.Seal([]float64{}), []int{0}).At(0) },
		"empty RO.Lane": func() { MakeRO(unlock.Seal([]float64{}), []int{0, 2}).Lane(0) },
	} {
		mustPanic(t, name, f)
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s does not panic", what)
		}
	}()
	f()
}

func TestGradModes(t *testing.T) {
	shape := []int{2, 2}
	for mode, want := range map[Mode][]float64{
		Discard:    {1, 2, 3, 4},
		Store:      {10, 20, 30, 40},
		Accumulate: {11, 22, 33, 44},
	} {
		data := []float64{1, 2, 3, 4}
		g := MakeGrad(unlock.Seal(data), shape, 4, mode)
		if mode == Discard {
			g = MakeGrad(unlock.Seal[float64](nil), shape, 4, mode)
		}
		if g.Wanted() != (mode != Discard) || g.Len() != 4 || len(g.Shape()) != 2 {
			t.Errorf("mode %d: wanted %v, %d elements", mode, g.Wanted(), g.Len())
		}
		g.Put(0, 10)
		g.Lane(0).Put(1, 20)
		g.Span(2, 3).Put(0, 30)
		g.Along(0).Lane(1).Put(1, 40)
		if g.Span(2, 3).Len() != 1 || g.Along(0).Lane(1).Len() != 2 {
			t.Errorf("mode %d: lanes of %d and %d elements", mode, g.Span(2, 3).Len(), g.Along(0).Lane(1).Len())
		}
		if fmt.Sprint(data) != fmt.Sprint(want) {
			t.Errorf("mode %d: %v, want %v", mode, data, want)
		}
		m := g.Mat(0, 2, 2)
		if m.Rows() != 2 || m.Cols() != 2 || m.Mode() != mode {
			t.Errorf("mode %d: matrix of %dx%d, mode %d", mode, m.Rows(), m.Cols(), m.Mode())
		}
	}
	if new(Grad[float32]).Wanted() || new(Grad[float32]).Len() != 0 {
		t.Error("the zero gradient is wanted")
	}
}

func TestScatter(t *testing.T) {
	data := []float64{1, 2, 3, 4}
	s := MakeScatter(unlock.Seal(data), []int{2, 2}, 4)
	s.Add(1, 10)
	s.Add(1, 10)
	s.Lane(1).Add(0, 5)
	s.Along(0).Lane(1).Add(1, 6)
	if fmt.Sprint(data) != "[1 22 8 10]" || !s.Wanted() || s.Len() != 4 {
		t.Errorf("%v, wanted %v, %d elements", data, s.Wanted(), s.Len())
	}
	unwanted := MakeScatter(unlock.Seal[float64](nil), []int{2, 2}, 4)
	unwanted.Add(1, 10)
	unwanted.Lane(1).Add(0, 5)
	if unwanted.Wanted() || unwanted.Len() != 4 || unwanted.Lane(0).Len() != 2 {
		t.Error("an unused gradient is wrong")
	}
	if !MakeScatter(unlock.Seal([]float64{}), []int{0}, 0).Wanted() {
		t.Error("an empty gradient is not wanted")
	}
}

func TestOpt(t *testing.T) {
	var none Opt[RO[float64]]
	if _, ok := none.Get(); ok || none.Has() {
		t.Error("the zero Opt is present")
	}
	some := Some(MakeRO(unlock.Seal(numbers(6)), []int{2, 3}))
	if v, ok := some.Get(); !ok || !some.Has() || v.Lane(1).At(1) != 4 {
		t.Errorf("lane of %v", v)
	}
}

func TestPerWorker(t *testing.T) {
	p := MakePerWorker([]RW[float64]{MakeRW(unlock.Seal(numbers(6)), []int{2, 3}), MakeRW(unlock.Seal(make([]float64, 6)), []int{2, 3})})
	p.Of(1).Set(2, 7)
	if p.Of(0).At(2) != 2 || p.Of(1).At(2) != 7 {
		t.Error("workers share memory")
	}
	if got := p.Along(0).Of(0).Lane(2).At(1); got != 5 {
		t.Errorf("lane of %v", got)
	}
}
