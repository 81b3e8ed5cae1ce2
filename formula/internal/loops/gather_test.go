package loops

import (
	"math"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestGuardedScatter adds numbers at looked-up places where a guard holds. The sums are to be those of one
// number after the other, to the last bit. Places out of bounds are an error where the guard does not exclude
// them, and no integer that the guard keeps from it is divided by 0.
func TestGuardedScatter(t *testing.T) {
	const rows, cols, entries = 3, 1500, 11 // more columns than a strip has
	read := func(p *program.Program, kind term.Kind, tensor int, idx ...*term.Term) *term.Term {
		return &term.Term{Op: term.Element, Kind: kind, Read: readOf(p, tensor, idx...)}
	}
	for _, c := range []struct {
		name     string
		guard    func(first, j, at, x, divisor *term.Term) *term.Term // first is that of the row
		holds    func(first float32, j, at int, x float32, divisor int) bool
		oneByOne bool
		checked  bool // whether the guard has but the bounds checks
		outside  bool // whether some places are out of bounds
	}{
		{"checks", func(_, _, at, _, _ *term.Term) *term.Term {
			return term.All(term.Compare(term.AtMost, term.Number(0), at), term.Compare(term.Less, at, term.Number(entries)))
		}, func(_ float32, _, at int, _ float32, _ int) bool { return at >= 0 && at < entries }, false, true, true},
		{"checks and a value", func(_, _, at, x, _ *term.Term) *term.Term {
			return term.All(term.Compare(term.Less, term.RealNumber(0), x), term.Compare(term.AtMost, term.Number(0), at), term.Compare(term.Less, at, term.Number(entries)))
		}, func(_ float32, _, at int, x float32, _ int) bool { return x > 0 && at >= 0 && at < entries }, false, false, true},
		{"a row and a value", func(first, _, _, x, _ *term.Term) *term.Term {
			return term.All(term.Compare(term.Less, first, term.RealNumber(0)), term.Compare(term.Less, term.RealNumber(0), x))
		}, func(first float32, _, _ int, x float32, _ int) bool { return first < 0 && x > 0 }, false, false, false},
		{"one check", func(_, _, at, _, _ *term.Term) *term.Term { return term.Compare(term.AtMost, term.Number(0), at) },
			func(_ float32, _, at int, _ float32, _ int) bool { return at >= 0 }, false, false, false},
		{"a divisor", func(_, j, _, _, divisor *term.Term) *term.Term {
			return term.All(term.Compare(term.Unequal, divisor, term.Number(0)), term.Compare(term.Equal, term.Arithmetic(term.Modulo, j, divisor), term.Number(0)))
		}, func(_ float32, j, _ int, _ float32, divisor int) bool { return divisor != 0 && j%divisor == 0 }, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := func(name string) *program.Local {
				return &program.Local{Name: name, Kind: term.Integer, Slot: -1, Old: -1, Shape: []*term.Term{term.Number(rows), term.Number(cols)}}
			}
			p := &program.Program{Tensors: []*program.Local{reals("t", entries), reals("x", rows, cols), whole("at"), whole("d")}}
			i, j := index("i", rows), index("j", cols)
			x, at, divisor := read(p, term.Real, 1, i.Term(), j.Term()), read(p, term.Integer, 2, i.Term(), j.Term()), read(p, term.Integer, 3, i.Term(), j.Term())
			add := &program.Statement{Target: 0, Left: readOf(p, 0, at), Vars: []*term.Variable{i, j}, Value: timesOf(x, x), Add: true,
				Guard: c.guard(read(p, term.Real, 1, i.Term(), term.Number(0)), j.Term(), at, x, divisor)}
			compiled, err := Compile(p, []*program.Statement{add},
				[]Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}, {Type: dtype.I64, Memory: 2}, {Type: dtype.I64, Memory: 3}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			strips, guarded := false, false
			for _, in := range compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32]).code.code {
				if o, ok := in.other.(*scatter[float32]); ok {
					strips, guarded = true, o.guarded
				}
			}
			if strips == c.oneByOne || guarded != (strips && !c.checked) {
				t.Errorf("got a scatter in strips: %v, of which the guard is evaluated: %v", strips, guarded)
			}
			memory := [][]byte{make([]byte, 4*entries), make([]byte, 4*rows*cols), make([]byte, 8*rows*cols), make([]byte, 8*rows*cols)}
			values, places, divisors := as[float32](memory[1]), as[int64](memory[2]), as[int64](memory[3])
			want := make([]float32, entries)
			for n := range values {
				values[n], places[n], divisors[n] = float32(math.Sin(float64(n))), int64(n*n%entries), int64(n%4)
				if c.outside {
					places[n] = int64(n*n%(entries+4)) - 2
				}
				if c.holds(values[n/cols*cols], n%cols, int(places[n]), values[n], int(divisors[n])) {
					want[places[n]] += values[n] * values[n]
				}
			}
			if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err != nil {
				t.Fatal(err)
			}
			for n, v := range as[float32](memory[0]) {
				if v != want[n] {
					t.Errorf("place %d: want %v, got %v", n, want[n], v)
				}
			}
			places[2*cols-1], values[2*cols-1], divisors[2*cols-1] = entries, 1, 1
			if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); (err == nil) != c.outside {
				t.Errorf("a place out of bounds: got the error %v", err)
			}
		})
	}
}
