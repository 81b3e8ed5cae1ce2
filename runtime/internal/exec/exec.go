// Package exec runs schedules: a pool of persistent workers walks the queues of a program.
//
// There is no scheduler between tasks. A worker takes the next entry of its queue, and synchronizes with
// another worker only where its queue says so. Workers take the tiles of a shared task as they become free.
// Tiles are fixed, so results do not depend on the worker.
package exec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/opgen/opgen/runtime/internal/goroutine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/schedule"
)

// Task is a task of a schedule: a body that runs over the tiles of a grid.
type Task struct {
	Body op.Body
	Grid *op.Grid // tasks may share one
	// Tile is the number of the only tile that the task runs, counted from 1; 0 stands for all tiles.
	Tile int32
	// phased is the body if several workers share its phases, and phases is how many there are.
	phased op.Phased
	phases int
	// hi is the upper bound of the only range of a task that has one range, [0, hi), and is -1 otherwise.
	// Most short tasks are of this kind.
	hi int32
}

// tiles returns the numbers of the tiles that the task runs: from first to end-1.
func (t *Task) tiles() (first, end int) {
	if t.Tile > 0 {
		return int(t.Tile) - 1, int(t.Tile)
	}
	return 0, t.Grid.Tiles()
}

// check returns an error unless the task can run, and fills in hi and the phases.
func (t *Task) check() error {
	if t.Body == nil || t.Grid == nil {
		return errors.New("want a body and a grid, got none")
	}
	if err := t.Grid.Check(); err != nil {
		return err
	}
	n := t.Grid.Tiles()
	if t.Tile < 0 || int(t.Tile) > n {
		return fmt.Errorf("want tile 1 to %d, got %d", n, t.Tile)
	}
	t.phases = 1
	if b, ok := t.Body.(op.Phased); ok && b.Whole() {
		t.phased, t.phases = b, b.Phases()
	}
	if t.Tile > 0 && op.IsWhole(t.Body) {
		return errors.New("want a kernel that computes the tiles of its step one by one, since each of them is a task of the plan, got one that " +
			"computes the step at once")
	}
	t.hi = -1
	if n == 1 && t.Grid.Rank() == 1 && t.Grid.Over <= math.MaxInt32 {
		t.hi = int32(t.Grid.Over)
	}
	return nil
}

// line is a counter that others wait for. Those of different workers have cache lines of their own.
type line struct {
	v       atomic.Int64
	waiters atomic.Int64 // that sleep until the counter has changed
	_       [112]byte
}

// worker keeps the contexts of different workers in cache lines of their own.
type worker struct {
	op.Ctx
	_ [112]byte
}

// shared counts the tiles of a shared task.
type shared struct {
	next line // the tile to take next, counted from the first
	done line // how many are finished
}

// Program is a schedule with its tasks, ready to run. It is run by one pool at a time.
type Program struct {
	schedule *schedule.Schedule
	tasks    []Task
	progress []line // per worker: position of its queue that it has signaled
	shared   []shared
	slot     []int32 // per task: index into shared; only if there are any
	serial   bool    // all tasks are worker 0's
	// Failed, unless nil, is called with the error of each task that fails, while other workers may still
	// run. It may end what they wait for within bodies.
	Failed func(*Error)
}

// NewProgram binds a schedule to its tasks, which belong to the program from then on.
func NewProgram(s *schedule.Schedule, tasks []Task) (*Program, error) {
	if s.Tasks != len(tasks) {
		return nil, fmt.Errorf("exec: want %d tasks, got %d", s.Tasks, len(tasks))
	}
	for i := range tasks {
		if err := tasks[i].check(); err != nil {
			return nil, fmt.Errorf("exec: task %d: %w", i, err)
		}
	}
	p := &Program{schedule: s, tasks: tasks, progress: make([]line, s.Workers()), shared: make([]shared, len(s.Shared))}
	p.serial = true
	for _, q := range s.Queues[1:] {
		p.serial = p.serial && len(q) == 0
	}
	if len(s.Shared) > 0 {
		p.slot = make([]int32, len(tasks))
		for k, t := range s.Shared {
			p.slot[t] = int32(k)
		}
	}
	return p, nil
}

// Error is the error of a task: which one, in which range, and what its body returned or the *Panic
// that it raised.
type Error struct {
	Task  int
	Range op.Range
	Err   error
}

func (e *Error) Error() string {
	return fmt.Sprintf("task %d, range %v: %v", e.Task, e.Range, e.Err)
}

