package exec

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/deps"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/sched"
	"github.com/opgen/opgen/runtime/task"
)

// empty is a body that does nothing, and is not inlined.
type empty struct{}

//go:noinline
func (empty) Run(*task.Ctx, task.Range) error { return nil }

// shapes are the graphs on which peers were measured, with about n tasks, as programs of accesses: each
// task writes a root of its own and reads those of its predecessors.
var shapes = []struct {
	name  string
	preds func(n int) [][]int32
}{
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
			g := build(b, s.preds(100_000))
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

// spin is a body that takes a given time.
type spin struct{ turns int }

func (s spin) Run(*task.Ctx, task.Range) error {
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
				_ = body.Run(nil, task.Range{})
			}
			took = min(took, float64(time.Since(start).Nanoseconds())/1000)
		}
	}
	for _, s := range shapes {
		if s.name != "wavefront" && s.name != "layered" {
			continue
		}
		b.Run(fmt.Sprintf("%s/ns=%d/workers=2", s.name, length), func(b *testing.B) {
			g := build(b, s.preds(100_000))
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
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			preds := s.preds(1_000_000)
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
					b.ReportAllocs()
					var before, after runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&before)
					var g *deps.Graph
					var schedule *sched.Schedule
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
