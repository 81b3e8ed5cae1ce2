package taskgraph

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// operator is an operator within a block: it computes a tile from tiles.
type operator struct {
	name string
	args []*STensor
	out  *STensor
	// compute computes out. Of the extents of its arguments, those of this block count: the last block along
	// an axis may be smaller than the others.
	compute func(out *values, args []values)
	accum   bool // sums over the rounds of the for-loop
}

// values are the elements of a tile of one block.
type values struct {
	dims []int
	data []float32
}

// resize sets the extents and cuts data, whose capacity is that of the largest tile.
func (v *values) resize(dims ...int) {
	v.dims = append(v.dims[:0], dims...)
	v.data = v.data[:shape.Prod(dims)]
}

// add appends an operator and returns the tile that it computes, with extents dims.
func (b *Block) add(name string, dims []int, compute func(*values, []values), args ...*STensor) *STensor {
	o := &operator{name: name, args: args, compute: compute}
	o.out = &STensor{block: b, dims: dims, by: o, slot: name, forLoop: -1}
	for i, a := range args {
		switch {
		case a == nil || a.block != b:
			b.fail(fmt.Sprintf("%s, operand %d", name, i), -1, "a tile of the block graph", "another")
		case a.from != nil && a.from.typ != dtype.F32:
			b.fail(fmt.Sprintf("%s, operand %d", name, i), -1, "elements of f32", a.from.typ.String())
		case a.after:
			o.out.after = true
		}
	}
	for i, a := range args {
		if a != nil && b.loops() > 1 && o.out.after && !a.after && b.err == nil {
			b.fail(fmt.Sprintf("%s, operand %d", name, i), -1, "tiles that are all of one round of the for-loop, or all of its end", "both")
		}
	}
	b.ops = append(b.ops, o)
	return o.out
}

// Matmul returns the product of a tile [m, k] and a tile [k, n].
func (b *Block) Matmul(x, y *STensor) *STensor {
	dims := []int{0, 0}
	if len(x.dims) != 2 || len(y.dims) != 2 || x.dims[1] != y.dims[0] {
		b.fail("matmul", 1, "tiles [m, k] and [k, n]", shape.Format(x.dims)+" and "+shape.Format(y.dims))
	} else {
		dims = []int{x.dims[0], y.dims[1]}
	}
	return b.add("matmul", dims, func(out *values, in []values) {
		x, y := &in[0], &in[1]
		m, k, n := x.dims[0], x.dims[1], y.dims[1]
		out.resize(m, n)
		clear(out.data)
		for i := range m {
			row := out.data[i*n : (i+1)*n]
			for l := range k {
				f := x.data[i*k+l]
				for j, v := range y.data[l*n : (l+1)*n] {
					row[j] += float32(f * v)
				}
			}
		}
	}, x, y)
}

// Unary returns f of each element of a tile. The name is for messages.
func (b *Block) Unary(name string, x *STensor, f func(float32) float32) *STensor {
	return b.add(name, slices.Clone(x.dims), func(out *values, in []values) {
		out.resize(in[0].dims...)
		for i, v := range in[0].data {
			out.data[i] = f(v)
		}
	}, x)
}

// Square returns the squares of the elements of a tile.
func (b *Block) Square(x *STensor) *STensor {
	return b.Unary("square", x, func(v float32) float32 { return v * v })
}

// Sqrt returns the square roots of the elements of a tile.
func (b *Block) Sqrt(x *STensor) *STensor {
	return b.Unary("sqrt", x, func(v float32) float32 { return float32(math.Sqrt(float64(v))) })
}