// Unwrap returns the body's error.
func (e *Error) Unwrap() error { return e.Err }

// Pool is a set of workers that outlive programs. The goroutine that calls Run is worker 0.
type Pool struct {
	workers int
	mu      sync.Mutex // one program at a time
	closed  bool

	job     job
	stop    func() bool        // whether the job is to end
	members []goroutine.Member // per helper

	epoch   atomic.Uint64   // number of the current job; a change starts it
	parked  []chan struct{} // per helper; a token wakes it
	asleep  []atomic.Bool   // per helper
	stopped sync.WaitGroup
}

// job is one run of a program. A pool has one, which helpers touch only between the change of epoch
// that starts it and their count in helped.
type job struct {
	program *Program
	ctx     []*op.Ctx       // per worker
	done    <-chan struct{} // of the context
	end     bool            // tells helpers to exit
	abort   atomic.Bool
	helped  line // helpers that have finished

	waiting sync.Mutex
	changed sync.Cond // a counter with waiters has changed, or the job is aborted

	mu   sync.Mutex
	err  *Error
	tile int // that err is about
}

// NewPool returns a pool of workers, of which all but one are goroutines of its own.
func NewPool(workers int) *Pool {
	p := &Pool{workers: max(workers, 1)}
	p.parked = make([]chan struct{}, p.workers)
	p.asleep = make([]atomic.Bool, p.workers)
	p.members = make([]goroutine.Member, p.workers)
	p.job.changed.L = &p.job.waiting
	p.stop = p.job.stopped
	for w := range p.workers {
		p.job.ctx = append(p.job.ctx, &new(worker).Ctx)
		p.job.ctx[w].Worker = w
	}
	for w := 1; w < p.workers; w++ {
		p.parked[w] = make(chan struct{}, 1)
		p.stopped.Add(1)
		go p.help(w, 0)
	}
	return p
}

// Helps reports whether a goroutine is one of the pool's own. That of worker 0 is the caller's.
func (p *Pool) Helps(id uint64) bool {
	for w := range p.members {
		if p.members[w].Is(id) {
			return true
		}
	}
	return false
}

// Workers returns the number of workers.
func (p *Pool) Workers() int { return p.workers }

// Close stops the workers, after the program that is running, and waits until they have.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.job.end = true
	p.release()
	p.stopped.Wait()
}

// release hands the job to the helpers.
func (p *Pool) release() {
	p.job.helped.v.Store(0)
	p.epoch.Add(1)
	for w := 1; w < p.workers; w++ {
		if p.asleep[w].Load() && p.asleep[w].CompareAndSwap(true, false) {
			p.parked[w] <- struct{}{}
		}
	}
}

// How long a worker looks for what it waits for before it sleeps: some turns of busy waiting, then some in
// which it lets other goroutines run. A sleeping worker takes some microseconds to wake, so short waits are
// shorter without sleep. Longer ones would take processor time that a quota counts, and behind goroutines
// that compute each yield may take 10 ms.
const (
	spinTurns  = 300
	yieldTurns = 200
)

// help runs the part of worker w in each job. last is the number of the job that it has seen.
func (p *Pool) help(w int, last uint64) {
	p.members[w].Join()
	j := &p.job
	busy := false
	defer func() {
		if !busy {
			p.stopped.Done()
			return
		}
		go p.help(w, last) // in place of this goroutine, which a body has ended
		j.advance(&j.helped)
	}()
	for turns := 0; ; turns++ {
		if e := p.epoch.Load(); e != last {
			last, turns = e, 0
			if j.end {
				return
			}
			busy = true
			j.run(w)
			busy = false
			j.advance(&j.helped)
			continue
		}
		switch {
		case turns < spinTurns:
		case turns < spinTurns+yieldTurns:
			runtime.Gosched()
		default:
			p.asleep[w].Store(true)
			if p.epoch.Load() != last && p.asleep[w].CompareAndSwap(true, false) {
				continue // a job came in between, and no token was sent for it
			}
			<-p.parked[w]
			turns = 0
		}
	}
}

