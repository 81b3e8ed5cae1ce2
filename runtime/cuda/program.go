//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
	"github.com/opgen/opgen/runtime/internal/onekernel"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

// program is a plan that is ready to run: its device code is loaded, and what it needs besides the plan's
// tensors is allocated.
type program struct {
	backend   *Backend
	queues    *engine.Queues
	jobs      []job // of each task
	steps     []command
	events    []cu.Event // of points of streams
	lanes     []*lane
	modules   map[moduleKey]*module
	copies    []*copied
	constants map[constantKey]cu.DevicePtr
	records   []*recordList
	scratch   map[*binding][]cu.DevicePtr
	products  map[cu.Stream]*cudadriver.Products // what multiplies matrices on a stream, where a library does

	multiplies map[*device]bool // whether it multiplies matrices there
	free       []func() error   // what frees what the program holds
	marks      []byte           // of 4 bytes for each lane: how far it is; nil if streams do not say so
	timing     *timing          // nil unless the runs are observed
	graphs     bool             // whether a graph runs the tasks, after a run that launched them one by one
	runs       int              // that succeeded
	graph      *replay          // nil until it is captured
	forked     cu.Event         // of the first stream, for which the others wait in a graph
	exited     error            // of the run in which a kernel ended its goroutine
	unclean    bool             // whether records may hold something
	slices     []*slice         // that run as one kernel each
}

// moduleKey says which device code a module has: that of built-in operations, or that of the plan.
type moduleKey struct {
	device  *device
	builtin bool
}

type module struct {
	cu.Module
	functions map[string]cu.Function
}

