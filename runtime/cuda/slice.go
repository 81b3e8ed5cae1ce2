//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/internal/cudadriver"
	"github.com/opgen/opgen/runtime/internal/onekernel"
)

// slice is tasks of a plan that follow each other and run as one kernel: see package onekernel.
type slice struct {
	lane     *lane
	tasks    []int
	items    []onekernel.Item
	bodies   []onekernel.Body
	of       []*binding // whose units have the bodies
	builtin  bool       // whether some bodies are of built-in operations
	function cu.Function
	shared   uint32 // bytes of dynamic shared memory
	workers  int

	table, args, progress, halt cu.DevicePtr
	sent                        []byte // pinned: the arguments
	counts                      []byte // pinned: how far workers are, as the host saw it last
	halted                      []byte // pinned: see opgen_halted
	haltedAt                    uint64
	stepped                     bool   // whether arguments are the number of the training step
	begin                       uint64 // counts of the next run begin behind it
	unclean                     bool   // whether counts may be of a run that was not finished
}

// makeSlices finds the tasks that run as one kernel, and makes the kernels.
func (p *program) makeSlices() error {
	if !p.backend.one || p.queues.Observe != nil || len(p.lanes) != 1 || p.lanes[0].device.together == 0 {
		return nil
	}
	var kept []command
	for i := 0; i < len(p.steps); {
		s := &slice{lane: p.lanes[0]}
		end := i
		for end < len(p.steps) && p.steps[end].kind == runTask && p.extend(s, p.steps[end].task) {
			end++
		}
		if len(s.items) < 2 { // a kernel by itself is a launch
			end = max(end, i+1)
			kept = append(kept, p.steps[i:end]...)
			i = end
			continue
		}
		if err := p.makeSlice(s); err != nil {
			return fmt.Errorf("one kernel of %d tasks: %w", len(s.tasks), err)
		}
		p.slices = append(p.slices, s)
		kept = append(kept, command{kind: runSlice, lane: s.lane, task: s.tasks[0], slice: s})
		i = end
	}
	p.steps = kept
	return nil
}

// extend adds the launches of a task to a slice. It returns false if one of them cannot be part of a kernel.
func (p *program) extend(s *slice, task int) bool {
	launches, ok := p.launches(nil, p.jobs[task])
	if !ok {
		return false
	}
	s.tasks = append(s.tasks, task)
	for _, l := range launches {
		body := slices.Index(s.bodies, l.body)
		if body < 0 {
			body = len(s.bodies)
			s.bodies = append(s.bodies, l.body)
			if l.of != nil {
				s.of = append(s.of, l.of)
			}
		}
		s.builtin = s.builtin || l.of == nil
		s.stepped = s.stepped || len(l.steps) > 0
		s.shared = max(s.shared, l.shared)
		s.items = append(s.items, onekernel.Item{Body: body, Task: task, Blocks: l.grid, Args: l.args, Steps: l.steps})
	}
	return true
}

// launches lists the launches of a job; ok is false if it does something else, too.
func (p *program) launches(list []*kernel, j job) (_ []*kernel, ok bool) {
	switch j := j.(type) {
	case *kernels:
		for i := range j.launches {
			l := &j.launches[i]
			if l.body.Name == "" || l.block != [3]uint32{onekernel.Threads, 1, 1} || l.product != nil && p.products[p.lanes[0].stream] != nil {
				return nil, false
			}
			list = append(list, l)
		}
		return list, true
	case *sequence:
		for _, part := range j.parts {
			if list, ok = p.launches(list, part); !ok {
				return nil, false
			}
		}
		return list, true
	}
	return nil, false
}

