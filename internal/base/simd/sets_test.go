package simd

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/rng"
)

// others calls f with the functions of each set of instructions but Go in use, and those of Go to compare
// with.
func others(t testing.TB, f func(name string)) {
	defer chosen.use()
	n := 0
	for _, s := range sets[1:] {
		if s.available {
			s.use()
			f(s.name)
			n++
		}
	}
	if n == 0 {
		t.Log("the processor has no set of instructions but that of Go")
	}
}

// call is a call of a function of a table, with operands of equal lengths.
type call[T Float] struct {
	name string
	run  func(t *table[T], z, w, x, y []T, a *Lanes[T])
}

var unaryNames = [unaries]string{
	"Neg", "Abs", "Square", "Sqrt", "Rsqrt", "Recip", "Exp", "Log", "Expm1", "Log1p", "Sin", "Cos", "Tanh", "Sigmoid",
	"Phi", "Density", "Floor", "Ceil", "Round", "Sign", "IsNaN", "Not",
}

var binaryNames = [binaries]string{
	"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Less", "AtMost", "Equal", "Unequal", "And", "Or",
}

// calls lists the calls of all entries of a table.
func calls[T Float]() []call[T] {
	var out []call[T]
	add := func(name string, run func(t *table[T], z, w, x, y []T, a *Lanes[T])) {
		out = append(out, call[T]{name, run})
	}
	for f := range unaries {
		add(unaryNames[f], func(t *table[T], z, _, x, _ []T, _ *Lanes[T]) { t.unary[f](z, x) })
	}
	for f := range binaries {
		add(binaryNames[f], func(t *table[T], z, _, x, y []T, _ *Lanes[T]) { t.binary[f](z, x, y) })
		add(binaryNames[f]+" of strip and scalar", func(t *table[T], z, w, x, _ []T, _ *Lanes[T]) {
			t.binaryScalar[f](z, x, w[0])
		})
		add(binaryNames[f]+" of scalar and strip", func(t *table[T], z, w, _, y []T, _ *Lanes[T]) {
			t.scalarBinary[f](z, w[0], y)
		})
	}
	add("mulAdd", func(t *table[T], z, w, x, y []T, _ *Lanes[T]) { t.mulAdd(z, w, x, y) })
	add("mulSubFrom", func(t *table[T], z, w, x, y []T, _ *Lanes[T]) { t.mulSubFrom(z, w, x, y) })
	add("mulSub", func(t *table[T], z, w, x, y []T, _ *Lanes[T]) { t.mulSub(z, w, x, y) })
	add("affine", func(t *table[T], z, w, x, _ []T, _ *Lanes[T]) {
		t.affine(z, x, w[0], w[len(w)/2], w[len(w)/3], w[len(w)-1])
	})
	add("mulAddScalar", func(t *table[T], z, w, x, y []T, _ *Lanes[T]) { t.mulAddScalar(z, w, x[0], y) })
	add("choose", func(t *table[T], z, w, x, y []T, _ *Lanes[T]) { t.choose(z, w, x, y) })
	add("choosePositive", func(t *table[T], z, w, x, y []T, _ *Lanes[T]) { t.choosePositive(z, w, x, y) })
	add("sumInto", func(t *table[T], _, _, x, _ []T, a *Lanes[T]) { t.sumInto(a, x) })
	add("prodInto", func(t *table[T], _, _, x, _ []T, a *Lanes[T]) { t.prodInto(a, x) })
	add("maxInto", func(t *table[T], _, _, x, _ []T, a *Lanes[T]) { t.maxInto(a, x) })
	add("minInto", func(t *table[T], _, _, x, _ []T, a *Lanes[T]) { t.minInto(a, x) })
	add("dotInto", func(t *table[T], _, _, x, y []T, a *Lanes[T]) { t.dotInto(a, x, y) })
	add("sumLanes", func(t *table[T], _, _, _, _ []T, a *Lanes[T]) { a[0] = t.sumLanes(a) })
	add("prodLanes", func(t *table[T], _, _, _, _ []T, a *Lanes[T]) { a[0] = t.prodLanes(a) })
	add("maxLanes", func(t *table[T], _, _, _, _ []T, a *Lanes[T]) { a[0] = t.maxLanes(a) })
	add("minLanes", func(t *table[T], _, _, _, _ []T, a *Lanes[T]) { a[0] = t.minLanes(a) })
	rows := func(f func(*table[T]) func(z, x []T, n, apart int)) func(t *table[T], z, w, x, _ []T, _ *Lanes[T]) {
		return func(t *table[T], _, _, x, _ []T, a *Lanes[T]) { // 64 or 128 elements each
			if n := lanes * (1 + len(x)%2); len(x) >= n {
				apart := 1 + len(x)%5
				f(t)(a[:min((len(x)-n)/apart+1, lanes)], x, n, apart)
			}
		}
	}
	add("sumRows", rows(func(t *table[T]) func(z, x []T, n, apart int) { return t.sumRows }))
	add("maxRows", rows(func(t *table[T]) func(z, x []T, n, apart int) { return t.maxRows }))
	add("minRows", rows(func(t *table[T]) func(z, x []T, n, apart int) { return t.minRows }))
	add("sumAt", func(t *table[T], z, w, x, _ []T, _ *Lanes[T]) {
		rows := len(x) % 10
		at := make([]int, rows+Ahead)
		for i := range at {
			at[i] = i * 3 % (len(w) - len(z) + 1)
		}
		t.sumAt(z, w, at, rows)
	})
	squares := func(f func(t *table[T], z, x []T, s Squares)) func(t *table[T], z, w, x, y []T, _ *Lanes[T]) {
		return func(t *table[T], z, _, x, _ []T, _ *Lanes[T]) {
			s := Squares{Width: 2 + len(x)/4, Rows: min(len(x)/2/(2+len(x)/4), 1+len(x)%2)}
			s.Cols = (s.Width - len(x)%3%2) / 2
			n := s.Rows * s.Cols
			f(t, z[:n], x[:2*s.Rows*s.Width], s)
			copy(z[n:], x[n:])
		}
	}
	add("maxSquares", squares(func(t *table[T], z, x []T, s Squares) { t.allMaxSquares(z, x, s) }))
	add("meanSquares", squares(func(t *table[T], z, x []T, s Squares) { t.allMeanSquares(z, x, s) }))
	add("expInto", func(t *table[T], _, w, x, _ []T, a *Lanes[T]) { t.expInto(a, x, w[0]) })
	return out
}

