//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
)

// device is a GPU with a context of its own.
type device struct {
	number   int
	name     string
	context  cu.CUContext
	arch     string // such as sm_90
	limits   gpu.Limits
	together int         // multiprocessors, if the blocks of a kernel can wait for each other
	transfer cu.Stream   // for what the host waits for at once
	streams  []cu.Stream // of each queue
	library  any
	products map[cu.Stream]*cudadriver.Products // of streams; nil for those on which device code multiplies
	opened   bool
}

// openDevice opens a GPU as the device of a number. After an error, what it returns must be closed, unless it
// is nil.
func openDevice(number, gpu, queues int) (*device, error) {
	dev, err := cu.GetDevice(gpu)
	if err != nil {
		return nil, cudadriver.Wrap("cuDeviceGet", err)
	}
	d := &device{number: number}
	if d.name, err = dev.Name(); err != nil {
		return nil, cudadriver.Wrap("cuDeviceGetName", err)
	}
	if err := d.ask(dev); err != nil {
		return nil, err
	}
	runtime.LockOSThread() // the new context becomes that of the thread
	defer runtime.UnlockOSThread()
	if d.context, err = dev.MakeContext(cu.SchedAuto); err != nil {
		return nil, cudadriver.Wrap("cuCtxCreate", err)
	}
	d.opened = true
	if err = d.makeStreams(queues); err != nil {
		err = cudadriver.Wrap("cuStreamCreate", err)
	}
	if _, pop := cu.PopCurrentCtx(); err == nil {
		err = cudadriver.Wrap("cuCtxPopCurrent", pop)
	}
	return d, err
}

func (d *device) makeStreams(queues int) (err error) {
	if d.transfer, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return err
	}
	for range queues {
		s, err := cu.MakeStream(cu.NonBlocking)
		if err != nil {
			return err
		}
		d.streams = append(d.streams, s)
	}
	return nil
}

// cooperativeLaunch is CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: whether blocks can be resident at the same
// time.
const cooperativeLaunch cu.DeviceAttribute = 95

// sharedOptIn is CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: the shared memory that a kernel can
// ask for.
const sharedOptIn cu.DeviceAttribute = 97

// ask asks for the limits of a device.
func (d *device) ask(dev cu.Device) error {
	var major, minor int
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{cu.MaxThreadsPerBlock, &d.limits.Threads},
		{cu.MaxBlockDimX, &d.limits.Block[0]}, {cu.MaxBlockDimY, &d.limits.Block[1]}, {cu.MaxBlockDimZ, &d.limits.Block[2]},
		{cu.MaxGridDimX, &d.limits.Grid[0]}, {cu.MaxGridDimY, &d.limits.Grid[1]}, {cu.MaxGridDimZ, &d.limits.Grid[2]},
		{sharedOptIn, &d.limits.Shared},
		{cu.ComputeCapabilityMajor, &major}, {cu.ComputeCapabilityMinor, &minor},
	} {
		v, err := dev.Attribute(a.attribute)
		if err != nil {
			return cudadriver.Wrap("cuDeviceGetAttribute", err)
		}
		*a.to = v
	}
	if v, err := dev.Attribute(cooperativeLaunch); err == nil && v == 1 {
		if d.together, err = dev.Attribute(cu.MultiprocessorCount); err != nil {
			return cudadriver.Wrap("cuDeviceGetAttribute", err)
		}
	}
	d.arch = fmt.Sprintf("sm_%d%d", major, minor)
	return nil
}

// locates reports whether streams can store how far they are.
func (d *device) locates() bool {
	ok := false
	_ = d.do(func() error {
		word, err := cudadriver.Pinned(4)
		if err != nil {
			return err
		}
		address, err := cudadriver.DeviceAddress(word)
		if err == nil {
			err = cudadriver.Store(d.transfer, address, 1)
		}
		ok = err == nil && d.transfer.Synchronize() == nil
		return errors.Join(err, cu.MemFreeHost(unsafe.Pointer(unsafe.SliceData(word))))
	})
	return ok
}

// do calls a function on a thread whose context is that of the device.
func (d *device) do(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.PushCurrentCtx(d.context); err != nil {
		return cudadriver.Wrap("cuCtxPushCurrent", err)
	}
	defer func() { _, _ = cu.PopCurrentCtx() }() // the error is that of earlier calls
	return f()
}

// release is do for a function that frees something: if the context cannot be made current, it tries once
// more.
func (d *device) release(f func() error) error {
	done := false
	g := func() error {
		done = true
		return f()
	}
	err := d.do(g)
	if !done {
		err = errors.Join(err, d.do(g))
	}
	return err
}

// call is do for a function of package cu, whose error gets the name of what was called.
func (d *device) call(name string, f func() error) error {
	return d.do(func() error { return cudadriver.Wrap(name, f()) })
}

