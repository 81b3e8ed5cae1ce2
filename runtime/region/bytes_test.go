package region

import (
	"math/rand/v2"
	"testing"
)

// bytesOf returns the bytes of the elements of a box, one by one.
func bytesOf(l *Layout, b *Box) map[int64]bool {
	out := map[int64]bool{}
	each(b.Lo, b.Hi, func(at point) {
		n := int64(0)
		for d, extent := range l.Shape {
			n = n*int64(extent) + int64(at[d])
		}
		for k := range l.Elem {
			out[l.Off+n*int64(l.Elem)+int64(k)] = true
		}
	})
	return out
}

// randomBox returns a layout and a box of it that has elements.
func randomBox(r *rand.Rand) (*Layout, *Box) {
	l := &Layout{Off: int64(r.IntN(12)), Elem: 1 << r.IntN(3)}
	b := &Box{}
	for range r.IntN(4) {
		n := 1 + r.IntN(5)
		l.Shape = append(l.Shape, n)
		lo := r.IntN(n)
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+1+r.IntN(n-lo))
	}
	return l, b
}

// TestMeets compares bytes that boxes of two layouts share with those of their elements.
func TestMeets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	apart := 0
	for n := range 20000 {
		l, b := randomBox(r)
		m, c := randomBox(r)
		if n%3 == 0 {
			m = &Layout{l.Off, l.Elem, append([]int{}, l.Shape...)}
			if c = (&Box{append([]int{}, b.Lo...), append([]int{}, b.Hi...)}); len(c.Lo) > 0 {
				d := r.IntN(len(c.Lo))
				c.Lo[d] = r.IntN(m.Shape[d])
				c.Hi[d] = c.Lo[d] + 1 + r.IntN(m.Shape[d]-c.Lo[d])
			}
		}
		mine := bytesOf(l, b)
		want := false
		for at := range bytesOf(m, c) {
			want = want || mine[at]
		}
		lo, hi := l.bounds(b)
		from, to := m.bounds(c)
		if !want && lo < to && from < hi {
			apart++
		}
		if got := l.Meets(b, m, c); got != want {
			t.Fatalf("%v of %+v and %v of %+v meet: %v", b, l, c, m, got)
		}
		under := l.Under(b, m)
		each(make([]int, len(m.Shape)), m.Shape, func(at point) {
			one := Box{append([]int{}, at[:len(m.Shape)]...), nil}
			for _, i := range one.Lo {
				one.Hi = append(one.Hi, i+1)
			}
			shares := false
			for at := range bytesOf(m, &one) {
				shares = shares || mine[at]
			}
			if shares && !under.contains(one) || l.alike(m) && under.contains(one) != shares {
				t.Fatalf("%v of %+v lies under %v of %+v: %v is wrong in it", under, m, b, l, one)
			}
		})
	}
	if apart < 100 {
		t.Errorf("only %d boxes lie between each other", apart)
	}
}
