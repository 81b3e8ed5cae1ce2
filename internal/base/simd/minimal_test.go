package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTilesOfPixels transforms tiles of small integers with all sets of instructions, multiplies them with
// transforms of filters, and compares what comes back with sums one by one. All sets must give the same
// transforms, and write nothing else.
func TestTilesOfPixels(t *testing.T) {
	each(func(name string) { tilesOfPixels[float32](t, name); tilesOfPixels[float64](t, name) })
}

func tilesOfPixels[T Float](t *testing.T, name string) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(r.IntN(17) - 8)
		}
		return x
	}
	for cols := 1; cols <= 40; cols++ {
		rows, padding, results := 1+cols%3, cols%4, 2*cols-cols%2
		width := max(2*cols+2-padding-cols%5, 0) // columns behind it are 0, too
		height := 2*rows + 2
		image, filter := draw(height*(width+cols%2)), draw(9)
		x := make([]T, height*(2*cols+2)) // with the padding
		for i := range x {
			if at := i%(2*cols+2) - padding; at >= 0 && at < width {
				x[i] = image[i/(2*cols+2)*(width+cols%2)+at]
			}
		}
		c := MakeColumns(width, padding, cols)
		list := (rows+1)*cols + cols%3
		lists := make([]T, 8*list+Beyond)
		for odd := range 2 {
			SplitRows(lists[4*odd*list:8*list], list, image[min(odd*(width+cols%2), len(image)):], 2*(width+cols%2), c, rows+1)
		}
		for i, v := range lists {
			var want T
			if j, t, r := i/list, i%list%cols, i%list/cols; j < 8 && i%list < (rows+1)*cols {
				want = x[(2*r+j/4)*(2*cols+2)+2*t+j%4]
			}
			if v != want {
				t.Fatalf("%s, %d columns of %T: element %d of list %d: want %v, got %v", name, cols, x, i%list, i/list, want, v)
			}
		}
		apart := rows*cols + Beyond + cols%4
		z := make([]T, 15*apart+rows*cols+Beyond)
		IntoTiles(z, apart, lists, list, cols, rows*cols)
		want := make([]T, len(z))
		intoTiles(want, apart, lists, list, cols, rows*cols)
		for e := range 16 {
			for i := range rows * cols {
				if got, want := z[e*apart+i], want[e*apart+i]; got != want {
					t.Fatalf("%s, %d columns of %T: element %d of tile %d: want %v, got %v", name, cols, z, e, i, want, got)
				}
			}
			g := transformed(filter, e)
			for i := range apart {
				if at := e*apart + i; at < len(z) {
					if z[at] *= g; i >= rows*cols {
						z[at] = T(math.NaN()) // no result may depend on it
					}
				}
			}
		}
		const guard = 40
		y := make([]T, guard+2*rows*results+guard)
		if !OutOfTiles(y[guard:len(y)-guard], results, z[:15*apart+rows*cols], apart, cols, rows) {
			t.Errorf("%s, %d columns of %T: results are not finite", name, cols, z)
		}
		if slices.ContainsFunc(y[:guard], nonzero) || slices.ContainsFunc(y[len(y)-guard:], nonzero) {
			t.Fatalf("%s, %d columns of %T: elements beyond the results were written", name, cols, z)
		}
		for i, got := range y[guard : len(y)-guard] {
			var want T
			for k, f := range filter {
				want += f * x[(i/results+k/3)*(2*cols+2)+i%results+k%3]
			}
			if got != want {
				t.Fatalf("%s, %d columns of %T: result %d: want %v, got %v", name, cols, z, i, want, got)
			}
		}
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			bad := slices.Clone(z)
			bad[r.IntN(16)*apart+r.IntN(rows*cols)] = T(v)
			seen := OutOfTiles(y[guard:len(y)-guard], results, bad, apart, cols, rows)
			outOfTiles(want[:2*rows*results], results, bad, apart, cols, rows)
			finite := !slices.ContainsFunc(want[:2*rows*results], func(v T) bool { return v-v != 0 })
			if seen != finite && results == 2*cols {
				t.Fatalf("%s, %d columns of %T: want finite %v, got %v", name, cols, z, finite, seen)
			}
		}
	}
}

// transformed returns element e of the transform of a filter, in which halves of integers are exact.
func transformed[T Float](filter []T, e int) T {
	g := [4][3]T{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}
	var sum T
	for k, f := range filter {
		sum += g[e/4][k/3] * g[e%4][k%3] * f
	}
	return sum
}

