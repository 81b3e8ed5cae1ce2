package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// each calls f with the functions of every set of instructions in use.
func each(f func(name string)) {
	defer chosen.use()
	for _, s := range sets {
		if s.available {
			s.use()
			f(s.name)
		}
	}
}

// TestStream copies strips of many lengths between places that lie at all distances from the lines of the
// cache.
func TestStream(t *testing.T) {
	each(func(name string) { streams[float32](t, name); streams[float64](t, name) })
}

func streams[T Float](t *testing.T, name string) {
	x := operand[T](rand.New(rand.NewPCG(1, 2)), 900)
	for at := range 17 {
		for n := range 301 {
			z := make([]T, 400)
			Stream(z[at:at+n], x[n%7:][:n])
			Drain()
			if first(z[at:at+n], x[n%7:][:n]) >= 0 || slices.ContainsFunc(z[:at], nonzero) || slices.ContainsFunc(z[at+n:], nonzero) {
				t.Fatalf("%s, %T: %d elements at %d: got %v", name, z, n, at, z)
			}
		}
	}
}

func nonzero[T Float](v T) bool { return v != 0 }

// TestMoves reverses strips, repeats their elements, adds every second one, and makes numbers of conditions.
func TestMoves(t *testing.T) {
	each(func(name string) { moves[float32](t, name); moves[float64](t, name) })
}

func moves[T Float](t *testing.T, name string) {
	r := rand.New(rand.NewPCG(3, 4))
	x := operand[T](r, 400)
	for n := range 131 {
		const guard = 40
		z := make([]T, guard+2*n+guard)
		part := x[n%5:][:n]
		check := func(what string, from, size int, want func(i int) T) {
			for i, v := range z {
				switch k := i - from; {
				case k < 0 || k >= size:
					if v != 0 {
						t.Fatalf("%s, %s of %d elements of %T: element %d was written, beyond the result", name, what, n, z, k)
					}
				case !same(v, want(k)):
					t.Fatalf("%s, %s of %d elements of %T: element %d: want %v, got %v", name, what, n, z, k, want(k), v)
				}
			}
			clear(z)
		}
		if n > 0 {
			Gather(z[guard:guard+n], part, n-1, -1)
		}
		check("reversal", guard, n, func(i int) T { return part[n-1-i] })
		Twice(z[guard:guard+2*n], part)
		check("repetition", guard, 2*n, func(i int) T { return part[i/2] })
		var zero T // a sum with it is not -0
		AddSeconds(z[guard:guard+n], x[n%5:][:max(2*n-1, 0)])
		check("every second element", guard, n, func(i int) T { return zero + x[n%5+2*i] })
		holds := make([]bool, n)
		for i := range holds {
			holds[i] = r.IntN(2) == 1
		}
		Truths(z[guard:guard+n], holds)
		check("numbers", guard, n, func(i int) T { return truth[T](holds[i]) })
	}
	for what, f := range map[string]func(){
		"two elements hold each of two elements two times": func() { Twice(make([]T, 2), make([]T, 2)) },
		"every second of two elements is added to two":     func() { AddSeconds(make([]T, 2), make([]T, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(what)
				}
			}()
			f()
		}()
	}
}

// TestReverseOther reverses elements of a type that has no instructions.
func TestReverseOther(t *testing.T) {
	z := make([]bool, 3)
	if Gather(z, []bool{true, false, false, true}, 2, -1); !slices.Equal(z, []bool{false, false, true}) {
		t.Errorf("got %v", z)
	}
}

// TestBelow puts integers around the bounds at all places of strips of many lengths.
func TestBelow(t *testing.T) {
	each(func(name string) {
		belows[int32](t, name, 1<<31-1)
		belows[int64](t, name, 1<<63-1)
	})
}

