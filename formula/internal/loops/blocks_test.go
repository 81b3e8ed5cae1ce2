package loops

import (
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// TestBlocksOfColumns compiles a sum of each column of many rows, and what is computed of the sums, which are
// one group. A block of the group has many columns, however many rows a sum has: strips of few columns are
// short, and each takes a part of a line of memory of each row.
func TestBlocksOfColumns(t *testing.T) {
	const rows, cols = 3000, 300
	p := &program.Program{Tensors: []*program.Local{reals("x", rows, cols), reals("sum", cols), reals("y", cols)}}
	n, k, j := index("n", rows), index("k", cols), index("k", cols)
	tensors, memory := filled(p)
	compiled, err := compile[float32](p, []*program.Statement{
		{Target: 1, Left: readOf(p, 1, k.Term()), Vars: []*term.Variable{k}, Value: reduce(reduction.Sum, elementOf(readOf(p, 0, n.Term(), k.Term())), n)},
		{Target: 2, Left: readOf(p, 2, j.Term()), Vars: []*term.Variable{j}, Value: timesOf(elementOf(readOf(p, 1, j.Term())), elementOf(readOf(p, 1, j.Term())))},
	}, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	groups := compiled.(*code[float32]).groups
	if len(groups) != 1 || len(groups[0].units) != 2 {
		t.Fatalf("want a group of a sum of columns and of what is computed of it, got %d groups", len(groups))
	}
	if got := groups[0].block; got < 256 {
		t.Errorf("got blocks of %d columns, want at least 256", got)
	}
	for _, parts := range []int{1, 2, 7} {
		runParts(t, compiled, memory, parts, 2)
		for c := range cols {
			var want float64
			for r := range rows {
				want += float64(as[float32](memory[0])[r*cols+c])
			}
			if got := as[float32](memory[2])[c]; got != float32(want)*float32(want) {
				t.Fatalf("%d parts, column %d: got %v, want %v", parts, c, got, want*want)
			}
		}
	}
}
