package optest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/graph"
)

// fewSeconds is how many samples SecondDerivatives compares in go test -short.
const fewSeconds = 16

// SecondDerivatives compares gradients that nodes compute with those of backward tasks, and their derivatives
// with central differences: of the sum of all gradients with random weights, by each tensor that has a
// gradient and by the gradients of outputs. It does so in double precision: at the first example of each
// operator, or at all; go test -short takes the first few of the former. It returns the samples whose second
// derivatives are refused, such as "einsum/0", with the errors.
func (k *Kit) SecondDerivatives(t *testing.T, all bool) map[string]error {
	refused := map[string]error{}
	compared := 0
	k.forEachSample(t, "SecondDerivatives", func(t *testing.T, s sample) {
		if !s.double() || !all && (s.example > 0 || testing.Short() && compared == fewSeconds) {
			return
		}
		f := s.fixture(t)
		if !f.differentiable() {
			return
		}
		compared++
		if err := f.secondDerivatives(t); err != nil {
			refused[fmt.Sprintf("%s/%d", s.title(), s.example)] = err
		}
	})
	return refused
}

// secondDerivatives checks one sample. It returns the error of a graph that refuses second derivatives.
func (f *fixture) secondDerivatives(t *testing.T) error {
	t.Helper()
	backward := f.run(t, f.everything(t), f.values, Execution{})
	fed := maps.Clone(f.values)
	by := slices.Clone(f.wrt)
	for _, out := range f.results {
		if seed, ok := f.seeds[out]; ok {
			by = append(by, seed)
		}
	}
	rng := rand.New(rand.NewPCG(3, 5))
	first := f.g.GradientsFrom(f.seeds, f.wrt...)
	weights := map[graph.Tensor]graph.Tensor{}
	var fetch []graph.Tensor
	for i, x := range first {
		if !x.Valid() {
			continue // no output depends on it
		}
		w := f.g.Input("weight of "+f.wrt[i].Name(), x.Type(), x.Shape()...)
		weights[x] = w
		fetch = append(fetch, x)
		for range x.Elements() {
			fed[w.Name()] = append(fed[w.Name()], rng.NormFloat64())
		}
	}
	if err := f.g.Err(); err != nil {
		return err
	}
	p, _, err := graph.Gradients(f.g, nil, nil, fetch...)
	if err != nil {
		f.fatalf(t, "%v", err)
	}
	l := f.load(t, p, Execution{})
	defer f.close(t, l)
	got := f.runLoaded(t, l, fed, Execution{})
	for i, x := range first {
		if g, ok := f.grads[f.wrt[i]]; ok && x.Valid() {
			f.closeTo(t, "gradient of "+f.wrt[i].Name()+" by a node, next to the backward task", got[x.Name()], backward[g.Name()], 1e-9, 1e-9)
		}
	}
	sum := func() (sum float64) {
		for x, v := range f.runLoaded(t, l, fed, Execution{}) {
			for _, g := range fetch {
				if g.Name() == x {
					for i, w := range fed[weights[g].Name()] {
						sum += w * v[i]
					}
				}
			}
		}
		return sum
	}
	at := sum()
	if nonfinite(at) {
		return nil // differences tell nothing
	}
	p, grads, err := graph.Gradients(f.g, weights, by, fetch...)
	if err != nil {
		f.fatalf(t, "%v", err)
	}
	second := f.run(t, p, fed, Execution{})
	const step = 1e-5
	absolute := max(1e-8, 0x1p-50*math.Abs(at)/step) // the rounding error of a difference
	for _, x := range by {
		v := fed[x.Name()]
		have := make([]float64, len(v))
		if g, ok := grads[x]; ok {
			have = second[g.Name()]
		}
		want := make([]float64, len(v))
		for i, at := range v {
			v[i] = at + step
			above := sum()
			v[i] = at - step
			below := sum()
			v[i], want[i] = at, (above-below)/(2*step)
		}
		f.closeTo(t, "second derivative by "+x.Name()+", next to differences of first gradients", have, want, 1e-6, absolute)
	}
	return nil
}
