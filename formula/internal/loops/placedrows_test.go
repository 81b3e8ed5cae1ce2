package loops

import (
	"math"
	"strings"
	"testing"

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
			[]Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}, {Type: dtype.I32, Memory: 2}}, Options{})
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
