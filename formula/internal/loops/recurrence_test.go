package loops

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestSharedTemporaries runs two runners of one code with a recurrence, a group of each in turn, in parts.
// The temporaries that several parts of the code access, or that the recurrence gives, have memory of the
// runner: real numbers, integers and booleans, each of a size of its own.
func TestSharedTemporaries(t *testing.T) {
	const rows, cols = 9, 70
	const x, w, factor, state, count, even, y = 0, 1, 2, 3, 4, 5, 6
	p := &program.Program{Tensors: []*program.Local{reals("x", rows, cols), reals("w", rows, cols), reals("factor", rows, cols), reals("state", rows, cols),
		reals("count", rows, cols), reals("even", rows, cols), reals("y", rows, cols)}}
	p.Tensors[count].Kind, p.Tensors[even].Kind = term.Integer, term.Boolean
	over := &program.Recurrence{Targets: []int{state, count, even}}
	statement := func(target int, value func(at func(tensor, before int, other *term.Term) *term.Term) *term.Term) *program.Statement {
		n, k := index("n", rows), index("k", cols)
		s := &program.Statement{Target: target, Left: readOf(p, target, n.Term(), k.Term()), Vars: []*term.Variable{n, k}}
		s.Value = value(func(tensor, before int, other *term.Term) *term.Term {
			r := readOf(p, tensor, term.Sum(n.Term(), term.Number(-before)), k.Term())
			r.Else = other
			return &term.Term{Op: term.Element, Kind: p.Tensors[tensor].Kind, Read: r}
		})
		if target == state || target == count || target == even {
			s.Recurrence, s.Over = over, n
		}
		return s
	}
	apply := func(op term.Op, kind term.Kind, args ...*term.Term) *term.Term {
		return &term.Term{Op: op, Kind: kind, Args: args}
	}
	type read = func(tensor, before int, other *term.Term) *term.Term
	statements := []*program.Statement{
		statement(factor, func(at read) *term.Term { return timesOf(at(x, 0, nil), at(x, 0, nil)) }),
		statement(count, func(at read) *term.Term { // it grows by 1 where the number before was even, and by 2 elsewhere
			return term.Sum(at(count, 1, term.Number(3)), apply(term.Choose, term.Integer, at(even, 1, term.Condition(false)), term.Number(1), term.Number(2)))
		}),
		statement(even, func(at read) *term.Term {
			return apply(term.Equal, term.Boolean, apply(term.Modulo, term.Integer, at(count, 0, nil), term.Number(2)), term.Number(0))
		}),
		statement(state, func(at read) *term.Term {
			return apply(term.Add, term.Real, timesOf(at(factor, 0, nil), at(state, 1, term.RealNumber(0.5))), at(w, 0, nil))
		}),
		statement(y, func(at read) *term.Term {
			return apply(term.Choose, term.Real, at(even, 0, nil), timesOf(at(state, 0, nil), at(factor, 0, nil)), at(state, 0, nil))
		}),
	}
	var tensors []rewrite.Tensor
	for i := range p.Tensors {
		tensors = append(tensors, rewrite.Tensor{Type: dtype.F32, Memory: i})
		if i >= factor && i <= even {
			tensors[i] = rewrite.Tensor{Memory: i, Local: true}
		}
	}
	code, err := Compile(p, statements, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, parts := range []int{1, 2, 7} {
		var memories [2][][]byte
		var runners [2]Runner
		for i := range memories {
			_, memories[i] = filled(p)
			for j := factor; j <= even; j++ {
				memories[i][j] = nil
			}
			for j, v := range as[float32](memories[i][x]) {
				as[float32](memories[i][x])[j] = v + float32(i)/4
			}
			runners[i] = code.Bind(memories[i])
		}
		for g := range code.Groups() {
			for i := range parts {
				for _, r := range runners {
					if err := r.Run(g, g+1, Time{Run: 1}, i, i+1, parts); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for i, memory := range memories {
			for k := range cols {
				was, c, pair := float32(0.5), 3, false
				for n := range rows {
					v := as[float32](memory[x])[n*cols+k]
					if c++; !pair {
						c++
					}
					pair = c%2 == 0
					was = float32(float32(v*v)*was) + as[float32](memory[w])[n*cols+k]
					want := was
					if pair {
						want = was * float32(v*v)
					}
					if got := as[float32](memory[y])[n*cols+k]; got != want {
						t.Fatalf("%d parts, runner %d, element [%d, %d]: got %v, want %v", parts, i, n, k, got, want)
					}
				}
			}
		}
	}
}

// TestRowsOfProducts compiles recurrences of 200 rows of 3000 elements. A step goes over few rows, which stay
// in a cache, but over more of them where it has a product of matrices, which takes all of its other factor.
func TestRowsOfProducts(t *testing.T) {
	const steps, rows, cols = 4, 200, 3000
	const x, w, y = 0, 1, 2
	for _, c := range []struct {
		name    string
		product bool
		most    int
	}{{"product", true, blocks.rows}, {"no product", false, roundElements / cols}} {
		t.Run(c.name, func(t *testing.T) {
			p := &program.Program{Tensors: []*program.Local{reals("x", steps, rows, cols), reals("w", cols, cols), reals("y", steps, rows, cols)}}
			s, n, k, j := index("s", steps), index("n", rows), index("k", cols), index("j", cols)
			before := func(at *term.Variable) *term.Term {
				r := readOf(p, y, term.Sum(s.Term(), term.Number(-1)), n.Term(), at.Term())
				r.Else = elementOf(readOf(p, x, term.Number(0), n.Term(), at.Term()))
				return elementOf(r)
			}
			value := before(k)
			if c.product {
				value = reduce(reduction.Sum, timesOf(before(j), elementOf(readOf(p, w, k.Term(), j.Term()))), j)
			}
			value = &term.Term{Op: term.Add, Kind: term.Real, Args: []*term.Term{value, elementOf(readOf(p, x, s.Term(), n.Term(), k.Term()))}}
			block := []*program.Statement{{Target: y, Left: readOf(p, y, s.Term(), n.Term(), k.Term()), Vars: []*term.Variable{s, n, k}, Value: value,
				Recurrence: &program.Recurrence{Targets: []int{y}}, Over: s}}
			var tensors []rewrite.Tensor
			for i := range p.Tensors {
				tensors = append(tensors, rewrite.Tensor{Type: dtype.F32, Memory: i})
			}
			code, err := compileRecurrence[float32](p, block, tensors, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r := code.(*recurrence[float32]); r.rows != rows || r.rounds != c.most {
				t.Errorf("want %d of %d rows at a time, got %d of %d", c.most, rows, r.rounds, r.rows)
			}
		})
	}
}

// TestDirections compiles recurrences of two rows whose products have factors of their own, as directions of
// a network, or one factor. In the first case each row may be a share, and the results are the same bits.
func TestDirections(t *testing.T) {
	const steps, rows, cols = 16, 2, 64
	const x, w, y = 0, 1, 2
	for _, own := range []bool{true, false} {
		factor := reals("w", cols, cols)
		if own {
			factor = reals("w", rows, cols, cols)
		}
		p := &program.Program{Tensors: []*program.Local{reals("x", steps, rows, cols), factor, reals("y", steps, rows, cols)}}
		s, d, k, j := index("s", steps), index("d", rows), index("k", cols), index("j", cols)
		before := readOf(p, y, term.Sum(s.Term(), term.Number(-1)), d.Term(), j.Term())
		before.Else = term.RealNumber(0)
		at := readOf(p, w, k.Term(), j.Term())
		if own {
			at = readOf(p, w, d.Term(), k.Term(), j.Term())
		}
		value := &term.Term{Op: term.Add, Kind: term.Real, Args: []*term.Term{reduce(reduction.Sum, timesOf(elementOf(before), elementOf(at)), j),
			elementOf(readOf(p, x, s.Term(), d.Term(), k.Term()))}}
		block := []*program.Statement{{Target: y, Left: readOf(p, y, s.Term(), d.Term(), k.Term()), Vars: []*term.Variable{s, d, k}, Value: value,
			Recurrence: &program.Recurrence{Targets: []int{y}}, Over: s}}
		tensors := []rewrite.Tensor{{Type: dtype.F32, Memory: x}, {Type: dtype.F32, Memory: w}, {Type: dtype.F32, Memory: y}}
		code, err := Compile(p, block, tensors, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if own {
			want = rows
		}
		if got := code.Parts(0); got != want {
			t.Errorf("own factors %v: want at most %d shares, got %d", own, want, got)
		}
		var results [][]float32
		for _, shares := range []int{1, 2} {
			_, memory := filled(p)
			r := code.Bind(memory)
			for i := range shares {
				if err := r.Run(0, 1, Time{Run: 1}, i, i+1, shares); err != nil {
					t.Fatal(err)
				}
			}
			results = append(results, as[float32](memory[y]))
		}
		if !slices.Equal(results[0], results[1]) {
			t.Errorf("own factors %v: two shares compute other bits than one", own)
		}
	}
}
