package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/deps"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/sched"
	"github.com/opgen/opgen/runtime/task"
)

// empty is a body that does nothing, and is not inlined.
type empty struct{}

//go:noinline
func (empty) Run(*task.Ctx, task.Range) error { return nil }

// shapes are the graphs on which peers were measured, as programs of accesses: each task writes a root
// of its own and reads those of its predecessors.
var shapes = []struct {
	name  string
	preds func() [][]int32
}{
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

func build(b testing.TB, preds [][]int32) *deps.Graph {
	d := deps.NewBuilder(len(preds), len(preds))
	var acc []deps.Access
	for t, ps := range preds {
		acc = acc[:0]
		for _, p := range ps {
			acc = append(acc, deps.Access{Root: p, Perm: perm.Read})
		}
		acc = append(acc, deps.Access{Root: int32(t), Perm: perm.Write})
		if _, err := d.Task(acc); err != nil {
			b.Fatal(err)
		}
	}
	return d.Graph()
}

// BenchmarkEmptyTask measures what running a task costs beside its body, on graphs of about 100,000
// tasks that are run again and again.
func BenchmarkEmptyTask(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			g := build(b, s.preds())
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
					run(b, g, workers, sched.Costs{}, empty{})
				})
			}
		})
	}
}

func run(b *testing.B, g *deps.Graph, workers int, c sched.Costs, body task.Body) {
	schedule, err := sched.New(g, workers, c)
	if err != nil {
		b.Fatal(err)
	}
	tasks := make([]Task, g.Len())
	for i := range tasks {
		tasks[i] = Task{body, 1, 1}
	}
	prog, err := NewProgram(schedule, tasks)
	if err != nil {
		b.Fatal(err)
	}
	pool := NewPool(workers)
	defer pool.Close()
	b.ResetTimer()
	for range b.N {
		if err := pool.Run(context.Background(), prog, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(g.Len()), "ns/task")
}
