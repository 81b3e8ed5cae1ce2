package contraction

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/equation"
)

// Chain is an equation as a sequence of products of two tensors: the first two inputs are multiplied, their
// product is multiplied by the third input, and so on. Inputs are counted from 0. Product k multiplies result
// k-1 by input k, where result 0 is the first input. The last product is the output. Results of earlier
// products are consecutive in memory. A label is summed in the first product after which neither an input nor
// the output has it. With one input, product 1 sums its elements.
type Chain struct {
	// Empty says that a label has the extent 0: all sums are 0.
	Empty bool

	inputs  []tensor
	output  tensor
	extents []int
	results []tensor
}

// NewChain reads an equation for tensors of the given shapes.
func NewChain(terms string, shapes [][]int) (*Chain, error) {
	b, err := equation.Bind(terms, shapes)
	if err != nil {
		return nil, err
	}
	c := &Chain{extents: b.Extents, Empty: slices.Contains(b.Extents, 0)}
	for i, shape := range append(slices.Clone(shapes), b.Extents[:b.Rank]) {
		t := tensor{strides: b.Strides[i], size: 1}
		for _, n := range shape {
			if n > 0 && t.size > mostElements/n {
				return nil, fmt.Errorf("equation %q: a tensor of shape %v has more than %d elements", terms, shape, mostElements)
			}
			t.size *= n
		}
		c.inputs = append(c.inputs, t)
	}
	c.inputs, c.output = c.inputs[:len(shapes)], c.inputs[len(shapes)]
	return c, c.link(terms)
}

// mostElements is how many elements a tensor has at most. No memory holds more, of elements of eight bytes.
// Two such numbers have a sum.
const mostElements = min(1<<46, math.MaxInt/8)

// link finds the labels of results, and where they lie.
func (c *Chain) link(terms string) error {
	n := len(c.inputs)
	c.results = append(c.results, c.inputs[0])
	at := 0
	for k := 1; k < n-1 && !c.Empty; k++ {
		p := tensor{strides: make([]int, len(c.extents)), at: at, size: 1}
		for l := len(c.extents) - 1; l >= 0; l-- {
			if !has(c.inputs[:k+1], l) || !has(append(c.inputs[k+1:n:n], c.output), l) {
				continue
			}
			p.strides[l] = p.size
			if p.size > mostElements/c.extents[l] {
				return fmt.Errorf("equation %q: the product of the first %d inputs has more than %d elements", terms, k+1, mostElements)
			}
			p.size *= c.extents[l]
		}
		if at += p.size; at > mostElements {
			return fmt.Errorf("equation %q: products of the first inputs have more than %d elements together", terms, mostElements)
		}
		c.results = append(c.results, p)
	}
	if n > 1 && !c.Empty {
		c.results = append(c.results, c.output)
	}
	return nil
}

// has reports whether one of some tensors has a label.
func has(tensors []tensor, label int) bool {
	return slices.ContainsFunc(tensors, func(t tensor) bool { return t.strides[label] > 0 })
}

// Product returns product k, of result k-1 and input k.
func (c *Chain) Product(k int) *Product {
	if len(c.inputs) == 1 {
		return newProduct(c.extents, c.output, c.inputs[0], nil)
	}
	return newProduct(c.extents, c.results[k], c.results[k-1], &c.inputs[k])
}

// ResultGradient returns the product that is the gradient of result k: the gradient of result k+1 times input
// k+1. For k = 0 it is the gradient of the first input.
func (c *Chain) ResultGradient(k int) *Product {
	if len(c.inputs) == 1 {
		return newProduct(c.extents, c.inputs[0], c.output, nil)
	}
	return newProduct(c.extents, c.results[k], c.results[k+1], &c.inputs[k+1])
}

// InputGradient returns the product that is the gradient of input k, from 1 on: the gradient of result k
// times result k-1.
func (c *Chain) InputGradient(k int) *Product {
	return newProduct(c.extents, c.inputs[k], c.results[k], &c.results[k-1])
}

// Memory returns how many elements of memory an equation needs for tensors of the given shapes: for partial
// products, and for each worker.
func Memory(terms string, shapes [][]int) ([]int, error) {
	c, err := NewChain(terms, shapes)
	if err != nil {
		return nil, err
	}
	if c.Empty {
		return []int{0, 0}, nil
	}
	partial, worker, last := 0, 0, max(len(shapes)-1, 1)
	for k := range last {
		worker = max(worker, c.Product(k+1).workspace(), c.ResultGradient(k).workspace())
		if k+1 < len(shapes) {
			worker = max(worker, c.InputGradient(k+1).workspace())
		}
		if k > 0 {
			partial += c.results[k].size
		}
	}
	return []int{partial, worker}, nil
}

// Share returns which of n parts belong to a range lo to hi of all indices. Each part belongs to one of the
// ranges into which they are cut.
func Share(n, lo, hi, all int) (first, end int) {
	part := func(at int) int { return int(math.Ceil(float64(n) * (float64(at) / float64(all)))) }
	return part(lo), part(hi)
}
