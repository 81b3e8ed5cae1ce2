//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/internal/base/simd/approx"
	"github.com/opgen/opgen/internal/base/simd/elementary"
)

// sets calls f for the sets of instructions of the processor.
func sets(t testing.TB, f func(t testing.TB, wide bool)) {
	if !Available() {
		t.Log("the system does not let the test run code that it makes")
		return
	}
	n := 0
	for _, wide := range []bool{false, true} {
		if has(wide) {
			f(t, wide)
			n++
		}
	}
	if n == 0 {
		t.Log("the processor has no set of instructions for loops")
	}
}

// run runs code on slices, of which each is a pointer, with arguments.
func run[T simd.Float](c *Code, slices [][]T, scalars []T, n int, past bool) Arguments {
	a := c.Arguments()
	for i, s := range slices {
		a.SetPointer(i, unsafe.Pointer(unsafe.SliceData(s)))
	}
	copy(Row[T](c, a, 0), scalars)
	c.Run(a, n, 1, past)
	return a
}

func double[T simd.Float]() bool { return unsafe.Sizeof(T(0)) == 8 }

// same reports whether numbers have the same bits, or are both NaN.
func same[T simd.Float](x, y T) bool {
	if x != x || y != y {
		return x != x && y != y
	}
	return math.Float64bits(float64(x)) == math.Float64bits(float64(y))
}

// special are arguments of elementary functions, beside random ones.
var special = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1e-45, -1e-45, 5e-324, 1e-30, 88.7, 89, -87, -103, -104, 709, 710, -745, -746, 3, -3, 13, -14,
	38, -38, 39, math.Inf(1), math.Inf(-1), math.NaN(), 1e30, -1e30, math.MaxFloat32, 1e300, 0.7071067811865476, 1.4142135}

func functions(b *Builder) *elementary.Functions[Value, Mask] {
	m := &elementary.Functions[Value, Mask]{Machine: b, Constants: &approx.Single, Double: b.double}
	if b.double {
		m.Constants = &approx.Double
	}
	return m
}

// everyOf returns 1, or n with -short: then tests try every nth case. One goroutine computes here, so the
// race detector, under which tests take many times as long, finds little.
func everyOf(n int) int {
	if testing.Short() {
		return n
	}
	return 1
}

// TestElementary compares compiled elementary functions with those of package simd, bit by bit.
func TestElementary(t *testing.T) {
	testElementary[float32](t)
	testElementary[float64](t)
}

func testElementary[T simd.Float](t *testing.T) {
	sets(t, func(t testing.TB, wide bool) {
		of := map[simd.Unary]func(*elementary.Functions[Value, Mask], Value) Value{
			simd.Exp: (*elementary.Functions[Value, Mask]).Exp, simd.Expm1: (*elementary.Functions[Value, Mask]).Expm1,
			simd.Log1p: (*elementary.Functions[Value, Mask]).Log1p,
			simd.Log:   (*elementary.Functions[Value, Mask]).Log, simd.Tanh: (*elementary.Functions[Value, Mask]).Tanh,
			simd.Sigmoid: (*elementary.Functions[Value, Mask]).Sigmoid, simd.Phi: (*elementary.Functions[Value, Mask]).Phi,
			simd.Density: (*elementary.Functions[Value, Mask]).Density, simd.Sin: (*elementary.Functions[Value, Mask]).Sin,
			simd.Cos: (*elementary.Functions[Value, Mask]).Cos,
		}
		for op, f := range of {
			b := NewBuilder(double[T](), wide)
			in, out := b.Pointer(), b.Pointer()
			b.Store(out, f(functions(b), b.Input(in)), true)
			c := b.Compile()
			if c == nil {
				t.Fatalf("function %d, wide %v: no code", op, wide)
			}
			r := rand.New(rand.NewPCG(1, uint64(op)))
			for n := 0; n < 200; n += everyOf(11) {
				x, z, want := make([]T, n), make([]T, n+3), make([]T, n)
				for i := range x {
					x[i] = T(r.NormFloat64() * 10)
					if r.IntN(4) == 0 {
						x[i] = T(special[r.IntN(len(special))])
					}
					if turns := op == simd.Sin || op == simd.Cos; turns && math.Abs(float64(x[i])) > 10_000 {
						x[i] = 1 // they hold up to a bound
					}
				}
				for i := range z {
					z[i] = 7
				}
				simd.UnaryOf[T](op)(want, x)
				run(c, [][]T{x, z}, nil, n, false)
				for i := range want {
					if !same(z[i], want[i]) {
						t.Fatalf("function %d of %v, wide %v, element %d of %d: got %v, want %v", op, x[i], wide, i, n, z[i], want[i])
					}
				}
				for i, v := range z[n:] {
					if v != 7 {
						t.Fatalf("function %d, wide %v: element %d behind the %d is %v", op, wide, i, n, v)
					}
				}
			}
		}
	})
}

