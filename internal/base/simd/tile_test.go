package simd

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFMA32 compares sums that are rounded once with those of exact arithmetic: on random numbers of all
// sizes, and on sums that lie half-way between two numbers but for a little.
func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	check := func(x, y, z float32) {
		t.Helper()
		exact := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		exact.Add(exact, big.NewFloat(float64(z)))
		want, _ := exact.Float32()
		if got := fma32(x, y, z); got != want {
			t.Fatalf("%g * %g + %g: want %g, got %g", x, y, z, want, got)
		}
	}
	for range 200_000 {
		draw := func() float32 {
			return float32(math.Ldexp(r.Float64()-0.5, r.IntN(120)-60))
		}
		x, y := draw(), draw()
		check(x, y, draw())
		check(x, y, float32(math.Ldexp(float64(x*y), r.IntN(100)-50)))
	}
	for i := range 24 {
		odd := float32(1 + math.Ldexp(1, -23))
		little := float32(math.Ldexp(1, -60-i))
		for _, sign := range []float32{1, -1} {
			check(float32(math.Ldexp(1, -24)), odd, sign*odd)
			check(little, sign*little, float32(math.Ldexp(1, 24)+2))
			check(sign*odd, float32(math.Ldexp(float64(odd), -24)), 1)
		}
	}
	inf := float32(math.Inf(1))
	for _, v := range [][4]float32{{inf, 1, 2, inf}, {math.MaxFloat32, 2, 0, inf}, {inf, 1, -inf, float32(nan)}, {inf, 0, 1, float32(nan)}} {
		if got := fma32(v[0], v[1], v[2]); !same(got, v[3]) {
			t.Errorf("%g * %g + %g: want %g, got %g", v[0], v[1], v[2], v[3], got)
		}
	}
}

// TestFMA64 compares sums of products in float64 with those of exact arithmetic, as TestFMA32 does.
func TestFMA64(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	check := func(x, y, z float64) {
		t.Helper()
		exact := new(big.Float).SetPrec(4000).Mul(big.NewFloat(x), big.NewFloat(y))
		exact.Add(exact, big.NewFloat(z))
		want, _ := exact.Float64()
		if got := sumFMA64(x, y, z); got != want {
			t.Fatalf("%g * %g + %g: want %g, got %g", x, y, z, want, got)
		}
	}
	// Numbers of few bits make sums that are half-way between two numbers, or exact.
	draw := func() float64 {
		v := r.Float64() - 0.5
		if keep := r.IntN(3); keep > 0 {
			v = math.Float64frombits(math.Float64bits(v) &^ (1<<(52/keep) - 1))
		}
		return math.Ldexp(v, r.IntN(120)-60)
	}
	for range 100_000 {
		x, y := draw(), draw()
		check(x, y, draw())
		check(x, y, math.Ldexp(x*y, r.IntN(140)-70))
		check(x, y, -x*y)
		check(x, y, math.Ldexp(1, r.IntN(300)-150))
	}
	odd := 1 + math.Ldexp(1, -52)
	for i := range 60 {
		little := math.Ldexp(1, -60-i)
		for _, sign := range []float64{1, -1} {
			check(math.Ldexp(1, -53), odd, sign*odd)
			check(little, sign*little, math.Ldexp(1, 53)+2)
			check(sign*odd, math.Ldexp(odd, -53), 1)
		}
	}
	inf := math.Inf(1)
	for _, v := range [][3]float64{{inf, 1, 2}, {math.MaxFloat64, 2, 0}, {inf, 1, -inf}, {inf, 0, 1}, {0, 0, 0}, {-1, 0, 0}, {0x1p-1000, 0x1p-80, 0x1p-1074}, {nan, 1, 1}} {
		if got, want := sumFMA64(v[0], v[1], v[2]), math.FMA(v[0], v[1], v[2]); !same(got, want) {
			t.Errorf("%g * %g + %g: want %g, got %g", v[0], v[1], v[2], want, got)
		}
	}
}

