// Package use tests operators that have formulas and no kernels.
package use

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/formulas/generated/binarize"
	"example.com/formulas/generated/block"
	own "example.com/formulas/generated/catalogue"
	"example.com/formulas/generated/exactlyone"
	"example.com/formulas/generated/layerwise"
	"example.com/formulas/generated/limited"
	"example.com/formulas/generated/limitedtwice"
	"example.com/formulas/generated/normofgroups"
	"example.com/formulas/generated/rms"
	"example.com/formulas/generated/rotaryattention"
	"example.com/formulas/generated/rotatepairs"
	"example.com/formulas/generated/runningsum"
	"example.com/formulas/generated/softplus"
	"example.com/formulas/generated/swiglu"
	"example.com/formulas/generated/windowof"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// open returns a session with the operators of this module and of opgen.
func open(t *testing.T) *opgen.Session {
	t.Helper()
	s, err := opgen.Open(catalogue.Register, opgen.Register(own.Register))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// random returns n numbers of a normal distribution.
func random(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

// fetch returns the elements of a tensor.
func fetch(t *testing.T, p *opgen.Program, x graph.Tensor) []float64 {
	t.Helper()
	out, err := opgen.Fetch[float64](p, x)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run gives tensors their elements and runs a program.
func run(t *testing.T, p *opgen.Program, tensors []graph.Tensor, elements [][]float64) {
	t.Helper()
	var values []opgen.Value
	for i, x := range tensors {
		values = append(values, opgen.With(x, elements[i]))
	}
	if err := p.Run(t.Context(), values...); err != nil {
		t.Fatal(err)
	}
}

// equal compares numbers up to a tolerance.
func equal(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: want %d elements, got %d", what, len(want), len(got))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*max(1, math.Abs(want[i]))) {
			t.Errorf("%s[%d]: want %v, got %v", what, i, want[i], got[i])
		}
	}
}

// use is a use of an operator.
type use struct {
	name    string
	shape   []int // of the input
	apply   func(g *graph.Graph, x graph.Tensor) graph.Tensor
	weights []int // the numbers of their slots
	// want computes the output from the input and the weights.
	want func(in [][]float64) []float64
}

var uses = []use{
	{"rotatepairs", []int{2, 3, 4}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return rotatepairs.Apply(g, rotatepairs.Defaults().WithBase(100).WithStart(2), x)
	}, nil, func(in [][]float64) []float64 {
		out := make([]float64, 24)
		for row := range 6 {
			x, y := in[0][4*row:4*row+4], out[4*row:4*row+4]
			for h := range 2 {
				sin, cos := math.Sincos(float64(2+row%3) * math.Pow(100, -float64(h)/2))
				y[h], y[h+2] = x[h]*cos-x[h+2]*sin, x[h+2]*cos+x[h]*sin
			}
		}
		return out
	}},
	{"runningsum", []int{2, 3, 2}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return runningsum.Apply(g, runningsum.Defaults().WithAxis(1), x)
	}, nil, func(in [][]float64) []float64 {
		x := in[0]
		return []float64{x[0], x[1], x[0] + x[2], x[1] + x[3], x[0] + x[2] + x[4], x[1] + x[3] + x[5],
			x[6], x[7], x[6] + x[8], x[7] + x[9], x[6] + x[8] + x[10], x[7] + x[9] + x[11]}
	}},
	{"runningsum from the end", []int{4}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return runningsum.Apply(g, runningsum.Defaults().WithExclusive(true).WithReverse(true), x)
	}, nil, func(in [][]float64) []float64 {
		x := in[0]
		return []float64{x[1] + x[2] + x[3], x[2] + x[3], x[3], 0}
	}},
	{"exactly_one", []int{2, 3}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return exactlyone.Apply(g, exactlyone.Defaults(), x)
	}, nil, func(in [][]float64) []float64 {
		loss := 0.0
		for row := range slices.Chunk(in[0], 3) {
			a, b, c := 1/(1+math.Exp(-row[0])), 1/(1+math.Exp(-row[1])), 1/(1+math.Exp(-row[2]))
			loss -= math.Log(a*(1-b)*(1-c)+b*(1-a)*(1-c)+c*(1-a)*(1-b)) / 2
		}
		return []float64{loss}
	}},
	{"norm_of_groups", []int{2, 4, 3}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return normofgroups.Apply(g, normofgroups.Defaults(2).WithEps(0.01), x)
	}, []int{int(normofgroups.SlotGamma), int(normofgroups.SlotBeta)}, func(in [][]float64) []float64 {
		out := make([]float64, 24)
		for group := range 4 { // two of each example, with two channels of three elements
			x := in[0][6*group : 6*group+6]
			mean, variance := 0.0, 0.0
			for _, v := range x {
				mean += v / 6
			}
			for _, v := range x {
				variance += (v - mean) * (v - mean) / 6
			}
			for i, v := range x {
				channel := 2*(group%2) + i/3
				out[6*group+i] = (v-mean)/math.Sqrt(variance+0.01)*in[1][channel] + in[2][channel]
			}
		}
		return out
	}},
	{"rms", []int{2, 3}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return rms.Apply(g, rms.Defaults().WithEps(0.1), x)
	}, []int{int(rms.SlotScale)}, func(in [][]float64) []float64 { return normalized(in[0], in[1], 0.1) }},
	{"block", []int{2, 3, 8}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return block.Apply(g, block.Defaults(2, 4, 5).WithBase(100), x)
	}, []int{int(block.SlotScale), int(block.SlotQProj), int(block.SlotKProj), int(block.SlotVProj), int(block.SlotOutProj),
		int(block.SlotMlpScale), int(block.SlotGate), int(block.SlotValue), int(block.SlotDown)}, func(in [][]float64) []float64 {
		rows := slices.Clone(in[0])
		for i, v := range attention([][]float64{normalized(rows, in[1], 1e-5), in[2], in[3], in[4], in[5]}, 8, true) {
			rows[i] += v
		}
		n := normalized(rows, in[6], 1e-5)
		opened, value := matmul(n, in[7], 8), matmul(n, in[8], 8)
		for i, x := range opened {
			opened[i] = x / (1 + math.Exp(-x)) * value[i]
		}
		for i, v := range matmul(opened, in[9], 5) {
			rows[i] += v
		}
		return rows
	}},
	{"limited", []int{5}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return limited.Apply(g, limited.Defaults(), x)
	}, nil, func(in [][]float64) []float64 {
		var out []float64
		for _, v := range in[0] { // the last step is below everything
			out = append(out, v+2)
		}
		return out
	}},
	{"limited below", []int{5}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		a := limited.Defaults().WithHigh(0.25).WithSteps(attr.ListOf(math.Inf(-1), -0.5, math.Inf(1))).WithSigned(attr.ListOf(true, false))
		return limited.Apply(g, a, x)
	}, nil, func(in [][]float64) []float64 {
		var out []float64
		for _, v := range in[0] {
			if v = min(v, 0.25); v > -0.5 {
				v -= 1
			}
			out = append(out, v-0.5)
		}
		return out
	}},
	{"limited_twice", []int{5}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return limitedtwice.Apply(g, limitedtwice.Defaults(), x)
	}, nil, func(in [][]float64) []float64 {
		var out []float64
		for _, v := range in[0] {
			out = append(out, min(v+2, 1)+2)
		}
		return out
	}},
	{"softplus", []int{5}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return softplus.Apply(g, softplus.Defaults(), x)
	}, nil, func(in [][]float64) []float64 {
		var out []float64
		for _, v := range in[0] {
			out = append(out, math.Log1p(math.Exp(v)))
		}
		return out
	}},
	{"swiglu", []int{3, 4}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return swiglu.Apply(g, swiglu.Defaults(2).WithBeta(1.5), x)
	}, []int{int(swiglu.SlotGate), int(swiglu.SlotValue)}, func(in [][]float64) []float64 {
		gate, value := matmul(in[0], in[1], 4), matmul(in[0], in[2], 4)
		for i, x := range gate {
			gate[i] = x / (1 + math.Exp(-1.5*x)) * value[i]
		}
		return gate
	}},
	{"rotary_attention", []int{2, 3, 5}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return rotaryattention.Apply(g, rotaryattention.Defaults(2, 4).WithBase(100), x)
	}, attentionWeights, func(in [][]float64) []float64 { return attention(in, 5, true) }},
	{"rotary_attention to all", []int{2, 3, 5}, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return rotaryattention.Apply(g, rotaryattention.Defaults(2, 4).WithBase(100).WithCausal(false), x)
	}, attentionWeights, func(in [][]float64) []float64 { return attention(in, 5, false) }},
}

