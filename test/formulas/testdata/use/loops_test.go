package use

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/formulas/generated/deformable"
	"example.com/formulas/generated/deltarule"
	"example.com/formulas/generated/fold"
	"example.com/formulas/generated/forwardbackward"
	"example.com/formulas/generated/graphattention"
	"example.com/formulas/generated/gridsample"
	"example.com/formulas/generated/histogram"
	"example.com/formulas/generated/kalman"
	"example.com/formulas/generated/kan"
	"example.com/formulas/generated/mlstm"
	"example.com/formulas/generated/newtonschulz"
	"example.com/formulas/generated/nms"
	"example.com/formulas/generated/retention"
	"example.com/formulas/generated/roialign"
	"example.com/formulas/generated/roll"
	"example.com/formulas/generated/searchsorted"
	"example.com/formulas/generated/sinkhorn"
	"example.com/formulas/generated/softdtw"
	"example.com/formulas/generated/spectralnorm"
	"example.com/formulas/generated/topp"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// operand is an input of a call.
type operand struct {
	shape   []int
	draw    func(r *rand.Rand) float64 // an element; nil: a number of a normal distribution
	whole   bool                       // whether elements are integers
	trained bool                       // whether its gradient is compared
}

// between draws numbers of an interval.
func between(lo, hi float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return lo + (hi-lo)*r.Float64() }
}

// ascending draws numbers each of which is greater than the one before.
func ascending() func(r *rand.Rand) float64 {
	last := -2.0
	return func(r *rand.Rand) float64 {
		last += r.Float64()
		return last
	}
}

// call is a use of an operator beside plain loops that compute the same.
type call struct {
	name  string
	in    []operand
	apply func(g *graph.Graph, x []graph.Tensor) graph.Tensor
	want  func(in [][]float64) []float64
}

// box is the offset of an element of a tensor, and whether the tensor has it.
func box(shape []int, at ...int) (offset int, inside bool) {
	for d, i := range at {
		if i < 0 || i >= shape[d] {
			return 0, false
		}
		offset = offset*shape[d] + i
	}
	return offset, true
}

// bilinear is the mean of the four elements of the last two dimensions around a place. Elements outside are
// 0.
func bilinear(x []float64, shape []int, n, c int, y, z float64) (sum float64) {
	for i := range 2 {
		for j := range 2 {
			h, w := math.Floor(y)+float64(i), math.Floor(z)+float64(j)
			if at, inside := box(shape, n, c, int(h), int(w)); inside {
				sum += (1 - math.Abs(y-h)) * (1 - math.Abs(z-w)) * x[at]
			}
		}
	}
	return sum
}

// times multiplies matrices of rows of k and cols numbers.
func times(a, b []float64, k, cols int) []float64 {
	out := make([]float64, len(a)/k*cols)
	for i := range out {
		for m := range k {
			out[i] += a[i/cols*k+m] * b[m*cols+i%cols]
		}
	}
	return out
}

func transposed(x []float64, cols int) []float64 {
	var out []float64
	for j := range cols {
		for i := range len(x) / cols {
			out = append(out, x[i*cols+j])
		}
	}
	return out
}

