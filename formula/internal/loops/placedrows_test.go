package loops

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestPlacedRows adds rows to those of a table that a tensor names. The sums are to be those of one row after
// the other, to the last bit, and a place outside the table is to be named.
func TestPlacedRows(t *testing.T) {
	const blocks, rows, entries = 2, 601, 7 // more rows than a strip has
	for _, n := range []int{2, 3, fewAdded, fewAdded + 1, longestShort} {
		table := reals("t", entries, n)
		at := &program.Local{Name: "i", Kind: term.Integer, Slot: -1, Old: -1, Shape: []*term.Term{term.Number(blocks), term.Number(rows)}}
		p := &program.Program{Tensors: []*program.Local{table, reals("x", blocks, rows, n), at}}
		b, r, c := index("b", blocks), index("r", rows), index("c", n)
		place := &term.Term{Op: term.Element, Kind: term.Integer, Read: readOf(p, 2, b.Term(), r.Term())}
		x := elementOf(readOf(p, 1, b.Term(), r.Term(), c.Term()))
		add := &program.Statement{Target: 0, Left: readOf(p, 0, place, c.Term()), Vars: []*term.Variable{b, r, c}, Value: timesOf(x, x), Add: true}
		compiled, err := Compile(p, []*program.Statement{add},
			[]rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}, {Type: dtype.I32, Memory: 2}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32]); !ok || u.to == nil || rows <= u.length {
			t.Errorf("%d elements: got the unit %T", n, compiled.(*code[float32]).groups[0].units[0])
		}
		memory := [][]byte{make([]byte, 4*entries*n), make([]byte, 4*blocks*rows*n), make([]byte, 4*blocks*rows)}
		sums, values, places := as[float32](memory[0]), as[float32](memory[1]), as[int32](memory[2])
		for i := range values {
			values[i] = float32(math.Sin(float64(i)))
		}
		for i := range places {
			places[i] = int32(i * i % entries)
		}
		want := make([]float32, len(sums))
		for i, v := range values {
			want[int(places[i/n])*n+i%n] += float32(v * v)
		}
		if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err != nil {
			t.Fatal(err)
		}
		for i, v := range sums {
			if v != want[i] {
				t.Fatalf("%d elements, element %d: want %v, got %v", n, i, want[i], v)
			}
		}
		places[blocks*rows-2] = entries
		if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err == nil || !strings.Contains(err.Error(), "t[7, 0] lies outside t[7, ") {
			t.Errorf("%d elements: want an error about a row outside, got %v", n, err)
		}
	}
}

// TestJoinedRows copies rows that a tensor names. Two of the loops are one, and a place outside of the tensor
// is named by all of its dimensions.
func TestJoinedRows(t *testing.T) {
	const rows, entries, groups, n = 5, 4, 3, 20
	at := &program.Local{Name: "i", Kind: term.Integer, Slot: -1, Old: -1, Shape: []*term.Term{term.Number(rows)}}
	p := &program.Program{Tensors: []*program.Local{reals("t", entries, groups, 1, n), at, reals("y", rows, groups, n)}}
	r, g, c := index("r", rows), index("g", groups), index("c", n)
	place := &term.Term{Op: term.Element, Kind: term.Integer, Read: readOf(p, 1, r.Term())}
	value := elementOf(readOf(p, 0, place, g.Term(), term.Number(0), c.Term()))
	for name, s := range map[string]*program.Statement{
		"t is read outside its shape [4, 3, 1, 20]": {Target: 2, Left: readOf(p, 2, r.Term(), g.Term(), c.Term()), Value: timesOf(value, value)},
		"t[4, 0, 0, 0] lies outside t[4, 3, 1, 20]": {Target: 0, Left: readOf(p, 0, place, g.Term(), term.Number(0), c.Term()), Value: elementOf(readOf(p, 2, r.Term(), g.Term(), c.Term())), Add: true},
	} {
		s.Vars = []*term.Variable{r, g, c}
		compiled, err := Compile(p, []*program.Statement{s}, []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.I32, Memory: 1}, {Type: dtype.F32, Memory: 2}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32]); !ok || rewrite.Extent(u.code.over) != groups*n {
			t.Errorf("got the unit %T", compiled.(*code[float32]).groups[0].units[0])
		}
		memory := [][]byte{make([]byte, 4*entries*groups*n), make([]byte, 4*rows), make([]byte, 4*rows*groups*n)}
		table, places, ys := as[float32](memory[0]), as[int32](memory[1]), as[float32](memory[2])
		for i := range table {
			table[i] = float32(i)
		}
		for i := range places {
			places[i] = int32(i * i % entries)
		}
		if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err != nil {
			t.Fatal(err)
		}
		for i, v := range ys {
			if x := float32(int(places[i/(groups*n)])*groups*n + i%(groups*n)); !s.Add && v != x*x {
				t.Fatalf("element %d: want %v, got %v", i, x*x, v)
			}
		}
		places[rows-2] = entries
		if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err == nil || err.Error() != name {
			t.Errorf("want the error %q, got %v", name, err)
		}
	}
}

// TestByDimension takes joined subscripts apart.
func TestByDimension(t *testing.T) {
	c := &compiler[float32]{p: &program.Program{Tensors: []*program.Local{reals("t", 4, 3, 1, 20, 2)}}}
	for _, x := range []struct{ at, ext, want []int }{
		{[]int{5, 47, 1}, []int{4, 60, 2}, []int{5, 2, 0, 7, 1}},
		{[]int{5, 2, 15}, []int{4, 3, 40}, []int{5, 2, 0, 7, 1}},
		{[]int{5, 95}, []int{4, 120}, []int{5, 2, 0, 7, 1}},
		{[]int{5, 95}, []int{4, 121}, []int{5, 95}}, // another shape
	} {
		if at, of := c.byDimension(0, x.at, x.ext); !slices.Equal(at, x.want) || len(of) != len(at) {
			t.Errorf("%v of %v: got %v of %v, want %v", x.at, x.ext, at, of, x.want)
		}
	}
}
