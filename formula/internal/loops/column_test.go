package loops

import (
	"fmt"
	"math"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestArgumentColumns finds the places of extremes of columns, some of which have ties, infinities, NaN, or
// no element for which the guard holds.
func TestArgumentColumns(t *testing.T) {
	const rows, cols, from = 9, 70, -4 // of the numbers of rows
	for _, kind := range []reduction.Kind{reduction.ArgMax, reduction.ArgMin} {
		for _, guarded := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, guarded), func(t *testing.T) {
				to := &program.Local{Name: "to", Kind: term.Integer, Slot: -1, Old: -1, Shape: []*term.Term{term.Number(cols)}}
				p := &program.Program{Tensors: []*program.Local{reals("x", rows, cols), to, reals("g", rows, cols)}}
				r, c := index("r", rows), index("c", cols)
				best := reduce(kind, elementOf(readOf(p, 0, r.Term(), c.Term())), r)
				best.Kind, best.Reduction.Number = term.Integer, term.Sum(r.Term(), term.Number(from))
				if guarded {
					best.Reduction.Guard = term.Compare(term.Less, term.RealNumber(0), elementOf(readOf(p, 2, r.Term(), c.Term())))
				}
				s := &program.Statement{Target: 1, Left: readOf(p, 1, c.Term()), Vars: []*term.Variable{c}, Value: best}
				compiled, err := Compile(p, []*program.Statement{s}, []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.I64, Memory: 1}, {Type: dtype.F32, Memory: 2}}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				u, ok := compiled.(*code[float32]).groups[0].units[0].(*columns[float32])
				if !ok || !u.sums[0].search {
					t.Errorf("got the unit %T", compiled.(*code[float32]).groups[0].units[0])
				}
				memory := [][]byte{make([]byte, 4*rows*cols), make([]byte, 8*cols), make([]byte, 4*rows*cols)}
				xs, gs := as[float32](memory[0]), as[float32](memory[2])
				for i := range xs {
					special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1))}
					if xs[i] = float32(i * i % 7); i%cols >= 40 {
						xs[i] = special[i*i*i%(1+i%len(special))]
					}
					if gs[i] = float32(i%3) - 1; i%cols%11 == 0 {
						gs[i] = -1
					}
				}
				if err := compiled.Bind(memory).Run(0, 1, Time{}, 0, 1, 1); err != nil {
					t.Fatal(err)
				}
				for i, got := range as[int64](memory[1]) {
					first, want := true, 0
					var most float32
					for j := range rows {
						v := xs[j*cols+i]
						if guarded && gs[j*cols+i] <= 0 {
							continue
						}
						more := v > most
						if kind == reduction.ArgMin {
							more = v < most
						}
						if first || more || v != v && most == most {
							first, most, want = false, v, j+from
						}
					}
					if got != int64(want) {
						t.Errorf("column %d: want %d, got %d", i, want, got)
					}
				}
			})
		}
	}
}