func (d *device) close() error {
	if !d.opened {
		return nil
	}
	d.opened = false
	err := d.release(func() error {
		var errs []error
		for _, p := range d.products {
			if p != nil {
				errs = append(errs, p.Close())
			}
		}
		if d.transfer != cu.NoStream {
			errs = append(errs, cudadriver.Wrap("cuStreamDestroy", d.transfer.Destroy()))
		}
		for i := range d.streams {
			errs = append(errs, cudadriver.Wrap("cuStreamDestroy", d.streams[i].Destroy()))
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, cudadriver.Wrap("cuCtxDestroy", d.context.Destroy()))
}

// memory is memory of a device.
type memory struct {
	device *device
	at     cu.DevicePtr
	size   int64
	mirror []byte // memory of the host, as large, for kernels that run there; nil if there is none
	pinned bool   // whether mirror is
	// addresses is as large, too. Nothing can be read or written there.
	addresses []byte
}

// Alloc returns zeroed memory of a device. The error says how much of the device's memory is free.
func (b *Backend) Alloc(device int, n int64) (engine.Memory, error) {
	if err := b.working(); err != nil {
		return nil, err
	}
	d := b.devices[device]
	m := &memory{device: d, size: n}
	err := d.do(func() (err error) {
		m.at, err = d.alloc(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// alloc allocates zeroed memory. The context must be that of the device.
func (d *device) alloc(n int64) (cu.DevicePtr, error) {
	free, total, err := cu.MemInfo()
	if err != nil {
		return 0, cudadriver.Wrap("cuMemGetInfo", err)
	}
	refused := func() error {
		return fmt.Errorf("out of memory: want %d bytes of device %d (%s); %d of %d are free", n, d.number, d.name, free, total)
	}
	if n > free {
		return 0, refused()
	}
	at, err := cu.MemAlloc(n)
	if e := (*cudadriver.Error)(nil); errors.As(cudadriver.Wrap("cuMemAlloc", err), &e) {
		if e.Code == 2 { // the memory is in pieces
			return 0, refused()
		}
		return 0, e
	}
	err = cudadriver.Wrap("cuMemsetD8Async", cu.MemsetD8Async(at, 0, n, d.transfer))
	if err == nil {
		err = cudadriver.Wrap("cuStreamSynchronize", d.transfer.Synchronize())
	}
	if err != nil {
		return 0, errors.Join(err, cudadriver.Wrap("cuMemFree", cu.MemFree(at)))
	}
	return at, nil
}

// Free frees what Alloc returned.
func (b *Backend) Free(m engine.Memory) error {
	x := m.(*memory)
	if b.stuck.Load() { // it is freed when the process ends
		return nil
	}
	err := x.device.release(func() error {
		err := cudadriver.Wrap("cuMemFree", cu.MemFree(x.at))
		if x.pinned {
			err = errors.Join(err, freePinned(x.mirror))
		}
		return err
	})
	if x.addresses != nil {
		err = errors.Join(err, syscall.Munmap(x.addresses))
	}
	*x = memory{device: x.device}
	if b.working() != nil {
		return nil // closing the device frees it
	}
	return err
}

func freePinned(b []byte) error {
	if b == nil {
		return nil
	}
	return cudadriver.Wrap("cuMemFreeHost", cu.MemFreeHost(unsafe.Pointer(unsafe.SliceData(b))))
}

// reach makes sure that kernels on the host can have the memory. The context must be that of the device.
func (m *memory) reach() (err error) {
	if m.mirror == nil {
		m.mirror, err = cudadriver.Pinned(int(m.size))
		m.pinned = err == nil
	}
	return err
}

// host returns the bytes of a region, as kernels on the host see them.
func host(r engine.Region) []byte {
	m := r.Memory.(*memory)
	if m.mirror == nil { // memory of a state, which an init task has just allocated
		m.mirror = make([]byte, m.size)
	}
	return m.mirror[r.Off : r.Off+r.Size : r.Off+r.Size]
}

// reserve makes sure that the memory has addresses of the host.
func (m *memory) reserve() (err error) {
	if m.addresses == nil {
		m.addresses, err = syscall.Mmap(-1, 0, int(m.size), syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
		if err != nil {
			return fmt.Errorf("reserving %d addresses: %w", m.size, err)
		}
	}
	return nil
}

// address returns the address of a region on its device; 0 of the zero Region.
func address(r engine.Region) cu.DevicePtr {
	if r.Size == 0 {
		return 0
	}
	return r.Memory.(*memory).at + cu.DevicePtr(r.Off)
}

// Write copies to a region.
func (b *Backend) Write(to engine.Region, from []byte) error {
	return b.move(to, from, "cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync)
}

// Read copies from a region.
func (b *Backend) Read(to []byte, from engine.Region) error {
	return b.move(from, to, "cuMemcpyDtoHAsync", func(at cu.DevicePtr, p unsafe.Pointer, n int64, s cu.Stream) error {
		return cu.MemcpyDtoHAsync(p, at, n, s)
	})
}

// move copies between a region and memory of Go, and waits, so that Go may move the memory afterwards.
func (b *Backend) move(r engine.Region, data []byte, name string, copy func(cu.DevicePtr, unsafe.Pointer, int64, cu.Stream) error) error {
	if r.Size == 0 {
		return nil
	}
	if err := b.working(); err != nil {
		return err
	}
	d := r.Memory.(*memory).device
	return d.do(func() error {
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(unsafe.SliceData(data))
		err := cudadriver.Wrap(name, copy(address(r), unsafe.Pointer(unsafe.SliceData(data)), r.Size, d.transfer))
		return errors.Join(err, cudadriver.Wrap("cuStreamSynchronize", d.transfer.Synchronize()))
	})
}
