package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/internal/deps"
	"github.com/opgen/opgen/runtime/internal/goroutine"
	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/schedule"
)

type bodyFunc func(ctx *op.Ctx, r op.Range) error

func (f bodyFunc) Run(ctx *op.Ctx, r op.Range) error { return f(ctx, r) }

// chain returns a program of tasks that all write one root, scheduled as if each took a long time: those of
// several ranges are shared among all workers.
func chain(t *testing.T, workers int, tasks ...Task) *Program {
	t.Helper()
	d := deps.NewBuilder(1, len(tasks))
	c := sched.Costs{}
	for i := range tasks {
		if _, err := d.Task([]deps.Access{{Root: 0, Perm: perm.ReadWrite}}); err != nil {
			t.Fatal(err)
		}
		c.Time = append(c.Time, 1e6)
		c.Ranges = append(c.Ranges, tasks[i].Grid.Tiles())
	}
	s, err := sched.New(d.Graph(), workers, c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProgram(s, tasks)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryIndexOnce runs tasks of many sizes: every index is done once, in ranges of the grain that begin
// at its multiples, and all of a task before the next begins.
func TestEveryIndexOnce(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 8; workers++ {
		pool := NewPool(workers)
		for n := range 20 {
			var tasks []Task
			done := make([]atomic.Int32, n)
			var before int32
			for _, grain := range []int{1, 2, 7, 100} {
				tasks = append(tasks, Task{Body: bodyFunc(func(ctx *op.Ctx, r op.Range) error {
					if r.Lo%grain != 0 || r.Hi != min(r.Lo+grain, n) || ctx.Worker < 0 || ctx.Worker >= workers || ctx.Step != uint64(n) {
						return fmt.Errorf("%d workers: range %v of %d, grain %d, in %+v", workers, r, n, grain, *ctx)
					}
					for i := r.Lo; i < r.Hi; i++ {
						done[i].Add(1)
					}
					return nil
				}), Grid: op.Line(n, grain)}, Task{Body: bodyFunc(func(*op.Ctx, op.Range) error {
					before++
					for i := range done {
						if got := done[i].Load(); got != before {
							return fmt.Errorf("%d workers: index %d of %d was done %d times, want %d", workers, i, n, got, before)
						}
					}
					return nil
				}), Grid: op.Line(1, 1)})
			}
			if err := pool.Run(context.Background(), chain(t, workers, tasks...), uint64(n)); err != nil {
				t.Fatal(err)
			}
		}
		pool.Close()
	}
}

// TestStress runs one program very often, with pauses in which workers sleep. Its tasks change memory
// without atomic operations, so that the race detector sees whether they are ordered.
func TestStress(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 8; workers *= 2 {
		pool := NewPool(workers)
		cells := make([]int, 16)
		add := bodyFunc(func(_ *op.Ctx, r op.Range) error {
			for i := r.Lo; i < r.Hi; i++ {
				cells[i]++
			}
			return nil
		})
		var tasks []Task
		for i := range 50 {
			tasks = append(tasks, Task{Body: add, Grid: op.Line(len(cells), 1+i%5)})
		}
		p := chain(t, workers, tasks...)
		for run := range 40 {
			if err := pool.Run(context.Background(), p, 0); err != nil {
				t.Fatal(err)
			}
			for i, c := range cells {
				if c != (run+1)*len(tasks) {
					t.Fatalf("%d workers, run %d: cell %d is %d", workers, run, i, c)
				}
			}
			if run%10 == 0 {
				time.Sleep(2 * time.Millisecond)
			}
		}
		pool.Close()
	}
}

// phasedBody is a body of which each phase adds 1 to what the phase before left at all indices.
type phasedBody struct {
	phases int
	counts []atomic.Int32
}

func (b *phasedBody) Whole() bool { return true }

func (b *phasedBody) Phases() int { return b.phases }

func (b *phasedBody) RunPhase(_ *op.Ctx, phase int, r op.Range) error {
	for i := range b.counts {
		if n := int(b.counts[i].Load()); n < phase || n > phase+1 {
			return fmt.Errorf("phase %d, range %v: index %d was done %d times", phase, r, i, n)
		}
	}
	for i := r.Lo; i < r.Hi; i++ {
		b.counts[i].Add(1)
	}
	return nil
}

func (b *phasedBody) Run(ctx *op.Ctx, r op.Range) error {
	for phase := 0; r.Lo == 0 && phase < b.phases; phase++ {
		if err := b.RunPhase(ctx, phase, op.Range{Hi: len(b.counts)}); err != nil {
			return err
		}
	}
	return nil
}

// TestPhases runs bodies of several phases on several workers: each phase begins when all ranges of the one
// before have ended, and all are done when the task ends. An error ends the run.
func TestPhases(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 5; workers++ {
		pool := NewPool(workers)
		for _, n := range []int{1, 5, 64} {
			for range 20 {
				b := &phasedBody{phases: 3, counts: make([]atomic.Int32, n)}
				after := bodyFunc(func(*op.Ctx, op.Range) error {
					for i := range b.counts {
						if got := b.counts[i].Load(); got != 3 {
							return fmt.Errorf("%d workers: index %d of %d was done %d times, want 3", workers, i, n, got)
						}
					}
					return nil
				})
				if err := pool.Run(context.Background(), chain(t, workers, Task{Body: b, Grid: op.Line(n, 2)}, Task{Body: after, Grid: op.Line(1, 1)}), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		b := &phasedBody{phases: 2, counts: make([]atomic.Int32, 9)}
		b.counts[7].Store(5)
		var e *Error
		if err := pool.Run(context.Background(), chain(t, workers, Task{Body: b, Grid: op.Line(9, 1)}), 0); !errors.As(err, &e) || e.Task != 0 {
			t.Errorf("%d workers: want the error of a phase, got %v", workers, err)
		}
		pool.Close()
	}
}

// TestPhasesShared checks that workers share the phases: with a body that waits until two workers are in the
// same phase.
func TestPhasesShared(t *testing.T) {
	t.Parallel()
	pool := NewPool(2)
	defer pool.Close()
	b := &meeting{}
	if err := pool.Run(context.Background(), chain(t, 2, Task{Body: b, Grid: op.Line(2, 1)}), 0); err != nil {
		t.Fatal(err)
	}
}

// meeting is a body whose ranges wait for the other one of their phase.
type meeting struct{ arrived [2]atomic.Int32 }

func (*meeting) Whole() bool { return true }

func (*meeting) Phases() int { return 2 }

func (m *meeting) RunPhase(_ *op.Ctx, phase int, _ op.Range) error {
	for m.arrived[phase].Add(1); m.arrived[phase].Load() < 2; {
		runtime.Gosched()
	}
	return nil
}

func (*meeting) Run(*op.Ctx, op.Range) error { return errors.New("want phases") }

// TestLowestError lets several ranges of a task fail. The lowest is reported, always the same, whether it
// is the first to fail or not, and the pool goes on.
func TestLowestError(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 8; workers++ {
		pool := NewPool(workers)
		for run := range 50 {
			late := atomic.Bool{}
			p := chain(t, workers, Task{Body: bodyFunc(func(_ *op.Ctx, r op.Range) error {
				switch {
				case r.Lo < 10:
					return nil
				case r.Lo == 10:
					for turns := 0; workers > 1 && !late.Load() && turns < 100; turns++ {
						runtime.Gosched() // until a later range has failed
					}
					return errors.New("error at 10")
				}
				late.Store(true)
				panic(fmt.Sprint("panic at ", r.Lo))
			}), Grid: op.Line(40, 2+run%2*3)})
			err := pool.Run(context.Background(), p, 0)
			var e *Error
			if !errors.As(err, &e) || e.Task != 0 || e.Range.Lo != 10 || err.Error() != fmt.Sprintf("task 0, range [10, %d): error at 10", e.Range.Hi) {
				t.Fatalf("%d workers: %v", workers, err)
			}
			if err := pool.Run(context.Background(), chain(t, workers, Task{Body: bodyFunc(func(*op.Ctx, op.Range) error { return nil }), Grid: op.Line(40, 1)}), 0); err != nil {
				t.Fatalf("%d workers: the error stayed: %v", workers, err)
			}
		}
		pool.Close()
	}
}

// TestF20LowestOfErrors lets tasks and tiles fail in every order of four. The error of the first task and its
// first tile stays.
func TestF20LowestOfErrors(t *testing.T) {
	t.Parallel()
	body := bodyFunc(func(*op.Ctx, op.Range) error { return nil })
	p := chain(t, 1, Task{Body: body, Grid: op.Line(40, 10)}, Task{Body: body, Grid: op.Line(40, 10)})
	places := []place{{0, 1}, {0, 3}, {1, 0}, {1, 2}}
	for first := range places {
		for _, step := range []int{1, 3} { // upwards and downwards from the first
			pool := NewPool(1)
			pool.job.program = p
			for i := range places {
				at := places[(first+i*step)%len(places)]
				pool.job.fail(&at, fmt.Errorf("tile %d of task %d", at.tile, at.task))
			}
			if got := pool.job.err; got == nil || got.Error() != "task 0, range [10, 20): tile 1 of task 0" {
				t.Errorf("after %v first and steps of %d: got %v, want the error of tile 1 of task 0", places[first], step, got)
			}
			pool.Close()
		}
	}
}

// TestSideBySide checks that workers share a task's ranges: every range waits until all workers have one.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	const workers = 4
	pool := NewPool(workers)
	defer pool.Close()
	for range 20 {
		var all sync.WaitGroup
		all.Add(workers)
		var by [workers]atomic.Int32
		p := chain(t, workers, Task{Body: bodyFunc(func(ctx *op.Ctx, _ op.Range) error {
			by[ctx.Worker].Add(1)
			all.Done()
			all.Wait()
			return nil
		}), Grid: op.Line(workers, 1)})
		if err := pool.Run(context.Background(), p, 0); err != nil {
			t.Fatal(err)
		}
		for w := range by {
			if by[w].Load() != 1 {
				t.Fatalf("worker %d had %d ranges", w, by[w].Load())
			}
		}
	}
}

// TestMisuse runs what cannot be run.
func TestMisuse(t *testing.T) {
	t.Parallel()
	body := bodyFunc(func(*op.Ctx, op.Range) error { return nil })
	pool := NewPool(2)
	check := func(err error, want string) {
		t.Helper()
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	check(pool.Run(context.Background(), chain(t, 3, Task{Body: body, Grid: op.Line(1, 1)}), 0), "exec: a program for 3 workers in a pool of 2")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	check(pool.Run(ctx, chain(t, 2, Task{Body: body, Grid: op.Line(1, 1)}), 0), "enough")
	p := chain(t, 2, Task{Body: body, Grid: op.Line(1, 1)})
	_, err := NewProgram(p.schedule, nil)
	check(err, "exec: want 1 tasks, got 0")
	_, err = NewProgram(p.schedule, []Task{{Grid: op.Line(1, 1)}})
	check(err, "exec: task 0: want a body and a grid, got none")
	_, err = NewProgram(p.schedule, []Task{{Body: &phasedBody{phases: 1}, Grid: op.Line(2, 1), Tile: 1}})
	check(err, "exec: task 0: want a kernel that computes the tiles of its step one by one, since each of them is a task of the plan, got one that "+
		"computes the step at once")
	pool.Close()
	pool.Close()
	check(pool.Run(context.Background(), p, 0), "exec: the pool is closed")
}

// TestNoGoroutinesLeft closes pools whose workers are busy waiting, or asleep.
func TestNoGoroutinesLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 20 {
		pool := NewPool(6)
		if err := pool.Run(context.Background(), chain(t, 6, Task{Body: bodyFunc(func(*op.Ctx, op.Range) error { return nil }), Grid: op.Line(10, 1)}), 0); err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			time.Sleep(3 * time.Millisecond)
		}
		pool.Close() // waits for its workers
	}
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond) // Close returns just before they exit
	}
	t.Errorf("%d goroutines, before there were %d", runtime.NumGoroutine(), before)
}

// TestF11WaitingWorkersSleep lets one worker wait for a task of the other, which ends only when the first one
// sleeps.
func TestF11WaitingWorkersSleep(t *testing.T) {
	t.Parallel()
	pool := NewPool(2)
	defer pool.Close()
	var p *Program
	sleeps := func() bool {
		for w := range p.progress {
			if p.progress[w].waiters.Load() > 0 {
				return true
			}
		}
		for k := range p.shared {
			if p.shared[k].done.waiters.Load() > 0 {
				return true
			}
		}
		return pool.job.helped.waiters.Load() > 0
	}
	both := make(chan struct{})
	slow := bodyFunc(func(_ *op.Ctx, r op.Range) error {
		if r.Lo > 0 {
			close(both) // the other range, which another worker runs, ends at once
			return nil
		}
		<-both
		for turns := 0; !sleeps(); turns++ {
			if turns == 5000 {
				return errors.New("the other worker does not sleep")
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	for range 20 {
		both = make(chan struct{})
		p = chain(t, 2, Task{Body: slow, Grid: op.Line(2, 1)}, Task{Body: bodyFunc(func(*op.Ctx, op.Range) error { return nil }), Grid: op.Line(2, 1)})
		if err := pool.Run(context.Background(), p, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAbortWakes fails a task while another worker sleeps until it has ended.
func TestAbortWakes(t *testing.T) {
	t.Parallel()
	pool := NewPool(3)
	defer pool.Close()
	var p *Program
	p = chain(t, 3, Task{Body: bodyFunc(func(_ *op.Ctx, r op.Range) error {
		if r.Lo > 0 {
			return nil
		}
		for p.shared[0].done.waiters.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		return errors.New("failed")
	}), Grid: op.Line(3, 1)}, Task{Body: bodyFunc(func(*op.Ctx, op.Range) error { return nil }), Grid: op.Line(3, 1)})
	if err := pool.Run(context.Background(), p, 0); err == nil || !strings.Contains(err.Error(), "failed") {
		t.Fatal(err)
	}
}

// TestGoexit ends the goroutines of helpers, whose places others take.
func TestGoexit(t *testing.T) {
	t.Parallel()
	pool := NewPool(4)
	for range 20 {
		p := chain(t, 4, Task{Body: bodyFunc(func(ctx *op.Ctx, _ op.Range) error {
			if ctx.Worker > 0 {
				runtime.Goexit()
			}
			for ctx.Worker == 0 && !pool.job.abort.Load() {
				runtime.Gosched()
			}
			return nil
		}), Grid: op.Line(100, 1)})
		if err := pool.Run(context.Background(), p, 0); !errors.Is(err, goroutine.ErrExited) {
			t.Fatal(err)
		}
	}
	pool.Close()
}

// TestFailed ends a body that waits for something outside, once the body of another worker fails.
func TestFailed(t *testing.T) {
	t.Parallel()
	pool := NewPool(2)
	defer pool.Close()
	ended := make(chan struct{})
	fails := bodyFunc(func(*op.Ctx, op.Range) error { return errors.New("fails") })
	waits := bodyFunc(func(*op.Ctx, op.Range) error {
		select {
		case <-ended:
			return errors.New("ended")
		case <-time.After(20 * time.Second):
			return errors.New("nothing ended it")
		}
	})
	p, err := NewProgram(&schedule.Schedule{Tasks: 2, Queues: [][]schedule.Op{{0}, {1}}}, []Task{{Body: fails, Grid: op.Line(1, 1)}, {Body: waits, Grid: op.Line(1, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	p.Failed = func(e *Error) { once.Do(func() { close(ended) }) }
	begin := time.Now()
	if err := pool.Run(context.Background(), p, 0); err == nil || err.Error() != "task 0, range [0, 1): fails" || time.Since(begin) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begin))
	}
}

// TestStopped gives up while the last range runs: its body asks, and Run returns why.
func TestStopped(t *testing.T) {
	pool := NewPool(1)
	defer pool.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	asked := 0
	body := bodyFunc(func(c *op.Ctx, _ op.Range) error {
		for ; !c.Stopped(); asked++ {
			if asked == 3 {
				cancel(why)
			}
		}
		return nil
	})
	if err := pool.Run(ctx, chain(t, 1, Task{Body: body, Grid: op.Line(1, 1)}), 0); err != why || asked != 4 {
		t.Errorf("want the cause after 4 questions, got %v after %d", err, asked)
	}
	never := bodyFunc(func(c *op.Ctx, _ op.Range) error {
		if c.Stopped() {
			t.Error("want no stop without a context that can be done")
		}
		return nil
	})
	if err := pool.Run(context.Background(), chain(t, 1, Task{Body: never, Grid: op.Line(1, 1)}), 0); err != nil {
		t.Error(err)
	}
}