var nan = math.NaN()

// TestTiles compares the tiles of all sets, with all ways in which operands may lie, with sums that are
// rounded once for each product.
func TestTiles(t *testing.T) {
	t.Run("go", func(t *testing.T) {
		defer chosen.use()
		sets[0].use()
		tiles(t, fma32)
		tiles(t, math.FMA)
	})
	others(t, func(name string) {
		t.Run(name, func(t *testing.T) {
			tiles(t, fma32)
			tiles(t, math.FMA)
		})
	})
}

// TestMicroTiles compares micro tiles with sums of products that are rounded once: of numbers whose sums are
// often half-way between two numbers, and of numbers whose products are below the least normal number.
func TestMicroTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	few := func() float64 { return float64(r.IntN(15) - 7) }
	kinds := []func() float64{
		few,
		func() float64 { return math.Ldexp(few(), r.IntN(40)-20) },
		func() float64 { return float64(float32(r.NormFloat64())) },
		func() float64 { return float64(float32(math.Ldexp(r.NormFloat64(), -r.IntN(100)))) },
	}
	for k := 1; k < 80; k++ {
		for kind := range len(kinds) + 1 {
			x, y := make([]float64, 8*k), make([]float64, 8*k)
			for i := range x {
				draw := kinds[kind%len(kinds)]
				x[i], y[i] = draw(), draw()
			}
			if kind == len(kinds) { // sums around one, or below the least normal number, and products just above or below half of their last place
				below := r.IntN(2) * 130
				places := 23 - below/130*4
				for l := range k {
					a := math.Ldexp(float64(r.IntN(400)-200), -23)
					for i := range 8 {
						x[l*8+i], y[l*8+i] = math.Ldexp(1+a, -below/2), math.Ldexp(1-a, -below/2-1-places)
						if l == 0 {
							x[i], y[i] = math.Ldexp(1, -below/2), math.Ldexp(1+math.Ldexp(float64(r.IntN(100)), -places), -below/2)
						} else if r.IntN(3) == 0 {
							x[l*8+i] = 0 // so that the next sum may be the first one half-way
						}
					}
				}
			}
			microDots(t, "float64", dots64(), math.FMA, x, y, k)
			microDots(t, "float32", dots32(), slow32, narrowed(x), narrowed(y), k)
			microDots(t, "sums of float64", portableDots(called(sumFMA64), called(sumFMA64)), math.FMA, x, y, k)
			microDots(t, "two roundings", portableDots(called(rounded32), twice32[float32]()), slow32, narrowed(x), narrowed(y), k)
			microFew(t, "float64", few64(), math.FMA, x, y, k)
			microFew(t, "float32", few32(), slow32, narrowed(x), narrowed(y), k)
			microFew(t, "sums of float64", portableFew(8, called(sumFMA64), called(sumFMA64), called(sumFMA64)), math.FMA, x, y, k)
			microFew(t, "two roundings", portableFew(8, twice32[float64](), called(rounded32), twice32[float32]()), slow32, narrowed(x), narrowed(y), k)
			microTiles(t, "float64", tiles64(), math.FMA, x, y, k)
			microTiles(t, "float32", tiles32(), slow32, narrowed(x), narrowed(y), k)
			microTiles(t, "sums of float64", portableTiles(called(sumFMA64), called(sumFMA64), called(sumFMA64)), math.FMA, x, y, k)
			microTiles(t, "two roundings", portableTiles(twice32[float64](), called(rounded32), twice32[float32]()), slow32, narrowed(x), narrowed(y), k)
		}
	}
}

// slow32 rounds once by exact arithmetic.
func slow32(x, y, z float32) float32 { return slowFMA32(x, y, z) }

func narrowed(x []float64) []float32 {
	z := make([]float32, len(x))
	narrow(z, x)
	return z
}