// TestLongPow compares compiled powers with those of package simd, bit by bit: of positive finite numbers,
// with exponents that are not short.
func TestLongPow(t *testing.T) {
	sets(t, func(t testing.TB, wide bool) {
		b := NewBuilder(true, wide)
		base, exponent, out := b.Pointer(), b.Pointer(), b.Pointer()
		b.Store(out, functions(b).LongPow(b.Input(base), b.Input(exponent)), false)
		c := b.Compile()
		if c == nil {
			t.Fatalf("wide %v: no code", wide)
		}
		const n = 2001
		r := rand.New(rand.NewPCG(3, 4))
		x, y, z, want := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = math.Exp(100*r.NormFloat64()), 10*r.NormFloat64()
			if v := special[r.IntN(len(special))]; v > 0 && v <= math.MaxFloat64 {
				x[i] = v
			}
		}
		simd.BinaryOf[float64](simd.Pow)(want, x, y)
		run(c, [][]float64{x, y, z}, nil, n, false)
		for i, v := range z {
			if !same(v, want[i]) {
				t.Fatalf("%v^%v, wide %v: want %v, got %v", x[i], y[i], wide, want[i], v)
			}
		}
	})
}

// fma returns x*y + z, rounded once.
func fma[T simd.Float](x, y, z T) T {
	if double[T]() {
		return T(math.FMA(float64(x), float64(y), float64(z)))
	}
	exact := new(big.Float).SetPrec(2000)
	if v := float64(x)*float64(y) + float64(z); math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
		return T(v)
	}
	exact.Mul(new(big.Float).SetPrec(2000).SetFloat64(float64(x)), new(big.Float).SetPrec(2000).SetFloat64(float64(y)))
	v, _ := exact.Add(exact, new(big.Float).SetPrec(2000).SetFloat64(float64(z))).Float32()
	return T(v)
}

// reference computes nodes for one element.
type reference[T simd.Float] struct {
	b      *Builder
	values []T
	masks  []bool
	sums   []simd.Lanes[T]
}

func bitsOf[T simd.Float](v T) uint64 {
	if double[T]() {
		return math.Float64bits(float64(v))
	}
	return uint64(math.Float32bits(float32(v)))
}

func fromBits[T simd.Float](b uint64) T {
	if double[T]() {
		return T(math.Float64frombits(b))
	}
	return T(math.Float32frombits(uint32(b)))
}

// negative reports whether the sign bit is set.
func negative[T simd.Float](v T) bool { return bitsOf(v)>>(8*unsafe.Sizeof(v)-1) == 1 }

