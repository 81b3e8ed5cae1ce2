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
			p := &program.Program{Tensors: []*program.Local{reals("t", entries), reals("x", rows, cols), whole("at"), whole("d"), reals("count", entries)}}
			p.Tensors[4].Kind = term.Integer
			i, j := index("i", rows), index("j", cols)
			x, at, divisor := read(p, term.Real, 1, i.Term(), j.Term()), read(p, term.Integer, 2, i.Term(), j.Term()), read(p, term.Integer, 3, i.Term(), j.Term())
			guard := c.guard(read(p, term.Real, 1, i.Term(), term.Number(0)), j.Term(), at, x, divisor)
			add := []*program.Statement{
				{Target: 0, Left: readOf(p, 0, at), Vars: []*term.Variable{i, j}, Value: timesOf(x, x), Add: true, Guard: guard},
				{Target: 4, Left: readOf(p, 4, at), Vars: []*term.Variable{i, j}, Value: term.Sum(divisor, j.Term()), Add: true, Guard: guard},
			}
			var tensors []Tensor
			for n, typ := range []dtype.Type{dtype.F32, dtype.F32, dtype.I64, dtype.I64, dtype.I32} {
				tensors = append(tensors, Tensor{Type: typ, Memory: n})
			}
			var runners []Runner
			strips, guarded, wholes := false, false, false
			memory := [][]byte{make([]byte, 4*entries), make([]byte, 4*rows*cols), make([]byte, 8*rows*cols), make([]byte, 8*rows*cols), make([]byte, 4*entries)}
			for n := range add {
				compiled, err := Compile(p, add[n:n+1], tensors, Options{})
				if err != nil {
					t.Fatal(err)
				}
				runners = append(runners, compiled.Bind(memory))
				u, _ := compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32])
				for i := 0; u != nil && i < len(u.code.code); i++ {
					switch o := u.code.code[i].other.(type) {
					case *scatter[float32]:
						strips, guarded = true, o.guarded
					case *integerStore[float32]:
						wholes = true
						if (o.mask >= 0) == c.checked {
							t.Errorf("got an integer store with the mask %d", o.mask)
						}
					}
				}
			}
			if strips == c.oneByOne || wholes == c.oneByOne || guarded != (strips && !c.checked) {
				t.Errorf("got scatters in strips: %v and %v, of which the guard is evaluated: %v", strips, wholes, guarded)
			}
			values, places, divisors := as[float32](memory[1]), as[int64](memory[2]), as[int64](memory[3])
			want, counts := make([]float32, entries), make([]int32, entries)
			for n := range values {
				values[n], places[n], divisors[n] = float32(math.Sin(float64(n))), int64(n*n%entries), int64(n%4)
				if c.outside {
					places[n] = int64(n*n%(entries+4)) - 2
				}
				if c.holds(values[n/cols*cols], n%cols, int(places[n]), values[n], int(divisors[n])) {
					want[places[n]] += float32(values[n] * values[n])
					counts[places[n]] += int32(n%4 + n%cols)
				}
			}
			for _, r := range runners {
				if err := r.Run(0, 1, Time{}, 0, 1, 1); err != nil {
					t.Fatal(err)
				}
			}
			for n, v := range as[float32](memory[0]) {
				if got := as[int32](memory[4])[n]; v != want[n] || got != counts[n] {
					t.Errorf("place %d: want %v and %d, got %v and %d", n, want[n], counts[n], v, got)
				}
			}
			places[2*cols-1], values[2*cols-1], divisors[2*cols-1] = entries, 1, 1
			for n, r := range runners {
				if err := r.Run(0, 1, Time{}, 0, 1, 1); (err == nil) != c.outside {
					t.Errorf("a place out of bounds, statement %d: got the error %v", n, err)
				}
			}
		})
	}
}