// makeSlice compiles the kernel of a slice, and proves its table.
func (p *program) makeSlice(s *slice) error {
	d := s.lane.device
	source := unitsSource(s.of)
	if s.builtin {
		source += builtinSource
	}
	image, err := p.backend.compiler.image(source+onekernel.Source(s.bodies), d.arch)
	if err != nil {
		return err
	}
	err = d.do(func() error {
		m, err := cu.LoadData(string(image))
		if err != nil {
			return cudadriver.Wrap("cuModuleLoadData", err)
		}
		p.onClose(d, "cuModuleUnload", m.Unload)
		s.function, err = m.Function(onekernel.Entry)
		return cudadriver.Wrap("cuModuleGetFunction "+onekernel.Entry, err)
	})
	if err != nil {
		return err
	}
	if err := p.reside(s); err != nil {
		return err
	}
	onekernel.Order(p.queues.Plan, s.items)
	table, args := onekernel.Encode(s.items)
	if s.table, err = p.upload(d, table); err != nil {
		return err
	}
	if s.args, err = p.upload(d, args); err != nil {
		return err
	}
	if s.sent, err = p.pinned(d, max(len(args), 8)); err != nil {
		return err
	}
	copy(s.sent, args)
	words := 8 * (s.workers + 1)
	if s.progress, err = p.buffer(d, int64(words)); err != nil {
		return err
	}
	s.halt = s.progress + cu.DevicePtr(8*s.workers)
	if s.counts, err = p.pinned(d, words); err != nil {
		return err
	}
	if s.halted, err = p.pinned(d, haltedBytes); err != nil {
		return err
	}
	err = d.do(func() (err error) {
		s.haltedAt, err = cudadriver.DeviceAddress(s.halted)
		return err
	})
	if err != nil {
		return err
	}
	return p.prove(s, len(table), len(args))
}

// haltedBytes is the size of opgen_halted.
const haltedBytes = 40

// reside sets the number of workers: as many blocks as the device holds at the same time, but no more than an
// item has.
func (p *program) reside(s *slice) error {
	d := s.lane.device
	return d.do(func() error {
		if s.shared > 48<<10 {
			if err := cudadriver.AllowShared(s.function, int(s.shared)); err != nil {
				return err
			}
		}
		n, err := cudadriver.Resident(s.function, onekernel.Threads, int(s.shared))
		if err != nil {
			return err
		}
		if n < 1 {
			return fmt.Errorf("want a block of the kernel to fit a multiprocessor of device %d (%s), with %d bytes of dynamic shared memory", d.number, d.name, s.shared)
		}
		most := 1
		for i := range s.items {
			b := s.items[i].Blocks
			most = max(most, int(b[0]*b[1]*b[2]))
		}
		s.workers = min(n*d.together, most)
		return nil
	})
}

// upload returns memory of a device that holds bytes.
func (p *program) upload(d *device, b []byte) (cu.DevicePtr, error) {
	at, err := p.buffer(d, int64(max(len(b), 8)))
	if err != nil || len(b) == 0 {
		return at, err
	}
	return at, d.call("cuMemcpyHtoD", func() error { return cu.MemcpyHtoD(at, unsafe.Pointer(unsafe.SliceData(b)), int64(len(b))) })
}

// prove reads the table of a slice from its device, and checks it.
func (p *program) prove(s *slice, table, args int) error {
	read := func(at cu.DevicePtr, n int) ([]byte, error) {
		b := make([]byte, n)
		if n == 0 {
			return b, nil
		}
		return b, s.lane.device.call("cuMemcpyDtoH", func() error { return cu.MemcpyDtoH(unsafe.Pointer(unsafe.SliceData(b)), at, int64(n)) })
	}
	t, err := read(s.table, table)
	if err != nil {
		return err
	}
	a, err := read(s.args, args)
	if err != nil {
		return err
	}
	return onekernel.Check(p.queues.Plan, len(s.bodies), s.items, t, a)
}

// begin launches the kernel of a slice.
func (r *run) begin(s *slice) error {
	stream := s.lane.stream
	if s.unclean {
		s.begin = 0
		clear(s.halted)
		if err := cudadriver.Wrap("cuMemsetD8Async", cu.MemsetD8Async(s.progress, 0, int64(len(s.counts)), stream)); err != nil {
			return err
		}
	}
	if s.stepped {
		n := 0
		for i := range s.items {
			for _, a := range s.items[i].Steps {
				binary.LittleEndian.PutUint64(s.sent[8*(n+a):], r.step)
			}
			n += len(s.items[i].Args)
		}
		if err := cudadriver.Wrap("cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(s.args, unsafe.Pointer(unsafe.SliceData(s.sent)), int64(8*n), stream)); err != nil {
			return err
		}
	}
	s.unclean = true
	r.running = append(r.running, s)
	return cudadriver.LaunchTogether(s.function, uint32(s.workers), onekernel.Threads, s.shared, stream, []uint64{uint64(s.table), uint64(len(s.items)), uint64(s.args),
		uint64(s.progress), s.begin, uint64(s.halt), s.haltedAt, uint64(r.backend.patience.Nanoseconds())})
}

