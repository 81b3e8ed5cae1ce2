package loops

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// TestWithin compares the elements of a strip that lie inside a dimension with those found one by one.
func TestWithin(t *testing.T) {
	for first := -7; first <= 7; first++ {
		for factor := -3; factor <= 3; factor++ {
			for ext := range 5 {
				lo, hi := within(first, factor, ext, 6)
				for i := range 6 {
					v := first + i*factor
					if inside := v >= 0 && v < ext; inside != (i >= lo && i < hi) {
						t.Fatalf("%d + %d*i below %d: got %d to %d, but element %d is %d", first, factor, ext, lo, hi, i, v)
					}
				}
			}
		}
	}
}

// TestStretch compares the elements of a strip for which a comparison with 0 holds with those found one by
// one.
func TestStretch(t *testing.T) {
	holds := map[term.Op]func(v int) bool{
		term.Less: func(v int) bool { return v < 0 }, term.AtMost: func(v int) bool { return v <= 0 },
		term.Equal: func(v int) bool { return v == 0 }, term.Unequal: func(v int) bool { return v == 0 }, // those that it excludes
	}
	for op, want := range holds {
		for first := -7; first <= 7; first++ {
			for step := -3; step <= 3; step++ {
				lo, hi := stretch(op, first, step, 6)
				for i := range 6 {
					if v := first + i*step; want(v) != (i >= lo && i < hi) {
						t.Fatalf("operation %d of %d + %d*i: got %d to %d, but element %d is %d", op, first, step, lo, hi, i, v)
					}
				}
			}
		}
	}
}

// TestShare checks that the shares of parts cover all values once.
func TestShare(t *testing.T) {
	for n := range 12 {
		for total := 1; total < 9; total++ {
			if share(n, 0, total) != 0 || share(n, total, total) != n {
				t.Errorf("%d values in %d parts: got %d to %d", n, total, share(n, 0, total), share(n, total, total))
			}
			for i := range total {
				if share(n, i, total) > share(n, i+1, total) {
					t.Errorf("%d values in %d parts: part %d begins behind the next", n, total, i)
				}
			}
		}
	}
}

// TestPieces cuts a statement where a condition on an index changes: each piece has one of the two values.
func TestPieces(t *testing.T) {
	v := index("i", 10)
	left := &term.Read{Tensor: 0, Count: 1, Idx: []*term.Term{v.Term()}, Ext: []*term.Term{v.Hi}}
	s := &rewrite.Statement{Left: left, Vars: []*term.Variable{v},
		Value: term.Conditional(term.Compare(term.Less, v.Term(), term.Number(4)), term.RealNumber(1), term.RealNumber(2))}
	var extents []int
	var values []float64
	for _, p := range rewrite.Pieces(s) {
		extents = append(extents, rewrite.Extent(p.Vars[0]))
		values = append(values, p.Value.Value())
	}
	if !slices.Equal(extents, []int{4, 6}) || !slices.Equal(values, []float64{1, 2}) {
		t.Errorf("got pieces of %v elements with the values %v, want 4 of 1 and 6 of 2", extents, values)
	}
}

// TestDigits takes an index apart whose quotient and remainder are used.
func TestDigits(t *testing.T) {
	v, six := index("i", 24), term.Number(6)
	left := &term.Read{Tensor: 0, Count: 1, Idx: []*term.Term{v.Term()}, Ext: []*term.Term{v.Hi}}
	s := rewrite.Digits(&rewrite.Statement{Left: left, Vars: []*term.Variable{v},
		Value: term.Sum(term.Arithmetic(term.Quotient, v.Term(), six), term.Arithmetic(term.Modulo, v.Term(), six))})
	if len(s.Vars) != 2 || rewrite.Extent(s.Vars[0]) != 4 || rewrite.Extent(s.Vars[1]) != 6 {
		t.Fatalf("got %d indices, want one of 4 values and one of 6", len(s.Vars))
	}
	if f := rewrite.Linear(s.Value); len(f.Rest) > 0 || f.Factor(s.Vars[0]) != 1 || f.Factor(s.Vars[1]) != 1 {
		t.Errorf("got the value %v, want the sum of both indices", s.Value)
	}
	if f := rewrite.AccessOf(s.Left).Offset; f.Factor(s.Vars[0]) != 6 || f.Factor(s.Vars[1]) != 1 {
		t.Errorf("got the place %v, want 6 times the first index and the second", s.Left.Idx[0])
	}
}

