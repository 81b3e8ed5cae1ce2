// Package taskgraph makes the graphs of tasks on which schedulers are compared.
package taskgraph

import "math/rand/v2"

// Shape is a kind of graph.
type Shape struct {
	Name string
	// Preds makes the graph: for each task the numbers of those that it waits for, all smaller than its own.
	Preds func() [][]int32
}

// Shapes are graphs of about 100,000 tasks: one after the other, none after another, layers of 100 that
// each wait for 3 of the layer before, a square in which each waits for its upper and its left neighbour,
// and a binary tree from its root.
var Shapes = []Shape{
	{"chain", func() [][]int32 {
		g := make([][]int32, 100_000)
		for t := 1; t < len(g); t++ {
			g[t] = []int32{int32(t - 1)}
		}
		return g
	}},
	{"independent", func() [][]int32 { return make([][]int32, 100_000) }},
	{"layered", func() [][]int32 {
		const layers, width = 1000, 100
		r := rand.New(rand.NewPCG(42, 0))
		g := make([][]int32, layers*width)
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
	{"wavefront", func() [][]int32 {
		const n = 300
		g := make([][]int32, n*n)
		for i := range n {
			for j := range n {
				if i > 0 {
					g[i*n+j] = append(g[i*n+j], int32((i-1)*n+j))
				}
				if j > 0 {
					g[i*n+j] = append(g[i*n+j], int32(i*n+j-1))
				}
			}
		}
		return g
	}},
	{"tree", func() [][]int32 {
		g := make([][]int32, 1<<17-1)
		for t := 1; t < len(g); t++ {
			g[t] = []int32{int32((t - 1) / 2)}
		}
		return g
	}},
}
