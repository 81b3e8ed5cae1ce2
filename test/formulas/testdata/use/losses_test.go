package use

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/formulas/generated/causal"
	"example.com/formulas/generated/ceilpool"
	"example.com/formulas/generated/cosineembedding"
	"example.com/formulas/generated/focal"
	"example.com/formulas/generated/giou"
	"example.com/formulas/generated/lovasz"
	"example.com/formulas/generated/multimargin"
	"example.com/formulas/generated/poissonnll"
	"example.com/formulas/generated/safesoftmax"
	"example.com/formulas/generated/triplet"

	"github.com/opgen/opgen/runtime/graph"
)

// below draws integers from 0 up.
func below(n int) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return float64(r.IntN(n)) }
}

// distance is that of two vectors, each difference of which is increased.
func distance(x, y []float64, more float64) (sum float64) {
	for i := range x {
		sum += (x[i] - y[i] + more) * (x[i] - y[i] + more)
	}
	return math.Sqrt(sum)
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// sides draws the sides of boxes, left and top before right and bottom.
func sides() func(r *rand.Rand) float64 {
	i := 0
	return func(r *rand.Rand) float64 {
		i++
		return r.Float64() + float64((i-1)%4/2)*1.2
	}
}

// losses are losses, and sums over parts of rows.
var losses = []call{
	{"giou of 80 boxes", []operand{{shape: []int{80, 4}, draw: sides(), trained: true}, {shape: []int{80, 4}, draw: sides(), trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return giou.Apply(g, giou.Defaults(), giou.A(x[0]), giou.B(x[1]))
		}, func(in [][]float64) (out []float64) {
			area := func(l, t, r, b float64) float64 { return max(r-l, 0) * max(b-t, 0) }
			for n := range 80 {
				a, b := in[0][4*n:4*n+4], in[1][4*n:4*n+4]
				both := area(max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))
				union := area(a[0], a[1], a[2], a[3]) + area(b[0], b[1], b[2], b[3]) - both
				hull := area(min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))
				out = append(out, 1-both/union+(hull-union)/hull)
			}
			return out
		}},
	{"lovasz", []operand{{shape: []int{3, 7}, trained: true}, {shape: []int{3, 7}, draw: below(2)}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return lovasz.Apply(g, lovasz.Defaults(), lovasz.Input(x[0]), lovasz.Label(x[1]))
	}, func(in [][]float64) (out []float64) {
		for n := range 3 {
			type item struct{ miss, label float64 }
			var items []item
			all := 0.0
			for k := range 7 {
				label := in[1][7*n+k]
				items, all = append(items, item{1 - (2*label-1)*in[0][7*n+k], label}), all+label
			}
			slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.miss, a.miss) })
			sum, before, seen := 0.0, 0.0, 0.0
			for i, x := range items {
				seen += x.label
				jaccard := 1 - (all-seen)/(all+float64(i+1)-seen)
				sum, before = sum+max(x.miss, 0)*(jaccard-before), jaccard
			}
			out = append(out, sum)
		}
		return out
	}},
	{"causal", []operand{{shape: []int{2, 20, 3}, trained: true}, {shape: []int{2, 20, 3}, trained: true}, {shape: []int{2, 20, 3}, trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return causal.Apply(g, causal.Defaults(), causal.Query(x[0]), causal.Key(x[1]), causal.Value(x[2]))
		}, func(in [][]float64) []float64 {
			out := make([]float64, len(in[0]))
			for i := range 2 * 20 {
				total := 0.0
				for j := i / 20 * 20; j <= i; j++ {
					share := math.Exp(dot(in[0][3*i:3*i+3], in[1][3*j:3*j+3]) / math.Sqrt(3))
					total += share
					for d := range 3 {
						out[3*i+d] += share * in[2][3*j+d]
					}
				}
				for d := range 3 {
					out[3*i+d] /= total
				}
			}
			return out
		}},
	{"triplet", []operand{{shape: []int{6, 3}, trained: true}, {shape: []int{6, 3}, trained: true}, {shape: []int{6, 3}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return triplet.Apply(g, triplet.Defaults().WithSwap(true).WithMargin(0.5), triplet.Anchor(x[0]), triplet.Same(x[1]), triplet.Other(x[2]))
	}, func(in [][]float64) []float64 {
		loss := 0.0
		for i := 0; i < 18; i += 3 {
			a, s, o := in[0][i:i+3], in[1][i:i+3], in[2][i:i+3]
			loss += max(distance(a, s, 1e-6)-min(distance(a, o, 1e-6), distance(s, o, 1e-6))+0.5, 0) / 6
		}
		return []float64{loss}
	}},
	{"cosine_embedding", []operand{{shape: []int{6, 3}, trained: true}, {shape: []int{6, 3}, trained: true}, {shape: []int{6}, draw: below(2), whole: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return cosineembedding.Apply(g, cosineembedding.Defaults().WithMargin(0.1), cosineembedding.A(x[0]), cosineembedding.B(x[1]), cosineembedding.Label(x[2]))
	}, func(in [][]float64) []float64 {
		loss := 0.0
		for n := range 6 {
			a, b := in[0][3*n:3*n+3], in[1][3*n:3*n+3]
			if c := dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)); in[2][n] == 1 {
				loss += (1 - c) / 6
			} else {
				loss += max(c-0.1, 0) / 6
			}
		}
		return []float64{loss}
	}},
	{"focal", []operand{{shape: []int{4, 3}, trained: true}, {shape: []int{4, 3}, draw: below(2)}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return focal.Apply(g, focal.Defaults().WithGamma(1.5), focal.Logit(x[0]), focal.Label(x[1]))
	}, func(in [][]float64) []float64 {
		loss := 0.0
		for n, t := range in[1] {
			p, share := 1/(1+math.Exp(-in[0][n])), 0.25
			if t == 0 {
				p, share = 1-p, 0.75
			}
			loss -= share * math.Pow(1-p, 1.5) * math.Log(p) / 12
		}
		return []float64{loss}
	}},
	{"multi_margin", []operand{{shape: []int{4, 3}, trained: true}, {shape: []int{4}, draw: below(3), whole: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return multimargin.Apply(g, multimargin.Defaults().WithP(2), multimargin.Logit(x[0]), multimargin.Label(x[1]))
	}, func(in [][]float64) []float64 {
		loss := 0.0
		for n := range 4 {
			for k := range 3 {
				if label := int(in[1][n]); k != label {
					over := max(1-in[0][3*n+label]+in[0][3*n+k], 0)
					loss += over * over / 12
				}
			}
		}
		return []float64{loss}
	}},
	{"poisson_nll", []operand{{shape: []int{4, 3}, draw: between(0.2, 2), trained: true}, {shape: []int{4, 3}, draw: below(5)}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return poissonnll.Apply(g, poissonnll.Defaults().WithLogInput(false).WithFull(true), poissonnll.Input(x[0]), poissonnll.Number(x[1]))
	}, func(in [][]float64) []float64 {
		loss := 0.0
		for n, t := range in[1] {
			if loss += (in[0][n] - t*math.Log(in[0][n]+1e-8)) / 12; t > 1 {
				loss += (t*math.Log(t) - t + 0.5*math.Log(2*math.Pi*t)) / 12
			}
		}
		return []float64{loss}
	}},
	{"safe_softmax", []operand{{shape: []int{3, 4}, trained: true}, {shape: []int{3, 4}, draw: rows(0b1101, 0b0000, 0b1111)}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return safesoftmax.Apply(g, safesoftmax.Defaults(), safesoftmax.Input(x[0]), safesoftmax.Mask(x[1]))
	}, func(in [][]float64) []float64 {
		out := make([]float64, 12)
		for n := range 3 {
			total := 0.0
			for k := range 4 {
				total += in[1][4*n+k] * math.Exp(in[0][4*n+k])
			}
			for k := range 4 {
				if in[1][4*n+k] == 1 {
					out[4*n+k] = math.Exp(in[0][4*n+k]) / total
				}
			}
		}
		return out
	}},
	{"maxima of ceil_pool", []operand{{shape: []int{2, 6}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return ceilpool.Apply(g, ceilpool.Defaults(3).WithStride(2).WithCeilMode(true), x[0])
	}, func(in [][]float64) (out []float64) {
		for n := range 2 {
			x := in[0][6*n : 6*n+6]
			out = append(out, max(x[0], x[1], x[2]), max(x[2], x[3], x[4]), max(x[4], x[5]))
		}
		return out
	}},
	{"means of ceil_pool", []operand{{shape: []int{2, 6}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return ceilpool.Apply(g, ceilpool.Defaults(4).WithStride(3).WithPadding(1).WithCeilMode(true).WithMode(ceilpool.ModeAvg), x[0])
	}, func(in [][]float64) (out []float64) {
		for n := range 2 { // the last window ends at the padding
			x := in[0][6*n : 6*n+6]
			out = append(out, (x[0]+x[1]+x[2])/4, (x[2]+x[3]+x[4]+x[5])/4, x[5]/2)
		}
		return out
	}},
}

// rows draws the bits of numbers of four bits, the greatest first.
func rows(bits ...int) func(r *rand.Rand) float64 {
	at := -1
	return func(r *rand.Rand) float64 {
		at++
		return float64(bits[at/4] >> (3 - at%4) & 1)
	}
}
