package optest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/internal/oracle"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// oracleSteps bounds how many operations the oracle may take for a sample, and fewPlaces of how many elements
// of a tensor it gives the gradient, about.
const (
	oracleSteps = 1 << 16
	fewPlaces   = 8
)

// meaningDifferences compares results and gradients with what the formula means, as package oracle says: it
// shares nothing with what computes formulas, or derives gradients from them. Some samples are left out:
// those of 16 bits, those whose weights only an initializer fills, and large ones.
func (f *fixture) meaningDifferences(got values) []string {
	u, q, ok := f.question()
	if !ok {
		return nil
	}
	a, err := u.Answer(q)
	if errors.Is(err, oracle.ErrTooLong) || errors.Is(err, oracle.ErrAmbiguous) {
		return nil
	}
	if err != nil {
		return []string{"the formula: " + err.Error()}
	}
	var out []string
	compare := func(x graph.Tensor, name string, i int, w oracle.Element) bool {
		v := got[name]
		if i >= len(v) || math.IsNaN(w.Bound) || math.IsInf(w.Bound, 0) {
			return true
		}
		rel, abs := f.closeness(x)
		g := v[i]
		if same(g, w.Real) || !nonfinite(w.Real) && math.Abs(g-w.Real) <= w.Bound+abs+rel*math.Abs(w.Real) {
			return true
		}
		out = append(out, fmt.Sprintf("%s, element %d: got %.12g, want %.12g within %.3g", name, i, g, w.Real, w.Bound))
		return false
	}
	for slot := range f.op.Slots {
		s := &f.op.Slots[slot]
		for k, x := range f.node.Tensors(slot) {
			if list := a.Results[s.Name]; k < len(list) && slices.Contains(f.results, x) {
				for i, w := range list[k].Elements {
					if !compare(x, x.Name(), i, w) {
						break
					}
				}
			}
		}
	}
	for i, p := range q.Places {
		x := f.node.Tensors(f.op.SlotNamed(p.Slot))[p.Tensor]
		w := a.Gradients[i]
		g, ok := f.grads[x]
		if math.IsNaN(w.Real) || math.IsInf(w.Real, 0) || !ok {
			continue
		}
		if !compare(x, g.Name(), p.Number, w) {
			break
		}
	}
	return out
}

// question returns what the oracle is asked about a sample. ok is false if it cannot be asked.
func (f *fixture) question() (u *oracle.Use, q oracle.Question, ok bool) {
	passed := map[int][]any{}
	for i := range f.op.Slots {
		if f.op.Slots[i].Role == task.RoleArgument {
			passed[i] = f.node.Passed(i)
		}
	}
	u, err := oracle.Of(&f.op.Operator, f.attrs, f.node.Resolved, f.node.Seed, passed)
	if err != nil {
		return nil, q, false
	}
	u.MaxSteps = oracleSteps
	for slot := range f.op.Slots {
		s := &f.op.Slots[slot]
		if s.Role != task.RoleInput && s.Role != task.RoleWeight {
			continue
		}
		for k, x := range f.node.Tensors(slot) {
			v, given := f.values[x.Name()]
			if x.Type() == dtype.F16 || x.Type() == dtype.BF16 || !given {
				return nil, q, false
			}
			t := u.Slot(s.Name).Tensors[k]
			t.Real, t.Whole = v, make([]int64, len(v))
			for i := range v {
				t.Whole[i] = int64(v[i])
			}
			if _, wanted := f.grads[x]; wanted {
				for i := 0; i < len(v); i += max(len(v)/fewPlaces, 1) {
					q.Places = append(q.Places, oracle.Place{Slot: s.Name, Tensor: k, Number: i})
				}
			}
		}
	}
	if f.grads == nil {
		return u, oracle.Question{}, true
	}
	q.Seeds = map[string][][]float64{}
	for slot := range f.op.Slots {
		if s := &f.op.Slots[slot]; s.Role == task.RoleOutput {
			for _, x := range f.node.Tensors(slot) {
				var seed []float64
				if t, ok := f.seeds[x]; ok {
					seed = f.values[t.Name()]
				}
				q.Seeds[s.Name] = append(q.Seeds[s.Name], seed)
			}
		}
	}
	return u, q, true
}
