package optest

import (
	"maps"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// Halves stores tensors in 16 bits. An operator that allows it computes in f32 and rounds its results.
// Gradients have a tolerance, as the tensors that forward keeps for backward are rounded too.
func (k *Kit) Halves(t *testing.T) {
	k.forEachSample(t, "Halves", func(t *testing.T, s sample) {
		for half, precision := range map[dtype.Type]float64{dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7} {
			stored := s
			stored.types = slices.Clone(s.types)
			for i, v := range s.op.Types {
				if s.types[i] == dtype.F32 && dtype.Contains(v.Types, half) {
					stored.types[i] = half
				}
			}
			if slices.Equal(stored.types, s.types) {
				continue
			}
			if _, err := newFixture(stored, domains[0]); err != nil {
				stored.attrs = retyped(s.attrs, half) // the attributes ask for f32
			}
			if _, err := newFixture(stored, domains[0]); err != nil {
				continue // the attributes ask for a type other than f32
			}
			f, g := stored.fixture(t), s.fixture(t)
			p, q := f.everything(t), g.everything(t)
			fed := maps.Clone(f.values)
			for _, x := range slices.Concat(p.Fed, p.Variables) {
				if v, ok := fed[x.Name()]; ok {
					fed[x.Name()] = rounded(x, v)
				}
			}
			want, err := k.run(q, fed, Execution{})
			if err != nil {
				f.fatalf(t, "%v", err)
			}
			for _, x := range p.Fetched {
				want[x.Name()] = rounded(x, want[x.Name()])
			}
			for _, workers := range []int{1, 3} {
				got := f.run(t, p, f.values, Execution{Workers: workers, Garbage: NaNs})
				for _, x := range p.Fetched {
					rel := 4 * precision
					if slices.Contains(f.results, x) {
						rel = 0
					}
					f.closeTo(t, x.Name()+", next to the result in f32, rounded to "+half.String(), got[x.Name()], want[x.Name()], rel, rel*1e-3)
				}
			}
		}
	})
}

// rounded rounds numbers to the type of a tensor.
func rounded(x graph.Tensor, v []float64) []float64 {
	out := make([]float64, len(v))
	var element [8]byte
	for i, y := range v {
		x.Type().PutFloat64(element[:], y)
		out[i] = x.Type().Float64(element[:])
	}
	return out
}
