package local

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/opgen/opgen/runtime/task"
)

// pool shares the ranges of a step among workers. Worker 0 is the goroutine that calls run; the
// others spin while a plan is running and sleep between runs.
type pool struct {
	ctx    []task.Ctx // per worker
	wake   []chan struct{}
	asleep sync.WaitGroup

	active atomic.Bool   // a plan is running
	epoch  atomic.Uint64 // number of the current job; a change starts it
	left   atomic.Int64  // workers that have not finished the current job
	next   atomic.Int64  // next range of the current job
	failed atomic.Bool

	body   task.Body
	over   int
	grain  int
	err    error
	once   sync.Mutex // guards err and at
	at     task.Range // where err came from
	closed bool
}

func newPool(workers int) *pool {
	p := &pool{ctx: make([]task.Ctx, workers)}
	for w := range workers {
		p.ctx[w].Worker = w
		if w > 0 {
			p.wake = append(p.wake, make(chan struct{}, 1))
			go p.worker(w, p.wake[w-1])
		}
	}
	return p
}

// begin wakes the workers for a run of a plan.
func (p *pool) begin(step uint64) {
	for w := range p.ctx {
		p.ctx[w].Step = step
	}
	if len(p.wake) == 0 {
		return
	}
	p.active.Store(true)
	p.asleep.Add(len(p.wake))
	for _, c := range p.wake {
		c <- struct{}{}
	}
}

// end puts the workers to sleep and waits until they are.
func (p *pool) end() {
	p.active.Store(false)
	p.asleep.Wait()
}

func (p *pool) close() {
	for _, c := range p.wake {
		close(c)
	}
}

func (p *pool) worker(w int, wake chan struct{}) {
	// Every worker takes part in every job, so what it has seen carries over from run to run. Reading
	// the epoch anew at the start of a run would miss a job that had begun by then.
	var seen uint64
	for range wake {
		for spins := 0; p.active.Load(); spins++ {
			if e := p.epoch.Load(); e != seen {
				seen, spins = e, 0
				p.share(w)
				p.left.Add(-1)
			} else if spins > 200 {
				runtime.Gosched()
			}
		}
		p.asleep.Done()
	}
}

// run runs a step over [0, over) in ranges of grain. On an error or panic it returns the error and
// the range it came from, after all workers have stopped.
func (p *pool) run(body task.Body, over, grain int) (task.Range, error) {
	p.err = nil
	p.failed.Store(false)
	p.body, p.over, p.grain = body, over, grain
	p.next.Store(0)
	if len(p.wake) == 0 || over <= grain {
		p.share(0)
		return p.at, p.err
	}
	p.left.Store(int64(len(p.wake)))
	p.epoch.Add(1)
	p.share(0)
	for spins := 0; p.left.Load() > 0; spins++ {
		if spins > 200 {
			runtime.Gosched()
		}
	}
	return p.at, p.err
}

// share takes ranges of the current job until none is left or one failed.
func (p *pool) share(w int) {
	r := task.Range{}
	defer func() {
		if v := recover(); v != nil {
			p.fail(r, panicError(v))
		}
	}()
	ctx := &p.ctx[w]
	for !p.failed.Load() {
		r.Lo = int(p.next.Add(1)-1) * p.grain
		if r.Lo >= p.over {
			return
		}
		r.Hi = min(r.Lo+p.grain, p.over)
		if err := p.body.Run(ctx, r); err != nil {
			p.fail(r, err)
			return
		}
	}
}

// fail keeps the error of the lowest range, so that of several the same one is reported.
func (p *pool) fail(r task.Range, err error) {
	p.once.Lock()
	defer p.once.Unlock()
	if p.err == nil || r.Lo < p.at.Lo {
		p.err, p.at = err, r
	}
	p.failed.Store(true)
}