func microTiles[T Float](t *testing.T, name string, tiles [3][2]tile[T], fma func(x, y, z T) T, x, y []T, k int) {
	t.Helper()
	for _, sizes := range tiles {
		for _, s := range sizes {
			z := make([]T, s.rows*s.cols)
			s.compute(z, s.cols, x, 1, 8, y, 8, k, false)
			for i, got := range z {
				var want T
				for l := range k {
					want = fma(x[l*8+i/s.cols], y[l*8+i%s.cols], want)
				}
				if !same(got, want) {
					t.Fatalf("%s: %d x %d, %d products, element %d: want %g, got %g", name, s.rows, s.cols, k, i, want, got)
				}
			}
		}
	}
}

func microDots[T Float](t *testing.T, name string, dots func(z, x, y []T, ld int, more bool), fma func(x, y, z T) T, x, y []T, k int) {
	t.Helper()
	rows := 8 + k%6
	ld := k + k%3
	apart := make([]T, rows*ld)
	for i := range apart {
		apart[i] = y[i%len(y)]
	}
	for _, more := range []bool{false, true} {
		z := make([]T, rows)
		for i := range z {
			z[i] = T(i)
		}
		dots(z, x[:k], apart, ld, more)
		for i, got := range z {
			var want T
			for l := range k {
				want = fma(x[l], apart[i*ld+l], want)
			}
			if more {
				want += T(i)
			}
			if !same(got, want) {
				t.Fatalf("%s: %d rows, %d products, element %d: want %g, got %g", name, rows, k, i, want, got)
			}
		}
	}
}

func tiles[T Float](t *testing.T, fma func(x, y, z T) T) {
	r := rand.New(rand.NewPCG(3, 4))
	rows, cols := TileSizes[T]()
	for i, m := range rows {
		for j, n := range cols {
			for k := 1; k < 20; k += 3 {
				for variant := range 4 {
					ld, next := n+3, n+5
					row, col := k+2, 1
					if variant&1 != 0 {
						row, col = 1, m+2
					}
					x := operand[T](r, (m-1)*row+(k-1)*col+1)
					y, z := operand[T](r, (k-1)*next+n), operand[T](r, (m-1)*ld+n)
					want, before := slices.Clone(z), slices.Clone(z)
					more := variant&2 != 0
					for p := range m {
						for q := range n {
							var s T
							for l := range k {
								s = fma(x[p*row+l*col], y[l*next+q], s)
							}
							if more {
								s += z[p*ld+q]
							}
							want[p*ld+q] = s
						}
					}
					Tile(i, j, z, ld, x, row, col, y, next, k, more)
					if at := first(want, z); at >= 0 {
						t.Fatalf("tile of %d x %d of %T, %d products, variant %d, element %d: want %v, got %v", m, n, z[0], k, variant, at, want[at], z[at])
					}
					// The same rows, of which each lies where another one was.
					places, moved := r.Perm(k), make([]T, 3+len(y))
					for l, p := range places {
						copy(moved[3+p*next:], y[l*next:l*next+n])
						places[l] = p * next
					}
					z = slices.Clone(before)
					TileRows(i, j, z, ld, x, row, col, moved, 3, MakePlaces(places), more)
					if at := first(want, z); at >= 0 {
						t.Fatalf("tile of %d x %d of %T, %d rows, variant %d, element %d: want %v, got %v", m, n, z[0], k, variant, at, want[at], z[at])
					}
				}
			}
		}
	}
}

// TestLines compares the rows of all sets, of which each lies at a place of its own, with sums that are
// rounded once for each product.
func TestLines(t *testing.T) {
	t.Run("go", func(t *testing.T) {
		defer chosen.use()
		sets[0].use()
		lines(t, fma32)
		lines(t, math.FMA)
	})
	others(t, func(name string) {
		t.Run(name, func(t *testing.T) {
			lines(t, fma32)
			lines(t, math.FMA)
		})
	})
}