var attentionWeights = []int{int(rotaryattention.SlotQProj), int(rotaryattention.SlotKProj), int(rotaryattention.SlotVProj),
	int(rotaryattention.SlotOutProj)}

// normalized divides rows by their root mean squares, and multiplies them by a scale.
func normalized(x, scale []float64, eps float64) []float64 {
	var out []float64
	for row := range slices.Chunk(x, len(scale)) {
		square := eps
		for _, v := range row {
			square += v * v / float64(len(row))
		}
		for i, v := range row {
			out = append(out, v/math.Sqrt(square)*scale[i])
		}
	}
	return out
}

// matmul multiplies rows of k elements by the transpose of a matrix.
func matmul(x, matrix []float64, k int) []float64 {
	var out []float64
	for row := 0; row < len(x); row += k {
		for col := 0; col < len(matrix); col += k {
			sum := 0.0
			for i := range k {
				sum += x[row+i] * matrix[col+i]
			}
			out = append(out, sum)
		}
	}
	return out
}

// attention computes rotary attention of 2 sequences of 3 positions, with 2 heads of 4 features.
func attention(in [][]float64, features int, causal bool) []float64 {
	q, k, v := matmul(in[0], in[1], features), matmul(in[0], in[2], features), matmul(in[0], in[3], features)
	turn := func(x []float64) {
		for pair := 0; pair < len(x); pair += 2 {
			position, p := pair/8%3, pair%4/2
			sin, cos := math.Sincos(float64(position) * math.Pow(100, -float64(p)/2))
			x[pair], x[pair+1] = x[pair]*cos-x[pair+1]*sin, x[pair+1]*cos+x[pair]*sin
		}
	}
	turn(q)
	turn(k)
	mixed := make([]float64, len(q))
	for b := range 2 {
		for h := range 2 {
			at := func(position int) int { return (b*3+position)*8 + h*4 }
			for s := range 3 {
				total, probs := 0.0, make([]float64, 3)
				for other := range 3 {
					if causal && other > s {
						continue
					}
					score := 0.0
					for d := range 4 {
						score += q[at(s)+d] * k[at(other)+d]
					}
					probs[other] = math.Exp(score / 2)
					total += probs[other]
				}
				for other, p := range probs {
					for d := range 4 {
						mixed[at(s)+d] += p / total * v[at(other)+d]
					}
				}
			}
		}
	}
	return matmul(mixed, in[4], 8)
}

