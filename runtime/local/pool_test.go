package local

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/task"
)

type bodyFunc func(ctx *task.Ctx, r task.Range) error

func (f bodyFunc) Run(ctx *task.Ctx, r task.Range) error { return f(ctx, r) }

// TestPoolCoversEveryIndex runs steps of many sizes: every index is done once, in ranges of the grain
// that begin at its multiples, and all of them before run returns.
func TestPoolCoversEveryIndex(t *testing.T) {
	for workers := 1; workers <= 8; workers++ {
		p := newPool(workers)
		for n := range 20 {
			p.begin(uint64(n))
			for _, grain := range []int{1, 2, 7, 100} {
				done := make([]atomic.Int32, n)
				at, err := p.run(bodyFunc(func(ctx *task.Ctx, r task.Range) error {
					if r.Lo%grain != 0 || r.Hi != min(r.Lo+grain, n) || ctx.Worker < 0 || ctx.Worker >= workers || ctx.Step != uint64(n) {
						t.Errorf("%d workers: range %v of %d, grain %d, in %+v", workers, r, n, grain, *ctx)
					}
					for i := r.Lo; i < r.Hi; i++ {
						done[i].Add(1)
					}
					return nil
				}), n, grain)
				if err != nil {
					t.Fatalf("%v: %v", at, err)
				}
				for i := range done {
					if got := done[i].Load(); got != 1 {
						t.Fatalf("%d workers: index %d of %d was done %d times", workers, i, n, got)
					}
				}
			}
			p.end()
		}
		p.close()
	}
}

// TestPoolStress runs very many tiny steps, each of which depends on the one before, with pauses
// between runs in which the workers sleep.
func TestPoolStress(t *testing.T) {
	for workers := 1; workers <= 8; workers++ {
		p := newPool(workers)
		cells := make([]int, 16) // no atomics: the race detector checks the pool's order
		steps := 0
		for run := range 30 {
			p.begin(uint64(run))
			for range 50 {
				steps++
				if _, err := p.run(bodyFunc(func(_ *task.Ctx, r task.Range) error {
					for i := r.Lo; i < r.Hi; i++ {
						cells[i]++
					}
					return nil
				}), len(cells), 1+steps%5); err != nil {
					t.Fatal(err)
				}
				for i, c := range cells {
					if c != steps {
						t.Fatalf("%d workers, step %d: cell %d is %d", workers, steps, i, c)
					}
				}
			}
			p.end()
		}
		p.close()
	}
}

// TestPoolErrors lets several ranges fail at once. The lowest is reported, always the same, and the
// pool goes on.
func TestPoolErrors(t *testing.T) {
	for workers := 1; workers <= 8; workers++ {
		p := newPool(workers)
		for run := range 100 {
			p.begin(0)
			at, err := p.run(bodyFunc(func(_ *task.Ctx, r task.Range) error {
				switch {
				case r.Lo < 10:
					return nil
				case r.Lo%2 == 0:
					return errors.New(fmt.Sprint("error at ", r.Lo))
				}
				panic(fmt.Sprint("panic at ", r.Lo))
			}), 40, 2+run%2*3)
			if err == nil || at.Lo != 10 || err.Error() != "error at 10" {
				t.Fatalf("%d workers: %v: %v", workers, at, err)
			}
			if at, err := p.run(bodyFunc(func(*task.Ctx, task.Range) error { return nil }), 40, 1); err != nil {
				t.Fatalf("%d workers: the error stayed: %v: %v", workers, at, err)
			}
			p.end()
		}
		p.close()
	}
}

// TestPoolReportsTheLowest lets a later range fail first. The earlier one, which is under way, is
// reported all the same.
func TestPoolReportsTheLowest(t *testing.T) {
	p := newPool(2)
	defer p.close()
	for range 50 {
		p.begin(0)
		at, err := p.run(bodyFunc(func(_ *task.Ctx, r task.Range) error {
			if r.Lo == 0 {
				for !p.failed.Load() {
					runtime.Gosched()
				}
			}
			return errors.New(fmt.Sprint("error at ", r.Lo))
		}), 2, 1)
		p.end()
		if at.Lo != 0 || err == nil || err.Error() != "error at 0" {
			t.Fatalf("%v: %v", at, err)
		}
	}
}

// TestPoolSharesWork checks that workers really work side by side: every range waits until all
// workers have one.
func TestPoolSharesWork(t *testing.T) {
	const workers = 4
	p := newPool(workers)
	defer p.close()
	for range 20 {
		var all sync.WaitGroup
		all.Add(workers)
		var by [workers]atomic.Int32
		p.begin(0)
		if _, err := p.run(bodyFunc(func(ctx *task.Ctx, r task.Range) error {
			by[ctx.Worker].Add(1)
			all.Done()
			all.Wait()
			return nil
		}), workers, 1); err != nil {
			t.Fatal(err)
		}
		p.end()
		for w := range by {
			if by[w].Load() != 1 {
				t.Fatalf("worker %d had %d ranges", w, by[w].Load())
			}
		}
	}
}

// TestPoolClose checks that no goroutines are left.
func TestPoolClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		p := newPool(6)
		p.begin(0)
		if _, err := p.run(bodyFunc(func(*task.Ctx, task.Range) error { return nil }), 10, 1); err != nil {
			t.Fatal(err)
		}
		p.end()
		p.close()
	}
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before there were %d", runtime.NumGoroutine(), before)
}