// first returns the place of the first elements that differ, or -1.
func first[T Float](x, y []T) int {
	for i := range x {
		if !same(x[i], y[i]) {
			return i
		}
	}
	return -1
}

// compare runs a call with two tables on operands of n elements that begin at offset of the given ones.
// Elements around the result must stay as they are. A result may also be an operand.
func compare[T Float](t testing.TB, c call[T], want, got *table[T], w, x, y []T, offset, n int) {
	t.Helper()
	const guard = 64
	z1, z2 := make([]T, n+2*guard), make([]T, n+2*guard)
	for i := range z1 {
		z1[i], z2[i] = -7, -7
	}
	end := offset + n
	w, x, y = w[offset:end+1], x[offset:end+1], y[offset:end+1]
	var a, b Lanes[T]
	for i := range a {
		a[i], b[i] = T(i)-20, T(i)-20
		if i < len(x) && len(x) > 100 {
			a[i], b[i] = x[i], x[i] // special values, too
		}
	}
	scalar := func(v []T) []T { return v[:n:n] }
	c.run(want, z1[guard:guard+n], w[:n+1], scalar(x), scalar(y), &a)
	c.run(got, z2[guard:guard+n], w[:n+1], scalar(x), scalar(y), &b)
	if i := first(z1, z2); i >= 0 {
		at := i - guard
		if at < 0 || at >= n {
			t.Fatalf("%s of %T, %d elements from %d on: element %d was written, beyond the result", c.name, z1, n, offset, at)
		}
		t.Fatalf("%s of %T, %d elements from %d on, w %v, w[0] %v, x %v, y %v: want %v, got %v",
			c.name, z1, n, offset, w[at], w[0], x[at], y[at], z1[i], z2[i])
	}
	if i := first(a[:], b[:]); i >= 0 {
		t.Fatalf("%s of %T, %d elements from %d on: lane %d: want %v, got %v", c.name, z1, n, offset, i, a[i], b[i])
	}
	if !slices.ContainsFunc(z2[guard:guard+n], func(v T) bool { return v != -7 }) {
		return // a fold
	}
	inPlace := slices.Clone(scalar(x))
	c.run(got, inPlace, w[:n+1], inPlace, scalar(y), &b)
	if i := first(z1[guard:guard+n], inPlace); i >= 0 {
		t.Fatalf("%s of %T in place, %d elements: element %d: want %v, got %v", c.name, z1, n, i, z1[guard+i], inPlace[i])
	}
}

func TestSetsAgree(t *testing.T) {
	others(t, func(name string) {
		t.Run(name, func(t *testing.T) {
			agree(t, portable[float32](), functions32)
			agree(t, portable[float64](), functions64)
		})
	})
}

