package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/generated/einsum"
	"github.com/opgen/opgen/kernels"
	"github.com/opgen/opgen/runtime/contraction"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/equation"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// TestRandomEinsum compares random equations, and their gradients, with nested loops over all labels.
func TestRandomEinsum(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	for seed := range uint64(n) {
		random := rand.New(rand.NewPCG(seed, 1))
		e := drawEquation(random)
		if seed%2 == 0 {
			checkEquation[float32](t, e, random, 1e-5)
		} else {
			checkEquation[float64](t, e, random, 1e-13)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestLargeEinsum does so for equations whose products are cut into many parts, with and without copies of
// blocks.
func TestLargeEinsum(t *testing.T) {
	for i, tt := range []struct {
		equation string
		extents  map[byte]int
	}{
		{"ij,jk->ik", map[byte]int{'i': 70, 'j': 530, 'k': 45}},
		{"ji,kj->ki", map[byte]int{'i': 45, 'j': 530, 'k': 70}},
		{"bqhd,bkhd->bhqk", map[byte]int{'b': 3, 'q': 35, 'h': 3, 'k': 40, 'd': 17}},
		{"bhqk,bkhd->bqhd", map[byte]int{'b': 3, 'q': 35, 'h': 3, 'k': 40, 'd': 17}},
		{"qhb,khb->qkb", map[byte]int{'q': 33, 'h': 20, 'k': 34, 'b': 5}},
		{"abc,cbd->ad", map[byte]int{'a': 20, 'b': 30, 'c': 40, 'd': 30}},
		{"abc,dcb->da", map[byte]int{'a': 150, 'b': 30, 'c': 40, 'd': 2}},
		{"acb,dbe->aedc", map[byte]int{'a': 9, 'b': 20, 'c': 10, 'd': 11, 'e': 30}},
		{"ija,jkb->ik", map[byte]int{'i': 20, 'j': 30, 'k': 20, 'a': 3, 'b': 2}},
		{"iij,jkk->ik", map[byte]int{'i': 20, 'j': 40, 'k': 30}},
		{"bij,bjk->bik", map[byte]int{'b': 3000, 'i': 2, 'j': 3, 'k': 2}},
		{"ij,j->i", map[byte]int{'i': 300, 'j': 700}},
		{"ij,i->j", map[byte]int{'i': 300, 'j': 700}},
		{"ij,ij->", map[byte]int{'i': 300, 'j': 300}},
		{"i,j->ij", map[byte]int{'i': 300, 'j': 300}},
		{"al,b->ab", map[byte]int{'a': 100, 'l': 50, 'b': 30}},
		{"bij,bjk,k->bi", map[byte]int{'b': 3, 'i': 30, 'j': 25, 'k': 35}},
		{"bi,ij,bj->b", map[byte]int{'b': 40, 'i': 30, 'j': 35}},
		{"ij,jk,kl,lm->im", map[byte]int{'i': 10, 'j': 12, 'k': 14, 'l': 9, 'm': 11}},
		{"bhwc->bchw", map[byte]int{'b': 2, 'h': 7, 'w': 30, 'c': 70}},
		{"ij->j", map[byte]int{'i': 300, 'j': 700}},
		{"ij->i", map[byte]int{'i': 300, 'j': 700}},
		{"ij->", map[byte]int{'i': 300, 'j': 700}},
		{"iji->j", map[byte]int{'i': 30, 'j': 40}},
	} {
		left, output, _ := strings.Cut(tt.equation, "->")
		e := &drawn{equation: tt.equation}
		names := ""
		number := func(labels string) (out []int) {
			for _, l := range []byte(labels) {
				at := strings.IndexByte(names, l)
				if at < 0 {
					at, names, e.extents = len(names), names+string(l), append(e.extents, tt.extents[l])
				}
				out = append(out, at)
			}
			return out
		}
		for _, in := range strings.Split(left, ",") {
			labels := number(in)
			e.labels = append(e.labels, labels)
			var shape []int
			for _, l := range labels {
				shape = append(shape, e.extents[l])
			}
			e.shapes = append(e.shapes, shape)
		}
		e.output = number(output)
		random := rand.New(rand.NewPCG(uint64(i), 2))
		checkEquation[float32](t, e, random, 3e-6)
		checkEquation[float64](t, e, random, 1e-13)
	}
}

// drawn is an equation whose labels are numbered.
type drawn struct {
	equation string
	extents  []int   // of the labels
	labels   [][]int // of the inputs
	output   []int
	shapes   [][]int // of the inputs: extents of labels, or 1 where ... repeats
}

// drawEquation returns an equation of up to four inputs. Labels repeat, have extents of 0 and 1, and are left
// out of the output.
func drawEquation(random *rand.Rand) *drawn {
	e := &drawn{}
	letters := random.Perm(26)[:1+random.IntN(5)] // as labels
	rest := random.IntN(3)                        // how many dimensions ... stands for at most
	for range len(letters) + rest {
		n := 1 + random.IntN(4)
		switch random.IntN(40) {
		case 0:
			n = 0
		case 1, 2, 3:
			n = 1
		case 4, 5, 6:
			n = 5 + random.IntN(60)
		}
		e.extents = append(e.extents, n)
	}
	for product(e.extents) > 30000 {
		e.extents[random.IntN(len(e.extents))] = 2
	}
	name := func(l int) string { return string(rune("aZbYcXdWeVfUgThSiRjQkPlOmN"[letters[l]])) }
	dots := make([]bool, 0, 4) // whether an input has ...
	var terms []string
	once := map[int]int{} // how often a label occurs
	longest := 0
	for range 1 + random.IntN(4) {
		var labels, shape []int
		term, at := "", -1
		rank := random.IntN(4)
		if random.IntN(3) == 0 {
			at = random.IntN(rank + 1)
		}
		dots = append(dots, at >= 0)
		for d := range rank + 1 {
			if d == at {
				term += "..."
				n := random.IntN(rest + 1)
				longest = max(longest, n)
				for k := rest - n; k < rest; k++ {
					labels = append(labels, len(letters)+k)
					size := e.extents[len(letters)+k]
					if random.IntN(3) == 0 {
						size = 1
					}
					shape = append(shape, size)
				}
			}
			if d < rank {
				l := random.IntN(len(letters))
				term += name(l)
				once[l]++
				labels, shape = append(labels, l), append(shape, e.extents[l])
			}
		}
		terms, e.labels, e.shapes = append(terms, term), append(e.labels, labels), append(e.shapes, shape)
	}
	// Labels may occur in no input, and a dimension of ... may have the extent 1 in all of them.
	for l := range e.extents {
		e.extents[l] = 1
		for i, labels := range e.labels {
			if d := slices.Index(labels, l); d >= 0 && e.shapes[i][d] != 1 {
				e.extents[l] = e.shapes[i][d]
			}
		}
	}
	e.equation = strings.Join(terms, ",")
	var ellipsis []int
	for l := len(e.extents) - longest; l < len(e.extents); l++ {
		ellipsis = append(ellipsis, l)
	}
	if random.IntN(3) == 0 { // without an output
		var single []int
		for l, n := range once {
			if n == 1 {
				single = append(single, l)
			}
		}
		slices.SortFunc(single, func(a, b int) int { return strings.Compare(name(a), name(b)) })
		if slices.Contains(dots, true) {
			e.output = ellipsis
		}
		e.output = append(e.output, single...)
		return e
	}
	e.equation += "->"
	order := random.Perm(len(letters) + 1)
	for _, l := range order {
		switch {
		case l == len(letters) && slices.Contains(dots, true) && random.IntN(4) > 0:
			e.equation += "..."
			e.output = append(e.output, ellipsis...)
		case l < len(letters) && once[l] > 0 && random.IntN(2) == 0:
			e.equation += name(l)
			e.output = append(e.output, l)
		}
	}
	return e
}

// offset returns the number of the element of a tensor that labels with the given values have.
func offset(labels, shape, values []int) int {
	at := 0
	for d, l := range labels {
		at *= shape[d]
		if shape[d] > 1 {
			at += values[l]
		}
	}
	return at
}

// each calls f with all values of labels.
func each(extents []int, f func(values []int)) {
	values := make([]int, len(extents))
	for i := range product(extents) {
		for l := len(extents) - 1; l >= 0; l-- {
			values[l] = i % extents[l]
			i /= extents[l]
		}
		f(values)
	}
}

// checkEquation compares results with those of nested loops. They have the same bits however the steps are
// cut.
func checkEquation[T dtype.Float](t *testing.T, e *drawn, random *rand.Rand, tolerance float64) {
	t.Helper()
	var outShape []int
	for _, l := range e.output {
		outShape = append(outShape, e.extents[l])
	}
	shape, err := equation.Shape(e.equation, e.shapes)
	if err != nil || !slices.Equal(shape, outShape) {
		t.Fatalf("%s of %v: got the shape %v (%v), want %v", e.equation, e.shapes, shape, err, outShape)
	}
	memory, err := contraction.Memory(e.equation, e.shapes)
	if err != nil {
		t.Fatal(err)
	}
	draw := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(random.Float64()*2 - 1)
		}
		return x
	}
	var inputs [][]T
	for _, s := range e.shapes {
		inputs = append(inputs, draw(product(s)))
	}
	gradOutput := draw(product(outShape))
	dims := einsum.Dims{X: e.shapes, Y: outShape, M: memory}

	run := func(workers int) (out []T, grads [][]T) {
		var views []tensor.RO[T]
		for i, x := range inputs {
			views = append(views, tensortest.RO(x, e.shapes[i]...))
		}
		out = undefined[T](product(outShape))
		var gradViews []tensor.Grad[T]
		for i, s := range e.shapes {
			x := undefined[T](product(s))
			mode := tensor.Store
			switch (len(e.equation) + i) % 4 {
			case 1:
				mode = tensor.Accumulate
				copy(x, inputs[i])
			case 2:
				mode, x = tensor.Discard, nil
			}
			grads = append(grads, x)
			gradViews = append(gradViews, tensortest.Grad(mode, x, s...))
		}
		var blocks []tensor.RW[T]
		for range workers {
			blocks = append(blocks, tensortest.RW(undefined[T](memory[1]), memory[1]))
		}
		partial := tensortest.RW(undefined[T](memory[0]), memory[0])
		partialGrads := tensortest.RW(undefined[T](memory[0]), memory[0])
		forward := &einsum.Forward[T]{Dims: dims, Input: views, Output: tensortest.WO(out, outShape...), Terms: e.equation,
			Partial: partial, Blocks: tensortest.PerWorker(blocks...)}
		backward := &einsum.Backward[T]{Dims: dims, Input: views, GradInput: gradViews, GradOutput: tensortest.RO(gradOutput, outShape...), Terms: e.equation,
			Partial: partial, PartialGrads: partialGrads, Blocks: forward.Blocks}
		var k kernels.Einsum[T]
		all := 0
		for _, s := range e.shapes {
			all += product(s)
		}
		spread := func(n int, f func(ctx *op.Ctx, r op.Range) error) {
			if err := inParts(workers, n, random, f); err != nil {
				t.Fatalf("%s of %v: %v", e.equation, e.shapes, err)
			}
		}
		for _, kind := range []struct {
			first, middle, last func(ctx *op.Ctx, r op.Range) error
			over                int
		}{{
			func(ctx *op.Ctx, r op.Range) error { return k.ForwardFirst(ctx, forward, r) },
			func(ctx *op.Ctx, r op.Range) error { return k.ForwardMiddle(ctx, forward, r) },
			func(ctx *op.Ctx, r op.Range) error { return k.ForwardLast(ctx, forward, r) }, product(outShape),
		}, {
			func(ctx *op.Ctx, r op.Range) error { return k.BackwardFirst(ctx, backward, r) },
			func(ctx *op.Ctx, r op.Range) error { return k.BackwardMiddle(ctx, backward, r) },
			func(ctx *op.Ctx, r op.Range) error { return k.BackwardLast(ctx, backward, r) }, all,
		}} {
			if len(inputs) > 2 {
				spread(memory[0], kind.first)
			}
			if len(inputs) > 3 {
				spread(1, kind.middle)
			}
			spread(kind.over, kind.last)
		}
		return out, grads
	}
	out, grads := run(1)
	for _, workers := range []int{2, 5} {
		gotOut, gotGrads := run(workers)
		if !sameBits(gotOut, out) {
			t.Fatalf("%s of %v: the output of %d workers differs from that of one", e.equation, e.shapes, workers)
		}
		for i := range grads {
			if !sameBits(gotGrads[i], grads[i]) {
				t.Fatalf("%s of %v: gradient %d of %d workers differs from that of one", e.equation, e.shapes, i, workers)
			}
		}
	}

	// want and size are sums of products and of their absolute values.
	want, size := make([]float64, len(out)), make([]float64, len(out))
	wantGrads, sizeGrads := make([][]float64, len(inputs)), make([][]float64, len(inputs))
	for i, x := range inputs {
		wantGrads[i], sizeGrads[i] = make([]float64, len(x)), make([]float64, len(x))
		for j := range grads[i] {
			if (len(e.equation)+i)%4 == 1 {
				wantGrads[i][j] = float64(x[j])
				sizeGrads[i][j] = 1
			}
		}
	}
	at := make([]int, len(inputs))
	each(e.extents, func(values []int) {
		o := offset(e.output, outShape, values)
		p := 1.0
		for i, x := range inputs {
			at[i] = offset(e.labels[i], e.shapes[i], values)
			p *= float64(x[at[i]])
		}
		want[o] += p
		size[o] += math.Abs(p)
		for i := range inputs {
			p := float64(gradOutput[o])
			for j, x := range inputs {
				if j != i {
					p *= float64(x[at[j]])
				}
			}
			wantGrads[i][at[i]] += p
			sizeGrads[i][at[i]] += math.Abs(p)
		}
	})
	compare := func(what string, got []T, want, size []float64) {
		for i, x := range got {
			if !(math.Abs(float64(x)-want[i]) <= tolerance*size[i]) {
				t.Fatalf("%s of %v: element %d of %s is %v, want %v", e.equation, e.shapes, i, what, x, want[i])
			}
		}
	}
	compare("the output", out, want, size)
	for i := range inputs {
		compare(fmt.Sprintf("gradient %d", i), grads[i], wantGrads[i], sizeGrads[i])
	}
}

// undefined returns memory that holds no numbers.
func undefined[T dtype.Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.NaN())
	}
	return x
}

// sameBits reports whether numbers are the same, also the signs of zeros.
func sameBits[T dtype.Float](x, y []T) bool {
	return slices.EqualFunc(x, y, func(a, b T) bool { return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) })
}

// inParts runs a step of n indices on some workers at the same time, in ranges that are drawn.
func inParts(workers, n int, random *rand.Rand, f func(ctx *op.Ctx, r op.Range) error) error {
	if n == 0 {
		return nil
	}
	if workers == 1 {
		return f(&op.Ctx{}, op.Range{Hi: n})
	}
	cuts := []int{0, n}
	for range random.IntN(12) {
		cuts = append(cuts, random.IntN(n+1))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts) // engines run no ranges without indices
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i+1 < len(cuts); i += workers {
				if err := f(&op.Ctx{Worker: w}, op.Range{Lo: cuts[i], Hi: cuts[i+1]}); err != nil {
					errs[w] = err
				}
			}
		})
	}
	all.Wait()
	return slices.MaxFunc(errs, func(a, b error) int {
		if a != nil {
			return 1
		}
		return -1
	})
}
