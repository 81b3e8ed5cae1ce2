package formula

import (
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/reach"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// compareReach changes each element of the inputs in turn. A result must stay the same if package reach says
// that it does not depend on the element. It returns the number of result elements, and of those that changed
// with some input.
func compareReach(t *testing.T, u *program.Use, r *task.Resolution) (results, changing int) {
	t.Helper()
	p, err := program.Build(u)
	if err != nil {
		t.Fatal(err)
	}
	c := &compiled{p, compile(p)}
	inputs := c.newMemory()
	random := rand.New(rand.NewPCG(1, 2))
	for i, l := range p.Tensors {
		for k := range inputs.tensors[i].real {
			inputs.tensors[i].real[k] = 0.1 + random.Float64()
		}
		for k := range inputs.tensors[i].integer {
			bound := 2
			if b, ok := r.Bound(max(l.Slot, 0)); ok {
				bound = b.Below
			}
			inputs.tensors[i].integer[k] = int64(random.IntN(max(bound, 1)))
		}
	}
	run := func(out, at, tensor, element int) (value float64, ok bool) {
		m := c.newMemory()
		for i, l := range p.Tensors {
			if l.Slot < 0 || l.Given {
				continue
			}
			m.computed[i] = true
			copy(m.tensors[i].real, inputs.tensors[i].real)
			copy(m.tensors[i].integer, inputs.tensors[i].integer)
			if i == tensor {
				m.tensors[i].real[element] *= 1.25
			}
		}
		if m.forward() != nil {
			return 0, false // an index that is out of range
		}
		return m.tensors[out].real[at], true
	}
	for out, l := range p.Tensors {
		dims := make([]int, len(l.Shape))
		for i, d := range l.Shape {
			dims[i], _ = d.Known()
		}
		n := shape.Prod(dims)
		if l.Slot < 0 || !l.Given || l.Kind != term.Real || n == 0 {
			continue
		}
		at := n / 2
		base, ok := run(out, at, -1, 0)
		if !ok {
			continue
		}
		from, ok := reach.Of(p, out, shape.Index(at, dims))
		if !ok {
			continue
		}
		results++
		changed := false
		for in, l := range p.Tensors {
			if l.Slot < 0 || l.Given || l.Kind != term.Real {
				continue
			}
			for k := range inputs.tensors[in].real {
				got, ok := run(out, at, in, k)
				if !ok || got == base || got != got && base != base {
					continue
				}
				changed = true
				if from[in] == nil || from[in][k] == reach.Unused {
					t.Errorf("element %d of %s changes with element %d of %s, which is said to be unused", at, p.Tensors[out].Name, k, l.Name)
				}
			}
		}
		if changed {
			changing++
		}
	}
	return results, changing
}