func belows[U int32 | int64](t *testing.T, name string, most U) {
	for n := range 71 {
		for _, bound := range []int{1, 7, 1 << 20, math.MaxInt32, min(1<<40, math.MaxInt), math.MaxInt} {
			for at := range n + 1 {
				for _, odd := range []U{0, min(U(bound), most) - 1, min(U(bound), most), -1, most, -most - 1} {
					x := make([]U, n)
					if at < n {
						x[at] = odd
					}
					want := at == n || odd >= 0 && int64(odd) < int64(bound)
					if got := Below(x, bound); got != want {
						t.Fatalf("%s: %d elements, %d at %d, bound %d: got %v", name, n, odd, at, bound, got)
					}
				}
			}
		}
	}
	if Below([]U{0}, 0) || !Below([]U(nil), 0) {
		t.Error("no element is below 0, and all of none are")
	}
}

// TestSumAt sums rows at places in any order, and refuses places outside.
func TestSumAt(t *testing.T) {
	each(func(name string) { sumsAt[float32](t, name); sumsAt[float64](t, name) })
}

func sumsAt[T Float](t *testing.T, name string) {
	r := rand.New(rand.NewPCG(3, 4))
	x := operand[T](r, 3000)
	for _, n := range []int{0, 1, 7, 64, 200, 301} {
		for rows := range 20 {
			at := make([]int, rows+Ahead)
			for i := range at {
				at[i] = r.IntN(len(x) - n + 1)
			}
			z, want := make([]T, n), make([]T, n)
			SumAt(z, x, at, rows)
			for j := range want {
				for _, i := range at[:rows] {
					want[j] += x[i+j]
				}
			}
			if i := first(z, want); i >= 0 {
				t.Fatalf("%s, %T: element %d of %d, %d rows: want %v, got %v", name, z, i, n, rows, want[i], z[i])
			}
		}
	}
	for _, c := range []struct{ n, place, places, rows int }{{5, len(x) - 4, 1 + Ahead, 1}, {5, -1, 1 + Ahead, 1}, {5, 0, Ahead, 1}, {len(x) + 1, 0, 1 + Ahead, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: rows of %d elements at %d, %d of %d places: want a panic", name, c.n, c.place, c.rows, c.places)
				}
			}()
			at := make([]int, c.places)
			at[0] = c.place
			SumAt(make([]T, c.n), x, at, c.rows)
		}()
	}
}

// TestExtremeRows folds rows that have a NaN in one place only, zeros of both signs, or infinities.
func TestExtremeRows(t *testing.T) {
	each(func(name string) { extremes[float32](t, name); extremes[float64](t, name) })
}

func extremes[T Float](t *testing.T, name string) {
	const rows, apart = 6, 200
	r, negative := rand.New(rand.NewPCG(5, 6)), math.Copysign(0, -1)
	for _, n := range []int{64, 192} {
		for place := range n {
			x := make([]T, rows*apart)
			for i := range x {
				x[i] = T(r.NormFloat64())
			}
			row := func(i int) []T { return x[i*apart:][:n] }
			row(1)[place] = T(math.NaN())
			for j := range n {
				row(2)[j], row(3)[j] = T(negative), T(math.Abs(float64(row(3)[j])))
			}
			row(2)[place], row(3)[place] = 0, T(negative)
			row(4)[place], row(4)[(place+1)%n] = T(math.Inf(1)), T(math.Inf(-1))
			for j := range n {
				row(5)[j] = T(negative)
			}
			greatest, least, wantGreatest, wantLeast := make([]T, rows), make([]T, rows), make([]T, rows), make([]T, rows)
			MaxRows(greatest, x, n, apart)
			MinRows(least, x, n, apart)
			for i := range rows {
				wantGreatest[i], wantLeast[i] = row(i)[0], row(i)[0]
				for _, v := range row(i) {
					wantGreatest[i], wantLeast[i] = max(wantGreatest[i], v), min(wantLeast[i], v)
				}
			}
			if i := first(greatest, wantGreatest); i >= 0 {
				t.Fatalf("%s, %T: row %d of %d elements, place %d: want %v, got %v", name, x, i, n, place, wantGreatest[i], greatest[i])
			}
			if i := first(least, wantLeast); i >= 0 {
				t.Fatalf("%s, %T: row %d of %d elements, place %d: want %v, got %v", name, x, i, n, place, wantLeast[i], least[i])
			}
		}
	}
}
