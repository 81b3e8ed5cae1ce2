package formula

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// TestParts runs the groups of loops of random formulas, gradients included, in parts.
func TestParts(t *testing.T) {
	groups, apart := 0, 0
	for i := range formulas() / 2 {
		rng := rand.New(rand.NewPCG(*randomSeed, uint64(i)))
		w := &writer{Rand: rng, nested: 1}
		text, size := w.formula(), [][2]int{{3, 4}, {4, 3}, {7, 5}, {1, 9}, {40, 30}}[i%5]
		if i%2 == 0 { // values and their gradients that are mostly given element by element, beside sums of rows and columns
			text = fmt.Sprintf("t[n, k] = %s(x[n, k]) %s %s\ny[n, k] = t[n, k] * w[%[4]s]\ns[n] = %[3]s", w.pick("tanh", "exp", "sin"), w.pick("+", "-", "*"),
				w.pick("w[n, 0]", "w[0, 0]", "mean(k': w[n, k'])", "x[n, 0]", "1"), w.pick("n, k", "n, 0", "0, k", "0, 0"))
		}
		typ := []dtype.Type{dtype.F64, dtype.F32}[i/5%2]
		p, err := program.Build(useOfTest(t, text, typ, size[0], size[1]))
		if err != nil {
			continue // the formula reads elements that these extents do not have
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g, a := compareParts(t, p, typ, nil, rng)
			if groups, apart = groups+g, apart+a; t.Failed() {
				t.Logf("extents %v, %s:\n%s", size, typ, text)
			}
		})
	}
	if groups < formulas() || apart < formulas()/8 {
		t.Errorf("want more groups, and more that go element by element, got %d and %d", groups, apart)
	}
}

// compareParts compiles the statements of a program and of its gradients, and runs each group in parts of
// random sizes, in random order, with real numbers of a type. The results must have the same bits as those of
// the whole group. A part of an elementwise group is also run while the elements of other parts are poisoned,
// and must leave these unchanged. bounds returns the bound on the integers of a tensor. It returns the number
// of groups, and of elementwise groups.
func compareParts(t *testing.T, p *program.Program, typ dtype.Type, bounds func(tensor int) int, rng *rand.Rand) (groups, apart int) {
	t.Helper()
	var outputs []int
	for i, l := range p.Tensors {
		if l.Given && l.Slot >= 0 && l.Varies && l.Kind == term.Real {
			outputs = append(outputs, i)
		}
	}
	of := map[int]int{}
	if g, err := derive.Gradients(p, outputs); err == nil {
		p, of = g.Program, g.Of
	}
	for _, o := range []loops.Options{{}, {Steps: 1}, {Steps: 2 + rng.IntN(3)}, {Steps: 1, ByElement: true}, {Steps: 2, ByElement: true}, {Steps: 3 + rng.IntN(9), ByElement: true}, {Ordered: true}} {
		q := *p
		q.Tensors = slices.Clone(p.Tensors)
		tensors := make([]rewrite.Tensor, len(q.Tensors))
		for i, l := range q.Tensors {
			tensors[i] = rewrite.Tensor{Type: map[term.Kind]dtype.Type{term.Real: typ, term.Integer: dtype.I64, term.Boolean: dtype.Bool}[l.Kind], Memory: i, Local: l.Given && l.Slot < 0 && rng.IntN(3) > 0}
			if tensors[i].Local && slices.ContainsFunc(q.Statements, func(s *program.Statement) bool { return s.Target == i && s.Add }) {
				tensors[i].Local = false // nothing sets its elements to 0 before
			}
			if l.Old >= 0 {
				tensors[i].Memory = l.Old
			}
		}
		for _, g := range of {
			tensors[g].Local = false
		}
		code, err := loops.Compile(&q, q.Statements, slices.Clone(tensors), o)
		if err != nil {
			continue // there are no loops for it
		}
		c := &partsOf{t: t, code: code, tensors: tensors, program: &q, rng: rng, options: o}
		c.draw(bounds)
		g, a := c.compare()
		groups, apart = groups+g, apart+a
	}
	return groups, apart
}

// partsOf is compiled code whose groups are run in parts.
type partsOf struct {
	t       *testing.T
	code    loops.Code
	tensors []rewrite.Tensor
	program *program.Program
	rng     *rand.Rand
	options loops.Options
	begin   [][]byte
}

