package loops

import (
	"testing"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// TestFlat runs one loop over the same memory again and again, as a whole and in parts. Elements and the
// number that it takes from memory change between the runs.
func TestFlat(t *testing.T) {
	const rows, cols = 3, 70
	p := &program.Program{Tensors: []*program.Local{reals("x", rows, cols), reals("k"), reals("y", rows, cols)}}
	r, c := index("r", rows), index("c", cols)
	x, k := elementOf(readOf(p, 0, r.Term(), c.Term())), elementOf(readOf(p, 1))
	s := &program.Statement{Target: 2, Left: readOf(p, 2, r.Term(), c.Term()), Vars: []*term.Variable{r, c}, Value: timesOf(term.Sum(x, k), k)}
	tensors, memory := filled(p)
	code, err := Compile(p, []*program.Statement{s}, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if flat := code.(*singles).groups[0].flat != nil; flat != (simd.Vector() > 0 && jit.Available()) {
		t.Errorf("the group is one loop over memory that stays where it is: %v", flat)
	}
	run := code.Bind(memory)
	xs, ks, ys := as[float32](memory[0]), as[float32](memory[1]), as[float32](memory[2])
	for round, parts := range []int{1, 1, 3, 1, 2, 1} {
		ks[0] = float32(round) + 0.5
		for i := range xs {
			xs[i] = float32(i%7 - round)
		}
		clear(ys)
		for i := range parts {
			if err := run.Run(0, 1, Time{Run: uint64(round + 1)}, i, i+1, parts); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range xs {
			if want := (v + ks[0]) * ks[0]; ys[i] != want {
				t.Fatalf("round %d in %d parts, element %d: want %v, got %v", round, parts, i, want, ys[i])
			}
		}
	}
}

// singles is code for float32.
type singles = code[float32]
