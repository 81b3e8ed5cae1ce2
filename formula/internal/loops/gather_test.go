package loops

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
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
			var tensors []rewrite.Tensor
			for n, typ := range []dtype.Type{dtype.F32, dtype.F32, dtype.I64, dtype.I64, dtype.I32} {
				tensors = append(tensors, rewrite.Tensor{Type: typ, Memory: n})
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

// TestSpots loads and adds at places with one and with two looked-up subscripts, each with what is added to
// them, where a strip has places out of bounds, and where a whole strip is out of bounds by a subscript that
// is the same for all of it. Loads without another value fail there.
func TestSpots(t *testing.T) {
	const images, n, height, width = 3, 700, 5, 6
	for _, two := range []bool{false, true} {
		for _, other := range []string{"a number", "none", "one that fails"} { // the value of elements out of bounds
			checked := other != "a number"
			whole := func(name string, shape ...int) *program.Local {
				l := reals(name, shape...)
				l.Kind = term.Integer
				return l
			}
			p := &program.Program{Tensors: []*program.Local{reals("from", images, height, width), reals("out", images, n), reals("sum", images, height, width),
				whole("row", images, n), whole("column", images, n, 2), whole("image", images)}}
			i, j := index("i", images), index("j", n)
			at := func(tensor int, idx ...*term.Term) *term.Term {
				return &term.Term{Op: term.Element, Kind: term.Integer, Read: readOf(p, tensor, idx...)}
			}
			column := term.Sum(at(4, i.Term(), j.Term(), term.Number(1)), term.Number(-1))
			row := term.Number(2)
			if two {
				row = term.Sum(at(3, i.Term(), j.Term()), term.Number(1))
			}
			place := func(tensor int) *term.Read { return readOf(p, tensor, at(5, i.Term()), row, column) }
			load := place(0)
			switch other {
			case "a number":
				load.Else = term.RealNumber(-1)
			case "one that fails":
				load.Else = elementOf(readOf(p, 0, term.Sum(at(5, term.Number(0)), term.Number(99)), term.Number(0), term.Number(0)))
			}
			inside := func(x *term.Term, n int) *term.Term {
				return term.All(term.Compare(term.AtMost, term.Number(0), x), term.Compare(term.Less, x, term.Number(n)))
			}
			guard := term.All(term.All(inside(at(5, i.Term()), images), inside(row, height)), inside(column, width))
			out := readOf(p, 1, i.Term(), j.Term())
			statements := []*program.Statement{
				{Target: 1, Left: out, Vars: []*term.Variable{i, j}, Value: elementOf(load)},
				{Target: 2, Left: place(2), Vars: []*term.Variable{i, j}, Value: term.RealNumber(0.25), Add: true, Guard: guard},
			}
			var tensors []rewrite.Tensor
			for k, typ := range []dtype.Type{dtype.F32, dtype.F32, dtype.F32, dtype.I64, dtype.I64, dtype.I64} {
				tensors = append(tensors, rewrite.Tensor{Type: typ, Memory: k})
			}
			memory := [][]byte{make([]byte, 4*images*height*width), make([]byte, 4*images*n), make([]byte, 4*images*height*width), make([]byte, 8*images*n), make([]byte, 16*images*n), make([]byte, 8*images)}
			var runners []Runner
			for k := range statements {
				compiled, err := Compile(p, statements[k:k+1], tensors, Options{})
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, in := range compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32]).code.code {
					switch o := in.other.(type) {
					case *gather[float32]:
						found = found || o.spots != nil
					case *scatter[float32]:
						found = found || o.spots != nil
					}
				}
				if !found {
					t.Errorf("two subscripts %v, statement %d: want one loop", two, k)
				}
				runners = append(runners, compiled.Bind(memory))
			}
			from, rows, columns, image := as[float32](memory[0]), as[int64](memory[3]), as[int64](memory[4]), as[int64](memory[5])
			for k := range from {
				from[k] = float32(k)
			}
			copy(image, []int64{2, 0, images}) // the last one is out of bounds
			if checked {
				image[2] = 1
			}
			for k := range rows {
				rows[k], columns[2*k+1] = int64(k*3%(height+3))-2, int64(k*5%(width+3))-1
				if checked {
					rows[k], columns[2*k+1] = int64(k%height)-1, int64(k%width)+1
				}
			}
			want, sum := make([]float32, images*n), make([]float32, images*height*width)
			for k := range want {
				r, c, m := 2, int(columns[2*k+1])-1, int(image[k/n])
				if two {
					r = int(rows[k]) + 1
				}
				want[k] = -1
				if m < images && r >= 0 && r < height && c >= 0 && c < width {
					want[k] = from[(m*height+r)*width+c]
					sum[(m*height+r)*width+c] += 0.25
				}
			}
			for _, r := range runners {
				if err := r.Run(0, 1, Time{}, 0, 1, 1); err != nil {
					t.Fatal(err)
				}
			}
			if got := as[float32](memory[1]); !slices.Equal(got, want) {
				t.Errorf("two subscripts %v: want %v, got %v", two, want, got)
			}
			if got := as[float32](memory[2]); !slices.Equal(got, sum) {
				t.Errorf("two subscripts %v: want sums %v, got %v", two, sum, got)
			}
			for _, wrong := range []int64{-8, 99, math.MinInt64, math.MaxInt64} {
				columns[2*n-1] = wrong
				if err := runners[0].Run(0, 1, Time{}, 0, 1, 1); (err != nil) != checked {
					t.Errorf("a column %d: got the error %v", wrong, err)
				}
			}
		}
	}
}

