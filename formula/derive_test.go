package formula

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

// TestDerivedGradientsOfExpressions compares derived gradients with those of the interpreter, for each kind
// of expression.
func TestDerivedGradientsOfExpressions(t *testing.T) {
	for _, text := range differentiable() {
		t.Run(text, func(t *testing.T) {
			o, attrs, r := operatorWith(t, text)
			u, err := useOf(o, attrs, r, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			compareGradients(t, o, u, r)
		})
	}
}

// compareGradients compares derived gradients with those of the interpreter. It derives from a program with
// symbolic extents, and from one with constants.
func compareGradients(t *testing.T, o *task.Operator, u *program.Use, r *task.Resolution) {
	t.Helper()
	for _, open := range []bool{true, false} {
		u.Open = open
		compareGradientsOf(t, o, u, r)
	}
}

func compareGradientsOf(t *testing.T, o *task.Operator, u *program.Use, r *task.Resolution) {
	t.Helper()
	p, err := program.Build(u)
	if err != nil {
		t.Fatal(err)
	}
	var outputs []int
	for i, l := range p.Tensors {
		if l.Slot >= 0 && l.Given && l.Kind == term.Real && l.Varies && o.Slots[l.Slot].Role == task.RoleOutput {
			outputs = append(outputs, i)
		}
	}
	g, err := derive.Gradients(p, outputs)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Of) == len(outputs) {
		return // nothing to differentiate
	}
	for _, s := range g.Statements {
		t.Log(s)
	}
	q := &compiled{g.Program, compile(g.Program)}
	m := drawnFrom(t, q, r, outputs, g.Of, 0.1)
	if slices.ContainsFunc(outputs, func(id int) bool { return slices.ContainsFunc(m.tensors[id].real, math.IsNaN) }) {
		m = drawnFrom(t, q, r, outputs, g.Of, 1.1) // functions such as acosh are defined from 1 on
	}
	ref := (&compiled{p, compile(p)}).newMemory()
	copy(ref.tensors, m.tensors[:len(p.Tensors)])
	for i := range ref.computed {
		ref.computed[i] = true
	}
	for _, o := range outputs {
		ref.grads[o] = slices.Clone(m.tensors[g.Of[o]].real)
	}
	if err := ref.backward(); err != nil {
		t.Fatal(err)
	}
	for i, l := range p.Tensors {
		if !l.Varies || l.Given || l.Slot < 0 {
			continue
		}
		want := ref.grads[i]
		id, ok := g.Of[i]
		if !ok {
			for _, w := range want {
				if w != 0 {
					t.Fatalf("%s: want a gradient, got none", l.Name)
				}
			}
			continue
		}
		got := m.tensors[id].real
		for k := range want {
			if !(math.Abs(got[k]-want[k]) <= 1e-9*max(1, math.Abs(want[k]))) {
				t.Errorf("gradient of %s, element %d: got %v, want %v", l.Name, k, got[k], want[k])
				break
			}
		}
	}
}

// drawnFrom returns memory after forward and backward, with inputs from least on.
func drawnFrom(t *testing.T, q *compiled, r *task.Resolution, outputs []int, grads map[int]int, least float64) *memory {
	t.Helper()
	m := q.newMemory()
	random := rand.New(rand.NewPCG(1, 2))
	for i, l := range q.Tensors {
		if l.Slot < 0 || l.Given {
			continue
		}
		m.computed[i] = true
		for k := range m.tensors[i].real {
			m.tensors[i].real[k] = least + random.Float64()
		}
		for k := range m.tensors[i].integer {
			bound := 2
			if b, ok := r.Bound(l.Slot); ok {
				bound = b.Below
			}
			m.tensors[i].integer[k] = int64(random.IntN(bound))
		}
		for k := range m.tensors[i].boolean {
			m.tensors[i].boolean[k] = random.IntN(2) == 0
		}
	}
	for _, o := range outputs {
		id := grads[o]
		for k := range m.tensors[id].real {
			m.tensors[id].real[k] = random.Float64() - 0.3
		}
	}
	if err := m.forward(); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGradientsOfProductsTakeLinearTime checks that the gradient of a product over several indices consists
// of scans, without a product of all other elements for each element, and that it is right beside zeros.
func TestGradientsOfProductsTakeLinearTime(t *testing.T) {
	for _, text := range []string{"s[n] = prod(n', k: x[n', k]) + n", "s[n] = prod(k, n' if k != n: x[n', k])", "y[n, k] = prod(n', k': x[n', k'] * w[n, k])",
		"s[n] = prod(n', a in n' - 2 .. n' + 2: (x[n', 0] else 1) * (1 + 0.5 * a))", "y[n, k] = prod(n', k' in k - 1 .. k + 2: (x[n', k'] else 1))",
		"y[n, k] = prod(k', a in k' .. 2 * k' + 1: (x[n, a] else 1) * w[n, k'])", "s[n] = prod(k in 1 .. K: x[n, k])"} {
		t.Run(text, func(t *testing.T) {
			o, attrs, r := operatorWith(t, text)
			u, err := useOf(o, attrs, r, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			compareGradients(t, o, u, r)
			p, err := program.Build(u)
			if err != nil {
				t.Fatal(err)
			}
			g, err := derive.Gradients(p, []int{slices.IndexFunc(p.Tensors, func(l *program.Local) bool { return l.Slot >= 0 && l.Given && l.Varies })})
			if err != nil {
				t.Fatal(err)
			}
			scans := 0
			for _, s := range g.Statements {
				s.Value.Walk(func(n *term.Term) {
					switch {
					case n.Op != term.Reduce || n.Reduction.Kind != reduction.Prod:
					case n.Reduction.Scan() != nil:
						if scans++; s.Value != n {
							t.Errorf("%s: want a scan that is stored, not one in a gradient that is added element by element", s)
						}
					case len(n.Reduction.Vars) > 1 && len(s.Vars) > 1:
						t.Errorf("%s: want a scan", s)
					}
				})
			}
			if scans == 0 {
				t.Errorf("want scans, got %v", g.Statements)
			}
		})
	}
}
