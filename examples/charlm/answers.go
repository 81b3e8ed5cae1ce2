package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen"
)

// bits returns how many bits the network takes for a character of a text on average, without the first lead
// characters. Windows of the text overlap, so that each prediction has at least lead characters before it.
func (n *network) bits(ctx context.Context, p *opgen.Program, text []int32) (float64, error) {
	lead := n.lead()
	sum := 0.0
	for begin := 0; begin+lead < len(text); {
		var at []int
		input := make([]int32, n.batch*n.context) // behind the end of the text there are zeros, which no prediction sees
		for begin+lead < len(text) && len(at) < n.batch {
			copy(input[len(at)*n.context:][:n.context], text[begin:])
			at = append(at, begin)
			begin += n.context - lead + 1
		}
		logits, err := n.predict(ctx, p, input)
		if err != nil {
			return 0, err
		}
		for b, begin := range at {
			for i := lead - 1; i < n.context && begin+i+1 < len(text); i++ {
				row := logits[(b*n.context+i)*n.alphabet:][:n.alphabet]
				sum -= math.Log2(probabilities(row, 1)[text[begin+i+1]])
			}
		}
	}
	return sum / float64(len(text)-lead), nil
}

// lead returns how many characters before a prediction count at least: half of the context.
func (s *sizes) lead() int { return s.context/2 + 1 }

// predict returns the logits of all characters behind each of the text.
func (n *network) predict(ctx context.Context, p *opgen.Program, text []int32) ([]float32, error) {
	if err := p.Run(ctx, opgen.With(n.text, text)); err != nil {
		return nil, err
	}
	return opgen.Fetch[float32](p, n.logits)
}

// continued returns a text with so many characters more, drawn at a temperature: at 0 the most likely ones.
func (n *network) continued(ctx context.Context, p *opgen.Program, text []int32, count int, temperature float64, seed uint64) ([]int32, error) {
	r := rand.New(rand.NewPCG(seed, 3))
	for range count {
		last := text[max(0, len(text)-n.context):]
		input := make([]int32, n.context) // no prediction sees the zeros behind the text
		copy(input, last)
		logits, err := n.predict(ctx, p, input)
		if err != nil {
			return nil, err
		}
		row := logits[(len(last)-1)*n.alphabet:][:n.alphabet]
		text = append(text, draw(row, temperature, r.Float64()))
	}
	return text, nil
}

// draw returns the character at which the probabilities of those up to it exceed u, a number from 0 to 1.
func draw(logits []float32, temperature, u float64) int32 {
	if temperature == 0 {
		return int32(slices.Index(logits, slices.Max(logits)))
	}
	p := probabilities(logits, temperature)
	for i := range p {
		if u -= p[i]; u < 0 {
			return int32(i)
		}
	}
	return int32(len(p) - 1) // rounding has left something
}

// probabilities returns the softmax of logits, divided by a temperature above 0.
func probabilities(logits []float32, temperature float64) []float64 {
	most := float64(slices.Max(logits))
	p, sum := make([]float64, len(logits)), 0.0
	for i, l := range logits {
		p[i] = math.Exp((float64(l) - most) / temperature)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
