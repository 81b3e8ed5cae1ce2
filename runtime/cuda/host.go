//go:build cuda

package cuda

import (
	"context"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
)

// hostCall is a call of a Go kernel, which runs on the host.
type hostCall struct {
	device *device
	in     []*staged // that are copied to the host before
	out    []*staged // that are copied back
}

// staged is a tensor on the host. Elements of 16 bits are widened to f32, in which Go kernels compute.
type staged struct {
	region engine.Region
	packed *dtype.Packed // of 16 bits; nil for others
	wide   []float32
}

// bindHost binds a Go kernel to the host's copies of its tensors.
func (b *Backend) bindHost(c *engine.Call, d *device) ([]engine.Launchable, error) {
	h := &hostCall{device: d}
	all := map[engine.Region]*staged{}
	call := *c
	call.Params = make([][]engine.Tensor, len(c.Params))
	err := d.do(func() error {
		for i, tensors := range c.Params {
			for _, t := range tensors {
				s, err := h.stage(all, t, c.Signature.Params[i].Perm)
				if err != nil {
					return err
				}
				if s != nil && s.packed != nil {
					t.Type = t.Type.Host()
				}
				call.Params[i] = append(call.Params[i], t)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	bodies, err := c.Variant.Bind(call.Accessor(func(r engine.Region) []byte {
		if s := all[r]; s != nil && s.packed != nil {
			return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.wide))), 4*len(s.wide))
		}
		return host(r)
	}))
	steps := make([]engine.Launchable, len(bodies))
	for i := range bodies {
		steps[i] = &hostStep{h, bodies[i]}
	}
	return steps, err
}

// stage adds a tensor to what is copied. It returns nil for one without memory. Scratch memory is not copied.
func (h *hostCall) stage(all map[engine.Region]*staged, t engine.Tensor, p perm.Perm) (*staged, error) {
	if t.Size == 0 {
		return nil, nil
	}
	if err := t.Memory.(*memory).reach(); err != nil {
		return nil, err
	}
	s := all[t.Region]
	if s == nil {
		s = &staged{region: t.Region}
		if packed, ok := t.Type.Packed(); ok {
			s.packed, s.wide = packed, make([]float32, int(t.Size)/t.Type.Size())
		}
		all[t.Region] = s
	}
	if p != perm.Scratch && !slices.Contains(h.in, s) {
		h.in = append(h.in, s)
	}
	if p.Writes() && p != perm.Scratch && !slices.Contains(h.out, s) {
		h.out = append(h.out, s)
	}
	return s, nil
}

// download copies tensors to the host, once what comes before on the stream is done.
func (h *hostCall) download(s cu.Stream) error {
	for _, t := range h.in {
		if err := cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(host(t.region))), address(t.region), t.region.Size, s); err != nil {
			return cudadriver.Wrap("cuMemcpyDtoHAsync", err)
		}
	}
	if err := cudadriver.Wrap("cuStreamSynchronize", s.Synchronize()); err != nil {
		return err
	}
	for _, t := range h.in {
		if t.packed != nil {
			t.packed.Decode(t.wide, host(t.region))
		}
	}
	return nil
}

// upload copies tensors back to the device, and waits for that: tiles of one tensor may be tasks of several
// streams, and each copies all of the tensor.
func (h *hostCall) upload(s cu.Stream) error {
	for _, t := range h.out {
		if t.packed != nil {
			t.packed.Encode(host(t.region), t.wide)
		}
		if err := cu.MemcpyHtoDAsync(address(t.region), unsafe.Pointer(unsafe.SliceData(host(t.region))), t.region.Size, s); err != nil {
			return cudadriver.Wrap("cuMemcpyHtoDAsync", err)
		}
	}
	return cudadriver.Wrap("cuStreamSynchronize", s.Synchronize())
}

// hostStep is a step of a call of a Go kernel. It is its own job.
type hostStep struct {
	*hostCall
	body op.Body
}

func (s *hostStep) bindings(list []*binding) []*binding { return list }
func (s *hostStep) builtin() bool                       { return false }
func (s *hostStep) job(*program) (job, error)           { return s, nil }

// Launch runs the body once, as range [0, 1).
func (s *hostStep) Launch() error {
	return s.device.do(func() error {
		stream := s.device.transfer
		if err := s.download(stream); err != nil {
			return err
		}
		if err := s.body.Run(&op.Ctx{}, op.Range{Lo: 0, Hi: 1}); err != nil {
			return err
		}
		return s.upload(stream)
	})
}

// enqueue waits for the inputs, runs the body over the grid, and copies the outputs.
func (s *hostStep) enqueue(x *execution) error {
	if err := s.download(x.stream); err != nil {
		return err
	}
	first, end := 0, x.grid.Tiles()
	if x.tile > 0 {
		first, end = x.tile-1, x.tile
	}
	for k := first; k < end; k++ {
		if x.ctx.Err() != nil {
			return context.Cause(x.ctx)
		}
		if err := s.tile(x, x.grid.Tile(k)); err != nil {
			return err
		}
	}
	return s.upload(x.stream)
}

// tile runs the body over a range.
func (s *hostStep) tile(x *execution, r op.Range) error {
	x.body = &kernelError{part: x.part, at: r} // of a body that ends the goroutine
	begin := time.Now()
	err := s.guarded(&op.Ctx{Worker: x.worker, Step: x.step}, r)
	x.body = nil
	if err != nil {
		return &kernelError{x.part, r, err}
	}
	if x.observe != nil && x.part == 0 {
		x.observe(engine.Event{Task: x.task, Worker: x.worker, Step: x.step, Range: r, Begin: begin, End: time.Now()})
	}
	return nil
}

// guarded runs the body. A panic is an error.
func (s *hostStep) guarded(ctx *op.Ctx, r op.Range) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &engine.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return s.body.Run(ctx, r)
}

// kernelError is the error of a Go kernel in a range. err may be any value of a kernel.
type kernelError struct {
	part int
	at   op.Range
	err  error
}

func (e *kernelError) Error() string { return e.err.Error() }