func product(shape []int) int {
	n := 1
	for _, extent := range shape {
		n *= extent
	}
	return n
}

// TestValues compares outputs with those of plain Go, and gradients of a weighted sum of the outputs with central differences.
func TestValues(t *testing.T) {
	for _, u := range uses {
		t.Run(u.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			g := graph.New(1)
			x := g.Input("x", dtype.F64, u.shape...)
			y := u.apply(g, x)
			seed := g.Input("seed", dtype.F64, y.Shape()...)
			tensors := []graph.Tensor{x}
			for _, slot := range u.weights {
				tensors = append(tensors, y.Node().Tensor(slot))
			}
			program, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, tensors, y)
			if err != nil {
				t.Fatal(err)
			}
			p, err := open(t).Load(t.Context(), program)
			if err != nil {
				t.Fatal(err)
			}
			var elements [][]float64
			for _, x := range tensors {
				elements = append(elements, random(r, product(x.Shape())))
			}
			factors := random(r, product(y.Shape()))
			all := append([]graph.Tensor{seed}, tensors...)
			sum := func() (s float64) {
				run(t, p, all, append([][]float64{factors}, elements...))
				for i, v := range fetch(t, p, y) {
					s += v * factors[i]
				}
				return s
			}
			sum()
			equal(t, "output", fetch(t, p, y), u.want(elements), 1e-12)
			var got [][]float64
			for _, x := range tensors {
				got = append(got, fetch(t, p, grads[x]))
			}
			for n, x := range tensors {
				want := make([]float64, len(elements[n]))
				const h = 1e-5
				for i, at := range elements[n] {
					if i%stride(len(want)) > 0 {
						want[i] = got[n][i]
						continue
					}
					elements[n][i] = at + h
					above := sum()
					elements[n][i] = at - h
					want[i] = (above - sum()) / (2 * h)
					elements[n][i] = at
				}
				equal(t, "gradient of "+x.Name(), got[n], want, 1e-7)
			}
		})
	}
}

