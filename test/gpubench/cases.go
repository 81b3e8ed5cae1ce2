//go:build cuda

package main

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/generated/batchmatmul"
	"github.com/opgen/opgen/generated/cumsum"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/transpose"
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// use is a use of an operator. Plans of a different number of uses tell what one takes.
type use struct {
	group, name string
	bytes       float64 // that one use reads and writes
	flops       float64
	more        int // how many uses one of both plans has more
	typ         dtype.Type
	shapes      [][]int // of the tensors that the uses read
	// chain returns the results of so many uses.
	chain func(g *graph.Graph, inputs []graph.Tensor, uses int) []graph.Tensor
}

// along returns a chain in which each use reads what the one before wrote.
func along(apply func(g *graph.Graph, x graph.Tensor, inputs []graph.Tensor) graph.Tensor) func(*graph.Graph, []graph.Tensor, int) []graph.Tensor {
	return func(g *graph.Graph, inputs []graph.Tensor, uses int) []graph.Tensor {
		x := inputs[0]
		for range uses {
			x = apply(g, x, inputs)
		}
		return []graph.Tensor{x}
	}
}

// beside returns uses that all read the same.
func beside(apply func(g *graph.Graph, x graph.Tensor) graph.Tensor) func(*graph.Graph, []graph.Tensor, int) []graph.Tensor {
	return func(g *graph.Graph, inputs []graph.Tensor, uses int) (results []graph.Tensor) {
		for range uses {
			results = append(results, apply(g, inputs[0]))
		}
		return results
	}
}

// rowElements is the length of the rows that some operators work on.
const rowElements = 1024

// memoryBound returns uses whose time is that of memory, over about n elements.
func memoryBound(n int) []use {
	n = max(n, 2*rowElements)
	rows := n / rowElements
	title := func(op string, t dtype.Type) string { return fmt.Sprintf("%s %v %s", op, t, elements(n)) }
	one := func(op string, t dtype.Type, traffic float64, chain func(*graph.Graph, []graph.Tensor, int) []graph.Tensor) use {
		more := 4
		if n < 1<<26 {
			more = 32
		}
		return use{group: "memory", name: title(op, t), bytes: traffic * float64(n*t.Size()), more: more, typ: t, shapes: [][]int{{rows, rowElements}}, chain: chain}
	}
	unary := along(func(g *graph.Graph, x graph.Tensor, _ []graph.Tensor) graph.Tensor {
		return elementunary.Relu(g, x)
	})
	add := one("add", dtype.F32, 3, along(func(g *graph.Graph, x graph.Tensor, in []graph.Tensor) graph.Tensor {
		return elementbinary.Add(g, x, in[1])
	}))
	add.shapes = append(add.shapes, add.shapes[0])
	turn := one("transpose", dtype.F32, 2, beside(func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return transpose.Apply(g, transpose.Defaults(attr.ListOf(1, 0)), x)
	}))
	turn.more = 4 // each result has memory of its own
	uses := []use{
		one("relu", dtype.F32, 2, unary), one("relu", dtype.BF16, 2, unary), add,
		one("softmax", dtype.F32, 2, along(func(g *graph.Graph, x graph.Tensor, _ []graph.Tensor) graph.Tensor {
			return softmax.Apply(g, softmax.Defaults().WithDim(1), x)
		})),
		one("layer_norm", dtype.F32, 2, along(func(g *graph.Graph, x graph.Tensor, _ []graph.Tensor) graph.Tensor {
			return layernorm.Apply(g, layernorm.Defaults(attr.ListOf(1)).WithElementwiseAffine(false), x)
		})),
		one("sum of rows", dtype.F32, 1, beside(sum(1))),
		one("sum of columns", dtype.F32, 1, beside(sum(0))),
		one("sum of all", dtype.F32, 1, beside(sum(0, 1))), turn,
	}
	if n < 1<<26 { // scans are the slowest
		scan := one("cumsum", dtype.F32, 2, along(func(g *graph.Graph, x graph.Tensor, _ []graph.Tensor) graph.Tensor {
			return cumsum.Apply(g, cumsum.Defaults().WithAxis(1), x)
		}))
		scan.more = 4
		uses = append(uses, scan)
	}
	return uses
}

func sum(axes ...int) func(*graph.Graph, graph.Tensor) graph.Tensor {
	return func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return reduce.Sum(g, x, attr.ListOf(axes...))
	}
}

// product returns products of square matrices, each with the result of the one before.
func product(t dtype.Type, batch, n int) use {
	name := fmt.Sprintf("matmul %v %d", t, n)
	if batch > 1 {
		name = fmt.Sprintf("matmul %v %d x %d", t, batch, n)
	}
	return use{group: "product", name: name, flops: 2 * float64(batch) * math.Pow(float64(n), 3), more: 4, typ: t,
		shapes: [][]int{{batch, n, n}, {batch, n, n}},
		chain: along(func(g *graph.Graph, x graph.Tensor, in []graph.Tensor) graph.Tensor {
			return batchmatmul.Apply(g, batchmatmul.Defaults(), batchmatmul.LhsInput(x), batchmatmul.RhsInput(in[1]))
		})}
}

// launches returns uses that do nearly nothing, so that their time is that of launching them.
func launches(more int) use {
	return use{group: "launch", name: "a task of 32 elements", more: more, typ: dtype.F32, shapes: [][]int{{32}},
		chain: along(func(g *graph.Graph, x graph.Tensor, _ []graph.Tensor) graph.Tensor {
			return elementunary.Relu(g, x)
		})}
}

// inputs adds the tensors that the uses read to a graph: weights, so that they stay between runs.
func (u *use) inputs(g *graph.Graph) (all []graph.Tensor) {
	for i, shape := range u.shapes {
		all = append(all, weight.Apply(g, weight.Defaults(attr.ListOf(shape...)).WithDataType(u.typ), graph.Named(fmt.Sprint("input", i))))
	}
	return all
}

func elements(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%dM", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%dK", n>>10)
	}
	return fmt.Sprint(n)
}