// eval computes all nodes for element i. Stores go to slices.
func (r *reference[T]) eval(slices [][]T, scalars []T, i int) {
	r.values, r.masks = make([]T, len(r.b.nodes)), make([]bool, len(r.b.nodes))
	for k, d := range r.b.nodes {
		var x, y, z T
		if d.a >= 0 {
			x = r.values[d.a]
		}
		if d.b >= 0 {
			y = r.values[d.b]
		}
		if d.c >= 0 {
			z = r.values[d.c]
		}
		v, m := T(0), false
		switch d.op {
		case opInput:
			v = slices[d.at][i]
		case opLanes:
			if v = T(0); d.at >= firstSum {
				v = r.sums[d.at-firstSum][i%64]
			} else {
				v = slices[d.at][i%64]
			}
		case opScalar:
			v = scalars[d.at]
		case opConstant:
			v = fromBits[T](d.bits)
		case opAdd:
			v = x + y
		case opSub:
			v = x - y
		case opMul:
			v = x * y
		case opDiv:
			v = x / y
		case opAbove:
			if v = y; x > y {
				v = x
			}
		case opBelow:
			if v = y; x < y {
				v = x
			}
		case opAnd:
			v = fromBits[T](bitsOf(x) & bitsOf(y))
		case opOr:
			v = fromBits[T](bitsOf(x) | bitsOf(y))
		case opXor:
			v = fromBits[T](bitsOf(x) ^ bitsOf(y))
		case opAddInt:
			v = fromBits[T](bitsOf(x) + bitsOf(y))
		case opSubInt:
			v = fromBits[T](bitsOf(x) - bitsOf(y))
		case opMulAdd:
			v = fma(x, y, z)
		case opMulSubFrom:
			v = fma(-x, y, z)
		case opSqrt:
			v = T(math.Sqrt(float64(x)))
		case opRound:
			switch d.imm {
			case elementary.ToNearest:
				v = T(math.RoundToEven(float64(x)))
			case elementary.ToFloor:
				v = T(math.Floor(float64(x)))
			default:
				v = T(math.Ceil(float64(x)))
			}
		case opUp:
			v = fromBits[T](bitsOf(x) << d.imm)
		case opDown:
			v = fromBits[T](bitsOf(x) >> d.imm)
		case opCompare:
			switch d.imm {
			case elementary.Equal:
				m = x == y
			case elementary.Unequal:
				m = x != y
			case elementary.Less:
				m = x < y
			case elementary.AtMost:
				m = x <= y
			case elementary.AtLeast:
				m = x >= y
			case elementary.Greater:
				m = x > y
			case elementary.Unordered:
				m = x != x || y != y
			}
		case opSigns:
			m = negative(x)
		case opBoth:
			m = r.masks[d.a] && r.masks[d.b]
		case opEither:
			m = r.masks[d.a] || r.masks[d.b]
		case opTruth:
			if r.masks[d.a] {
				v = 1
			}
		case opChoose:
			if v = z; r.masks[d.a] || !r.b.nodes[d.a].masks() && negative(x) {
				v = y
			}
		case opStore:
			slices[d.at][i] = x
		case opFold:
			if d.at >= firstSum {
				r.sums[d.at-firstSum][i%64] = x
			} else {
				slices[d.at][i%64] = x
			}
		case opAhead:
		default:
			panic(fmt.Sprint("operation ", d.op))
		}
		r.values[k], r.masks[k] = v, m
	}
}