func lines[T Float](t *testing.T, fma func(x, y, z T) T) {
	r := rand.New(rand.NewPCG(5, 6))
	const margin = 5
	for many := range 20 {
		for k := 1; k < 30; k += 7 {
			n := many * LineCols[T]()
			at := make([]int, k)
			for l := range at {
				at[l] = r.IntN(3 * k)
			}
			x, y, z := operand[T](r, k), operand[T](r, margin+3*k+n), operand[T](r, n+1)
			want := slices.Clone(z)
			for q := range n {
				var s T
				for l, a := range at {
					s = fma(x[l], y[margin+a+q], s)
				}
				want[q] = s
			}
			Line(z[:n], x, y, margin, MakePlaces(at))
			if at := first(want, z); at >= 0 {
				t.Fatalf("%d columns of %T, %d products, element %d: want %v, got %v", n, z[0], k, at, want[at], z[at])
			}
		}
	}
}

// TestLineChecks gives operands that are one element too short.
func TestLineChecks(t *testing.T) {
	n := LineCols[float32]()
	for missing, f := range []func(x, y, z []float32, at Places){
		func(x, y, z []float32, at Places) { Line(z, x[1:], y, 0, at) },
		func(x, y, z []float32, at Places) { Line(z, x, y[1:], 0, at) },
		func(x, y, z []float32, at Places) { Line(z[1:], x, y, 0, at) },
		func(x, y, z []float32, at Places) { Line(z, x, y, -1, at) },
		func(x, y, z []float32, _ Places) { Line(z, x, y, 0, Places{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("operands %d: no panic", missing)
				}
			}()
			f(make([]float32, 2), make([]float32, 3+2*n), make([]float32, 2*n), MakePlaces([]int{0, 3}))
		}()
	}
}

// TestTileChecks gives operands that are one element too short.
func TestTileChecks(t *testing.T) {
	rows, cols := TileSizes[float32]()
	m, n, k := rows[0], cols[0], 3
	for missing := range 4 {
		x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
		switch missing {
		case 0:
			x = x[1:]
		case 1:
			y = y[1:]
		case 2:
			z = z[1:]
		case 3:
			k = 0
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("case %d: no panic", missing)
				}
			}()
			Tile(0, 0, z, n, x, k, 1, y, n, k, false)
		}()
	}
}

// TestTileRowsChecks gives operands that are one element too short, no place, and a negative one.
func TestTileRowsChecks(t *testing.T) {
	rows, cols := TileSizes[float32]()
	m, n := rows[0], cols[0]
	for missing := range 6 {
		places := []int{40, 0, 100}
		x, y, z := make([]float32, m*3), make([]float32, 7+100+n), make([]float32, m*n)
		switch missing {
		case 0:
			x = x[1:]
		case 1:
			y = y[1:]
		case 2:
			z = z[1:]
		case 3:
			places = nil
		case 4:
			places[1] = -1
		}
		func() {
			defer func() {
				if (recover() == nil) != (missing == 5) {
					t.Errorf("case %d: want a panic unless nothing is missing", missing)
				}
			}()
			TileRows(0, 0, z, n, x, 3, 1, y, 7, MakePlaces(places), false)
		}()
	}
	if p := MakePlaces([]int{5, 6, 7}).Part(1, 2); len(p.at) != 1 || p.at[0] != 6 {
		t.Errorf("a part is %v", p)
	}
}

// TestColumn compares tiles that are computed one below the other with tiles by themselves, with all sets.
func TestColumn(t *testing.T) {
	defer chosen.use()
	for _, s := range sets {
		if s.available {
			s.use()
			t.Run(s.name, func(t *testing.T) {
				tileColumns[float32](t)
				tileColumns[float64](t)
			})
		}
	}
}

