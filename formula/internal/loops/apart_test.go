package loops

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestApart computes rows from what stands some elements before them in the same memory, at distances from 0
// to two rows. A strip that reads nothing it writes is one fused loop. Any other strip reads all of its
// elements before it writes one.
func TestApart(t *testing.T) {
	const rows, cols, first = 3, 40, 80
	for distance := range first + 1 {
		t.Run(fmt.Sprint(distance), func(t *testing.T) {
			p := &program.Program{Tensors: []*program.Local{reals("x", first+rows*cols), reals("y", first+rows*cols), reals("w", cols)}}
			n, k := index("n", rows), index("k", cols)
			at := term.Sum(term.Product(n.Term(), term.Number(cols)), k.Term())
			x, w := elementOf(readOf(p, 0, term.Sum(at, term.Number(first-distance)))), elementOf(readOf(p, 2, k.Term()))
			s := &program.Statement{Target: 1, Left: readOf(p, 1, term.Sum(at, term.Number(first))), Vars: []*term.Variable{n, k},
				Value: timesOf(&term.Term{Op: term.Add, Kind: term.Real, Args: []*term.Term{x, w}}, w)}
			tensors, memory := filled(p)
			tensors[1] = rewrite.Tensor{Type: dtype.F32, Memory: 0}
			memory[1] = memory[0]
			code, err := Compile(p, []*program.Statement{s}, tensors, Options{Ordered: true})
			if err != nil {
				t.Fatal(err)
			}
			u, ok := code.(*singles).groups[0].units[0].(*pointwise[float32])
			if !ok || u.elements > 1 {
				t.Fatalf("want strips of one row, got %T", code.(*singles).groups[0].units[0])
			}
			if one, want := u.code.only() != nil, distance == 0 || distance >= cols; one != want && simd.Vector() > 0 && jit.Available() {
				t.Errorf("want one fused loop to be %t, got %t", want, one)
			}
			got, ws := as[float32](memory[0]), as[float32](memory[2])
			want := slices.Clone(got)
			for row := range rows {
				to := first + row*cols
				before := slices.Clone(want[to-distance:][:cols])
				for i, v := range before {
					want[to+i] = (v + ws[i]) * ws[i]
				}
			}
			if err := code.Bind(memory).Run(0, code.Groups(), Time{Run: 1}, 0, 1, 1); err != nil {
				t.Fatal(err)
			}
			for i, v := range want {
				if got[i] != v {
					t.Fatalf("element %d: want %v, got %v", i, v, got[i])
				}
			}
		})
	}
}