// program makes a loop of random operations. Bits of NaN differ by the order of operands, so no operation on
// bits sees a NaN's payload.
func program(r *rand.Rand, b *Builder, length int) (inputs, outputs int) {
	inputs, outputs = 1+r.IntN(4), 1+r.IntN(3)
	scalars := r.IntN(4)
	var values []Value
	var masks []Mask
	for range inputs {
		values = append(values, b.Input(b.Pointer()))
	}
	for range scalars {
		values = append(values, b.Argument(b.Scalar()))
	}
	values = append(values, b.Number(0.75), b.Number(-3))
	fold := -1
	if r.IntN(2) == 0 {
		fold = b.Pointer()
	}
	if r.IntN(2) == 0 {
		b.Ahead(r.IntN(inputs), r.IntN(1<<16)) // memory that may not be there
	}
	pick := func() Value { return values[r.IntN(len(values))] }
	for range length {
		x, y := pick(), pick()
		switch r.IntN(17) {
		case 15:
			values = append(values, b.MulAdd(x, y, pick()))
		case 16:
			values = append(values, b.MulSubFrom(x, y, pick()))
		case 0, 1:
			values = append(values, b.Add(x, y))
		case 2:
			values = append(values, b.Sub(x, y))
		case 3, 4:
			values = append(values, b.Mul(x, y))
		case 5:
			values = append(values, b.Div(x, y))
		case 6:
			values = append(values, b.Above(x, y))
		case 7:
			values = append(values, b.Below(x, y))
		case 8:
			values = append(values, b.Sqrt(b.And(x, b.Word(1<<(8*b.size()-1)-1))))
		case 9:
			values = append(values, b.Round(x, []uint8{elementary.ToNearest, elementary.ToFloor, elementary.ToCeil}[r.IntN(3)]))
		case 10:
			values = append(values, b.Xor(x, b.Word(1<<(8*b.size()-1))))
		case 11:
			masks = append(masks, b.Compare(x, []uint8{elementary.Equal, elementary.Unequal, elementary.Less, elementary.AtMost,
				elementary.AtLeast, elementary.Greater, elementary.Unordered}[r.IntN(7)], y))
		case 12:
			if len(masks) > 0 {
				values = append(values, b.Choose(masks[len(masks)-1], x, y))
			}
		case 13:
			if len(masks) > 1 {
				n := len(masks)
				masks = append(masks[:n-1], b.Either(masks[n-1], masks[n-2]))
				values = append(values, b.Truth(b.Both(masks[len(masks)-1], masks[0])))
				masks = append(masks, b.Compare(values[len(values)-1], elementary.Unequal, b.Number(0)))
			}
		case 14:
			// What is a number stays one: bits are moved of what is rounded to a small integer.
			small := b.Below(b.Above(b.Round(x, elementary.ToNearest), b.Number(-100)), b.Number(100))
			t := b.Add(small, b.Number(map[bool]float64{false: 0x1.8p23, true: 0x1.8p52}[b.double]))
			t = b.AddInt(t, b.Word(3))
			values = append(values, b.Choose(b.Signs(b.Up(t, uint(8*b.size()-1))), x, b.SubInt(b.Down(b.Up(t, 3), 3), b.Word(1))))
		}
	}
	for o := range outputs {
		b.Store(b.Pointer(), values[len(values)-1-o%len(values)], o == 0)
	}
	if fold >= 0 {
		b.Fold(fold, b.Add(b.Lanes(fold), pick()))
	}
	for range r.IntN(3) {
		b.Sum(pick())
	}
	return inputs, outputs
}

// FuzzLoop compares random loops with what they compute element by element.
func FuzzLoop(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, uint8(seed*7), uint16(seed*13), uint8(seed*11))
	}
	f.Fuzz(func(t *testing.T, seed uint64, length uint8, n uint16, rows uint8) {
		k := int(rows%MostRows) + 1
		elements := int(n) % (1400/k + 1) // many rows are short ones
		compareLoop[float32](t, seed, int(length), elements, k)
		compareLoop[float64](t, seed, int(length), elements, k)
	})
}