// Compile makes a program of a plan.
func (b *Backend) Compile(q *engine.Queues) (engine.Executable, error) {
	if err := b.working(); err != nil {
		return nil, err
	}
	tasks := make([]launchable, len(q.Tasks))
	for i, t := range q.Tasks {
		tasks[i] = t.(launchable)
		if s, ok := t.(*unitStep); ok && q.Plan.Tasks[i].Tile > 0 {
			h, err := s.onHost()
			if err != nil {
				return nil, fmt.Errorf("task %d: %w", i, err)
			}
			tasks[i] = h
		}
	}
	p := b.newProgram(q)
	if err := p.build(tasks); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (b *Backend) newProgram(q *engine.Queues) *program {
	return &program{backend: b, queues: q, modules: map[moduleKey]*module{}, constants: map[constantKey]cu.DevicePtr{}, scratch: map[*binding][]cu.DevicePtr{},
		products: map[cu.Stream]*cudadriver.Products{}, multiplies: map[*device]bool{}}
}

// build loads the device code of tasks, and makes their jobs and the commands that run them.
func (p *program) build(tasks []launchable) error {
	if err := p.load(tasks); err != nil {
		return err
	}
	for i, t := range tasks {
		j, err := t.job(p)
		if err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
		p.jobs = append(p.jobs, j)
	}
	p.order()
	for _, l := range p.lanes {
		if err := p.open(l.device, l.stream); err != nil {
			return err
		}
	}
	if err := p.makeEvents(); err != nil {
		return err
	}
	if err := p.makeMarks(); err != nil {
		return err
	}
	if err := p.makeRecords(); err != nil {
		return err
	}
	if err := p.makeSlices(); err != nil {
		return err
	}
	if p.graphs = len(p.slices) == 0 && p.graphable(); p.graphs && len(p.lanes) > 1 {
		var err error
		if p.forked, err = p.event(p.lanes[0].device, cu.DisableTiming); err != nil {
			return err
		}
	}
	if p.queues.Observe != nil {
		return p.makeTiming()
	}
	return nil
}

// load compiles and loads device code on each device that runs some.
func (p *program) load(tasks []launchable) error {
	units := map[*device]bool{}
	builtins := map[*device]bool{}
	var all []*binding
	for i, t := range tasks {
		for _, b := range t.bindings(nil) {
			all = append(all, b)
			units[b.device] = true
		}
		if t.builtin() {
			builtins[p.backend.devices[p.queues.Plan.Tasks[i].Device]] = true
		}
	}
	for _, d := range p.backend.devices {
		if builtins[d] {
			if err := p.loadModule(moduleKey{d, true}, gpu.Prelude+builtinSource); err != nil {
				return err
			}
		}
		if units[d] {
			if err := p.loadModule(moduleKey{d, false}, unitsSource(all)); err != nil {
				return err
			}
		}
	}
	for _, b := range all {
		if err := p.makeScratch(b); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) loadModule(key moduleKey, source string) error {
	image, err := p.backend.compiler.image(source, key.device.arch)
	if err != nil {
		return err
	}
	return key.device.do(func() error {
		m, err := cu.LoadData(string(image))
		if err != nil {
			return cudadriver.Wrap("cuModuleLoadData", err)
		}
		p.modules[key] = &module{m, map[string]cu.Function{}}
		p.onClose(key.device, "cuModuleUnload", m.Unload)
		return nil
	})
}

// onClose notes what Close calls.
func (p *program) onClose(d *device, name string, f func() error) {
	p.free = append(p.free, func() error {
		return d.release(func() error { return cudadriver.Wrap(name, f()) })
	})
}

// function returns a function of a module.
func (p *program) function(d *device, builtin bool, entry string) (cu.Function, error) {
	m := p.modules[moduleKey{d, builtin}]
	if f, ok := m.functions[entry]; ok {
		return f, nil
	}
	var f cu.Function
	err := d.do(func() (err error) {
		f, err = m.Function(entry)
		return cudadriver.Wrap("cuModuleGetFunction "+entry, err)
	})
	if err == nil {
		m.functions[entry] = f
	}
	return f, err
}

// buffer returns memory of a device that the program holds.
func (p *program) buffer(d *device, bytes int64) (cu.DevicePtr, error) {
	var at cu.DevicePtr
	err := d.do(func() (err error) {
		at, err = d.alloc(bytes)
		return err
	})
	if err == nil {
		p.onClose(d, "cuMemFree", func() error { return cu.MemFree(at) })
	}
	return at, err
}

// pinned returns zeroed pinned memory of the host that the program holds.
func (p *program) pinned(d *device, bytes int) (b []byte, err error) {
	err = d.do(func() error {
		b, err = cudadriver.Pinned(bytes)
		return err
	})
	if err == nil {
		p.onClose(d, "cuMemFreeHost", func() error { return cu.MemFreeHost(unsafe.Pointer(unsafe.SliceData(b))) })
		clear(b)
	}
	return b, err
}

// makeScratch allocates the buffers of a unit.
func (p *program) makeScratch(b *binding) error {
	if _, ok := p.scratch[b]; ok {
		return nil
	}
	list := make([]cu.DevicePtr, len(b.unit.Scratch))
	for i, n := range b.unit.Scratch {
		if n == 0 {
			continue
		}
		var err error
		if list[i], err = p.buffer(b.device, n); err != nil {
			return fmt.Errorf("scratch memory of %s: %w", b.call.Signature.Name(), err)
		}
	}
	p.scratch[b] = list
	return nil
}

// copied is memory of a device for copies of bytes of the host. The bytes may change between runs.
type copied struct {
	device *device
	at     cu.DevicePtr
	sent   []byte // pinned: what was copied last
	used   int    // bytes
	parts  []part
}

// part is bytes of the host, and where their copy is.
type part struct {
	from []byte
	off  int
}

// constantKey is a device and bytes of the host that it has a copy of.
type constantKey struct {
	device *device
	first  *byte
	n      int
}

// copiedBytes is the size of memory for copies, unless one needs more: most are small, and pinned memory
// takes time to get.
const copiedBytes = 64 << 10

// constant returns the address of a copy of bytes.
func (p *program) constant(d *device, bytes []byte) (cu.DevicePtr, error) {
	if len(bytes) == 0 {
		return 0, nil
	}
	key := constantKey{d, unsafe.SliceData(bytes), len(bytes)}
	if at, ok := p.constants[key]; ok {
		return at, nil
	}
	c, err := p.room(d, len(bytes))
	if err != nil {
		return 0, err
	}
	off := c.used
	c.used += aligned(len(bytes))
	c.parts = append(c.parts, part{bytes, off})
	p.constants[key] = c.at + cu.DevicePtr(off)
	return p.constants[key], nil
}

func aligned(n int) int { return (n + plan.Align - 1) &^ (plan.Align - 1) }

// room returns memory for a copy of n bytes.
func (p *program) room(d *device, n int) (*copied, error) {
	for _, c := range slices.Backward(p.copies) { // those before the device's last one are full
		if c.device == d {
			if c.used+n <= len(c.sent) {
				return c, nil
			}
			break
		}
	}
	size := max(aligned(n), copiedBytes)
	at, err := p.buffer(d, int64(size))
	if err != nil {
		return nil, err
	}
	sent, err := p.pinned(d, size) // zeros, as those of the buffer
	if err != nil {
		return nil, err
	}
	c := &copied{device: d, at: at, sent: sent}
	p.copies = append(p.copies, c)
	return c, nil
}

// recordList holds the records of a device.
type recordList struct {
	device *device
	of     []*binding
	task   []int
	place  map[*binding]int // of each binding in of
	at     cu.DevicePtr
	values []byte // of the host
}

// mostRecords bounds the records of a device, whose addresses are known before all tasks are.
const mostRecords = 1 << 16

// record returns the address of the record of a unit.
func (p *program) record(b *binding) (cu.DevicePtr, error) {
	var list *recordList
	for _, l := range p.records {
		if l.device == b.device {
			list = l
		}
	}
	if list == nil {
		at, err := p.buffer(b.device, mostRecords*gpu.RecordBytes)
		if err != nil {
			return 0, err
		}
		list = &recordList{device: b.device, at: at, place: map[*binding]int{}}
		p.records = append(p.records, list)
	}
	i, ok := list.place[b]
	if ok {
		return list.at + cu.DevicePtr(i*gpu.RecordBytes), nil
	}
	if i = len(list.of); i == mostRecords {
		return 0, fmt.Errorf("want at most %d tasks that may leave faults", mostRecords)
	}
	list.place[b], list.of, list.task = i, append(list.of, b), append(list.task, len(p.jobs))
	return list.at + cu.DevicePtr(i*gpu.RecordBytes), nil
}

func (p *program) makeRecords() (err error) {
	for _, l := range p.records {
		if l.values, err = p.pinned(l.device, len(l.task)*gpu.RecordBytes); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns a launch with its arguments.
func (p *program) resolve(b *binding, l *gpu.Launch) (kernel, error) {
	f, err := p.function(b.device, false, l.Entry)
	if err != nil {
		return kernel{}, err
	}
	k := kernel{function: f, shared: uint32(l.Shared), args: make([]uint64, len(l.Args)), body: onekernel.Body{Name: l.Body, Memory: l.Memory}, of: b}
	for d := range 3 {
		k.grid[d], k.block[d] = uint32(l.Grid[d]), uint32(l.Block[d])
	}
	if l.Shared > 48<<10 {
		if err := b.device.do(func() error { return cudadriver.AllowShared(f, l.Shared) }); err != nil {
			return kernel{}, err
		}
	}
	for i := range l.Args {
		a := &l.Args[i]
		if a.Kind == gpu.Step {
			k.steps = append(k.steps, i)
			continue
		}
		if a.Kind == gpu.Value {
			k.args[i] = a.Value
			continue
		}
		at, err := p.argument(b, a)
		if err != nil {
			return kernel{}, fmt.Errorf("%s, argument %d: %w", l.Entry, i, err)
		}
		k.args[i] = uint64(at)
	}
	if l.Product != nil {
		k.product = productOf(l.Product, k.args)
		p.multiplies[b.device] = true
	}
	return k, nil
}

// argument returns the address that an argument is.
func (p *program) argument(b *binding, a *gpu.Arg) (cu.DevicePtr, error) {
	switch a.Kind {
	case gpu.Tensor:
		tensors := b.call.Params[a.Index]
		if a.Number < 0 || a.Number >= len(tensors) {
			return 0, fmt.Errorf("want one of %d tensors of parameter %d, got number %d", len(tensors), a.Index, a.Number)
		}
		return address(tensors[a.Number].Region), nil
	case gpu.Scratch:
		return p.scratch[b][a.Index], nil
	case gpu.Host:
		return p.constant(b.device, a.Bytes)
	case gpu.Fault:
		return p.record(b)
	case gpu.State:
		return stateAddress(b.call, a.Index)
	}
	return 0, fmt.Errorf("unknown kind of argument %d", a.Kind)
}

// makeEvents makes the events of the points for which streams wait.
func (p *program) makeEvents() error {
	p.events = make([]cu.Event, 0, len(p.steps))
	for i := range p.steps {
		c := &p.steps[i]
		if c.kind != recordPoint {
			continue
		}
		e, err := p.event(c.lane.device, cu.DisableTiming)
		if err != nil {
			return err
		}
		for c.point >= len(p.events) {
			p.events = append(p.events, cu.Event{})
		}
		p.events[c.point] = e
	}
	return nil
}

// event returns an event that the program holds.
func (p *program) event(d *device, flags cu.EventFlags) (e cu.Event, err error) {
	err = d.do(func() error {
		e, err = cu.MakeEvent(flags)
		return cudadriver.Wrap("cuEventCreate", err)
	})
	if err == nil {
		held := e
		p.onClose(d, "cuEventDestroy", func() error { return cu.DestroyEvent(&held) })
	}
	return e, err
}

// makeMarks makes the memory in which streams say how far they are.
func (p *program) makeMarks() (err error) {
	if !p.backend.locates || len(p.lanes) == 0 {
		return nil
	}
	if p.marks, err = p.pinned(p.lanes[0].device, 4*len(p.lanes)); err != nil {
		return err
	}
	for i, l := range p.lanes {
		err = l.device.do(func() error {
			l.mark, err = cudadriver.DeviceAddress(p.marks[4*i:])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close frees what the program holds.
func (p *program) Close() error {
	if p.backend.stuck.Load() { // which what frees would wait for
		p.free = nil
		return nil
	}
	var errs []error
	for i := len(p.free) - 1; i >= 0; i-- {
		errs = append(errs, p.free[i]())
	}
	p.free = nil
	if p.backend.working() != nil {
		return nil // closing the device frees it
	}
	return errors.Join(errs...)
}

// launch runs a step once, as a program of its own.
func launch(b *Backend, s *unitStep) error {
	p := b.newProgram(&engine.Queues{})
	err := p.launch(s)
	return errors.Join(err, p.Close())
}

func (p *program) launch(s *unitStep) error {
	d := s.device
	if err := p.loadModule(moduleKey{d, false}, unitsSource([]*binding{s.binding})); err != nil {
		return err
	}
	if err := p.makeScratch(s.binding); err != nil {
		return err
	}
	j, err := s.job(p)
	if err == nil {
		err = p.open(d, d.transfer)
	}
	if err == nil {
		err = p.makeRecords()
	}
	if err == nil {
		err = p.send()
	}
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return d.do(func() error {
		if err := j.enqueue(&execution{program: p, stream: d.transfer, grid: op.Grid{Axis: op.Axis{Over: 1, Grain: 1}}}); err != nil {
			return err
		}
		if err := p.fetchRecords(d, d.transfer); err != nil {
			return err
		}
		if err := cudadriver.Wrap("cuStreamSynchronize", d.transfer.Synchronize()); err != nil {
			return err
		}
		_, err := p.fault()
		return err
	})
}

// stateAddress returns the address of the block that is the state of a slot.
func stateAddress(c *engine.Call, slot int) (cu.DevicePtr, error) {
	if s := c.States.Slot(slot); s != nil {
		if b, ok := s.Value().(*task.Block); ok && b != nil {
			return address(b.Region().(engine.Region)), nil
		}
	}
	return 0, fmt.Errorf("want a block that init allocated as the state of slot %d, got none", slot)
}