// TestTransformsAgree compares transforms of numbers that are rounded, bit by bit.
func TestTransformsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	others(t, func(name string) {
		for cols := 1; cols <= 40; cols++ {
			rows, list := 1+cols%4, (2+cols%4)*cols
			x, apart := operand[float32](r, 8*list+Beyond), rows*cols+Beyond
			want, got := make([]float32, 16*apart), make([]float32, 16*apart)
			intoTiles(want, apart, x, list, cols, rows*cols)
			IntoTiles(got, apart, x, list, cols, rows*cols)
			for i := range want {
				if i%apart < rows*cols && !same(want[i], got[i]) {
					t.Fatalf("%s, %d columns: element %d: want %v, got %v", name, cols, i, want[i], got[i])
				}
			}
			size := 2*cols - cols%2
			a, b := make([]float32, 2*rows*size), make([]float32, 2*rows*size)
			finite := outOfTiles(a, size, want, apart, cols, rows)
			if OutOfTiles(b, size, want, apart, cols, rows) != finite {
				t.Errorf("%s, %d columns: want finite %v", name, cols, finite)
			}
			if i := first(a, b); i >= 0 {
				t.Fatalf("%s, %d columns: result %d: want %v, got %v", name, cols, i, a[i], b[i])
			}
		}
	})
}

// TestTransformsCheck gives slices that are too short.
func TestTransformsCheck(t *testing.T) {
	x := make([]float32, 1000)
	for name, f := range map[string]func(){
		"tiles":            func() { IntoTiles(x[:15*20+4+Beyond-1], 20, x, 8, 4, 4) },
		"tiles too near":   func() { IntoTiles(x, 4+Beyond-1, x, 8, 4, 4) },
		"no tiles":         func() { IntoTiles(x, 20, x, 8, 4, 0) },
		"pixels":           func() { IntoTiles(x, 20, x[:7*8+4+4+Beyond-1], 8, 4, 4) },
		"no columns":       func() { MakeColumns(4, 1, 0) },
		"before":           func() { MakeColumns(4, -1, 2) },
		"lists":            func() { SplitRows(x[:3*8+8-1], 8, x, 8, MakeColumns(8, 1, 4), 2) },
		"lists too near":   func() { SplitRows(x, 7, x, 8, MakeColumns(8, 1, 4), 2) },
		"rows":             func() { SplitRows(x, 8, x[:15], 8, MakeColumns(8, 1, 4), 2) },
		"filters":          func() { IntoFilters(x[:15*8+8-1], 8, x, 4, 2) },
		"filters too near": func() { IntoFilters(x, 7, x, 4, 2) },
		"filters too many": func() { IntoFilters(x, 13, x, 13, 1) },
		"elements":         func() { IntoFilters(x, 8, x[:9*8-1], 4, 2) },
		"results":          func() { OutOfTiles(x[:2*8-1], 8, x, 20, 4, 1) },
		"results too wide": func() { OutOfTiles(x, 9, x, 20, 4, 1) },
		"sums":             func() { OutOfTiles(x, 8, x[:15*20+3], 20, 4, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestIntoFilters transforms filters of all numbers of rows that tiles have, with all sets of instructions.
func TestIntoFilters(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	each(func(name string) {
		sizes, _ := TileSizes[float32]()
		for _, rows := range sizes {
			for n := range 5 {
				x, apart, exact := operand[float32](r, 9*rows*n), rows*n+3, make([]float32, 9)
				const guard = 20
				got, want := make([]float32, guard+16*apart+guard), make([]float32, guard+16*apart+guard)
				IntoFilters(got[guard:][:16*apart], apart, x, rows, n)
				intoFilters(want[guard:], apart, x, rows, n)
				if i := first(want, got); i >= 0 {
					t.Fatalf("%s, %d times %d filters: element %d: want %v, got %v", name, n, rows, i-guard, want[i], got[i])
				}
				for i := range x {
					x[i] = float32(r.IntN(9))
				}
				IntoFilters(got[guard:], apart, x, rows, n)
				for i := range 16 * rows * n {
					e, f := i/(rows*n), i%(rows*n)
					for k := range exact {
						exact[k] = x[(f/rows*9+k)*rows+f%rows]
					}
					if v := got[guard+e*apart+f]; v != transformed(exact, e) {
						t.Fatalf("%s, element %d of filter %d of %v: want %v, got %v", name, e, f, exact, transformed(exact, e), v)
					}
				}
			}
		}
	})
}

func BenchmarkTilesOfPixels(b *testing.B) {
	for _, s := range [][2]int{{28, 4}, {16, 8}, {7, 16}} {
		cols, rows := s[0], s[1]
		list, apart := (rows+1)*cols, rows*cols+32
		c := MakeColumns(2*cols, 1, cols)
		x, y, z := make([]float32, 4*cols*(rows+1)), make([]float32, 8*list+Beyond), make([]float32, 16*apart)
		b.Run(fmt.Sprintf("split/%d", cols), func(b *testing.B) {
			for b.Loop() {
				SplitRows(y, list, x, 2*cols, c, rows+1)
			}
		})
		b.Run(fmt.Sprintf("into/%d", cols), func(b *testing.B) {
			for b.Loop() {
				IntoTiles(z, apart, y, list, cols, rows*cols)
			}
		})
		b.Run(fmt.Sprintf("out of/%d", cols), func(b *testing.B) {
			for b.Loop() {
				OutOfTiles(x, 2*cols, z, apart, cols, rows)
			}
		})
	}
}