// TestFewDigits leaves an innermost index whole where it would become one of few values.
func TestFewDigits(t *testing.T) {
	n, v := index("n", 4), index("i", 24)
	left := &term.Read{Tensor: 0, Count: 1, Idx: []*term.Term{n.Term(), v.Term()}, Ext: []*term.Term{n.Hi, v.Hi}}
	for d, want := range map[int]int{2: 2, 12: 2} {
		from := &term.Read{Tensor: 1, Count: 1, Idx: []*term.Term{n.Term(), term.Arithmetic(term.Quotient, v.Term(), term.Number(d))}, Ext: left.Ext}
		s := &rewrite.Statement{Left: left, Vars: []*term.Variable{n, v}, Value: elementOf(from)}
		if got := len(rewrite.Digits(s).Vars); got != want {
			t.Errorf("divided by %d: want %d indices, got %d", d, want, got)
		}
		s.Vars = []*term.Variable{v, n}
		if got := len(rewrite.Digits(s).Vars); got != 3 {
			t.Errorf("divided by %d, not innermost: want 3 indices, got %d", d, got)
		}
	}
}

// TestAddDigits compares quotients and remainders of a strip with those found one by one.
func TestAddDigits(t *testing.T) {
	for first := -7; first <= 7; first++ {
		for step := -5; step <= 5; step++ {
			for d := 1; d < 5; d++ {
				out := make([]int, 6)
				addDigits(out, first, step, d, 100, 1)
				for i, got := range out {
					q := shape.FloorDiv(first+i*step, d)
					if want := 100*q + first + i*step - q*d; got != want {
						t.Fatalf("element %d of %d + %d*i by %d: want %d, got %d", i, first, step, d, want, got)
					}
				}
			}
		}
	}
}

// TestGroups checks which statements share loops: a mean of rows and what subtracts it do, but not what reads
// other rows.
func TestGroups(t *testing.T) {
	rows, cols := 8, 16
	p := &program.Program{Tensors: []*program.Local{reals("x", rows, cols), reals("m", rows), reals("y", rows, cols), reals("z", rows, cols)}}
	read := func(tensor int, idx ...*term.Term) *term.Read { return readOf(p, tensor, idx...) }
	n, k, j := index("n", rows), index("k", cols), index("j", cols)
	mean := reduce(reduction.Mean, elementOf(read(0, n.Term(), j.Term())), j)
	n2, k2 := index("n", rows), index("k", cols)
	statements := []*program.Statement{
		{Target: 1, Left: read(1, n.Term()), Vars: []*term.Variable{n}, Value: mean},
		{Target: 2, Left: read(2, n2.Term(), k.Term()), Vars: []*term.Variable{n2, k},
			Value: term.Difference(elementOf(read(0, n2.Term(), k.Term())), elementOf(read(1, n2.Term())))},
		{Target: 3, Left: read(3, n2.Term(), k2.Term()), Vars: []*term.Variable{n2, k2},
			Value: elementOf(read(2, term.Difference(term.Number(rows-1), n2.Term()), k2.Term()))},
	}
	tensors := make([]rewrite.Tensor, 4)
	for i := range tensors {
		tensors[i] = rewrite.Tensor{Type: dtype.F64, Memory: i}
	}
	code, err := Compile(p, statements, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := code.Groups(); got != 2 {
		t.Errorf("got %d groups of loops, want 2", got)
	}
}

// TestSerialGroups checks that statements without indices are one group, which needs no step of its own for
// each of them, and runs groups in one call.
func TestSerialGroups(t *testing.T) {
	const n = 4
	p := &program.Program{Tensors: []*program.Local{reals("x", n), reals("y", n), reals("s"), reals("a"), reals("b")}}
	i, k := index("i", n), index("k", n)
	s, a := elementOf(readOf(p, 2)), elementOf(readOf(p, 3))
	statements := []*program.Statement{
		{Target: 1, Left: readOf(p, 1, i.Term()), Vars: []*term.Variable{i}, Value: timesOf(elementOf(readOf(p, 0, i.Term())), term.RealNumber(2))},
		{Target: 2, Left: readOf(p, 2), Value: reduce(reduction.Sum, elementOf(readOf(p, 1, k.Term())), k)},
		{Target: 3, Left: readOf(p, 3), Value: timesOf(s, s)},
		{Target: 4, Left: readOf(p, 4), Value: term.Difference(a, s)},
	}
	var tensors []rewrite.Tensor
	memory := [][]byte{make([]byte, 8*n), make([]byte, 8*n), make([]byte, 8), make([]byte, 8), make([]byte, 8)}
	for m := range memory {
		tensors = append(tensors, rewrite.Tensor{Type: dtype.F64, Memory: m})
	}
	code, err := Compile(p, statements, tensors, Options{Steps: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := code.Groups(); got != 2 {
		t.Errorf("got %d groups of loops, want 2", got)
	}
	copy(as[float64](memory[0]), []float64{1, 2, 3, 4})
	if err := code.Bind(memory).Run(0, code.Groups(), Time{}, 0, 1, 1); err != nil {
		t.Fatal(err)
	}
	if got := as[float64](memory[4])[0]; got != 380 {
		t.Errorf("20 * 20 - 20: got %v", got)
	}
}