// Binary returns f of each two elements of two tiles. A dimension of extent 1 in one of them goes with all
// indices of the other. The name is for messages.
func (b *Block) Binary(name string, x, y *STensor, f func(x, y float32) float32) *STensor {
	dims, ok := broadcast(x.dims, y.dims)
	if !ok {
		b.fail(name, -1, "tiles of one shape, or with extents of 1", shape.Format(x.dims)+" and "+shape.Format(y.dims))
	}
	return b.add(name, dims, func(out *values, in []values) {
		x, y := &in[0], &in[1]
		dims, _ := broadcast(x.dims, y.dims)
		out.resize(dims...)
		for i := range out.data {
			out.data[i] = f(x.data[source(x.dims, dims, i)], y.data[source(y.dims, dims, i)])
		}
	}, x, y)
}

// Add returns the sums of the elements of two tiles.
func (b *Block) Add(x, y *STensor) *STensor {
	return b.Binary("add", x, y, func(x, y float32) float32 { return x + y })
}

// Mul returns the products of the elements of two tiles.
func (b *Block) Mul(x, y *STensor) *STensor {
	return b.Binary("mul", x, y, func(x, y float32) float32 { return x * y })
}

// Div returns the quotients of the elements of two tiles.
func (b *Block) Div(x, y *STensor) *STensor {
	return b.Binary("div", x, y, func(x, y float32) float32 { return x / y })
}

// broadcast returns the extents of a result of two tiles.
func broadcast(x, y []int) ([]int, bool) {
	if len(x) != len(y) {
		return slices.Clone(x), false
	}
	out, ok := make([]int, len(x)), true
	for d := range x {
		out[d] = x[d]
		if x[d] == 1 {
			out[d] = y[d]
		}
		ok = ok && (x[d] == y[d] || x[d] == 1 || y[d] == 1)
	}
	return out, ok
}

// source returns where element i of a result with extents to lies in a tile that takes part in it.
func source(dims, to []int, i int) int {
	at, stride := 0, 1
	for d := len(to) - 1; d >= 0; d-- {
		if dims[d] > 1 {
			at += i % to[d] * stride
		}
		i /= to[d]
		stride *= dims[d]
	}
	return at
}

// Reduction returns the sums of a tile along a dimension, which keeps extent 1.
func (b *Block) Reduction(x *STensor, dim int) *STensor { return b.reduce("reduction", x, dim, 1) }

// ReductionToDimX returns the sums of a tile along a dimension, of which Block.ReductionDimX indices remain:
// index i is the sum of all indices that leave the remainder i.
func (b *Block) ReductionToDimX(x *STensor, dim int) *STensor {
	return b.reduce("reduction to dim x", x, dim, b.ReductionDimX)
}

func (b *Block) reduce(name string, x *STensor, dim, to int) *STensor {
	dims := slices.Clone(x.dims)
	switch {
	case dim < 0 || dim >= len(dims):
		b.fail(name, dim, fmt.Sprintf("a dimension below %d", len(dims)), fmt.Sprint(dim))
	case to < 1 || dims[dim]%to != 0:
		b.fail(name, dim, fmt.Sprintf("an extent of 1 or more that divides %d", dims[dim]), fmt.Sprint(to))
	default:
		dims[dim] = to
	}
	return b.add(name, dims, func(out *values, in []values) {
		x := &in[0]
		dims := slices.Clone(x.dims)
		dims[dim] = to
		out.resize(dims...)
		clear(out.data)
		inner := shape.Prod(x.dims[dim+1:])
		for i, v := range x.data {
			outer, k := i/inner/max(x.dims[dim], 1), i/inner%x.dims[dim]
			out.data[(outer*to+k%to)*inner+i%inner] += v
		}
	}, x)
}

// ForLoopAccum returns the sum of a tile over the rounds of the for-loop. What uses it is computed once,
// after the loop.
func (b *Block) ForLoopAccum(x *STensor) *STensor {
	if x.after {
		b.fail("for-loop accum", -1, "a tile of a round of the for-loop", "one of its end")
	}
	s := b.add("for-loop accum", slices.Clone(x.dims), nil, x)
	s.by.accum, s.after = true, true
	return s
}
