//go:build cuda

package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
	"github.com/opgen/opgen/runtime/internal/goroutine"
	"github.com/opgen/opgen/runtime/internal/onekernel"
	"github.com/opgen/opgen/runtime/op"
)

// execution is a task in a run: what it is given to.
type execution struct {
	*program
	ctx     context.Context
	step    uint64
	stream  cu.Stream
	task    int
	part    int // of a group
	worker  int
	grid    op.Grid
	tile    int
	observe func(engine.Event)
	// captured is not nil while the streams of the run are captured.
	captured *capturing
	body     *kernelError // where a Go kernel is that runs; nil if none does
}

// job is what a task does. Its error is of the driver, a *kernelError, or the cause of the context.
type job interface {
	enqueue(x *execution) error
}

// kernels launches device code, or products of a library in its place.
type kernels struct{ launches []kernel }

// kernel is a launch, with arguments. Those of steps are the number of the training step.
type kernel struct {
	function    cu.Function
	grid, block [3]uint32
	shared      uint32
	args        []uint64
	steps       []int
	product     *product       // that takes the place of the launch; nil if none does
	body        onekernel.Body // computes a block; its name is "" if only the function does
	of          *binding       // whose unit has it; nil for a built-in operation
}

func (k *kernels) enqueue(x *execution) error {
	for i := range k.launches {
		l := &k.launches[i]
		if library := x.products[x.stream]; l.product != nil && library != nil {
			if err := l.product.enqueue(library); err != nil {
				return err
			}
			continue
		}
		for _, a := range l.steps {
			l.args[a] = x.step
		}
		if err := cudadriver.Launch(l.function, l.grid, l.block, l.shared, x.stream, l.args); err != nil {
			return err
		}
		if x.captured != nil {
			if err := x.captured.note(x.stream, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *transfer) enqueue(x *execution) error {
	if t.toDevice == t.fromDevice {
		return cudadriver.Wrap("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(t.to, t.from, t.bytes, x.stream))
	}
	return cudadriver.Wrap("cuMemcpyPeerAsync", cu.MemcpyPeerAsync(t.to, t.toDevice.context, t.from, t.fromDevice.context, t.bytes, x.stream))
}

// sequence runs jobs one after the other, each over a grid of its own.
type sequence struct {
	parts []job
	grids []op.Grid
}

func (s *sequence) enqueue(x *execution) error {
	part := *x
	for i, j := range s.parts {
		part.part, part.grid, part.tile = i, s.grids[i], 0
		err := j.enqueue(&part)
		x.body = part.body
		if err != nil {
			return err
		}
	}
	return nil
}

// run is a run of a program.
type run struct {
	*program
	ctx     context.Context
	step    uint64
	on      *device // whose context is current
	at      execution
	done    int  // commands
	entered bool // whether a context was pushed

	captured *capturing // nil unless the streams are captured
	replayed bool       // whether a graph ran the tasks
	running  []*slice   // whose kernels were launched
}

// Run runs the plan once. The context is looked at before each task that is launched by itself, or before all
// tasks, and at the end: what devices do cannot be interrupted.
func (p *program) Run(ctx context.Context, step uint64) (err error) {
	if err := p.backend.working(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &run{program: p, ctx: ctx, step: step}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer r.leave()
	returned := false
	defer func() {
		if !returned { // a kernel has ended the goroutine
			p.exited = goroutine.ErrExited
			if at := r.at.body; at != nil {
				p.exited = &engine.RangeError{Task: r.at.task, Part: -1, Range: at.at, Err: goroutine.ErrExited}
			}
			r.settle()
		}
	}()
	err = r.run()
	returned = true
	return err
}

// Exited returns the error of a run that did not return, since a kernel has ended the goroutine that called
// it.
func (p *program) Exited() error { return p.exited }

// enter makes the context of a device current.
func (r *run) enter(d *device) error {
	switch {
	case r.on == d:
		return nil
	case !r.entered:
		if err := cu.PushCurrentCtx(d.context); err != nil {
			return cudadriver.Wrap("cuCtxPushCurrent", err)
		}
		r.entered = true
	default:
		if err := cu.SetCurrentContext(d.context); err != nil {
			return cudadriver.Wrap("cuCtxSetCurrent", err)
		}
	}
	r.on = d
	return nil
}

func (r *run) leave() {
	if r.entered {
		_, _ = cu.PopCurrentCtx() // the error is that of earlier calls
	}
}

func (r *run) run() error {
	if len(r.lanes) == 0 {
		return nil
	}
	if err := r.prepare(); err != nil {
		return r.failed(err)
	}
	if done, err := r.replay(); err != nil {
		r.done = len(r.steps)
		return r.failed(err)
	} else if !done {
		if err := r.launch(); err != nil {
			return err
		}
	}
	r.done = len(r.steps)
	if err := r.finish(); err != nil {
		return r.failed(err)
	}
	if task, err := r.fault(); err != nil {
		return errors.Join(&engine.RangeError{Task: task, Range: r.whole(task), Err: err}, r.clean())
	}
	if r.timing != nil {
		if err := r.report(); err != nil {
			return err
		}
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.runs++
	return nil
}

// launch launches the tasks one by one.
func (r *run) launch() error {
	for i := range r.steps {
		if r.ctx.Err() != nil {
			r.settle()
			return context.Cause(r.ctx)
		}
		r.done = i
		if err := r.command(i); err != nil {
			return r.failed(err)
		}
	}
	return nil
}

// prepare sends what changed since the last run.
func (r *run) prepare() error {
	if err := r.send(); err != nil {
		return err
	}
	if r.unclean {
		if err := r.clean(); err != nil {
			return err
		}
	}
	clear(r.marks)
	if r.timing != nil {
		return r.timing.begin(r)
	}
	return nil
}

// send copies to devices what the host changed.
func (p *program) send() error {
	for _, c := range p.copies {
		changed := false
		for _, x := range c.parts {
			if to := c.sent[x.off : x.off+len(x.from)]; !bytes.Equal(x.from, to) {
				copy(to, x.from)
				changed = true
			}
		}
		if !changed {
			continue
		}
		err := c.device.do(func() error {
			err := cu.MemcpyHtoDAsync(c.at, unsafe.Pointer(unsafe.SliceData(c.sent)), int64(c.used), c.device.transfer)
			if err == nil {
				err = c.device.transfer.Synchronize()
			}
			return cudadriver.Wrap("cuMemcpyHtoDAsync", err)
		})
		if err != nil {
			c.forget()
			return err
		}
	}
	return nil
}

// forget makes the next run copy all again.
func (c *copied) forget() {
	for _, x := range c.parts {
		for i, b := range x.from {
			c.sent[x.off+i] = ^b
		}
	}
}

// clean clears all records.
func (p *program) clean() error {
	p.unclean = true
	for _, l := range p.records {
		err := l.device.do(func() error {
			err := cu.MemsetD8Async(l.at, 0, int64(len(l.of)*gpu.RecordBytes), l.device.transfer)
			if err == nil {
				err = l.device.transfer.Synchronize()
			}
			return cudadriver.Wrap("cuMemsetD8Async", err)
		})
		if err != nil {
			return err
		}
	}
	p.unclean = false
	return nil
}

// command does command i.
func (r *run) command(i int) error {
	c := &r.steps[i]
	if err := r.enter(c.lane.device); err != nil {
		return err
	}
	switch c.kind {
	case recordPoint:
		return cudadriver.Wrap("cuEventRecord", r.events[c.point].Record(c.lane.stream))
	case awaitPoint:
		return cudadriver.Wrap("cuStreamWaitEvent", c.lane.stream.Wait(r.events[c.point], 0))
	case runSlice:
		return r.begin(c.slice)
	}
	return r.task(i, c)
}

// task runs the task of command i.
func (r *run) task(i int, c *command) error {
	t := &r.queues.Plan.Tasks[c.task]
	r.at = execution{program: r.program, ctx: r.ctx, step: r.step, stream: c.lane.stream, task: c.task, worker: c.lane.queue, grid: t.Grid(), tile: t.Tile, observe: r.queues.Observe, captured: r.captured}
	job := r.jobs[c.task]
	_, host := job.(*hostStep)
	if len(r.slices) > 0 && onHost(job) { // which waits for the stream
		if err := r.watch(); err != nil {
			return err
		}
	}
	if r.timing != nil && !host {
		if err := r.timing.record(i, 0, c.lane.stream); err != nil {
			return err
		}
	}
	if err := job.enqueue(&r.at); err != nil {
		return err
	}
	if r.timing != nil && !host {
		if err := r.timing.record(i, 1, c.lane.stream); err != nil {
			return err
		}
	}
	if r.marks != nil && r.captured == nil {
		return cudadriver.Store(c.lane.stream, c.lane.mark, uint32(i+1))
	}
	return nil
}

// finish waits for the first lane, which waits for the others, and gets the records of faults.
func (r *run) finish() error {
	first := r.lanes[0]
	for _, l := range r.records {
		if err := r.enter(l.device); err != nil {
			return err
		}
		s := first.stream
		if l.device != first.device { // whose work is done before
			s = l.device.transfer
			if err := r.enter(first.device); err != nil {
				return err
			}
			if err := cudadriver.Wrap("cuStreamSynchronize", first.stream.Synchronize()); err != nil {
				return err
			}
			if err := r.enter(l.device); err != nil {
				return err
			}
		}
		if err := r.fetchRecords(l.device, s); err != nil {
			return err
		}
		if s != first.stream {
			if err := cudadriver.Wrap("cuStreamSynchronize", s.Synchronize()); err != nil {
				return err
			}
		}
	}
	if err := r.enter(first.device); err != nil {
		return err
	}
	if err := r.watch(); err != nil {
		return err
	}
	return cudadriver.Wrap("cuStreamSynchronize", first.stream.Synchronize())
}

// fetchRecords makes a stream copy the records of a device to the host.
func (p *program) fetchRecords(d *device, s cu.Stream) error {
	for _, l := range p.records {
		if l.device != d {
			continue
		}
		if err := cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(l.values)), l.at, int64(len(l.values)), s); err != nil {
			return cudadriver.Wrap("cuMemcpyDtoHAsync", err)
		}
	}
	return nil
}

// fault returns the error of the earliest task that left a record.
func (p *program) fault() (task int, err error) {
	for _, l := range p.records {
		for i, b := range l.of {
			v := l.values[i*gpu.RecordBytes:]
			word := func(k int) int64 { return int64(binary.LittleEndian.Uint64(v[8*k:])) }
			r := gpu.Record{Code: word(0), Values: [3]int64{word(1), word(2), word(3)}}
			if r.Code == 0 || err != nil && l.task[i] >= task {
				continue
			}
			task, err = l.task[i], unknownFault(b, r)
			if b.unit.Fault != nil {
				if e := b.unit.Fault(r); e != nil {
					err = e
				}
			}
		}
	}
	if err != nil {
		p.unclean = true
	}
	return task, err
}

func unknownFault(b *binding, r gpu.Record) error {
	s := b.call.Signature
	return &op.Error{Operator: s.Operator.Name, Task: s.Task, Message: fmt.Sprintf("device code left fault %d with %v", r.Code, r.Values)}
}

// settle waits until nothing runs any more.
func (r *run) settle() {
	r.unclean = len(r.records) > 0
	for _, l := range r.lanes {
		if r.enter(l.device) == nil {
			_ = l.stream.Synchronize() // the run has an error already
		}
	}
}

// failed returns the error of a run, once nothing runs any more.
func (r *run) failed(err error) error {
	var stuck *StuckError
	if !errors.As(err, &stuck) || stuck.Ended {
		r.settle()
	}
	if stuck != nil {
		return &engine.RangeError{Task: stuck.task, Range: r.whole(stuck.task), Err: stuck}
	}
	var k *kernelError
	var e *cudadriver.Error
	switch {
	case errors.As(err, &k):
		return &engine.RangeError{Task: r.at.task, Part: k.part, Range: k.at, Err: k.err}
	case !errors.As(err, &e):
		return err // the cause of the context
	}
	for _, d := range r.backend.devices {
		r.backend.lose(d, err)
	}
	if r.backend.working() != nil {
		return r.located(err)
	}
	if r.done < len(r.steps) && r.steps[r.done].kind == runTask {
		task := r.steps[r.done].task
		return &engine.RangeError{Task: task, Range: r.whole(task), Err: err}
	}
	return err
}

// located returns the error of device code, with its task: the first of a lane that is not done. If several
// lanes were at work, it may be of any of them.
func (r *run) located(err error) error {
	if r.replayed { // which leaves no marks
		return fmt.Errorf("%w; %s=none tells which task was at fault", err, graphsVariable)
	}
	var tasks []int
	for i, l := range r.lanes {
		from := 0
		if r.marks != nil {
			from = int(binary.LittleEndian.Uint32(r.marks[4*i:]))
		}
		for k := from; k < len(r.steps) && k <= r.done; k++ {
			if c := &r.steps[k]; c.lane == l && c.kind == runTask {
				if _, host := r.jobs[c.task].(*hostStep); !host {
					tasks = append(tasks, c.task)
					break
				}
			}
		}
	}
	if len(tasks) == 0 {
		return err
	}
	for _, t := range tasks[1:] {
		err = fmt.Errorf("%w; or it is of %s, which ran at the same time", err, r.queues.Plan.Label(t))
	}
	return &engine.RangeError{Task: tasks[0], Range: r.whole(tasks[0]), Err: err}
}

// whole returns the range of all indices of a task.
func (p *program) whole(task int) op.Range {
	t := &p.queues.Plan.Tasks[task]
	g := t.Grid()
	if t.Tile > 0 {
		return g.Tile(t.Tile - 1)
	}
	return g.Whole()
}
