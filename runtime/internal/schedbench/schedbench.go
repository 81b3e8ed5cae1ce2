// Package schedbench makes the graphs of tasks on which schedulers are compared.
package schedbench

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Tasks is the number of tasks with which the comparisons are made.
const Tasks = 100_000

// Shape is a kind of graph.
type Shape struct {
	Name string
	// Preds makes a graph of about n tasks: for each the numbers of those that it waits for, all smaller
	// than its own.
	Preds func(n int) [][]int32
}

// Shapes are graphs of tasks one after the other, none after another, in layers of 100 that each wait for
// 3 of the layer before, in a square where each waits for its upper and its left neighbor, and in a
// binary tree from its root.
var Shapes = []Shape{
	{"chain", func(n int) [][]int32 {
		g := make([][]int32, n)
		for t := 1; t < n; t++ {
			g[t] = []int32{int32(t - 1)}
		}
		return g
	}},
	{"independent", func(n int) [][]int32 { return make([][]int32, n) }},
	{"layered", func(n int) [][]int32 {
		const width = 100
		r := rand.New(rand.NewPCG(42, 0))
		g := make([][]int32, n/width*width)
		for t := width; t < len(g); t++ {
			for len(g[t]) < 3 {
				p := int32((t/width-1)*width + r.IntN(width))
				if len(g[t]) == 0 || g[t][0] != p && g[t][len(g[t])-1] != p {
					g[t] = append(g[t], p)
				}
			}
		}
		return g
	}},
	{"wavefront", func(n int) [][]int32 {
		side := int(math.Sqrt(0.9 * float64(n)))
		g := make([][]int32, side*side)
		for i := range side {
			for j := range side {
				if i > 0 {
					g[i*side+j] = append(g[i*side+j], int32((i-1)*side+j))
				}
				if j > 0 {
					g[i*side+j] = append(g[i*side+j], int32(i*side+j-1))
				}
			}
		}
		return g
	}},
	{"tree", func(n int) [][]int32 {
		g := make([][]int32, 1<<bits.Len(uint(n))-1)
		for t := 1; t < len(g); t++ {
			g[t] = []int32{int32((t - 1) / 2)}
		}
		return g
	}},
}
