package loops

import (
	"math"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestIntegers compares what code on integer strips computes with scalar code, for each of its operations,
// and checks how listings print it.
func TestIntegers(t *testing.T) {
	const n = 37
	v := index("i", n)
	p := &program.Program{Tensors: []*program.Local{reals("k", 2*n), reals("x", n)}}
	p.Tensors[0].Kind = term.Integer
	element := func(at *term.Term) *term.Term {
		return &term.Term{Op: term.Element, Kind: term.Integer, Read: readOf(p, 0, at)}
	}
	i := v.Term()
	k := element(term.Product(i, term.Number(2)))
	small := element(i)
	test := term.Compare(term.Less, k, i)
	applied := func(f *term.Function, args ...*term.Term) *term.Term {
		return &term.Term{Op: term.Apply, Kind: term.Integer, Func: f, Args: args}
	}
	bound := func(x float64) int {
		if x != x {
			return 5
		}
		return int(max(-1<<31, min(x, 1<<31-1)))
	}
	x := elementOf(readOf(p, 1, i))
	whole := func(x *term.Term) *term.Term {
		return applied(term.Converting(dtype.I32, term.Integer, math.Trunc, bound), x)
	}
	within := func(lo int, x *term.Term) *term.Term { return term.Compare(term.AtMost, term.Number(lo), x) }
	below := func(x *term.Term, hi int) *term.Term { return term.Compare(term.Less, x, term.Number(hi)) }
	real := func(op term.Op, args ...*term.Term) *term.Term {
		return &term.Term{Op: op, Kind: term.Real, Args: args}
	}
	// With a reciprocal, 49 / 49 is below 1. With one rounding, the sum is not 0.
	quotient := term.Applied("floor", real(term.Divide, x, term.RealNumber(49)))
	rounded := term.Applied("floor", real(term.Add, real(term.Multiply, x, term.RealNumber(0.1)), real(term.Negate, real(term.Divide, x, term.RealNumber(10)))))
	for _, c := range []struct {
		of   *term.Term
		want string
	}{
		{term.Number(7), "i0 = 7"},
		{term.Sum(term.Product(i, term.Number(3)), term.Number(1)), "i0 = integers from (3*i + 1), by 3"},
		{k, "i0 = i32 k@2*i, by 2"},
		{term.Sum(term.Product(k, term.Number(5)), i), "i0 = integers from i; i0 += 5*i32 k@2*i, by 2"},
		{term.Arithmetic(term.Quotient, i, term.Number(4)), "i0 = integers from 0, by 0; i0 += table of i / 4"},
		{term.Sum(term.Product(term.Arithmetic(term.Modulo, i, term.Number(5)), term.Number(2)), i), "i0 = integers from i; i0 += table of i % 5 * 2"},
		{term.Product(k, small), "i0 = i32 k@2*i, by 2; i1 = i32 k@i; i0 = i0 * i1"},
		{term.Sum(term.Product(k, small), i), "i0 = integers from i; i1 = i32 k@2*i, by 2; i2 = i32 k@i; i1 = i1 * i2; i0 += i1"},
		{term.Arithmetic(term.Modulo, k, term.Sum(i, term.Number(1))), "i0 = i32 k@2*i, by 2; i1 = integers from (i + 1); i0 = i0 % i1"},
		{applied(term.Abs, k), "i0 = i32 k@2*i, by 2; i0 = abs(i0)"},
		{applied(term.Max, k, small), "i0 = i32 k@2*i, by 2; i1 = i32 k@i; i0 = max(i0, i1)"},
		{applied(term.Min, k, small), "i0 = i32 k@2*i, by 2; i1 = i32 k@i; i0 = min(i0, i1)"},
		{test, "i0 = r0"},
		{term.Chosen(test, k, small), "i0 = i32 k@2*i, by 2; i1 = i32 k@i; i0 = r0 ? i0 : i1"},
		{term.Chosen(term.All(within(0, k), below(k, 20), below(small, -7)), small, term.Number(-1)),
			"i0 = i32 k@i; i1 = i32 k@2*i, by 2; i0 = i1 in 0 .. 19 ? i0 : -1; i1 = i32 k@i; i0 = i1 in .. -8 ? i0 : -1"},
		{term.Chosen(term.All(within(3, k), test), i, term.Number(9)), "i0 = integers from i; i1 = i32 k@2*i, by 2; i0 = i1 in 3 .. ? i0 : 9; i1 = 9; i0 = r0 ? i0 : i1"},
		{term.Chosen(term.All(within(9, k), below(k, 3)), i, term.Number(9)), "i0 = integers from i; i1 = i32 k@2*i, by 2; i0 = i1 in 9 .. 2 ? i0 : 9"},
		{whole(x), "i0 = convert([i]), in f64"},
		{whole(quotient), "i0 = convert(floor([i] / 49)), in f64"},
		{whole(rounded), "i0 = convert(floor([i] * 0.1 + -([i] / 10))), in f64"},
		{whole(term.Applied("exp", x)), "i0 = convert(exp([i])), one by one"},
		{element(applied(term.Abs, k)), "i0 = [abs([i * 2])], one by one"},
	} {
		comp := &compiler[float64]{p: p, own: dtype.F64, places: map[*term.Variable]int{}, kept: map[int]bool{}, narrow: map[int]bool{}, lenient: true,
			tensors: []rewrite.Tensor{{Type: dtype.I32}, {Type: dtype.F64, Memory: 1}}}
		z := newVectorizer(comp, v)
		f := newIntegerCompiler(z)
		place := f.value(c.of, 0)
		strips := f.finish()
		want := comp.integer(c.of)
		comp.finish(&z.strip)
		r := &runner[float64]{code: &code[float64]{compiler: comp}, mem: []block[float64]{{}, sameBlock(make([]float64, n))}}
		r.mem[0] = allocated[float64](dtype.I32, 2*n)
		for j := range 2 * n {
			wholesIn[int32](&r.mem[0])[j] = int32(j*7919%101 - 50)
			if j < n {
				r.mem[1].same[j] = []float64{float64(j)*1e9 - 5e9, float64(49 * j), float64(-10 * j), []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[j/4%3]}[j%4]
			}
		}
		s := r.newState()
		for _, first := range []int{0, 5} {
			s.vars[comp.place(v)] = first
			z.strip.exec(s, n-first)
			strips.exec(s, n-first)
			got := s.integerStrip(place)[:n-first]
			if s.vars[comp.place(v)] != first {
				t.Errorf("%s: the index moved", c.of)
			}
			for j, w := range got {
				s.vars[comp.place(v)] = first + j
				if w != want(s) {
					t.Errorf("%s at %d is %d, want %d", c.of, first+j, w, want(s))
				}
			}
		}
		if got := strips.text(&lister[float64]{c: r.code, names: map[int]int{}}); got != c.want {
			t.Errorf("%s is %q, want %q", c.of, got, c.want)
		}
	}
}