// TestStretches loads and adds at remainders of an index, and at its multiples, whose stretches are too
// short.
func TestStretches(t *testing.T) {
	const rows, n = 3, 40
	for _, step := range []int{1, 3} {
		p := &program.Program{Tensors: []*program.Local{reals("from", rows, n), reals("out", rows, n), reals("sum", rows, n)}}
		i, j := index("i", rows), index("j", n)
		at := term.Arithmetic(term.Modulo, term.Sum(term.Product(j.Term(), term.Number(step)), term.Number(-7)), term.Number(n))
		statements := []*program.Statement{
			{Target: 1, Left: readOf(p, 1, i.Term(), j.Term()), Vars: []*term.Variable{i, j}, Value: elementOf(readOf(p, 0, i.Term(), at))},
			{Target: 2, Left: readOf(p, 2, i.Term(), at), Vars: []*term.Variable{i, j}, Value: elementOf(readOf(p, 0, i.Term(), j.Term())), Add: true},
		}
		memory := [][]byte{make([]byte, 4*rows*n), make([]byte, 4*rows*n), make([]byte, 4*rows*n)}
		from, want, sum := as[float32](memory[0]), make([]float32, rows*n), make([]float32, rows*n)
		for k := range from {
			from[k] = float32(k)
		}
		for k := range want {
			place := k/n*n + (k%n*step-7+n)%n
			want[k] = from[place]
			sum[place] += from[k]
		}
		for k := range statements {
			compiled, err := Compile(p, statements[k:k+1], []rewrite.Tensor{{Type: dtype.F32}, {Type: dtype.F32, Memory: 1}, {Type: dtype.F32, Memory: 2}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, in := range compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32]).code.code {
				switch o := in.other.(type) {
				case *gather[float32]:
					found = o.stretches != nil
				case *scatter[float32]:
					found = o.stretches != nil
				}
			}
			if found != (step == 1) {
				t.Errorf("step %d, statement %d: got stretches: %v", step, k, found)
			}
			if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := as[float32](memory[1]); !slices.Equal(got, want) {
			t.Errorf("step %d: want %v, got %v", step, want, got)
		}
		if got := as[float32](memory[2]); !slices.Equal(got, sum) {
			t.Errorf("step %d: want sums %v, got %v", step, sum, got)
		}
	}
}
