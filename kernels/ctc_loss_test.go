package kernels_test

import (
	"math"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/ctcloss"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// alignment is a sequence of labels with log-probabilities of its samples.
type alignment struct {
	emit   [][]float64 // by sample and class
	labels []int
}

// likelihood returns the negative log-likelihood of the labels, and its gradient with respect to the
// log-probabilities: it goes over all assignments of classes to samples. Without one of a probability above
// 0, they are 1e30 and 0.
func (a alignment) likelihood(classes int) (loss float64, grad [][]float64) {
	total := 0.0
	for range a.emit {
		grad = append(grad, make([]float64, classes))
	}
	path := make([]int, len(a.emit))
	var visit func(s int, p float64)
	visit = func(s int, p float64) {
		if s < len(path) {
			for c := range classes {
				path[s] = c
				visit(s+1, p*math.Exp(a.emit[s][c]))
			}
			return
		}
		var said []int
		for i, c := range path {
			if c != 0 && (i == 0 || path[i-1] != c) {
				said = append(said, c)
			}
		}
		if len(said) != len(a.labels) {
			return
		}
		for i, c := range said {
			if c != a.labels[i] {
				return
			}
		}
		total += p
		for i, c := range path {
			grad[i][c] -= p
		}
	}
	visit(0, 1)
	if total == 0 {
		return 1e30, grad
	}
	for _, row := range grad {
		for c := range row {
			row[c] /= total
		}
	}
	return -math.Log(total), grad
}

// TestAlignments compares the loss of sequences, and its gradient, with those of all alignments: of sequences
// that are too long for their samples, that are as long, that need blanks between equal labels, whose
// alignments all have the probability 0, at one sample or at several, and of those without labels or samples.
// It does so by loops, and by the interpreter, whose constants no type rounds.
func TestAlignments(t *testing.T) {
	const samples, classes, most = 5, 4, 3
	never := math.Inf(-1)
	type blocked struct{ sample, class int } // of probability 0; class -1: all
	cases := []struct {
		samples int
		labels  []int
		blocked []blocked
	}{
		{5, []int{1, 2, 3}, nil}, {3, []int{1, 2, 3}, nil}, {2, []int{1, 2, 3}, nil}, {1, []int{1, 2, 3}, nil}, {5, []int{1, 1, 1}, nil}, {4, []int{1, 1, 1}, nil},
		{3, []int{2, 2}, nil}, {2, []int{2, 2}, nil}, {5, nil, nil}, {0, nil, nil}, {0, []int{1}, nil}, {1, []int{3}, nil},
		{5, []int{1, 2, 3}, []blocked{{2, 0}}}, {5, []int{1, 2, 3}, []blocked{{0, 0}, {0, 1}}}, {5, []int{1, 2, 3}, []blocked{{4, 0}, {4, 3}}},
		{5, []int{1, 2, 3}, []blocked{{2, -1}}}, {5, []int{1, 2, 3}, []blocked{{4, -1}}}, {5, []int{1, 2}, []blocked{{0, -1}, {1, -1}, {2, -1}}},
		{3, []int{1, 2, 3}, []blocked{{1, 2}}}, {4, nil, []blocked{{1, 0}}},
	}
	n := len(cases)
	x, target, counts, labels, seed := make([]float64, samples*n*classes), make([]float64, n*most), make([]float64, n), make([]float64, n), make([]float64, n)
	var want []alignment
	for i, c := range cases {
		a := alignment{labels: c.labels}
		counts[i], labels[i], seed[i] = float64(c.samples), float64(len(c.labels)), 1+float64(i%3)
		for l := range most {
			target[i*most+l] = 1
			if l < len(c.labels) {
				target[i*most+l] = float64(c.labels[l])
			}
		}
		for s := range samples {
			row := x[(s*n+i)*classes:][:classes]
			for k := range row {
				row[k] = -0.5 - float64((7*s+3*i+5*k)%11)/8
			}
			for _, b := range c.blocked {
				for k := range row {
					if s == b.sample && (k == b.class || b.class < 0) {
						row[k] = never
					}
				}
			}
			if s < c.samples {
				a.emit = append(a.emit, row)
			}
		}
		want = append(want, a)
	}
	for name, register := range map[string]func(*task.Registry, op.Target, ...*task.Operator) error{"loops": formula.Register, "interpreter": formula.RegisterReference} {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			g := graph.New(1)
			in, weights := g.Input("input", typ, samples, n, classes), g.Input("seed", typ, n)
			loss := ctcloss.Apply(g, ctcloss.Defaults(), ctcloss.Input(in), ctcloss.Target(g.Input("target", dtype.I64, n, most)),
				ctcloss.Samples(g.Input("samples", dtype.I64, n)), ctcloss.Labels(g.Input("labels", dtype.I64, n)))
			p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{loss: weights}, []graph.Tensor{in}, loss)
			if err != nil {
				t.Fatal(err)
			}
			of := func(r *task.Registry) error { return register(r, op.CPU, &ctcloss.Operator.Operator) }
			got, err := optest.Run(of, p, values{"input": x, "target": target, "samples": counts, "labels": labels, "seed": seed}, optest.Execution{Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			near := func(got, want float64) bool { return math.Abs(got-want) <= 2e-6*max(1, math.Abs(want)) }
			for i, a := range want {
				l, rows := a.likelihood(classes)
				if v := got[loss.Name()][i]; !near(v, l) {
					t.Errorf("%s, %v, %d samples, labels %v: got the loss %v, want %v", name, typ, cases[i].samples, a.labels, v, l)
				}
				for s := range samples {
					for k := range classes {
						w := 0.0
						if s < len(rows) {
							w = seed[i] * rows[s][k]
						}
						v := got[grads[in].Name()][(s*n+i)*classes+k]
						if !near(v, w) || w == 0 && l == 1e30 && v != 0 {
							t.Errorf("%s, %v, %d samples, labels %v, but for %v: sample %d, class %d: got the gradient %v, want %v", name, typ, cases[i].samples, a.labels, cases[i].blocked, s, k, v, w)
						}
					}
				}
			}
		}
	}
}