func tileColumns[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	rows, cols := TileSizes[T]()
	m := rows[0]
	for j, width := range cols {
		for n := range 4 {
			for k := 1; k < 8; k += 3 {
				for _, more := range []bool{false, true} {
					ld, next, apart := width+3, width+1, k*m+2
					x, y := operand[T](r, max((n-1)*apart+k*m, 0)), operand[T](r, (k-1)*next+width)
					z := operand[T](r, max((n*m-1)*ld+width, 0))
					want, rowWise := slices.Clone(z), slices.Clone(z)
					places, moved := r.Perm(k), make([]T, 3+len(y))
					for l, p := range places {
						copy(moved[3+p*next:], y[l*next:l*next+width])
						places[l] = p * next
					}
					for p := range n {
						Tile(0, j, want[p*m*ld:], ld, x[p*apart:], 1, m, y, next, k, more)
					}
					Column(j, z, ld, x, apart, y, next, k, n, more)
					ColumnRows(j, rowWise, ld, x, apart, moved, 3, MakePlaces(places), n, more)
					if i := first(want, z); i >= 0 {
						t.Fatalf("%d tiles of %d x %d of %T, %d products, element %d: want %v, got %v", n, m, width, z, k, i, want[i], z[i])
					}
					if i := first(want, rowWise); i >= 0 {
						t.Fatalf("%d tiles of %d x %d of %T, %d rows, element %d: want %v, got %v", n, m, width, z, k, i, want[i], rowWise[i])
					}
				}
			}
		}
	}
}

// TestColumnChecks gives operands that are one element too short, and nothing that is too short.
func TestColumnChecks(t *testing.T) {
	rows, cols := TileSizes[float32]()
	m, width, k := rows[0], cols[0], 3
	for missing := range 4 {
		for _, f := range []func(z, x, y []float32){
			func(z, x, y []float32) { Column(0, z, width, x, k*m+1, y, width, k, 2, false) },
			func(z, x, y []float32) {
				ColumnRows(0, z, width, x, k*m+1, y, 0, MakePlaces([]int{0, width, 2 * width}), 2, false)
			},
		} {
			x, y, z := make([]float32, 2*k*m+1), make([]float32, k*width), make([]float32, 2*m*width)
			switch missing {
			case 0:
				x = x[1:]
			case 1:
				y = y[1:]
			case 2:
				z = z[1:]
			}
			func() {
				defer func() {
					if (recover() == nil) != (missing == 3) {
						t.Errorf("case %d: want a panic unless nothing is missing", missing)
					}
				}()
				f(z, x, y)
			}()
		}
	}
}

// TestTileKind covers numbers of rows with tiles. They have no more rows than tiles of fewer rows need at
// their end.
func TestTileKind(t *testing.T) {
	for _, s := range sets {
		if !s.available {
			continue
		}
		s.use()
		rows, _ := TileSizes[float32]()
		for all := range 60 {
			covered, before := 0, 0
			for covered < all {
				kind := TileKind(rows, all-covered)
				if kind < before || kind == 0 && all-covered < rows[0] {
					t.Errorf("%s, %d rows: a tile of %d rows at row %d", s.name, all, rows[kind], covered)
				}
				before = kind
				covered += rows[kind]
			}
			if covered >= all+rows[1] || covered >= all+rows[2] && all <= rows[2] {
				t.Errorf("%s: tiles for %d rows have %d", s.name, all, covered)
			}
		}
	}
	chosen.use()
}

// TestPack copies the rows of tiles, and lists of rows, with all sets. The elements around the copies must
// not change.
func TestPack(t *testing.T) {
	defer chosen.use()
	for _, s := range sets {
		if s.available {
			s.use()
			t.Run(s.name, func(t *testing.T) {
				packs[float32](t)
				packs[float64](t)
			})
		}
	}
}

