// Package attention computes the parts of multi-head attention that do not depend on how inputs are projected.
//
// Projected queries are [batch, queries, heads * key size], keys [batch, positions, heads * key size] and
// values [batch, positions, heads * value size]; a head owns neighboring columns. Positions are those of
// the inputs, followed by those that Append adds.
package attention

import (
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// Heads are the sizes of an attention, and what it does with products of queries and keys.
type Heads struct {
	Heads, Queries, Positions int
	KeySize, ValueSize        int     // of a head
	Scale                     float64 // of the products
	Rate                      float64 // the probability that a weight is dropped
	Source                    rng.Source
}

// kept returns the factor of dropout for element i of the weights of all heads.
func (h *Heads) kept(i int) float64 {
	if h.Source.Uniform(uint64(i)) < h.Rate {
		return 0
	}
	return 1 / (1 - h.Rate)
}

// Projections are projected queries, keys and values of a batch.
type Projections[T dtype.Float] struct{ Query, Key, Value tensor.RO[T] }

// head cuts the matrices of head i%Heads of example i/Heads.
func (p Projections[T]) head(h *Heads, i int) (q, k, v tensor.ROMat[T]) {
	return Part(p.Query, h, i, h.Queries, h.KeySize), Part(p.Key, h, i, h.Positions, h.KeySize), Part(p.Value, h, i, h.Positions, h.ValueSize)
}

// Part returns the matrix of head i%Heads of example i/Heads in a tensor [batch, rows, heads * size].
func Part[T dtype.Float](x tensor.RO[T], h *Heads, i, rows, size int) tensor.ROMat[T] {
	example, lo := i/h.Heads*rows*h.Heads*size, i%h.Heads*size
	return x.Mat(example, rows, h.Heads*size).ColRange(lo, lo+size)
}

// outPart returns the same matrix for storing.
func outPart[T dtype.Float](x tensor.RW[T], h *Heads, i, rows, size int) tensor.OutMat[T] {
	example, lo := i/h.Heads*rows*h.Heads*size, i%h.Heads*size
	return x.Out(example, rows, h.Heads*size, tensor.Store).ColRange(lo, lo+size)
}

// Forward computes softmax(Scale * q * transpose(k)) of heads into probs, [batch, heads, queries, positions]. It
// stores its product with v, after dropout, in context, [batch, queries, heads * value size]. dropped is memory for
// the weights of a head. It is unused if no weight is dropped.
func Forward[T dtype.Float](h *Heads, r op.Range, p Projections[T], probs, dropped, context tensor.RW[T]) {
	for i := r.Lo; i < r.Hi; i++ {
		q, k, v := p.head(h, i)
		rows, cols := h.Queries, h.Positions
		first := i * rows * cols
		blas.Gemm(probs.Out(first, rows, cols, tensor.Store), T(h.Scale), q, k.T())
		for n := range rows {
			row := probs.Span(first+n*cols, first+(n+1)*cols)
			vec.ExpNorm(row.WO(), row.RO())
		}
		blas.Gemm(outPart(context, h, i, rows, h.ValueSize), 1, weights(h, first, probs.RO(), dropped), v)
	}
}

// weights returns the weights of the head whose probabilities begin at element first, after dropout.
func weights[T dtype.Float](h *Heads, first int, probs tensor.RO[T], dropped tensor.RW[T]) tensor.ROMat[T] {
	if h.Rate == 0 {
		return probs.Mat(first, h.Queries, h.Positions)
	}
	for j := range h.Queries * h.Positions {
		dropped.Set(j, probs.At(first+j)*T(h.kept(first+j)))
	}
	return dropped.Mat(0, h.Queries, h.Positions)
}

// Gradients are the gradient of the context, and those of projected queries, keys and values, which follow from it.
type Gradients[T dtype.Float] struct {
	Context           tensor.RO[T]
	Query, Key, Value tensor.RW[T]
}

// Scratch is memory for the weights of a head, and for their gradient.
type Scratch[T dtype.Float] struct{ Dropped, GradProbs tensor.RW[T] }

// Backward computes the gradients of the projections of heads.
func Backward[T dtype.Float](h *Heads, r op.Range, p Projections[T], probs tensor.RO[T], s Scratch[T], to Gradients[T]) {
	for i := r.Lo; i < r.Hi; i++ {
		q, k, v := p.head(h, i)
		rows, cols := h.Queries, h.Positions
		first := i * rows * cols
		byContext := Part(to.Context, h, i, rows, h.ValueSize)
		blas.Gemm(outPart(to.Value, h, i, cols, h.ValueSize), 1, weights(h, first, probs, s.Dropped).T(), byContext)
		blas.Gemm(s.GradProbs.Out(0, rows, cols, tensor.Store), 1, byContext, v.T())
		for n := range rows {
			if h.Rate > 0 {
				for c := n * cols; c < (n+1)*cols; c++ {
					s.GradProbs.Set(c, s.GradProbs.At(c)*T(h.kept(first+c)))
				}
			}
			g := s.GradProbs.Span(n*cols, (n+1)*cols)
			vec.ExpNormGrad(probs.Span(first+n*cols, first+(n+1)*cols), g.RO(), g.Set)
		}
		products := s.GradProbs.Mat(0, rows, cols)
		blas.Gemm(outPart(to.Query, h, i, rows, h.KeySize), T(h.Scale), products, k)
		blas.Gemm(outPart(to.Key, h, i, cols, h.KeySize), T(h.Scale), products.T(), q)
	}
}

// Append fills the positions of an example, a matrix of rows of width elements that begins at element
// first, from row n on: with extra, if there is one, and then with zeros.
func Append[T dtype.Float](x tensor.RW[T], first, rows, width, n int, extra tensor.Opt[tensor.RO[T]]) {
	if e, ok := extra.Get(); ok {
		vec.Copy(x.Span(first+n*width, first+(n+1)*width).WO(), e.Span(0, width))
		n++
	}
	vec.Fill(x.Span(first+n*width, first+rows*width).WO(), 0)
}

// ColumnTotal returns the sum, over the examples of a tensor [batch, rows, width], of rows lo to hi-1 of a
// column.
func ColumnTotal[T dtype.Float](x tensor.RO[T], batch, rows, width, lo, hi, column int) float64 {
	var sum float64
	for b := range batch {
		sum += vec.Total(x.Mat(b*rows*width, rows, width).RowRange(lo, hi).Col(column))
	}
	return sum
}