// stride returns how far apart the elements are of which gradients are compared: all are, unless there are many.
func stride(n int) int { return 1 + n/12 }

// TestGivenGradients checks gradients that formulas give where the derivative is another, or there is none.
func TestGivenGradients(t *testing.T) {
	for _, c := range []struct {
		apply func(g *graph.Graph, x graph.Tensor) graph.Tensor
		x     []float64
		want  []float64
	}{
		{func(g *graph.Graph, x graph.Tensor) graph.Tensor { return binarize.Apply(g, binarize.Defaults(), x) },
			[]float64{-3, -0.5, 0, 1, 1.5}, []float64{0, 2, 2, 2, 0}},
		{func(g *graph.Graph, x graph.Tensor) graph.Tensor { return softplus.Apply(g, softplus.Defaults(), x) },
			[]float64{0, 800, -800, math.Inf(1), math.Inf(-1)}, []float64{1, 2, 0, 2, 0}},
	} {
		g := graph.New(1)
		x, seed := g.Input("x", dtype.F64, len(c.x)), g.Input("seed", dtype.F64, len(c.x))
		y := c.apply(g, x)
		program, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x}, y)
		if err != nil {
			t.Fatal(err)
		}
		p, err := open(t).Load(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		run(t, p, []graph.Tensor{x, seed}, [][]float64{c.x, slices.Repeat([]float64{2}, len(c.x))})
		equal(t, "gradient", fetch(t, p, grads[x]), c.want, 0)
	}
}

// TestIntegers adds up integers, which have no gradient.
func TestIntegers(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.I64, 3)
	y := runningsum.Apply(g, runningsum.Defaults().WithAxis(0), x)
	p, err := open(t).Inference(t.Context(), g, y)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), opgen.With(x, []int64{1, 1 << 60, -3})); err != nil {
		t.Fatal(err)
	}
	got, err := opgen.Fetch[int64](p, y)
	if err != nil || len(got) != 3 || got[0] != 1 || got[1] != 1<<60+1 || got[2] != 1<<60-2 {
		t.Errorf("want [1 %d %d], got %v, %v", 1<<60+1, 1<<60-2, got, err)
	}
}

// TestLamb compares weights after each of three steps with those of plain Go, whose gradients are central differences.
func TestLamb(t *testing.T) {
	attrs := layerwise.Defaults().WithLr(0.1).WithBeta1(0.8).WithBeta2(0.9).WithEpsilon(1e-6).WithWeightDecay(0.05)
	r := rand.New(rand.NewPCG(3, 4))
	inputs, labels := random(r, 6), random(r, 6)
	weights := [][]float64{random(r, 4), random(r, 4)}

	g := graph.New(1)
	x, label := g.Input("x", dtype.F64, 3, 2), g.Input("label", dtype.F64, 3, 2)
	y := swiglu.Apply(g, swiglu.Defaults(2), x)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(label))
	tensors := []graph.Tensor{y.Node().Tensor(int(swiglu.SlotGate)), y.Node().Tensor(int(swiglu.SlotValue))}
	step, err := open(t).Training(t.Context(), g, loss, layerwise.Optimizer(attrs))
	if err != nil {
		t.Fatal(err)
	}

	meanSquare := func() (sum float64) {
		gate, value := matmul(inputs, weights[0], 2), matmul(inputs, weights[1], 2)
		for i, z := range gate {
			d := z/(1+math.Exp(-z))*value[i] - labels[i]
			sum += d * d / 6
		}
		return sum
	}
	m, v := make([]float64, 8), make([]float64, 8)
	for number := range 3 {
		if number == 0 {
			run(t, step, append(tensors, x, label), append(weights[:2:2], inputs, labels))
		} else {
			run(t, step, []graph.Tensor{x, label}, [][]float64{inputs, labels})
		}
		equal(t, "loss", fetch(t, step, loss), []float64{meanSquare()}, 1e-12)
		grads := make([]float64, 8)
		for i := range grads {
			const h = 1e-5
			at := &weights[i/4][i%4]
			was := *at
			*at = was + h
			above := meanSquare()
			*at = was - h
			grads[i] = (above - meanSquare()) / (2 * h)
			*at = was
		}
		for n, w := range weights {
			change := make([]float64, 4)
			norm, size := 0.0, 0.0
			for i := range w {
				at := 4*n + i
				m[at] = attrs.Beta1*m[at] + (1-attrs.Beta1)*grads[at]
				v[at] = attrs.Beta2*v[at] + (1-attrs.Beta2)*grads[at]*grads[at]
				times := float64(number + 1)
				change[i] = m[at]/(1-math.Pow(attrs.Beta1, times))/(math.Sqrt(v[at]/(1-math.Pow(attrs.Beta2, times)))+attrs.Epsilon) + attrs.WeightDecay*w[i]
				norm += w[i] * w[i]
				size += change[i] * change[i]
			}
			for i := range w {
				w[i] -= attrs.Lr * math.Sqrt(norm/size) * change[i]
			}
			equal(t, "weight "+tensors[n].Name(), fetch(t, step, tensors[n]), w, 1e-7)
		}
	}
}