func agree[T Float](t *testing.T, want, got *table[T]) {
	r := rand.New(rand.NewPCG(5, 6))
	w, x, y := operand[T](r, 5000), operand[T](r, 5000), operand[T](r, 5000)
	for _, c := range calls[T]() {
		step := 1
		if testing.Short() {
			step = 19 // one goroutine computes, and the race detector makes it many times slower
		}
		for n := 0; n < 301; n += step {
			if n > 0 || c.name != "mulAddScalar" {
				compare(t, c, want, got, w, x, y, n%9, n)
			}
		}
		for offset := range 4 {
			compare(t, c, want, got, w, x, y, offset, 4099)
		}
	}
}

// TestSetsAgreeOnSpecials pairs all special values with one another.
func TestSetsAgreeOnSpecials(t *testing.T) {
	others(t, func(name string) {
		t.Run(name, func(t *testing.T) {
			agreeOnSpecials(t, portable[float32](), functions32)
			agreeOnSpecials(t, portable[float64](), functions64)
		})
	})
}

func agreeOnSpecials[T Float](t *testing.T, want, got *table[T]) {
	var values, x, y []T
	for _, v := range specials {
		for _, near := range []T{T(v), T(math.Nextafter32(float32(v), 0)), T(math.Nextafter(v, 1e308))} {
			values = append(values, near, -near)
		}
	}
	for _, v := range values {
		for _, u := range values {
			x, y = append(x, v), append(y, u)
		}
	}
	for _, c := range calls[T]() {
		compare(t, c, want, got, y, x, y, 0, len(x)-1)
	}
}

// TestAffine checks the operands that change nothing, for special values, too.
func TestAffine(t *testing.T) {
	check := func(name string) {
		for _, v := range specials {
			for _, x := range []float64{v, -v} {
				wide, narrow := []float64{x}, []float32{float32(x)}
				Affine(wide, wide, 0, 0, 1, math.Copysign(0, -1))
				Affine(narrow, narrow, 0, 0, 1, float32(math.Copysign(0, -1)))
				if !same(wide[0], x) || !same(narrow[0], float32(x)) {
					t.Errorf("%s: %v became %v and %v", name, x, wide[0], narrow[0])
				}
			}
		}
	}
	check("best")
	others(t, check)
}

// TestDraw compares random words with those that package rng draws one by one, with all sets of instructions.
func TestDraw(t *testing.T) {
	check := func(name string) {
		for _, seed := range []uint64{0, 1, 1<<63 + 12345, math.MaxUint64} {
			for _, index := range []uint64{0, 7, 1<<32 - 5, math.MaxUint64 - 3} {
				for n := 0; n <= 48; n += 8 {
					high, low := make([]uint64, n), make([]uint64, n)
					new(Drawer).Draw(high, low, seed, seed*3+1<<40, index)
					for i := range n {
						w := rng.New(seed, seed*3+1<<40).Block(index + uint64(i))
						if high[i] != uint64(w[0])<<32|uint64(w[1]) || low[i] != uint64(w[2])<<32|uint64(w[3]) {
							t.Fatalf("%s, seed %d, position %d + %d: want %x, got %x and %x", name, seed, index, i, w, high[i], low[i])
						}
					}
				}
			}
		}
	}
	check("best")
	others(t, check)
}

// TestUnits compares numbers that are made of words with those of Go, with all sets of instructions.
func TestUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	words := []uint64{0, 1, 1<<11 - 1, 1 << 11, 1<<32 - 1, 1 << 32, 1 << 43, 1<<43 - 1, 1 << 63, math.MaxUint64}
	for len(words) < 200 {
		words = append(words, r.Uint64())
	}
	check := func(name string) {
		for n := range len(words) {
			z, x := make([]float64, n), words[len(words)-n:]
			Units(z, x)
			for i, w := range x {
				if want := float64(w>>11) / (1 << 53); z[i] != want {
					t.Fatalf("%s, element %d of %d, word %x: want %v, got %v", name, i, n, w, want, z[i])
				}
			}
		}
	}
	check("best")
	others(t, check)
}

