package formula

import (
	"errors"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// TestGradientsWithoutValuesThatDoNotCount checks that the interpreter computes gradients without a tensor
// that no derivative reads.
func TestGradientsWithoutValuesThatDoNotCount(t *testing.T) {
	for _, c := range []struct{ text, without string }{
		{"y[n, k] = prod(n' if n' <= n: x[n', k] - x[n', k])", "x"},
		{"y[n, k] = sum(k': (k' >= j[n] ? w[n, k'] : w[n, k']))", "j"},
	} {
		p, err := program.Build(useOfTest(t, c.text, dtype.F64, 3, 4))
		if err != nil {
			t.Fatal(err)
		}
		code := compile(p)
		var grads [2][][]float64
		for i := range grads {
			m := (&compiled{p, code}).newMemory()
			for id, l := range p.Tensors {
				if l.Given && l.Slot >= 0 && l.Kind == term.Real {
					m.grads[id] = make([]float64, count(l))
					for k := range m.grads[id] {
						m.grads[id][k] = float64(k + 1)
					}
				}
				if l.Given || i == 1 && l.Name == c.without {
					continue
				}
				m.computed[id] = true
				for k := range m.tensors[id].real {
					m.tensors[id].real[k] = 0.5 + float64(k)
				}
			}
			if err := m.backward(); err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			for id, l := range p.Tensors {
				if m.grads[id] == nil { // nothing flows to the tensor
					m.grads[id] = make([]float64, count(l))
				}
			}
			grads[i] = m.grads
		}
		for id, l := range p.Tensors {
			if l.Slot >= 0 && !l.Given && l.Varies && !slices.Equal(grads[0][id], grads[1][id]) {
				t.Errorf("%s: gradient of %s without %s: got %v, want %v", c.text, l.Name, c.without, grads[1][id], grads[0][id])
			}
		}
	}
}

// TestGradientsOfValuesThatAreNotThere checks that a gradient fails with an *op.Error if a tensor that it
// reads is not available.
func TestGradientsOfValuesThatAreNotThere(t *testing.T) {
	p, err := program.Build(useOfTest(t, "y[n, k] = x[n, k] * x[n, k]", dtype.F64, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	m := (&compiled{p, compile(p)}).newMemory()
	for id, l := range p.Tensors {
		if l.Given {
			m.grads[id] = make([]float64, count(l))
		}
	}
	var e *op.Error
	if err := m.backward(); !errors.As(err, &e) {
		t.Fatalf("want an *op.Error, got %v", err)
	}
}