// TestTraining trains attention and a gated layer with LAMB. They learn to say which symbol came before, at every position
// of a sequence.
func TestTraining(t *testing.T) {
	const examples, length, symbols = 16, 6, 8
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, examples, length, symbols), g.Input("label", dtype.F32, examples, length, symbols)
	y := rotaryattention.Apply(g, rotaryattention.Defaults(2, 8).WithBase(100), x)
	y = swiglu.Apply(g, swiglu.Defaults(symbols), y)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(label))
	attrs := layerwise.Defaults()
	attrs.Lr = 0.02
	step, err := open(t).Training(t.Context(), g, loss, layerwise.Optimizer(attrs))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	var losses []float32
	for range 200 {
		inputs, labels := make([]float32, examples*length*symbols), make([]float32, examples*length*symbols)
		for i := range examples * length {
			symbol := r.IntN(symbols)
			inputs[i*symbols+symbol] = 1
			if i%length < length-1 {
				labels[(i+1)*symbols+symbol] = 1
			}
		}
		if err := step.Run(t.Context(), opgen.With(x, inputs), opgen.With(label, labels)); err != nil {
			t.Fatal(err)
		}
		last, err := opgen.Fetch[float32](step, loss)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, last...)
	}
	if first, last := losses[0], losses[len(losses)-1]; !(last < first/4) {
		t.Errorf("loss: want less than a quarter of the %v at the beginning, got %v", first, last)
	}
}

// TestPassed changes what a caller passes between runs: integers, a condition and a list, on which outputs and gradients
// depend.
func TestPassed(t *testing.T) {
	g := graph.New(1)
	x, seed := g.Input("x", dtype.F64, 2, 4), g.Input("seed", dtype.F64, 2)
	y := windowof.Apply(g, windowof.Defaults(), x, 0, 4, false, windowof.Factor{1, 1})
	program, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x}, y)
	if err != nil {
		t.Fatal(err)
	}
	p, err := open(t).Load(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	in, seeds := random(rand.New(rand.NewPCG(1, 2)), 8), []float64{3, -5}
	check := func(first, width int, sign float64, factor []float64, values ...opgen.Value) {
		t.Helper()
		if err := p.Run(t.Context(), append(values, opgen.With(x, in), opgen.With(seed, seeds))...); err != nil {
			t.Fatal(err)
		}
		out, gradient := make([]float64, 2), make([]float64, 8)
		for n := range 2 {
			for k := range 4 {
				scale := 0.0
				if first <= k && k < first+width {
					scale += sign * factor[k%2]
				}
				if k == first {
					scale++
				}
				out[n] += scale * in[4*n+k]
				gradient[4*n+k] = scale * seeds[n]
			}
		}
		equal(t, "output", fetch(t, p, y), out, 1e-14)
		equal(t, "gradient", fetch(t, p, grads[x]), gradient, 1e-14)
	}
	n := y.Node()
	check(0, 4, 1, []float64{1, 1})
	check(1, 2, 1, []float64{1, 1}, opgen.Set(n, windowof.SlotFirst, 1), opgen.Set(n, windowof.SlotWidth, uint8(2)))
	check(1, 2, -1, []float64{0.5, 3}, opgen.Set(n, windowof.SlotFlip, true), opgen.Set(n, windowof.SlotFactor, float32(0.5), float32(3)))
	check(-2, 200, -1, []float64{0.5, 3}, opgen.Set(n, windowof.SlotFirst, -2), opgen.Set(n, windowof.SlotWidth, uint8(200)))
	check(-2, 200, -1, []float64{0.5, 3})
}