// compareLoop compares a loop over rows of n elements. Each row has numbers of its own. Some pointers stay
// where they are from row to row.
func compareLoop[T simd.Float](t *testing.T, seed uint64, length, n, rows int) {
	sets(t, func(t testing.TB, wide bool) {
		r := rand.New(rand.NewPCG(seed, 5))
		b := NewBuilder(double[T](), wide)
		program(r, b, length)
		c := b.Compile()
		if c == nil {
			return // more pointers or masks than registers
		}
		got, want := make([][]T, b.pointers), make([][]T, b.pointers)
		strides := make([]int, b.pointers)
		for i := range got {
			row := max(n, 64) + r.IntN(5)
			if r.IntN(4) > 0 {
				strides[i] = row
			}
			for range rows * row {
				v := T(r.NormFloat64() * 3)
				if r.IntN(20) == 0 {
					v = T(special[r.IntN(len(special))])
				}
				got[i] = append(got[i], v)
			}
			want[i] = append([]T(nil), got[i]...)
		}
		a := c.Arguments()
		for i, s := range got {
			a.SetPointer(i, unsafe.Pointer(unsafe.SliceData(s)))
			c.SetStride(a, i, strides[i]*int(unsafe.Sizeof(T(0))))
		}
		numbers := Rows[T](c, a)
		for i := range rows * c.RowLength() {
			numbers[i] = T(r.NormFloat64())
		}
		what := func() string {
			return fmt.Sprintf("seed %d, length %d, wide %v, %T, %d rows of %d elements", seed, length, wide, T(0), rows, n)
		}
		ref := make([]reference[T], rows)
		for row := range ref {
			ref[row] = reference[T]{b: b, sums: make([]simd.Lanes[T], b.sums)}
			slices := make([][]T, len(want))
			for i := range slices {
				slices[i] = want[i][row*strides[i]:]
			}
			for i := range n {
				ref[row].eval(slices, Row[T](c, a, row)[:b.scalars], i)
			}
		}
		c.Run(a, n, rows, false)
		for row := range ref {
			for i := range ref[row].sums {
				if x, y := T(Sum[T](c, a, row, i)), ref[row].sums[i].Sum(); !same(x, y) {
					t.Fatalf("%s: sum %d of row %d: got %v, want %v", what(), i, row, x, y)
				}
			}
		}
		for i := range want {
			for j := range want[i] {
				if !same(got[i][j], want[i][j]) {
					t.Fatalf("%s: pointer %d moves by %d elements: at %d got %v, want %v", what(), i, strides[i], j, got[i][j], want[i][j])
				}
			}
		}
	})
}

// TestLoops compares many random loops.
func TestLoops(t *testing.T) {
	for seed := uint64(0); seed < 1000; seed += uint64(everyOf(13)) {
		compareLoop[float32](t, seed, int(seed%250), int(seed*31%300), 1+int(seed%3))
		compareLoop[float64](t, seed, int(seed%250), int(seed*31%300), 1+int(seed%3))
	}
}

// BenchmarkCall is a loop over 16 elements, so what it takes is the call.
func BenchmarkCall(b *testing.B) {
	sets(b, func(_ testing.TB, wide bool) {
		k := NewBuilder(false, wide)
		x, z := k.Pointer(), k.Pointer()
		k.Store(z, k.Add(k.Input(x), k.Number(1)), false)
		c := k.Compile()
		in, out := make([]float32, 16), make([]float32, 16)
		a := c.Arguments()
		b.Run(fmt.Sprint("wide=", wide), func(b *testing.B) {
			for b.Loop() {
				a.SetPointer(x, unsafe.Pointer(&in[0]))
				a.SetPointer(z, unsafe.Pointer(&out[0]))
				c.Run(a, len(in), 1, false)
			}
		})
	})
}

// TestMaskOfTruth makes a mask of the 1 and 0 that stand for one, as a choice by a condition does. No
// operation is needed for it.
func TestMaskOfTruth(t *testing.T) {
	b := NewBuilder(false, true)
	x := b.Input(b.Pointer())
	m := b.Compare(x, elementary.Less, b.Number(3))
	v := b.Truth(m)
	if got := b.Compare(v, elementary.Unequal, b.Number(0)); got != m {
		t.Errorf("want mask %d, got %d", m, got)
	}
	for _, c := range []Mask{b.Compare(v, elementary.Equal, b.Number(0)), b.Compare(v, elementary.Unequal, b.Number(1)), b.Compare(x, elementary.Unequal, b.Number(0)),
		b.Compare(v, elementary.Unequal, b.Number(math.Copysign(0, -1)))} {
		if c == m {
			t.Errorf("another comparison gives mask %d", m)
		}
	}
}