// Run runs a program once. step is what bodies see as op.Ctx.Step. If a body fails or panics, or ctx is done,
// workers stop before their next range, and bodies that ask op.Ctx.Stopped within theirs; the error is an
// *Error, or the context's cause. The pool is then ready for the next run. A body that ends its goroutine
// fails with goroutine.ErrExited. If it is one of worker 0, Run does not return, and Exited gives the error.
func (p *Pool) Run(ctx context.Context, prog *Program, step uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("exec: the pool is closed")
	}
	if w := prog.schedule.Workers(); w != p.workers {
		return fmt.Errorf("exec: a program for %d workers in a pool of %d", w, p.workers)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	prog.reset()
	j := &p.job
	j.program, j.done, j.err = prog, ctx.Done(), nil
	number := op.NextRun()
	var stop func() bool
	if j.done != nil {
		stop = p.stop
	}
	for w, c := range j.ctx {
		c.Worker, c.Step, c.Run, c.Stop = w, step, number, stop // bodies may have changed them
	}
	j.abort.Store(false)
	p.runJob()
	switch {
	case j.err != nil:
		return j.err
	case j.abort.Load():
		return context.Cause(ctx)
	}
	return nil
}

// runJob runs the job and waits for the helpers, also if a body ends the calling goroutine.
func (p *Pool) runJob() {
	j := &p.job
	if j.program.serial {
		defer j.clear()
	} else {
		p.release()
		defer func() {
			j.await(&j.helped, int64(p.workers-1), false)
			j.clear()
		}()
	}
	j.run(0)
}

func (j *job) clear() { j.program, j.done = nil, nil }

// Exited returns the error of a run that has ended the goroutine of its caller.
func (p *Pool) Exited() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job.err == nil {
		return goroutine.ErrExited
	}
	return p.job.err
}

func (p *Program) reset() {
	for w := range p.progress {
		p.progress[w].v.Store(0)
	}
	for k := range p.shared {
		p.shared[k].next.v.Store(0)
		p.shared[k].done.v.Store(0)
	}
}

// run walks the queue of worker w.
func (j *job) run(w int) {
	var at place
	finished := false
	defer func() {
		if v := recover(); v != nil {
			j.fail(&at, &Panic{v, debug.Stack()})
		} else if !finished {
			j.fail(&at, goroutine.ErrExited)
		}
	}()
	j.walk(w, &at)
	finished = true
}

// walk is run without its care for bodies that panic or end the goroutine. at becomes the place where it is.
func (j *job) walk(w int, at *place) {
	p, ctx := j.program, j.ctx[w]
	tasks, queue := p.tasks, p.schedule.Queues[w]
	plain := j.done == nil
	for i := 0; i < len(queue); i++ {
		code := queue[i]
		if code < 0 {
			if !j.other(w, i, at) {
				return
			}
			continue
		}
		t := &tasks[code]
		at.task = int(code)
		if !plain || t.hi < 0 {
			if !j.ranges(ctx, t, at) {
				return
			}
			continue
		}
		// One range, and nothing to check besides the job's end.
		if j.abort.Load() {
			return
		}
		at.tile = 0
		if err := t.Body.Run(ctx, op.Range{Hi: int(t.hi)}); err != nil {
			j.fail(at, err)
			return
		}
	}
}

// place is what a worker runs: a tile of a task.
type place struct{ task, tile int }

// ranges runs the tiles of a task, one after the other. It returns false if the job is to end.
func (j *job) ranges(ctx *op.Ctx, t *Task, at *place) bool {
	g := t.Grid
	if len(g.Inner) == 0 && t.Tile == 0 { // without the divisions that numbers of tiles need
		at.tile = 0
		for r := (op.Range{}); r.Lo < g.Over; at.tile++ {
			r.Hi = r.Lo + min(g.Grain, g.Over-r.Lo)
			if j.stopped() {
				return false
			}
			if err := t.Body.Run(ctx, r); err != nil {
				j.fail(at, err)
				return false
			}
			r.Lo = r.Hi
		}
		return true
	}
	first, end := t.tiles()
	for at.tile = first; at.tile < end; at.tile++ {
		if j.stopped() {
			return false
		}
		if err := t.Body.Run(ctx, g.Tile(at.tile)); err != nil {
			j.fail(at, err)
			return false
		}
	}
	return true
}