func length(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

var calls = []call{
	{"newton_schulz", []operand{{shape: []int{2, 3, 4}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return newtonschulz.Apply(g, newtonschulz.Defaults().WithSteps(3), x[0])
	}, func(in [][]float64) (out []float64) {
		for m := range slices.Chunk(slices.Clone(in[0]), 12) {
			size := length(m) + 1e-7
			for i := range m {
				m[i] /= size
			}
			for range 3 {
				gram := times(m, transposed(m, 4), 4, 3)
				square := times(gram, gram, 3, 3)
				for i := range gram {
					gram[i] = -4.775*gram[i] + 2.0315*square[i]
				}
				more := times(gram, m, 3, 4)
				for i := range m {
					m[i] = 3.4445*m[i] + more[i]
				}
			}
			out = append(out, m...)
		}
		return out
	}},
	{"no step of newton_schulz", []operand{{shape: []int{1, 2, 2}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return newtonschulz.Apply(g, newtonschulz.Defaults().WithSteps(0), x[0])
	}, func(in [][]float64) (out []float64) {
		for _, v := range in[0] {
			out = append(out, v/(length(in[0])+1e-7))
		}
		return out
	}},
	{"sinkhorn", []operand{{shape: []int{2, 3, 4}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return sinkhorn.Apply(g, sinkhorn.Defaults(3), x[0])
	}, func(in [][]float64) (out []float64) {
		for m := range slices.Chunk(in[0], 12) {
			p := make([]float64, 12)
			for i, v := range m {
				p[i] = math.Exp(v)
			}
			for range 3 {
				for i := range 3 {
					sum := 0.0
					for _, v := range p[4*i : 4*i+4] {
						sum += v
					}
					for j := range 4 {
						p[4*i+j] /= sum
					}
				}
				for j := range 4 {
					sum := p[j] + p[4+j] + p[8+j]
					for i := range 3 {
						p[4*i+j] /= sum
					}
				}
			}
			out = append(out, p...)
		}
		return out
	}},
	{"spectral_norm", []operand{{shape: []int{3, 4}, trained: true}, {shape: []int{3}}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return spectralnorm.Apply(g, spectralnorm.Defaults().WithSteps(4), spectralnorm.Weight(x[0]), spectralnorm.Start(x[1]))
	}, func(in [][]float64) (out []float64) {
		w, u, v := in[0], in[1], []float64(nil)
		for range 4 {
			v = times(transposed(w, 4), u, 3, 1)
			for size, j := length(v), 0; j < 4; j++ {
				v[j] /= size
			}
			u = times(w, v, 4, 1)
			for size, i := length(u), 0; i < 3; i++ {
				u[i] /= size
			}
		}
		sigma := times(times(u, w, 3, 4), v, 4, 1)[0]
		for _, x := range w {
			out = append(out, x/sigma)
		}
		return out
	}},
	{"grid_sample", []operand{{shape: []int{2, 3, 5, 4}, trained: true}, {shape: []int{2, 3, 2, 2}, draw: between(-1.3, 1.3), trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return gridsample.Apply(g, gridsample.Defaults(), gridsample.Input(x[0]), gridsample.Grid(x[1]))
		}, func(in [][]float64) []float64 {
			return sampled(in, func(g, extent float64) float64 { return ((g+1)*extent - 1) / 2 })
		}},
	{"grid_sample with corners and border", []operand{{shape: []int{2, 3, 5, 4}, trained: true}, {shape: []int{2, 3, 2, 2}, draw: between(-1.3, 1.3), trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return gridsample.Apply(g, gridsample.Defaults().WithCorners(true).WithBorder(true), gridsample.Input(x[0]), gridsample.Grid(x[1]))
		}, func(in [][]float64) []float64 {
			return sampled(in, func(g, extent float64) float64 { return min(max((g+1)/2*(extent-1), 0), extent-1) })
		}},
	{"roi_align", []operand{{shape: []int{2, 3, 5, 4}, trained: true}, {shape: []int{3, 4}, draw: between(-1, 6)}, {shape: []int{3}, draw: func(r *rand.Rand) float64 { return float64(r.IntN(2)) }, whole: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return roialign.Apply(g, roialign.Defaults(2, 3).WithScale(0.75), roialign.Input(x[0]), roialign.Boxes(x[1]), roialign.Image(x[2]))
		}, func(in [][]float64) (out []float64) {
			for r := range 3 {
				b := in[1][4*r : 4*r+4]
				for c := range 3 {
					for p := range 2 {
						for q := range 3 {
							sum := 0.0
							for i := range 2 {
								for j := range 2 {
									y := b[1]*0.75 - 0.5 + (b[3]-b[1])*0.75/2*(float64(p)+(float64(i)+0.5)/2)
									x := b[0]*0.75 - 0.5 + (b[2]-b[0])*0.75/3*(float64(q)+(float64(j)+0.5)/2)
									if y >= -1 && y <= 5 && x >= -1 && x <= 4 {
										sum += bilinear(in[0], []int{2, 3, 5, 4}, int(in[2][r]), c, min(max(y, 0), 4), min(max(x, 0), 3))
									}
								}
							}
							out = append(out, sum/4)
						}
					}
				}
			}
			return out
		}},
	{"deformable", []operand{{shape: []int{2, 3, 4, 5}, trained: true}, {shape: []int{2, 12, 2, 3}, trained: true}, {shape: []int{2, 3, 3, 2}, trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return deformable.Apply(g, deformable.Defaults().WithPadding(1).WithStride(2), deformable.Input(x[0]), deformable.Offset(x[1]), deformable.Weight(x[2]))
		}, func(in [][]float64) []float64 {
			out := make([]float64, 2*2*2*3)
			for i := range out {
				n, o, p, q := i/12, i/6%2, i/3%2, i%3
				for c := range 3 {
					for k := range 3 {
						for l := range 2 {
							dy, _ := box([]int{2, 12, 2, 3}, n, 2*(2*k+l), p, q)
							dx, _ := box([]int{2, 12, 2, 3}, n, 2*(2*k+l)+1, p, q)
							at, _ := box([]int{2, 3, 3, 2}, o, c, k, l)
							out[i] += in[2][at] * bilinear(in[0], []int{2, 3, 4, 5}, n, c, float64(2*p-1+k)+in[1][dy], float64(2*q-1+l)+in[1][dx])
						}
					}
				}
			}
			return out
		}},
	{"graph_attention", []operand{{shape: []int{5, 2, 3}, trained: true}, {shape: []int{2, 3}, trained: true}, {shape: []int{2, 3}, trained: true},
		{shape: []int{9}, draw: between(0, 5), whole: true}, {shape: []int{9}, draw: between(0, 4), whole: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return graphattention.Apply(g, graphattention.Defaults(), graphattention.Input(x[0]), graphattention.Leave(x[1]), graphattention.Enter(x[2]), graphattention.Source(x[3]), graphattention.Sink(x[4]))
		}, func(in [][]float64) []float64 {
			out, total := make([]float64, 30), make([]float64, 10)
			share := func(e, h int) float64 {
				both := 0.0
				for d := range 3 {
					both += float64(in[0][int(in[3][e])*6+h*3+d]*in[1][h*3+d]) + float64(in[0][int(in[4][e])*6+h*3+d]*in[2][h*3+d])
				}
				return math.Exp(max(both, both/5))
			}
			for i := range 18 {
				total[int(in[4][i/2])*2+i%2] += share(i/2, i%2)
			}
			for i := range 54 {
				e, h, d, n := i/6, i/3%2, i%3, int(in[4][i/6])
				out[n*6+h*3+d] += share(e, h) / total[n*2+h] * in[0][int(in[3][e])*6+h*3+d]
			}
			return out
		}},
	{"nms", []operand{{shape: []int{9, 4}, draw: between(0, 4)}, {shape: []int{9}}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return nms.Apply(g, nms.Defaults(0.2), nms.Boxes(x[0]), nms.Score(x[1]))
	}, func(in [][]float64) []float64 {
		out, order := make([]float64, 9), []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
		slices.SortStableFunc(order, func(i, j int) int { return int(math.Copysign(1, in[1][j]-in[1][i])) })
		for at, i := range order {
			out[i] = 1
			for _, j := range order[:at] {
				a, b := in[0][4*i:4*i+4], in[0][4*j:4*j+4]
				size := func(x []float64) float64 { return max(x[2]-x[0], 0) * max(x[3]-x[1], 0) }
				both := size([]float64{max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])})
				if out[j] == 1 && both > 0.2*(size(a)+size(b)-both) {
					out[i] = 0
				}
			}
		}
		return out
	}},
	{"top_p", []operand{{shape: []int{3, 6}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return topp.Apply(g, topp.Defaults(0.7), x[0])
	}, func(in [][]float64) (out []float64) {
		for row := range slices.Chunk(in[0], 6) {
			total, kept, before := 0.0, make([]float64, 6), 0.0
			for _, v := range row {
				total += math.Exp(v)
			}
			for _, v := range slices.Backward(slices.Sorted(slices.Values(row))) {
				if before < 0.7 {
					kept[slices.Index(row, v)] = math.Exp(v) / total
					before += math.Exp(v) / total
				}
			}
			for _, v := range kept {
				out = append(out, v/before)
			}
		}
		return out
	}},
	{"kan", []operand{{shape: []int{5, 2}, draw: between(-1.2, 1.2), trained: true}, {shape: []int{3, 2, 7}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return kan.Apply(g, kan.Defaults(4), kan.Input(x[0]), kan.Weight(x[1]))
	}, func(in [][]float64) []float64 {
		knot := func(i int) float64 { return float64(i-3)*0.5 - 1 }
		var spline func(d, i int, x float64) float64
		spline = func(d, i int, x float64) float64 {
			if d == 0 {
				if knot(i) <= x && x < knot(i+1) && i < 10 {
					return 1
				}
				return 0
			}
			return (x-knot(i))/(knot(i+d)-knot(i))*spline(d-1, i, x) + (knot(i+d+1)-x)/(knot(i+d+1)-knot(i+1))*spline(d-1, i+1, x)
		}
		out := make([]float64, 15)
		for i := range out {
			for k := range 2 {
				for j := range 7 {
					out[i] += in[1][(i%3*2+k)*7+j] * spline(3, j, in[0][i/3*2+k])
				}
			}
		}
		return out
	}},
	{"histogram", []operand{{shape: []int{40}, draw: func(r *rand.Rand) float64 { return float64(r.IntN(13)-6) / 4 }}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return histogram.Apply(g, histogram.Defaults(4, -1, 1), x[0])
	}, func(in [][]float64) []float64 {
		out := make([]float64, 4)
		for _, v := range in[0] {
			switch {
			case v == 1:
				out[3]++
			case v >= -1 && v < 1:
				out[int((v+1)*2)]++
			}
		}
		return out
	}},
	{"searchsorted", []operand{{shape: []int{7}, draw: ascending()}, {shape: []int{6}, draw: between(-2, 3)}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return searchsorted.Apply(g, searchsorted.Defaults(), searchsorted.Sorted(x[0]), searchsorted.Value(x[1]))
	}, func(in [][]float64) (out []float64) {
		for _, v := range in[1] {
			at, _ := slices.BinarySearch(in[0], v)
			out = append(out, float64(at))
		}
		return out
	}},
	{"roll", []operand{{shape: []int{2, 5, 3}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return roll.Apply(g, roll.Defaults(-7), x[0])
	}, func(in [][]float64) []float64 {
		out := make([]float64, 30)
		for i, v := range in[0] {
			out[i/15*15+(i/3%5+3)%5*3+i%3] = v
		}
		return out
	}},
	{"fold", []operand{{shape: []int{2, 18, 6}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return fold.Apply(g, fold.Defaults(4, 5, 3).WithPadding(1).WithStride(2), x[0])
	}, func(in [][]float64) []float64 {
		out := make([]float64, 2*2*4*5)
		for i, v := range in[0] {
			n, c, k, l, p, q := i/108, i/54%2, i/18%3, i/6%3, i/3%2, i%3
			if at, inside := box([]int{2, 2, 4, 5}, n, c, 2*p+k-1, 2*q+l-1); inside {
				out[at] += v
			}
		}
		return out
	}},
	{"retention", []operand{{shape: []int{2, 2, 5, 3}, trained: true}, {shape: []int{2, 2, 5, 3}, trained: true}, {shape: []int{2, 2, 5, 4}, trained: true}, {shape: []int{2}, draw: between(0.5, 1), trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return retention.Apply(g, retention.Defaults(), retention.Query(x[0]), retention.Key(x[1]), retention.Value(x[2]), retention.Gamma(x[3]))
		}, func(in [][]float64) []float64 {
			out := make([]float64, 2*2*5*4)
			for i := range out {
				row, s, v := i/20, i/4%5, i%4
				for before := range s + 1 {
					score := 0.0
					for k := range 3 {
						score += in[0][(row*5+s)*3+k] * in[1][(row*5+before)*3+k]
					}
					out[i] += math.Pow(in[3][row%2], float64(s-before)) * score * in[2][(row*5+before)*4+v]
				}
			}
			return out
		}},
	{"delta_rule", []operand{{shape: []int{2, 5, 3}, trained: true}, {shape: []int{2, 5, 3}, trained: true}, {shape: []int{2, 5, 4}, trained: true}, {shape: []int{2, 5}, draw: between(0, 1), trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return deltarule.Apply(g, deltarule.Defaults(), deltarule.Query(x[0]), deltarule.Key(x[1]), deltarule.Value(x[2]), deltarule.Beta(x[3]))
		}, func(in [][]float64) (out []float64) {
			for n := range 2 {
				memory := make([]float64, 12)
				for s := range 5 {
					at := n*5 + s
					query, key := in[0][3*at:3*at+3], in[1][3*at:3*at+3]
					held := times(key, memory, 3, 4)
					for i := range memory {
						memory[i] += in[3][at] * key[i/4] * (in[2][4*at+i%4] - held[i%4])
					}
					out = append(out, times(query, memory, 3, 4)...)
				}
			}
			return out
		}},
	{"mlstm", []operand{{shape: []int{2, 5, 3}, trained: true}, {shape: []int{2, 5, 3}, trained: true}, {shape: []int{2, 5, 4}, trained: true}, {shape: []int{2, 5}, trained: true}, {shape: []int{2, 5}, draw: between(-1, 0), trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return mlstm.Apply(g, mlstm.Defaults(), mlstm.Query(x[0]), mlstm.Key(x[1]), mlstm.Value(x[2]), mlstm.Enter(x[3]), mlstm.Keep(x[4]))
		}, func(in [][]float64) (out []float64) {
			for n := range 2 {
				cell, sizes := make([]float64, 12), make([]float64, 3)
				for s := range 5 { // without the greatest logarithm, which cancels
					at := n*5 + s
					query, key, enter, keep := in[0][3*at:3*at+3], in[1][3*at:3*at+3], math.Exp(in[3][at]), math.Exp(in[4][at])
					for i := range cell {
						cell[i] = keep*cell[i] + enter*key[i/4]*in[2][4*at+i%4]
					}
					for i := range sizes {
						sizes[i] = keep*sizes[i] + enter*key[i]
					}
					for _, v := range times(query, cell, 3, 4) {
						out = append(out, v/max(math.Abs(times(query, sizes, 3, 1)[0]), 1))
					}
				}
			}
			return out
		}},
	{"kalman", []operand{{shape: []int{2, 4}, trained: true}, {shape: []int{2, 2}, trained: true}, {shape: []int{2, 2}, draw: between(-0.5, 0.5), trained: true}, {shape: []int{2, 2}, draw: between(0, 0.3), trained: true}, {shape: []int{2}, draw: between(0.2, 1), trained: true}},
		func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
			return kalman.Apply(g, kalman.Defaults(), kalman.Input(x[0]), kalman.Start(x[1]), kalman.Step(x[2]), kalman.Noise(x[3]), kalman.Seen(x[4]))
		}, func(in [][]float64) (out []float64) {
			for n := range 2 {
				mean, cov := slices.Clone(in[1][2*n:2*n+2]), []float64{1, 0, 0, 1}
				for s := range 4 {
					mean, cov = times(in[2], mean, 2, 1), times(times(in[2], cov, 2, 2), transposed(in[2], 2), 2, 2)
					for i := range cov {
						cov[i] += in[3][i]
					}
					cross := times(cov, in[4], 2, 1)
					total := times(in[4], cross, 2, 1)[0] + 0.1
					rest := in[0][4*n+s] - times(in[4], mean, 2, 1)[0]
					for i := range mean {
						mean[i] += cross[i] / total * rest
					}
					for i := range cov {
						cov[i] -= cross[i/2] / total * cross[i%2]
					}
					out = append(out, mean...)
				}
			}
			return out
		}},
	{"soft_dtw", []operand{{shape: []int{2, 4, 3}, draw: between(0, 2), trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return softdtw.Apply(g, softdtw.Defaults().WithGamma(0.7), x[0])
	}, func(in [][]float64) (out []float64) {
		for n := range 2 { // the sum over all alignments, each by itself
			var walk func(i, j int, cost float64) float64
			walk = func(i, j int, cost float64) float64 {
				if i == 4 || j == 3 {
					return 0
				}
				if cost += in[0][12*n+3*i+j]; i == 3 && j == 2 {
					return math.Exp(-cost / 0.7)
				}
				return walk(i+1, j, cost) + walk(i, j+1, cost) + walk(i+1, j+1, cost)
			}
			out = append(out, -0.7*math.Log(walk(0, 0, 0)))
		}
		return out
	}},
	{"forward_backward", []operand{{shape: []int{2, 4, 3}, trained: true}, {shape: []int{3, 3}, trained: true}}, func(g *graph.Graph, x []graph.Tensor) graph.Tensor {
		return forwardbackward.Apply(g, forwardbackward.Defaults(), forwardbackward.Input(x[0]), forwardbackward.Transition(x[1]))
	}, func(in [][]float64) []float64 {
		out := make([]float64, 2*4*3) // the share of the paths through a state, of all paths
		for n := range 2 {
			total := 0.0
			for path := range 81 {
				score, state := 0.0, [4]int{path / 27, path / 9 % 3, path / 3 % 3, path % 3}
				for s, k := range state {
					if score += in[0][12*n+3*s+k]; s > 0 {
						score += in[1][3*state[s-1]+k]
					}
				}
				total += math.Exp(score)
				for s, k := range state {
					out[12*n+3*s+k] += math.Exp(score)
				}
			}
			for i := range 12 {
				out[12*n+i] = math.Log(out[12*n+i] / total)
			}
		}
		return out
	}},
}

// sampled is bilinear samples of images of shape [2, 3, 5, 4] at places of shape [2, 3, 2, 2].
func sampled(in [][]float64, place func(g, extent float64) float64) (out []float64) {
	for i := range 2 * 3 * 3 * 2 {
		n, c, p := i/18, i/6%3, i%6
		at := in[1][12*n+2*p:]
		out = append(out, bilinear(in[0], []int{2, 3, 5, 4}, n, c, place(at[1], 5), place(at[0], 4)))
	}
	return out
}

// TestLoops compares outputs with those of plain loops, and gradients of a weighted sum of the outputs with
// central differences of the loops.
func TestLoops(t *testing.T) {
	for _, c := range slices.Concat(calls, losses) {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			g := graph.New(1)
			var tensors, trained []graph.Tensor
			var elements [][]float64
			var values []opgen.Value
			for i, o := range c.in {
				typ := dtype.F64
				if o.whole {
					typ = dtype.I64
				}
				x := g.Input(string(rune('a'+i)), typ, o.shape...)
				v := random(r, product(o.shape))
				for j := range v {
					if o.draw != nil {
						v[j] = o.draw(r)
					}
				}
				if tensors, elements = append(tensors, x), append(elements, v); o.trained {
					trained = append(trained, x)
				}
				if !o.whole {
					values = append(values, opgen.With(x, v))
					continue
				}
				whole := make([]int64, len(v))
				for j := range v {
					whole[j] = int64(v[j])
				}
				values = append(values, opgen.With(x, whole))
			}
			y := c.apply(g, tensors)
			factors := random(r, product(y.Shape()))
			if len(trained) == 0 {
				p, err := open(t).Inference(t.Context(), g, y)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(t.Context(), values...); err != nil {
					t.Fatal(err)
				}
				equal(t, "output", numbers(t, p, y), c.want(elements), 0)
				return
			}
			seed := g.Input("seed", dtype.F64, y.Shape()...)
			program, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, trained, y)
			if err != nil {
				t.Fatal(err)
			}
			p, err := open(t).Load(t.Context(), program)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(t.Context(), append(values, opgen.With(seed, factors))...); err != nil {
				t.Fatal(err)
			}
			equal(t, "output", fetch(t, p, y), c.want(elements), 1e-12)
			sum := func() (s float64) {
				for i, v := range c.want(elements) {
					s += v * factors[i]
				}
				return s
			}
			for n, x := range tensors {
				if !c.in[n].trained {
					continue
				}
				want := make([]float64, len(elements[n]))
				const h = 1e-6
				for i, at := range elements[n] {
					elements[n][i] = at + h
					above := sum()
					elements[n][i] = at - h
					want[i] = (above - sum()) / (2 * h)
					elements[n][i] = at
				}
				equal(t, "gradient of "+x.Name(), fetch(t, p, grads[x]), want, 1e-7)
			}
		})
	}
}

// numbers returns the elements of a tensor of any type.
func numbers(t *testing.T, p *opgen.Program, x graph.Tensor) (out []float64) {
	t.Helper()
	switch x.Type() {
	case dtype.Bool:
		v, err := opgen.Fetch[bool](p, x)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range v {
			n := 0.0
			if b {
				n = 1
			}
			out = append(out, n)
		}
	case dtype.I64:
		v, err := opgen.Fetch[int64](p, x)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range v {
			out = append(out, float64(n))
		}
	default:
		return fetch(t, p, x)
	}
	return out
}
