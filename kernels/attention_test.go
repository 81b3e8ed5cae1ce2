package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/pagedattention"
	"github.com/opgen/opgen/generated/sample"
	attention "github.com/opgen/opgen/generated/scaleddotproductattention"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// attended is attention of one query to rows of keys and values, in plain Go.
func attended(query []float64, keys, values [][]float64, scale float64) []float64 {
	out, total := make([]float64, len(values[0])), 0.0
	for i, key := range keys {
		score := 0.0
		for d, q := range query {
			score += q * key[d]
		}
		e := math.Exp(scale * score)
		total += e
		for o, v := range values[i] {
			out[o] += e * v
		}
	}
	for o := range out {
		out[o] /= total
	}
	return out
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// rows cuts a slice into rows of n elements.
func rows(x []float64, n int) (out [][]float64) {
	for ; len(x) > 0; x = x[n:] {
		out = append(out, x[:n])
	}
	return out
}

func compare(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-12) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestScaledDotProductAttention compares grouped attention with plain Go: all keys, or those up to the
// query's place, where the last query stands beside the last key.
func TestScaledDotProductAttention(t *testing.T) {
	const batch, heads, groups, queries, keys, depth, out = 2, 4, 2, 3, 5, 3, 2
	rng := rand.New(rand.NewPCG(1, 2))
	q, k, v := normals(rng, batch*heads*queries*depth), normals(rng, batch*groups*keys*depth), normals(rng, batch*groups*keys*out)
	for name, c := range map[string]struct {
		attrs  attention.Attrs
		causal bool
		scale  float64
	}{
		"all":    {attention.Defaults(), false, 1 / math.Sqrt(depth)},
		"causal": {attention.Defaults().WithCausal(true), true, 1 / math.Sqrt(depth)},
		"scaled": {attention.Defaults().WithCausal(true).WithScale(0.3), true, 0.3},
	} {
		g := graph.New(1)
		query, key, value := g.Input("query", dtype.F64, batch, heads, queries, depth), g.Input("key", dtype.F64, batch, groups, keys, depth), g.Input("value", dtype.F64, batch, groups, keys, out)
		y := attention.Apply(g, c.attrs, attention.Query(query), attention.Key(key), attention.Value(value))
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			p, err := s.Inference(t.Context(), g, y)
			if err != nil {
				return err
			}
			if err := p.Run(t.Context(), opgen.With(query, q), opgen.With(key, k), opgen.With(value, v)); err != nil {
				return err
			}
			got, err := opgen.Fetch[float64](p, y)
			if err != nil {
				return err
			}
			at := 0
			for b := range batch {
				for h := range heads {
					group := b*groups + h/(heads/groups)
					ks, vs := rows(k[group*keys*depth:][:keys*depth], depth), rows(v[group*keys*out:][:keys*out], out)
					for i := range queries {
						n := keys
						if c.causal {
							n = keys - queries + i + 1
						}
						compare(t, name, got[at*out:][:out], attended(q[at*depth:][:depth], ks[:n], vs[:n], c.scale))
						at++
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagedAttention gives two sequences of different lengths one token after another, whose pages lie apart,
// and compares each result with attention in plain Go to all that came before. One of the slots is empty for
// some steps.
func TestPagedAttention(t *testing.T) {
	const steps, size, pages, columns, heads, groups, depth, out = 7, 2, 8, 4, 4, 2, 3, 2
	tables := [2][columns]int64{{6, 1, 3, 0}, {2, 7, 5, 4}}
	g := graph.New(1)
	query, key, value := g.Input("query", dtype.F64, 2, heads, depth), g.Input("key", dtype.F64, 2, groups, depth), g.Input("value", dtype.F64, 2, groups, out)
	position, table := g.Input("position", dtype.I64, 2), g.Input("table", dtype.I64, 2, columns)
	writer, place := g.Input("writer", dtype.I64, pages), g.Input("place", dtype.I64, pages)
	y := pagedattention.Apply(g, pagedattention.Defaults(groups, size, pages), pagedattention.Query(query), pagedattention.Key(key), pagedattention.Value(value),
		pagedattention.Position(position), pagedattention.Table(table), pagedattention.Writer(writer), pagedattention.Place(place))
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		p, err := s.Inference(t.Context(), g, y)
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(1, 2))
		var kept [2][groups]struct{ keys, values [][]float64 }
		for step := range steps {
			q, k, v := normals(rng, 2*heads*depth), normals(rng, 2*groups*depth), normals(rng, 2*groups*out)
			at := []int64{int64(step), int64(step - 3)} // the second sequence begins later
			writers, places := make([]int64, pages), make([]int64, pages)
			for page := range places {
				places[page] = -1
			}
			for b := range at {
				if at[b] < 0 {
					at[b] = -1
					continue
				}
				page := tables[b][at[b]/size]
				writers[page], places[page] = int64(b), at[b]%size
				for i := range groups {
					kept[b][i].keys = append(kept[b][i].keys, k[(b*groups+i)*depth:][:depth])
					kept[b][i].values = append(kept[b][i].values, v[(b*groups+i)*out:][:out])
				}
			}
			err := p.Run(t.Context(), opgen.With(query, q), opgen.With(key, k), opgen.With(value, v), opgen.With(position, at),
				opgen.With(table, append(tables[0][:], tables[1][:]...)), opgen.With(writer, writers), opgen.With(place, places))
			if err != nil {
				return err
			}
			got, err := opgen.Fetch[float64](p, y)
			if err != nil {
				return err
			}
			for b := range at {
				for h := range heads {
					if of := kept[b][h/(heads/groups)]; at[b] >= 0 {
						n := b*heads + h
						compare(t, "paged", got[n*out:][:out], attended(q[n*depth:][:depth], of.keys, of.values, 1/math.Sqrt(depth)))
					}
				}
			}
		}
		return nil
	}, opgen.Checked())
	if err != nil {
		t.Fatal(err)
	}
}

// TestSample counts what rows with seeds of their own draw, beside the probabilities softmax(logits /
// temperature), and takes the first of the greatest logits at temperature 0. A row alone draws what it draws
// beside others.
func TestSample(t *testing.T) {
	logits := []float64{0.5, -1, 2, 2, 0}
	const n, temperature = 40000, 0.7
	draw := func(seeds []int64, temperature float32) []int64 {
		t.Helper()
		g := graph.New(1)
		b := len(seeds)
		l, temp := g.Input("logits", dtype.F64, b, len(logits)), g.Input("temperature", dtype.F32, b)
		seed, position := g.Input("seed", dtype.I64, b), g.Input("position", dtype.I64, b)
		y := sample.Apply(g, sample.Defaults(), sample.Logits(l), sample.Temperature(temp), sample.Seed(seed), sample.Position(position))
		var got []int64
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			p, err := s.Inference(t.Context(), g, y)
			if err != nil {
				return err
			}
			all, temps, at := []float64{}, make([]float32, b), make([]int64, b)
			for i := range b {
				all = append(all, logits...)
				temps[i], at[i] = temperature, 3
			}
			if err := p.Run(t.Context(), opgen.With(l, all), opgen.With(temp, temps), opgen.With(seed, seeds), opgen.With(position, at)); err != nil {
				return err
			}
			got, err = opgen.Fetch[int64](p, y)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	seeds := make([]int64, n)
	for i := range seeds {
		seeds[i] = int64(i)
	}
	counts, total := make([]float64, len(logits)), 0.0
	drawn := draw(seeds, temperature)
	for _, c := range drawn {
		counts[c]++
	}
	for _, l := range logits {
		total += math.Exp(l / temperature)
	}
	for i, l := range logits {
		p := math.Exp(l/temperature) / total
		if got, deviation := counts[i]/n, math.Sqrt(p*(1-p)/n); !(math.Abs(got-p) <= 5*deviation) {
			t.Errorf("%d is drawn with the probability %.4f, want %.4f", i, got, p)
		}
	}
	for _, i := range []int{0, 17, n - 1} {
		if got := draw(seeds[i:i+1], temperature); got[0] != drawn[i] {
			t.Errorf("row %d alone draws %d, beside others %d", i, got[0], drawn[i])
		}
	}
	if got := draw([]int64{1, 2, 3}, 0); got[0] != 2 || got[1] != 2 || got[2] != 2 {
		t.Errorf("at temperature 0: got %v, want 2, the first of the greatest logits", got)
	}
}