// TestNormals compares numbers of the normal distribution with those of package math, and those of the sets
// with one another.
func TestNormals(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const n = 4000
	high, low, first := make([]uint64, n), make([]uint64, n), make([]float64, n)
	for i := range n {
		high[i], low[i] = r.Uint64()>>(i%3*i%64), r.Uint64()
		if i%5 == 0 {
			high[i] = ^high[i]
		}
		if i < 8 {
			low[i] = uint64(i) << 61 // quarters of a turn, and what is between them
		}
	}
	check := func(name string) {
		z := make([]float64, n)
		Normals(z, high, low)
		for i := range z {
			u, v := 1-float64(high[i]>>11)/(1<<53), float64(low[i]>>11)/(1<<53)
			root := math.Sqrt(-2 * math.Log(u))
			// Near a quarter of a turn, 2*pi*v is rounded by more than what is left of the cosine.
			if want := root * math.Cos(2*math.Pi*v); !(math.Abs(z[i]-want) <= 1e-15*root) {
				t.Fatalf("%s, words %x and %x: want %v, got %v", name, high[i], low[i], want, z[i])
			}
			if first[i] == 0 {
				first[i] = z[i]
			}
			if !same(z[i], first[i]) {
				t.Fatalf("%s, words %x and %x: want %v, got %v", name, high[i], low[i], first[i], z[i])
			}
		}
		for length := 0; length <= 48; length += 8 {
			part := make([]float64, length)
			Normals(part, high[:length], low[:length])
			for i := range part {
				if !same(part[i], z[i]) {
					t.Fatalf("%s, element %d of %d: want %v, got %v", name, i, length, z[i], part[i])
				}
			}
		}
	}
	check("best")
	others(t, check)
}

func TestConversionsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	narrow1, wide1 := operand[float32](r, 400), operand[float64](r, 400)
	others(t, func(name string) {
		for n := range 301 {
			z, x, y := make([]float64, n), make([]float32, n), make([]float32, n)
			conversions.widen(z, narrow1[n%5:][:n])
			conversions.narrow(x, wide1[n%5:][:n])
			conversions.rests(y, wide1[n%5:][:n])
			for i := range n {
				if v := narrow1[n%5+i]; !same(z[i], float64(v)) {
					t.Fatalf("%s: widened %v, got %v", name, v, z[i])
				}
				if v := wide1[n%5+i]; !same(x[i], float32(v)) {
					t.Fatalf("%s: narrowed %v, got %v", name, v, x[i])
				}
				v := wide1[n%5+i]
				want := float32(v - float64(float32(v)))
				if math.IsInf(float64(float32(v)), 0) || math.IsNaN(v) {
					want = 0
				}
				if !same(y[i], want) {
					t.Fatalf("%s: what %v has beyond float32: want %v, got %v", name, v, want, y[i])
				}
			}
		}
	})
}

func TestBestSet(t *testing.T) {
	fastest := ""
	for _, s := range sets {
		if s.available {
			fastest = s.name
		}
	}
	if value := os.Getenv(variable); value == "" && chosen.name != fastest {
		t.Errorf("without %s: want set %s in use, got %s", variable, fastest, chosen.name)
	}
	for name, want := range map[string]string{"go": "go", "": fastest, "sse9": fastest, fastest: fastest} {
		if got := best(name).name; got != want {
			t.Errorf("%s=%s: want set %s, got %s", variable, name, want, got)
		}
	}
}

// FuzzSetsAgree compares all functions of all sets for operands made of the bytes of the input.
func FuzzSetsAgree(f *testing.F) {
	f.Add(uint32(0x3f800000), uint32(0x7fc00000), uint32(0x80000000))
	f.Add(uint32(0xc2b00000), uint32(0x42b17218), uint32(1))
	f.Fuzz(func(t *testing.T, a, b, c uint32) {
		strip := func(v uint32) (x []float32, y []float64) {
			for i := range uint32(40) {
				x = append(x, math.Float32frombits(v+i*0x9e37))
				y = append(y, math.Float64frombits(uint64(v+i*0x9e37)<<32|uint64(v)))
			}
			return x, y
		}
		w32, w64 := strip(a)
		x32, x64 := strip(b)
		y32, y64 := strip(c)
		others(t, func(string) {
			for _, c := range calls[float32]() {
				compare(t, c, portable32, functions32, w32, x32, y32, 1, 37)
			}
			for _, c := range calls[float64]() {
				compare(t, c, portable64, functions64, w64, x64, y64, 1, 37)
			}
		})
	})
}

var portable32, portable64 = portable[float32](), portable[float64]()

// TestFetch checks that a request for memory changes nothing, for no elements and for lists that end within a
// line of the cache.
func TestFetch(t *testing.T) {
	defer chosen.use()
	for _, s := range sets {
		if !s.available {
			continue
		}
		s.use()
		for n := range 70 {
			x, y := make([]float32, n+2), make([]float64, n+2)
			for i := range x {
				x[i], y[i] = float32(i), float64(i)
			}
			Fetch(x[1 : n+1])
			Fetch(y[1 : n+1])
			for i := range x {
				if x[i] != float32(i) || y[i] != float64(i) {
					t.Fatalf("%s, %d elements: element %d became %v and %v", s.name, n, i, x[i], y[i])
				}
			}
		}
		Fetch[float32](nil)
	}
}