func packs[T Float](t *testing.T) {
	const guard = 9
	rows, cols := TileSizes[T]()
	check := func(x, z, want []T, what string) {
		t.Helper()
		for i, v := range z {
			expected := T(-1)
			if i >= guard && i < guard+len(want) {
				expected = want[i-guard]
			}
			if v != expected {
				t.Fatalf("%s of %T, element %d of %d: want %v, got %v", what, x, i-guard, len(want), expected, v)
			}
		}
	}
	matrix := func(n int) (x, z []T) {
		x, z = make([]T, n), make([]T, 1000+2*guard)
		for i := range x {
			x[i] = T(i)
		}
		for i := range z {
			z[i] = -1
		}
		return x, z
	}
	for k := range 30 {
		row := k + 3
		x, z := matrix((rows[0]-1)*row + k)
		want := make([]T, rows[0]*k)
		for i := range rows[0] {
			for l := range k {
				want[l*rows[0]+i] = x[i*row+l]
			}
		}
		Pack(z[guard:guard+len(want)], x, row, k)
		check(x, z, want, fmt.Sprintf("%d elements", k))
	}
	for _, each := range []int{rows[0], cols[0], 1, 5} {
		for count := range 4 {
			for n := range 6 {
				next := count*each + n%2
				x, z := matrix(max((n-1)*next+count*each, 0))
				want := make([]T, count*each*n)
				for i := range want {
					want[i] = x[i/each%max(n, 1)*next+i/(max(n, 1)*each)*each+i%each]
				}
				Slivers(z[guard:guard+len(want)], each, x, next, count, n)
				check(x, z, want, fmt.Sprintf("%d lists of %d rows of %d elements", count, n, each))
			}
		}
	}
}

// TestPackChecks gives operands that are one element too short.
func TestPackChecks(t *testing.T) {
	rows, _ := TileSizes[float32]()
	n := rows[0]
	for name, f := range map[string]func(){
		"simd: 5 elements cannot hold 2 lists of 1 rows of 3 elements, of 6 at distance 6": func() {
			Slivers(make([]float32, 5), 3, make([]float32, 6), 6, 2, 1)
		},
		"simd: 12 elements cannot hold 2 lists of 2 rows of 3 elements, of 11 at distance 6": func() {
			Slivers(make([]float32, 12), 3, make([]float32, 11), 6, 2, 2)
		},
		fmt.Sprintf("simd: %d elements cannot hold %d rows of 4 elements, of %d at distance 4", 4*n-1, n, 4*n): func() {
			Pack(make([]float32, 4*n-1), make([]float32, 4*n), 4, 4)
		},
		fmt.Sprintf("simd: %d elements cannot hold %d rows of 4 elements, of %d at distance 4", 4*n, n, 4*n-1): func() {
			Pack(make([]float32, 4*n), make([]float32, 4*n-1), 4, 4)
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != name {
					t.Errorf("want %s, got %s", name, got)
				}
			}()
			f()
		}()
	}
}

// TestTranspose transposes matrices of all sizes up to 20 x 20 with all sets, within larger ones that must
// not change otherwise.
func TestTranspose(t *testing.T) {
	t.Run("go", func(t *testing.T) {
		defer chosen.use()
		sets[0].use()
		transpositions[float32](t)
	})
	others(t, func(name string) {
		t.Run(name, func(t *testing.T) {
			transpositions[float32](t)
			transpositions[float64](t)
		})
	})
}

func transpositions[T Float](t *testing.T) {
	for rows := range 21 {
		for cols := range 21 {
			zld, xld := rows+2, cols+3
			x, z := make([]T, rows*xld), make([]T, cols*zld)
			for i := range x {
				x[i] = T(i)
			}
			for i := range z {
				z[i] = -1
			}
			Transpose(z, zld, x, xld, rows, cols)
			for at, got := range z {
				want := T(-1)
				if i, j := at%zld, at/zld; i < rows {
					want = x[i*xld+j]
				}
				if got != want {
					t.Fatalf("%T, %d x %d, element %d: want %v, got %v", got, rows, cols, at, want, got)
				}
			}
		}
	}
	defer func() {
		if v := fmt.Sprint(recover()); v != "simd: 5 elements at distance 2 cannot hold the transpose of 2 x 3, which 6 hold at distance 3" {
			t.Errorf("too few elements: got %s", v)
		}
	}()
	Transpose(make([]T, 5), 2, make([]T, 6), 3, 2, 3)
}
