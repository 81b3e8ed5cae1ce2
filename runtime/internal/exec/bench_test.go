package exec

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/internal/deps"
	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/internal/schedbench"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/schedule"
)

// empty is a body that does nothing, and is not inlined. Like generated bodies it is a pointer.
type empty struct{}

//go:noinline
func (*empty) Run(*op.Ctx, op.Range) error { return nil }

// build infers the dependencies of a graph from accesses: each task writes a root of its own and reads those
// of its predecessors.
func build(b testing.TB, preds [][]int32) *schedule.Graph {
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

// BenchmarkEmptyTask measures what running a task costs besides its body, on graphs of about 100,000
// tasks that are run again and again.
func BenchmarkEmptyTask(b *testing.B) {
	for _, s := range schedbench.Shapes {
		b.Run(s.Name, func(b *testing.B) {
			g := build(b, s.Preds(schedbench.Tasks))
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
					run(b, g, workers, sched.Costs{}, &empty{})
				})
			}
		})
	}
}

func run(b *testing.B, g *schedule.Graph, workers int, c sched.Costs, body op.Body) {
	schedule, err := sched.New(g, workers, c)
	if err != nil {
		b.Fatal(err)
	}
	tasks, one := make([]Task, g.Len()), op.Line(1, 1)
	for i := range tasks {
		tasks[i] = Task{Body: body, Grid: one}
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

// spin is a body that takes a given time.
type spin struct{ turns int }

func (s spin) Run(*op.Ctx, op.Range) error {
	x := uint64(1)
	for range s.turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 {
		panic("a value that the loop cannot reach")
	}
	return nil
}

// BenchmarkEfficiency measures how much of two workers' time goes into the bodies of short tasks: 100 %
// if running them takes half the time of the bodies alone, one after the other.
func BenchmarkEfficiency(b *testing.B) {
	const length = 150 // ns
	body := spin{1}
	for took := 0.0; took < length; {
		body.turns += 5
		took = math.Inf(1)
		for range 20 {
			start := time.Now()
			for range 1000 {
				_ = body.Run(nil, op.Range{})
			}
			took = min(took, float64(time.Since(start).Nanoseconds())/1000)
		}
	}
	for _, s := range schedbench.Shapes {
		if s.Name != "wavefront" && s.Name != "layered" {
			continue
		}
		b.Run(fmt.Sprintf("%s/ns=%d/workers=2", s.Name, length), func(b *testing.B) {
			g := build(b, s.Preds(100_000))
			c := sched.Costs{Time: make([]float64, g.Len())}
			for t := range c.Time {
				c.Time[t] = length
			}
			run(b, g, 2, c, body)
			each := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(g.Len())
			b.ReportMetric(100*length/2/each, "%")
		})
	}
}

// BenchmarkPlanBuild measures how long it takes to derive the dependencies of about a million tasks from
// their accesses and to give them queues, and how much memory is used on the way and kept.
func BenchmarkPlanBuild(b *testing.B) {
	for _, s := range schedbench.Shapes {
		b.Run(s.Name, func(b *testing.B) {
			preds := s.Preds(1_000_000)
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
					b.ReportAllocs()
					var before, after runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&before)
					var g *schedule.Graph
					var schedule *schedule.Schedule
					for b.Loop() {
						g = build(b, preds)
						var err error
						if schedule, err = sched.New(g, workers, sched.Costs{}); err != nil {
							b.Fatal(err)
						}
					}
					b.StopTimer()
					n := float64(g.Len())
					runtime.GC()
					runtime.ReadMemStats(&after)
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/task")
					b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "kept-B/task")
					b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/n, "B/task")
					runtime.KeepAlive(schedule)
					runtime.KeepAlive(g)
					runtime.KeepAlive(preds)
				})
			}
		})
	}
}