// watch waits until the kernels that were launched have ended. While they run it looks whether they go on:
// the driver would wait forever.
func (r *run) watch() error {
	if len(r.running) == 0 {
		return nil
	}
	s := r.running[len(r.running)-1]
	began, nap := time.Now(), time.Microsecond
	looked, moved := began, began
	halting := false
	for {
		idle, err := cudadriver.Idle(s.lane.stream)
		if err != nil {
			return err
		}
		if idle {
			break
		}
		now := time.Now()
		if now.Sub(began) > time.Millisecond {
			time.Sleep(nap)
			nap = min(2*nap, time.Millisecond)
		}
		if r.ctx.Err() != nil && !halting {
			halting = true
			for _, s := range r.running {
				if err := s.stop(); err != nil {
					return err
				}
			}
		}
		if now.Sub(looked) < r.backend.patience/2 {
			continue
		}
		looked = now
		changed := false
		for _, s := range r.running {
			c, err := s.look()
			if err != nil {
				return err
			}
			changed = changed || c
		}
		if changed {
			moved = now
		} else if now.Sub(moved) > 2*r.backend.patience { // longer than blocks wait
			return r.abandon(now.Sub(moved))
		}
	}
	for _, s := range r.running {
		if e := r.stuck(s); e != nil {
			return e
		}
		if halting {
			return context.Cause(r.ctx)
		}
		s.begin += uint64(len(s.items))
		s.unclean = false
	}
	r.running = r.running[:0]
	return nil
}

// stop makes the workers of a slice end that wait. It is a copy that has ended when stop returns: a memset
// may need a multiprocessor, all of which the kernel has, and a later one would stop the next run.
func (s *slice) stop() error {
	word := s.counts[8*s.workers:]
	binary.LittleEndian.PutUint64(word, 2)
	d := s.lane.device
	return d.call("cuMemcpyHtoDAsync", func() error {
		err := cu.MemcpyHtoDAsync(s.halt, unsafe.Pointer(unsafe.SliceData(word)), 8, d.transfer)
		if err == nil {
			err = d.transfer.Synchronize()
		}
		return err
	})
}

// look copies how far workers are, and reports whether one of them has gone on.
func (s *slice) look() (bool, error) {
	d, before := s.lane.device, slices.Clone(s.counts)
	err := d.call("cuMemcpyDtoHAsync", func() error {
		err := cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(s.counts)), s.progress, int64(len(s.counts)), d.transfer)
		if err == nil {
			err = d.transfer.Synchronize()
		}
		return err
	})
	return !slices.Equal(before, s.counts), err
}

// stuck returns the error that a worker of a slice left which waited for too long; nil if none did.
func (r *run) stuck(s *slice) *StuckError {
	word := func(i int) int { return int(binary.LittleEndian.Uint64(s.halted[8*i:])) }
	if word(0) == 0 {
		return nil
	}
	task := s.items[min(word(4), len(s.items)-1)].Task
	return &StuckError{Worker: word(1), Waiting: r.queues.Plan.Label(s.items[word(2)].Task), For: word(3), At: r.queues.Plan.Label(task), Ended: true, Waited: r.backend.patience, task: task}
}

// abandon returns the error of a kernel that does not end, and gives the backend up.
func (r *run) abandon(waited time.Duration) error {
	e := &StuckError{Worker: -1, Waited: waited.Round(time.Millisecond)}
	for _, s := range r.running {
		if left := r.stuck(s); left != nil {
			left.Ended = false
			e = left
			break
		}
		least := len(s.items)
		for w := range s.workers {
			if at := int(binary.LittleEndian.Uint64(s.counts[8*w:]) - s.begin); at < least {
				least, e.For = at, w
				e.task = s.items[at].Task
			}
		}
		if least < len(s.items) {
			break
		}
	}
	e.At = r.queues.Plan.Label(e.task)
	b := r.backend
	b.stuck.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost == nil {
		b.lost = e
	}
	return e
}
