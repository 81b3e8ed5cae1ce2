package loops

import (
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestRanges adds elements to rows over ranges that a tensor gives: each goes over its own range only, and
// rows run in parts.
func TestRanges(t *testing.T) {
	const rows, cols = 4, 9
	first := []int32{0, 2, 9, 5, 6} // the third range is empty
	p := &program.Program{Tensors: []*program.Local{reals("x", cols),
		{Name: "first", Kind: term.Integer, Shape: []*term.Term{term.Number(rows + 1)}, Old: -1}, reals("y", rows, cols)}}
	r := index("r", rows)
	next := term.Sum(r.Term(), term.Number(1))
	e := &term.Variable{Name: "e", Lo: elementOf(readOf(p, 1, r.Term())), Hi: elementOf(readOf(p, 1, next))}
	e.Lo.Kind, e.Hi.Kind = term.Integer, term.Integer
	tensors, memory := filled(p)
	tensors[1] = rewrite.Tensor{Type: dtype.I32, Memory: 1, Below: cols + 1}
	copy(as[int32](memory[1]), first)
	statements := []*program.Statement{{Target: 2, Left: readOf(p, 2, r.Term(), e.Term()), Vars: []*term.Variable{r, e},
		Value: elementOf(readOf(p, 0, e.Term())), Add: true}}
	code, err := Compile(p, statements, tensors, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if code.Total(0) != rows {
		t.Errorf("got outermost loops over %d values, want %d", code.Total(0), rows)
	}
	x := as[float32](memory[0])
	for _, parts := range []int{1, 2, 4} {
		want := slices.Clone(as[float32](memory[2]))
		for i := range rows {
			for k := first[i]; k < first[i+1]; k++ {
				want[i*cols+int(k)] += x[k]
			}
		}
		if got := as[float32](runParts(t, code, memory, parts, 2)); !slices.Equal(got, want) {
			t.Errorf("%d parts: got %v, want %v", parts, got, want)
		}
	}
	tensors[1].Below = 0
	_, err = Compile(p, statements, tensors, Options{})
	want := "there are no loops for e, whose range depends on other indices"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got the error %v, want %s", err, want)
	}
}
