package formula

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// TestInPlaceBits computes random formulas, gradients included, once with all results in their own memory,
// and once with one result in the memory of an input that it may overwrite. All results must have the same
// bits, since they must not depend on the memory plan. Some results have another type than the inputs, like
// the saved tensors of norms.
func TestInPlaceBits(t *testing.T) {
	compared := 0
	for i := range formulas() {
		rng := rand.New(rand.NewPCG(*randomSeed, uint64(i)))
		w := &writer{Rand: rng, nested: 1}
		sizes := [][2]int{{4, 1}, {1, 4}, {1, 1}, {3, 4}, {7, 5}, {40, 30}, {4100, 1}}
		text, size := w.formula(), sizes[rng.IntN(len(sizes))]
		if i%2 == 0 { // norms and the like
			text = fmt.Sprintf("s[n] = %s(%s(k: x[n, k]%s) + 1)\ny[n, k] = %s %s s[n] %s", w.pick("rsqrt", "sqrt", "exp", "tanh"),
				w.pick("mean", "sum", "max", "variance", "logsumexp"), w.pick("", "^2", " * w[n, k]"), w.pick("x[n, k]", "(x[n, k] - s[n])", "tanh(x[n, k])"),
				w.pick("*", "-", "+"), w.pick("", "* w[0, k]", "+ w[n, k] * 0.3"))
		}
		if i%8 == 1 { // of which some rows compute one value, and some another
			value := func() string {
				return w.pick("x[n, k] * n", "w[n, k] - x[n, k]", "tanh(x[n, k])", "n - k", "w[n, k]", "0.5")
			}
			text = fmt.Sprintf("y[n, k] = (n %s ? (n %% 2 == %s ? %s : %s) : %s) %s", w.pick("< 1", "== 2", "% 2 == 0"), w.pick("0", "1"), value(), value(),
				value(), w.pick("", "/ 3", "* w[n, k]"))
		}
		p, err := program.Build(useOfTest(t, text, dtype.F32, size[0], size[1]))
		if err != nil {
			continue // the formula reads elements that these extents do not have
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := compareInPlace(t, p, p.Statements, nil, rng)
			var outputs []int
			for i, l := range p.Tensors {
				if l.Given && l.Slot >= 0 && l.Varies && l.Kind == term.Real {
					outputs = append(outputs, i)
				}
			}
			if g, err := derive.Gradients(p, outputs); err == nil {
				c += compareInPlace(t, g.Program, g.Program.Statements, g.Of, rng)
			}
			if compared += c; t.Failed() {
				t.Logf("extents %v:\n%s", size, text)
			}
		})
	}
	if compared < formulas() {
		t.Errorf("want more results in the memory of inputs, got %d", compared)
	}
}

// compareInPlace runs statements with each result in the memory of each input that it may overwrite. It
// returns the number of comparisons.
func compareInPlace(t *testing.T, p *program.Program, statements []*program.Statement, of map[int]int, rng *rand.Rand) (compared int) {
	t.Helper()
	given, added := map[int]bool{}, map[int]bool{}
	for _, s := range statements {
		given[s.Target], added[s.Target] = true, added[s.Target] || s.Add
	}
	results := slices.Collect(maps.Values(of))
	tensors := make([]rewrite.Tensor, len(p.Tensors))
	for i, l := range p.Tensors {
		if l.Old >= 0 {
			return 0
		}
		typ := map[term.Kind]dtype.Type{term.Real: dtype.F32, term.Integer: dtype.I64, term.Boolean: dtype.Bool}[l.Kind]
		local := given[i] && !added[i] && l.Slot < 0 && !slices.Contains(results, i)
		switch {
		case local:
			typ = dtype.Invalid
		case given[i] && l.Kind == term.Real && rng.IntN(3) == 0:
			typ = dtype.F64
		}
		tensors[i] = rewrite.Tensor{Type: typ, Memory: i, Local: local}
	}
	at, o := loops.Time{Run: op.NextRun()}, loops.Options{Steps: rng.IntN(3)}
	want, begin := runShared(p, statements, tensors, o, at, nil, rng)
	if want == nil {
		return 0
	}
	for out := range tensors {
		for in, l := range p.Tensors {
			if tensors[out].Local || given[in] || l.Kind != p.Tensors[out].Kind || tensors[in].Type != tensors[out].Type || count(l) != count(p.Tensors[out]) || count(l) == 0 || derive.InPlace(p, statements, out, in) < derive.Behind {
				continue
			}
			shared := slices.Clone(tensors)
			shared[out].Memory = in
			got, _ := runShared(p, statements, shared, o, at, begin, rng)
			if got == nil {
				t.Errorf("no loops with %s in the memory of %s", p.Tensors[out].Name, l.Name)
				return compared
			}
			compared++
			for i := range tensors {
				if i != in && !tensors[i].Local && !bytes.Equal(got[i], want[i]) {
					k, size := 0, tensors[i].Type.Size()
					same := func(a, b []byte) bool { // NaN has other bits in other code
						x, y := tensors[i].Type.Float64(a), tensors[i].Type.Float64(b)
						return bytes.Equal(a, b) || l.Kind == term.Real && x != x && y != y
					}
					for k < count(p.Tensors[i]) && same(got[i][k*size:(k+1)*size], want[i][k*size:(k+1)*size]) {
						k++
					}
					if k == count(p.Tensors[i]) {
						continue
					}
					t.Errorf("%+v, %s in the memory of %s: %s, element %d: got %v, want %v", o, p.Tensors[out].Name, l.Name, p.Tensors[i].Name, k,
						tensors[i].Type.Float64(got[i][k*size:]), tensors[i].Type.Float64(want[i][k*size:]))
				}
			}
		}
	}
	return compared
}

// runShared runs statements in loops and returns all tensors, or nil if loops do not support the statements
// or fail. begin holds the initial contents of tensors; a nil entry means random numbers.
func runShared(p *program.Program, statements []*program.Statement, tensors []rewrite.Tensor, o loops.Options, at loops.Time, begin [][]byte,
	rng *rand.Rand) (memory, before [][]byte) {
	q := *p
	q.Tensors = slices.Clone(p.Tensors)
	code, err := loops.Compile(&q, statements, slices.Clone(tensors), o)
	if err != nil {
		return nil, nil
	}
	c := &partsOf{code: code, tensors: tensors, program: &q, rng: rng, begin: begin}
	if begin == nil {
		c.draw(nil)
	}
	memory = c.copied(c.begin)
	for i, t := range tensors {
		if t.Memory != i {
			memory[i] = memory[t.Memory]
		}
	}
	run := code.Bind(memory)
	for g := range code.Groups() {
		if run.Run(g, g+1, at, 0, 1, 1) != nil {
			return nil, nil
		}
	}
	return memory, c.begin
}