// other does what entry i of the queue of worker w says, which is not to run a task alone. It returns
// false if the job is to end.
func (j *job) other(w, i int, at *place) bool {
	p := j.program
	switch kind, n := p.schedule.Queues[w][i].Decode(); kind {
	case schedule.Signal:
		p.progress[w].v.Store(int64(i + 1))
		j.wakeWaiters(&p.progress[w])
	case schedule.WaitFor:
		wait := p.schedule.Waits[n]
		return j.await(&p.progress[wait.Worker], int64(wait.Position), true)
	case schedule.WaitShared:
		t := &p.tasks[n]
		first, end := t.tiles()
		return j.await(&p.shared[p.slot[n]].done, int64((end-first)*t.phases), true)
	case schedule.Share:
		at.task = n
		return j.share(j.ctx[w], n, at)
	}
	return true
}

// share takes tiles of a shared task until none is left.
func (j *job) share(ctx *op.Ctx, n int, at *place) bool {
	p := j.program
	t, s := &p.tasks[n], &p.shared[p.slot[n]]
	if t.phased != nil {
		return j.sharePhases(ctx, t, s, at)
	}
	first, end := t.tiles()
	for {
		if j.stopped() {
			return false
		}
		at.tile = first + int(s.next.v.Add(1)-1)
		if at.tile >= end {
			return true
		}
		if err := t.Body.Run(ctx, t.Grid.Tile(at.tile)); err != nil {
			j.fail(at, err)
			return false
		}
		j.advance(&s.done)
	}
}

// sharePhases takes tiles of a shared task, those of one phase after the other. All tiles of a phase have
// been taken when the first one of the next is, by workers that wait for nothing, so the phase ends.
func (j *job) sharePhases(ctx *op.Ctx, t *Task, s *shared, at *place) bool {
	n := t.Grid.Tiles()
	for {
		if j.stopped() {
			return false
		}
		k := int(s.next.v.Add(1) - 1)
		phase := k / n
		if phase >= t.phases {
			return true
		}
		at.tile = k % n
		if phase > 0 && !j.await(&s.done, int64(phase*n), true) {
			return false
		}
		if err := t.phased.RunPhase(ctx, phase, t.Grid.Tile(at.tile)); err != nil {
			j.fail(at, err)
			return false
		}
		j.advance(&s.done)
	}
}

// await waits until a counter reaches a value. If it gives up, it returns false as soon as the job is
// aborted.
func (j *job) await(l *line, value int64, givesUp bool) bool {
	for turns := 0; l.v.Load() < value; turns++ {
		switch {
		case givesUp && (j.abort.Load() || turns >= spinTurns && j.stopped()):
			return false
		case turns < spinTurns:
		case turns < spinTurns+yieldTurns:
			runtime.Gosched()
		default:
			j.sleep(l, value, givesUp)
		}
	}
	return true
}

// sleep is await without busy waiting. A worker that sleeps does not look at the context; another one that
// runs does.
func (j *job) sleep(l *line, value int64, givesUp bool) {
	j.waiting.Lock()
	defer j.waiting.Unlock()
	l.waiters.Add(1) // before it looks at the counter, so that a later change finds it
	defer l.waiters.Add(-1)
	for l.v.Load() < value && !(givesUp && j.abort.Load()) {
		j.changed.Wait()
	}
}

// advance adds 1 to a counter.
func (j *job) advance(l *line) {
	l.v.Add(1)
	j.wakeWaiters(l)
}

// wakeWaiters wakes the workers that sleep until a counter has changed.
func (j *job) wakeWaiters(l *line) {
	if l.waiters.Load() > 0 {
		j.wake()
	}
}

// wake wakes all workers that sleep.
func (j *job) wake() {
	j.waiting.Lock() // so that no worker is about to sleep which has not seen the change
	defer j.waiting.Unlock()
	j.changed.Broadcast()
}

// stopped reports whether the job is aborted, and aborts it if its context is done.
func (j *job) stopped() bool { return j.abort.Load() || j.done != nil && j.canceled() }

func (j *job) canceled() bool {
	select {
	case <-j.done:
		j.abort.Store(true)
		j.wake()
		return true
	default:
		return false
	}
}

// fail keeps the error of the earliest task and tile, and stops the job. It tells the program, so that bodies
// which wait for others end, too.
func (j *job) fail(at *place, err error) {
	err = Plain(err)
	r := j.program.tasks[at.task].Grid.Tile(at.tile)
	j.mu.Lock()
	if j.err == nil || at.task < j.err.Task || at.task == j.err.Task && at.tile < j.tile {
		j.err, j.tile = &Error{at.task, r, err}, at.tile
	}
	j.mu.Unlock()
	j.abort.Store(true)
	j.wake()
	if f := j.program.Failed; f != nil {
		f(&Error{at.task, r, err})
	}
}
