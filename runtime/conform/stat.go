package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/safetensors"
)

// statistical checks the random mask of dropout. The seed of the case draws the same mask again, another seed
// draws an independent one, and each element is either dropped or scaled.
func (x *execution) statistical(ctx context.Context) (map[string]safetensors.Tensor, error) {
	first, err := x.plain(ctx)
	if err != nil {
		return nil, err
	}
	again, err := x.plain(ctx)
	if err != nil {
		return nil, err
	}
	other := *x
	var seed int
	if err := json.Unmarshal(x.c.Attrs["seed"], &seed); err != nil {
		return first, fmt.Errorf("attribute seed: %w", err)
	}
	c := *x.c
	c.Attrs = map[string]json.RawMessage{}
	for k, v := range x.c.Attrs {
		c.Attrs[k] = v
	}
	c.Attrs["seed"] = json.RawMessage(fmt.Sprint(seed + 1))
	if other.op, other.attrs, err = x.runner.operator(c.Op, c.Attrs); err != nil {
		return first, err
	}
	second, err := other.plain(ctx)
	if err != nil {
		return first, err
	}
	in := x.c.Tensors["in.input"].Float64s()
	kept, err := x.mask(first, in)
	if err != nil {
		return first, err
	}
	keptAgain, err := x.mask(again, in)
	if err != nil {
		return first, err
	}
	keptOther, err := x.mask(second, in)
	if err != nil {
		return first, err
	}
	return first, x.c.Stat.check(kept, keptAgain, keptOther)
}

// mask returns which elements were kept, after checking that the kept ones, and their gradients, were
// scaled and the others are 0.
func (x *execution) mask(computed map[string]safetensors.Tensor, in []float64) ([]bool, error) {
	out := computed["out.output"].Float64s()
	if len(out) != len(in) {
		return nil, fmt.Errorf("out.output: want %d elements, got %d", len(in), len(out))
	}
	kept := make([]bool, len(in))
	scaled := func(name string, i int, got, of float64) error {
		want := 0.0
		if kept[i] {
			want = of * x.c.Stat.Scale
		}
		if math.Abs(got-want) > 1e-5*math.Abs(want) {
			return fmt.Errorf("%s: element %d: want %g, got %g", name, i, want, got)
		}
		return nil
	}
	for i := range in {
		kept[i] = out[i] != 0
		if err := scaled("out.output", i, out[i], in[i]); err != nil {
			return nil, err
		}
	}
	gradOut, ok := x.c.Tensors["grad_out.output"]
	if !ok {
		return kept, nil
	}
	g, gi := gradOut.Float64s(), computed["grad_in.input"].Float64s()
	if len(g) != len(in) || len(gi) != len(in) {
		return nil, fmt.Errorf("grad_in.input: want %d elements, got %d from %d", len(in), len(gi), len(g))
	}
	for i := range g {
		if err := scaled("grad_in.input", i, gi[i], g[i]); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

func (s *Statistics) check(kept, again, other []bool) error {
	n := float64(len(kept))
	var count, same float64
	for i, k := range kept {
		if k {
			count++
		}
		if k != again[i] {
			return fmt.Errorf("the same seed gave another mask at element %d", i)
		}
		if k == other[i] {
			same++
		}
	}
	if count < s.KeepLo || count > s.KeepHi {
		return fmt.Errorf("%g of %g elements kept, want %g to %g", count, n, s.KeepLo, s.KeepHi)
	}
	if a := same / n; a < s.AgreementLo || a > s.AgreementHi {
		return fmt.Errorf("masks of two seeds agree on a fraction of %g, want %g to %g", a, s.AgreementLo, s.AgreementHi)
	}
	mean := count / n
	var cov, variance float64
	for i, k := range kept {
		d := -mean
		if k {
			d++
		}
		variance += d * d
		if i > 0 {
			e := -mean
			if kept[i-1] {
				e++
			}
			cov += d * e
		}
	}
	if c := math.Abs(cov / variance); c > s.Lag1Max {
		return fmt.Errorf("correlation of neighboring elements is %g, want at most %g", c, s.Lag1Max)
	}
	return nil
}
