// Package kernels holds the hand-written kernels of this module.
package kernels

import (
	"fmt"
	"math"

	"example.com/attention/device"
	"example.com/attention/generated/attention"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Attention is the kernel of attention.
type Attention[T dtype.Float] struct{}

// Init makes the per-device state of forward and backward.
func (Attention[T]) Init(_ *op.Ctx, a *attention.Init[T]) (*device.MHAPerDeviceState, error) {
	q, k, v := a.QueryParallelTensorShape, a.KeyParallelTensorShape, a.ValueParallelTensorShape
	if q.Degrees[2] != 1 || k.Degrees[2] != 1 || v.Degrees[2] != 1 {
		return nil, fmt.Errorf("attention needs whole embeddings, got query %v, key %v, value %v", q, k, v)
	}
	return &device.MHAPerDeviceState{
		Device: a.Handle.Device,
		QSize:  q.Extents[2], KSize: k.Extents[2], VSize: v.Extents[2],
		QProj: a.Qprojsize, KProj: a.Kprojsize, VProj: a.Vprojsize, O: a.Oprojsize,
		Heads: a.Attrs.NumHeads,
		Scale: device.ScaleOf(a.Kprojsize),
	}, nil
}

// Cleanup marks the state as freed.
func (Attention[T]) Cleanup(_ *op.Ctx, a *attention.Cleanup[T]) error {
	a.PerDeviceState.Freed = true
	return nil
}

// matrix is a small matrix in memory that the kernel allocates.
type matrix struct {
	rows, cols int
	data       []float64
}

func newMatrix(rows, cols int) matrix { return matrix{rows, cols, make([]float64, rows*cols)} }

func (m matrix) at(i, j int) *float64 { return &m.data[i*m.cols+j] }

// from copies rows*cols elements of a tensor, beginning at lo.
func from[T dtype.Float](t tensor.RO[T], lo, rows, cols int) matrix {
	m := newMatrix(rows, cols)
	for i := range m.data {
		m.data[i] = float64(t.At(lo + i))
	}
	return m
}

// mul returns a times b. Each of them may be transposed.
func mul(a matrix, transA bool, b matrix, transB bool) matrix {
	rows, inner, cols := a.rows, a.cols, b.cols
	if transA {
		rows, inner = inner, rows
	}
	if transB {
		cols = b.rows
	}
	m := newMatrix(rows, cols)
	for i := range rows {
		for j := range cols {
			for k := range inner {
				x, y := i*a.cols+k, k*b.cols+j
				if transA {
					x = k*a.cols + i
				}
				if transB {
					y = j*b.cols + k
				}
				*m.at(i, j) += a.data[x] * b.data[y]
			}
		}
	}
	return m
}

func (m matrix) add(n matrix) {
	for i := range m.data {
		m.data[i] += n.data[i]
	}
}

// head holds the matrices of one head and one element of the batch: the inputs, their projections, and the results.
type head struct {
	query, key, value      matrix // as they are
	wq, wk, wv, wo         matrix
	q, k, v, probs, values matrix
	scale                  float64
}

func newHead[T dtype.Float](s *device.MHAPerDeviceState, d attention.Dims, query, key, value, weights tensor.RO[T], n, h int) head {
	x := head{
		query: from(query, n*d.L*d.Q, d.L, d.Q), key: from(key, n*d.S*d.K, d.S, d.K), value: from(value, n*d.S*d.V, d.S, d.V),
		scale: s.Scale,
	}
	lo := h * d.P
	next := func(rows, cols int) matrix {
		m := from(weights, lo, rows, cols)
		lo += rows * cols
		return m
	}
	x.wq, x.wk, x.wv, x.wo = next(d.Q, s.QProj), next(d.K, s.KProj), next(d.V, s.VProj), next(s.VProj, s.O)
	x.q, x.k, x.v = mul(x.query, false, x.wq, false), mul(x.key, false, x.wk, false), mul(x.value, false, x.wv, false)
	x.probs = mul(x.q, false, x.k, true)
	for i := range x.probs.rows {
		most, sum := math.Inf(-1), 0.0
		for j := range x.probs.cols {
			most = max(most, *x.probs.at(i, j))
		}
		for j := range x.probs.cols {
			p := x.probs.at(i, j)
			*p = math.Exp(x.scale * (*p - most))
			sum += *p
		}
		for j := range x.probs.cols {
			*x.probs.at(i, j) /= sum
		}
	}
	x.values = mul(x.probs, false, x.v, false)
	return x
}

// Forward computes elements r.Lo to r.Hi-1 of the batch.
func (Attention[T]) Forward(_ *op.Ctx, a *attention.Forward[T], r op.Range) error {
	s, d := a.PerDeviceState, a.Dims
	for n := r.Lo; n < r.Hi; n++ {
		out := newMatrix(d.L, s.O)
		for h := range s.Heads {
			x := newHead(s, d, a.Query, a.Key, a.Value, a.Weights, n, h)
			out.add(mul(x.values, false, x.wo, false))
		}
		for i, v := range out.data {
			a.Output.Set(n*d.L*s.O+i, T(v))
		}
	}
	return nil
}

// gradients returns the gradients of the head's projected query, key and value, given
// that of the output.
func (x *head) gradients(out matrix) (q, k, v matrix) {
	values := mul(out, false, x.wo, true)
	v = mul(x.probs, true, values, false)
	scores := mul(values, false, x.v, true)
	for i := range scores.rows {
		dot := 0.0
		for j := range scores.cols {
			dot += *scores.at(i, j) * *x.probs.at(i, j)
		}
		for j := range scores.cols {
			*scores.at(i, j) = x.scale * *x.probs.at(i, j) * (*scores.at(i, j) - dot)
		}
	}
	return mul(scores, false, x.k, false), mul(scores, true, x.q, false), v
}

// put contributes a matrix to a gradient, beginning at element lo.
func put[T dtype.Float](to tensor.Grad[T], lo int, m matrix) {
	for i, v := range m.data {
		to.Put(lo+i, T(v))
	}
}

// BackwardInputs computes the gradients of query, key and value of elements of the batch.
func (Attention[T]) BackwardInputs(_ *op.Ctx, a *attention.Backward[T], r op.Range) error {
	s, d := a.PerDeviceState, a.Dims
	for n := r.Lo; n < r.Hi; n++ {
		query, key, value := newMatrix(d.L, d.Q), newMatrix(d.S, d.K), newMatrix(d.S, d.V)
		out := from(a.GradOutput, n*d.L*s.O, d.L, s.O)
		for h := range s.Heads {
			x := newHead(s, d, a.Query, a.Key, a.Value, a.Weights, n, h)
			q, k, v := x.gradients(out)
			query.add(mul(q, false, x.wq, true))
			key.add(mul(k, false, x.wk, true))
			value.add(mul(v, false, x.wv, true))
		}
		put(a.GradQuery, n*d.L*d.Q, query)
		put(a.GradKey, n*d.S*d.K, key)
		put(a.GradValue, n*d.S*d.V, value)
	}
	return nil
}

// BackwardWeights computes the gradients of heads' weights.
func (Attention[T]) BackwardWeights(_ *op.Ctx, a *attention.Backward[T], r op.Range) error {
	s, d := a.PerDeviceState, a.Dims
	for h := r.Lo; h < r.Hi; h++ {
		sums := [4]matrix{newMatrix(d.Q, s.QProj), newMatrix(d.K, s.KProj), newMatrix(d.V, s.VProj), newMatrix(s.VProj, s.O)}
		for n := range d.N {
			x := newHead(s, d, a.Query, a.Key, a.Value, a.Weights, n, h)
			out := from(a.GradOutput, n*d.L*s.O, d.L, s.O)
			q, k, v := x.gradients(out)
			sums[0].add(mul(x.query, true, q, false))
			sums[1].add(mul(x.key, true, k, false))
			sums[2].add(mul(x.value, true, v, false))
			sums[3].add(mul(x.values, true, out, false))
		}
		lo := h * d.P
		for _, m := range sums {
			put(a.GradWeights, lo, m)
			lo += len(m.data)
		}
	}
	return nil
}
