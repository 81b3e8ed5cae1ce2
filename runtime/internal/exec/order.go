package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/schedule"
)

// Runner runs programs once. A *Pool does it side by side; the others are for tests of what a pool runs.
type Runner interface {
	Run(ctx context.Context, p *Program, step uint64) error
}

// Sequential runs tasks one after the other in the order of their numbers, which is what a plan means. It
// does not look at queues.
type Sequential struct{}

// Run runs the program once.
func (Sequential) Run(ctx context.Context, p *Program, step uint64) error {
	c := &op.Ctx{Step: step, Run: op.NextRun()}
	for t := range p.tasks {
		if err := p.runAll(ctx, c, t); err != nil {
			return err
		}
	}
	return nil
}

// runAll runs all tiles of a task.
func (p *Program) runAll(ctx context.Context, c *op.Ctx, t int) error {
	first, end := p.tasks[t].tiles()
	for k := first; k < end; k++ {
		if err := p.runTile(ctx, c, t, k); err != nil {
			return err
		}
	}
	return nil
}

// runTile runs a tile of a task.
func (p *Program) runTile(ctx context.Context, c *op.Ctx, t, k int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := p.tasks[t].Grid.Tile(k)
	if err := p.tasks[t].Body.Run(c, r); err != nil {
		return &Error{t, r, err}
	}
	return nil
}

// Hostile runs queues in a bad order, one entry at a time: of the workers that could go on it chooses one by
// chance, so that the rest fall behind as far as their waits allow. Each order that it takes is one that a
// pool may take. The same seed gives the same order.
type Hostile struct {
	Seed uint64
	// Asleep is a worker that goes on only if no other can; -1 for none.
	Asleep int
	// Delay is the longest time that passes before a task; 0 for none.
	Delay time.Duration
}

// deadlock is the error of queues that do not come to their ends: what each worker waits for.
type deadlock struct {
	At []int // per worker: the entry of its queue at which it waits, or the length of the queue
}

func (d *deadlock) Error() string {
	return fmt.Sprintf("exec: no worker can go on; they wait at entries %v of their queues", d.At)
}

// Run runs the program once. The error is a *deadlock if no worker can go on.
func (h Hostile) Run(ctx context.Context, p *Program, step uint64) error {
	s, r := p.schedule, rand.New(rand.NewPCG(h.Seed, step))
	run := op.NextRun()
	at, signaled := make([]int, s.Workers()), make([]int, s.Workers())
	next, done := make([]int, len(p.tasks)), make([]int, len(p.tasks)) // tiles of shared tasks
	// ready reports whether a worker can do the entry at which it is.
	ready := func(w int) bool {
		if at[w] == len(s.Queues[w]) {
			return false
		}
		switch kind, n := s.Queues[w][at[w]].Decode(); kind {
		case schedule.WaitFor:
			return signaled[s.Waits[n].Worker] >= int(s.Waits[n].Position)
		case schedule.WaitShared:
			first, end := p.tasks[n].tiles()
			return done[n] == end-first
		}
		return true
	}
	var able []int
	for {
		able = able[:0]
		for w := range at {
			if w != h.Asleep && ready(w) {
				able = append(able, w)
			}
		}
		if len(able) == 0 && h.Asleep >= 0 && h.Asleep < len(at) && ready(h.Asleep) {
			able = append(able, h.Asleep)
		}
		if len(able) == 0 {
			for w := range at {
				if at[w] < len(s.Queues[w]) {
					return &deadlock{at}
				}
			}
			return nil
		}
		w := able[r.IntN(len(able))]
		c := &op.Ctx{Worker: w, Step: step, Run: run}
		if h.Delay > 0 {
			time.Sleep(time.Duration(r.Int64N(int64(h.Delay) + 1)))
		}
		switch kind, n := s.Queues[w][at[w]].Decode(); kind {
		case schedule.Run:
			if err := p.runAll(ctx, c, n); err != nil {
				return err
			}
		case schedule.Signal:
			signaled[w] = at[w] + 1
		case schedule.Share:
			// A tile at a time, so that other workers come in between. Phases of a task go one after the
			// other.
			if first, end := p.tasks[n].tiles(); next[n] < end-first {
				if p.tasks[n].phased != nil {
					if err := p.runAll(ctx, c, n); err != nil {
						return err
					}
					next[n], done[n] = end-first, end-first
				} else {
					next[n]++
					if err := p.runTile(ctx, c, n, first+next[n]-1); err != nil {
						return err
					}
					done[n]++
				}
				continue
			}
		}
		at[w]++
	}
}
