package loops

import (
	"math"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestShortLoops adds numbers at looked-up places in four loops, of which one strip covers two and the
// greatest part of the other two that fits. The sums are to be those of one number after the other, to the
// last bit.
func TestShortLoops(t *testing.T) {
	const blocks, rows, taps, entries = 20, 83, 3, 17
	whole := &program.Local{Name: "at", Kind: term.Integer, Slot: -1, Old: -1, Shape: []*term.Term{term.Number(blocks), term.Number(rows)}}
	p := &program.Program{Tensors: []*program.Local{reals("t", entries), reals("x", blocks, rows), whole, reals("w", taps, 2), reals("y", blocks, rows, 2)}}
	n, r, a, b := index("n", blocks), index("r", rows), index("a", taps), index("b", 2)
	at := term.Sum(&term.Term{Op: term.Element, Kind: term.Integer, Read: readOf(p, 2, n.Term(), r.Term())}, term.Sum(a.Term(), term.Product(b.Term(), term.Number(5))))
	x, w, y := elementOf(readOf(p, 1, n.Term(), r.Term())), elementOf(readOf(p, 3, a.Term(), b.Term())), elementOf(readOf(p, 4, n.Term(), r.Term(), b.Term()))
	add := &program.Statement{Target: 0, Left: readOf(p, 0, at), Vars: []*term.Variable{n, r, a, b}, Value: timesOf(timesOf(x, w), y), Add: true,
		Guard: term.All(term.Compare(term.AtMost, term.Number(0), at), term.Compare(term.Less, at, term.Number(entries)), term.Compare(term.Less, w, x))}
	var tensors []rewrite.Tensor
	for i, typ := range []dtype.Type{dtype.F32, dtype.F32, dtype.I32, dtype.F64, dtype.F32} { // elements of w are converted
		tensors = append(tensors, rewrite.Tensor{Type: typ, Memory: i})
	}
	compiled, err := Compile(p, []*program.Statement{add}, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if u, ok := compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32]); !ok || rewrite.Extent(u.code.over) != blocks*rows/10*taps*2 {
		t.Errorf("got the unit %T", compiled.(*code[float32]).groups[0].units[0])
	}
	memory := [][]byte{make([]byte, 4*entries), make([]byte, 4*blocks*rows), make([]byte, 4*blocks*rows), make([]byte, 8*taps*2), make([]byte, 8*blocks*rows)}
	xs, places, ws, ys := as[float32](memory[1]), as[int32](memory[2]), as[float64](memory[3]), as[float32](memory[4])
	for i := range xs {
		xs[i], places[i] = float32(math.Sin(float64(i))), int32(i*i%(entries+3)-2)
	}
	for i := range ys {
		ys[i] = float32(math.Cos(float64(i)))
	}
	for i := range ws {
		ws[i] = float64(float32(math.Sin(float64(2 + 3*i))))
	}
	want := make([]float32, entries)
	for i := range blocks * rows {
		for j := range taps * 2 {
			if at := int(places[i]) + j/2 + j%2*5; at >= 0 && at < entries && float32(ws[j]) < xs[i] {
				want[at] += float32(float32(xs[i]*float32(ws[j])) * ys[2*i+j%2])
			}
		}
	}
	if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err != nil {
		t.Fatal(err)
	}
	for i, v := range as[float32](memory[0]) {
		if v != want[i] {
			t.Errorf("place %d: want %v, got %v", i, want[i], v)
		}
	}
}

// TestWholeDigits joins quotients and remainders of an index where they are parts of its value.
func TestWholeDigits(t *testing.T) {
	v := index("u", 120)
	u := v.Term()
	digit := func(step, n int) *term.Term {
		at := u
		if step > 1 {
			at = term.Arithmetic(term.Quotient, at, term.Number(step))
		}
		if n > 0 {
			at = term.Arithmetic(term.Modulo, at, term.Number(n))
		}
		return at
	}
	times := func(x *term.Term, n int) *term.Term { return term.Product(x, term.Number(n)) }
	for _, c := range []struct {
		of    *term.Term
		parts int // opaque ones that are left
	}{
		{term.Sum(times(digit(4, 0), 4), digit(1, 4)), 0},
		{term.Sum(times(digit(12, 0), 36), term.Sum(times(digit(4, 3), 12), times(digit(1, 4), 3))), 0},
		{term.Sum(times(digit(12, 0), 12), term.Sum(times(digit(2, 2), 2), times(digit(4, 3), 4))), 1},
		{term.Sum(times(digit(12, 5), 3), digit(4, 3)), 1},
		{term.Sum(times(digit(12, 0), 3), digit(4, 2)), 2},
		{term.Sum(times(digit(20, 0), 3), digit(4, 3)), 2},
		{term.Sum(times(digit(4, 0), 5), digit(1, 4)), 2},
		{term.Sum(times(digit(5, 0), 4), digit(1, 4)), 2},
	} {
		f, c2 := rewrite.Linear(c.of).WholeDigits(), &compiler[float32]{places: map[*term.Variable]int{}}
		if len(f.Rest) != c.parts {
			t.Errorf("%s: got %d opaque integers, want %d", c.of, len(f.Rest), c.parts)
		}
		before, after := c2.value(rewrite.Linear(c.of)), c2.value(f)
		s := &state[float32]{vars: make([]int, len(c2.places))}
		for i := range 120 {
			s.vars[c2.place(v)] = i
			if before(s) != after(s) {
				t.Errorf("%s at %d: got %d, want %d", c.of, i, after(s), before(s))
			}
		}
	}
}
