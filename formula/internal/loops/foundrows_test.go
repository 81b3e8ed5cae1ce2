package loops

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestFoundRows adds multiples of rows of a table that a tensor names to rows that another names. The sums
// are to be those of one element after the other, to the last bit, and a place outside the table is to be
// named, unless a number stands for its elements.
func TestFoundRows(t *testing.T) {
	const number, entries = 601, 7 // more rows than a strip has
	for _, n := range []int{4, 16, 48, longestShort} {
		for _, other := range []*term.Term{nil, term.RealNumber(0.5)} {
			from := &program.Local{Name: "i", Kind: term.Integer, Slot: -1, Old: -1, Shape: []*term.Term{term.Number(number)}}
			to := &program.Local{Name: "j", Kind: term.Integer, Slot: -1, Old: -1, Shape: from.Shape}
			p := &program.Program{Tensors: []*program.Local{reals("t", entries, n), from, to, reals("x", number), reals("y", entries, n)}}
			r, c := index("r", number), index("c", n)
			place := func(tensor int) *term.Term {
				return &term.Term{Op: term.Element, Kind: term.Integer, Read: readOf(p, tensor, r.Term())}
			}
			row := readOf(p, 0, place(1), c.Term())
			row.Else = other
			multiple := timesOf(elementOf(readOf(p, 3, r.Term())), elementOf(row))
			add := &program.Statement{Target: 4, Left: readOf(p, 4, place(2), c.Term()), Vars: []*term.Variable{r, c}, Value: multiple, Add: true}
			var tensors []rewrite.Tensor
			var memory [][]byte
			for i, x := range p.Tensors {
				typ := dtype.F32
				if x.Kind == term.Integer {
					typ = dtype.I32
				}
				tensors = append(tensors, rewrite.Tensor{Type: typ, Memory: i})
				memory = append(memory, make([]byte, 4*rewrite.Elements(x)))
			}
			run := func() error {
				compiled, err := Compile(p, []*program.Statement{add}, tensors, Options{})
				if err != nil {
					t.Fatal(err)
				}
				u, ok := compiled.(*code[float32]).groups[0].units[0].(*pointwise[float32])
				if !ok || len(u.found) != 1 || number <= u.length {
					t.Errorf("%d elements: got the unit %T", n, compiled.(*code[float32]).groups[0].units[0])
				}
				return compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1)
			}
			table, shares, rows, into := as[float32](memory[0]), as[float32](memory[3]), as[int32](memory[1]), as[int32](memory[2])
			for i := range table {
				table[i] = float32(math.Sin(float64(i)))
			}
			for i := range rows {
				shares[i], rows[i], into[i] = float32(math.Cos(float64(i))), int32(i*i%entries), int32(i*3%entries)
			}
			if other != nil {
				rows[5], rows[number-2] = entries, -1
			}
			totals := make([]float32, entries*n)
			for i := range number * n {
				v := float32(0.5)
				if at := int(rows[i/n]); at >= 0 && at < entries {
					v = table[at*n+i%n]
				}
				totals[int(into[i/n])*n+i%n] += float32(shares[i/n] * v)
			}
			if err := run(); err != nil || !slices.Equal(as[float32](memory[4]), totals) {
				t.Errorf("%d elements: want the sums %v, got %v, error %v", n, totals, as[float32](memory[4]), err)
			}
			rows[number-2] = entries
			if err := run(); other == nil && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("t[7, 0] lies outside t[7, %d]", n))) {
				t.Errorf("%d elements: want an error about a row outside, got %v", n, err)
			}
		}
	}
}
