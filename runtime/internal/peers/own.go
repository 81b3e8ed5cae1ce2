package main

import (
	"context"
	"math"
	"time"

	"github.com/opgen/opgen/runtime/internal/deps"
	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
)

// body is what the peers' tasks do.
type body struct {
	number uint64
	turns  int
}

//go:noinline
func (b *body) Run(*op.Ctx, op.Range) error {
	x := b.number
	for range b.turns {
		x = x*0x5851f42d4c957f2d + 1
	}
	b.number = x
	return nil
}

// measureOwn measures this module's executor. Building infers dependencies from accesses, and makes the
// schedule.
func measureOwn(g *graph, workers, times, turns int) (result, error) {
	n := float64(len(g.preds))
	bodies, tasks := make([]body, len(g.preds)), make([]exec.Task, len(g.preds))
	one := op.Line(1, 1)
	for i := range tasks {
		bodies[i] = body{uint64(i), turns}
		tasks[i] = exec.Task{Body: &bodies[i], Grid: one}
	}
	var costs sched.Costs
	alone := math.Inf(1)
	for range times {
		start := time.Now()
		for i := range bodies {
			if err := tasks[i].Body.Run(nil, op.Range{Hi: 1}); err != nil {
				return result{}, err
			}
		}
		alone = min(alone, nanos(start)/n)
	}
	if turns > 0 {
		costs.Time = make([]float64, len(tasks))
		for i := range costs.Time {
			costs.Time[i] = alone
		}
	}
	start := time.Now()
	b := deps.NewBuilder(len(g.preds), len(g.preds))
	var access []deps.Access
	for t, preds := range g.preds {
		access = access[:0]
		for _, p := range preds {
			access = append(access, deps.Access{Root: p, Perm: perm.Read})
		}
		if _, err := b.Task(append(access, deps.Access{Root: int32(t), Perm: perm.Write})); err != nil {
			return result{}, err
		}
	}
	schedule, err := sched.New(b.Graph(), workers, costs)
	if err != nil {
		return result{}, err
	}
	program, err := exec.NewProgram(schedule, tasks)
	if err != nil {
		return result{}, err
	}
	r := result{build: nanos(start) / n, run: math.Inf(1), cpu: math.Inf(1), body: alone}
	pool := exec.NewPool(workers)
	defer pool.Close()
	for range times + 2 { // the peers run twice more, with checks
		before, start := cpuNanos(), time.Now()
		if err := pool.Run(context.Background(), program, 0); err != nil {
			return result{}, err
		}
		r.run, r.cpu = min(r.run, nanos(start)/n), min(r.cpu, (cpuNanos()-before)/n)
	}
	return r, nil
}

func nanos(start time.Time) float64 { return float64(time.Since(start).Nanoseconds()) }