// draw draws the contents of tensors before the code runs.
func (c *partsOf) draw(bounds func(int) int) {
	for i, l := range c.program.Tensors[:len(c.tensors)] {
		e := newElements(l.Kind, count(l))
		given, added := false, false // a gradient of a result is given by none
		for _, s := range c.program.Statements {
			given, added = given || s.Target == i, added || s.Target == i && s.Add
		}
		for k := range e.real {
			switch e.real[k] = 0.1 + c.rng.Float64(); {
			case added:
				e.real[k] = 0
			case given:
				e.real[k] = math.NaN()
			}
		}
		for k := range e.integer {
			most := 2
			if bounds != nil {
				most = bounds(i)
			}
			e.integer[k] = int64(c.rng.IntN(max(most, 1)))
		}
		b := wordsOf(count(l) * c.tensors[i].Type.Size())
		e.store(c.tensors[i].Type, b)
		c.begin = append(c.begin, b)
		if c.tensors[i].Memory != i {
			c.begin[i] = c.begin[c.tensors[i].Memory]
		}
	}
}

// copied returns a copy of memory, in which tensors share memory as in the original.
func (c *partsOf) copied(memory [][]byte) [][]byte {
	out := make([][]byte, len(memory))
	for i, m := range memory {
		if c.tensors[i].Memory != i {
			out[i] = out[c.tensors[i].Memory]
			continue
		}
		out[i] = wordsOf(len(m))
		copy(out[i], m)
	}
	return out
}

func (c *partsOf) compare() (groups, apart int) {
	whole, cut := c.copied(c.begin), c.copied(c.begin)
	one, parts := c.code.Bind(whole), c.code.Bind(cut)
	at := loops.Time{Run: op.NextRun()}
	for g := range c.code.Groups() {
		before := c.copied(whole)
		if err := one.Run(g, g+1, at, 0, 1, 1); err != nil {
			return groups, apart // an element that lies outside
		}
		n := c.code.Total(g)
		for _, r := range cuts(c.rng, n) {
			if err := parts.Run(g, g+1, at, r[0], r[1], n); err != nil {
				c.t.Errorf("%+v, group %d, values %v of %d: %v", c.options, g, r, n, err)
				return groups, apart
			}
		}
		c.same(g, "in parts", cut, whole)
		groups++
		if n > 1 && c.code.ByElement(g) {
			apart++
			c.alone(g, n, at, before, whole)
		}
	}
	return groups, apart
}

// alone runs one part of an elementwise group while the elements of other parts are poisoned.
func (c *partsOf) alone(g, n int, at loops.Time, before, after [][]byte) {
	lo := c.rng.IntN(n)
	hi := lo + 1 + c.rng.IntN(n-lo)
	poisoned := c.copied(before)
	for i, l := range c.program.Tensors[:len(c.tensors)] {
		size := c.tensors[i].Type.Size()
		for k := 0; count(l) == n && k < n; k++ {
			switch e := poisoned[i][k*size : (k+1)*size]; {
			case lo <= k && k < hi:
			case l.Kind == term.Real:
				c.tensors[i].Type.PutFloat64(e, math.NaN())
			default:
				clear(e)
			}
		}
	}
	memory, want := c.copied(c.begin), c.copied(poisoned)
	run := c.code.Bind(memory)
	for i := range g { // local tensors get what they hold
		if err := run.Run(i, i+1, at, 0, 1, 1); err != nil {
			c.t.Error(err)
			return
		}
	}
	for i, l := range c.program.Tensors[:len(c.tensors)] {
		copy(memory[i], poisoned[i])
		if size := c.tensors[i].Type.Size(); count(l) == n {
			copy(want[i][lo*size:hi*size], after[i][lo*size:])
		}
	}
	how := fmt.Sprintf("values %d to %d of %d alone", lo, hi, n)
	if err := run.Run(g, g+1, at, lo, hi, n); err != nil {
		c.t.Errorf("%+v, group %d, %s: %v", c.options, g, how, err)
		return
	}
	c.same(g, how, memory, want)
}

// same compares the tensors that are not local.
func (c *partsOf) same(g int, how string, got, want [][]byte) {
	for i, l := range c.program.Tensors[:len(c.tensors)] {
		if c.tensors[i].Local || bytes.Equal(got[i], want[i]) {
			continue
		}
		size := c.tensors[i].Type.Size()
		for k := range count(l) {
			if a, b := got[i][k*size:(k+1)*size], want[i][k*size:(k+1)*size]; !bytes.Equal(a, b) {
				c.t.Errorf("%+v, group %d %s: %s, element %d: got %v, want %v", c.options, g, how, l.Name, k, c.tensors[i].Type.Float64(a), c.tensors[i].Type.Float64(b))
				return
			}
		}
	}
}

// cuts returns disjoint ranges that cover 0 to n-1, in random order.
func cuts(rng *rand.Rand, n int) [][2]int {
	at := []int{0, n}
	for range rng.IntN(6) {
		at = append(at, rng.IntN(n+1))
	}
	slices.Sort(at)
	at = slices.Compact(at)
	var out [][2]int
	for i := range len(at) - 1 {
		out = append(out, [2]int{at[i], at[i+1]})
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// wordsOf returns n bytes with the alignment of all types.
func wordsOf(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}
