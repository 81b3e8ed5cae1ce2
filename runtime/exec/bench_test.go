package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/opgen/opgen/internal/taskgraph"
	"github.com/opgen/opgen/runtime/deps"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/sched"
	"github.com/opgen/opgen/runtime/task"
)

// empty is a body that does nothing, and is not inlined.
type empty struct{}

//go:noinline
func (empty) Run(*task.Ctx, task.Range) error { return nil }

// build infers the dependencies of a graph from accesses: each task writes a root of its own and reads those of its
// predecessors.
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
	for _, s := range taskgraph.Shapes {
		b.Run(s.Name, func(b *testing.B) {
			g := build(b, s.Preds())
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
