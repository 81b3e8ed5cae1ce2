package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/engine/enginetest"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
)

// TestNaive runs the suite on a backend that shares nothing with that of package cpu: it runs one range after
// the other, has a target and kernels of its own, and memory that the host cannot address.
func TestNaive(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(int) engine.Backend { return &naive{} }, register)
}

const name op.Target = "naive"

// register registers the kernels of the catalogue for the naive target, and for no other.
func register(r *task.Registry) error {
	var all task.Registry
	if err := catalogue.Register(&all); err != nil {
		return err
	}
	for _, o := range all.Operators() {
		for _, sig := range o.Signatures {
			reg := all.Task(sig.ID)
			if reg == nil {
				continue // init and cleanup tasks are optional
			}
			var variants []task.Variant
			for _, v := range reg.Variants {
				v.Target = name
				variants = append(variants, v)
			}
			if err := r.RegisterTask(sig.ID, reg.Name, sig, variants...); err != nil {
				return err
			}
		}
	}
	return nil
}

// naive is the backend.
type naive struct{ closed bool }

func (b *naive) Target() target.Target {
	t := target.CPU
	t.Name = name
	return t
}

func (b *naive) Devices() int { return 2 }
func (b *naive) Workers() int { return 1 }

// sealed is memory of a device. Each byte is stored combined with a key, so bytes that go another way than
// through Write and Read come out wrong.
type sealed struct {
	device int
	bytes  []byte
}

func key(i int64) byte { return byte(i*7 + 0x5a) }

func (b *naive) Alloc(device int, n int64) (engine.Memory, error) {
	m := &sealed{device, make([]byte, n)}
	return m, b.Write(engine.Region{Memory: m, Size: n}, make([]byte, n))
}

func (b *naive) Free(m engine.Memory) error {
	m.(*sealed).bytes = nil
	return nil
}

func (b *naive) Write(to engine.Region, from []byte) error {
	for i, v := range from {
		at := to.Off + int64(i)
		to.Memory.(*sealed).bytes[at] = v ^ key(at)
	}
	return nil
}

func (b *naive) Read(to []byte, from engine.Region) error {
	for i := range to {
		at := from.Off + int64(i)
		to[i] = from.Memory.(*sealed).bytes[at] ^ key(at)
	}
	return nil
}

func (b *naive) Close() error {
	if b.closed {
		return errors.New("the backend is closed twice")
	}
	b.closed = true
	return nil
}

// partError is the error of a part of a group.
type partError struct {
	part int
	at   op.Range
	err  error
}

func (e *partError) Error() string { return e.err.Error() }

// launchable runs a range. Its error is a *partError.
type launchable func(*op.Ctx, op.Range) error

func (l launchable) Launch() error {
	if err := l(&op.Ctx{}, op.Range{Lo: 0, Hi: 1}); err != nil {
		return err.(*partError).err
	}
	return nil
}

// launch returns a launchable that copies regions to the host, runs a body, and copies them back.
func (b *naive) launch(body op.Body, host map[engine.Region][]byte) launchable {
	return func(ctx *op.Ctx, r op.Range) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = &engine.PanicError{Value: v, Stack: debug.Stack()}
			}
			if err != nil {
				err = &partError{0, r, err}
			}
		}()
		for region, bytes := range host {
			if err := b.Read(bytes, region); err != nil {
				return err
			}
		}
		if err := body.Run(ctx, r); err != nil {
			return err
		}
		for region, bytes := range host {
			if region.Memory.(*sealed).bytes == nil {
				continue // an init task freed it
			}
			if err := b.Write(region, bytes); err != nil {
				return err
			}
		}
		return nil
	}
}

func (b *naive) BindCall(c *engine.Call) ([]engine.Launchable, error) {
	host := map[engine.Region][]byte{}
	bodies, err := c.Variant.Bind(c.Accessor(func(r engine.Region) []byte {
		if r.Memory.(*sealed).device != c.Device {
			panic(fmt.Sprintf("a call on device %d has a tensor on another", c.Device))
		}
		if host[r] == nil {
			host[r] = make([]byte, r.Size)
		}
		return host[r]
	}))
	var steps []engine.Launchable
	for _, body := range bodies {
		steps = append(steps, b.launch(body, host))
	}
	return steps, err
}

// builtin is a built-in operation on host memory, in float64, which is exact for all but f64, whose elements
// are rounded after each operation anyway.
type builtin struct {
	*engine.Builtin
	host map[engine.Region][]byte
}

func (b *builtin) Run(_ *op.Ctx, r op.Range) error {
	at := func(k, i int) (dtype.Type, []byte) {
		x := b.Tensors[k]
		return x.Type, b.host[x.Region][i*x.Type.Size():]
	}
	for i := r.Lo; i < r.Hi; i++ {
		v := b.Value
		if b.Op == "identity" {
			v = map[perm.Redop]float64{perm.Sum: 0, perm.Prod: 1, perm.Min: math.Inf(1), perm.Max: math.Inf(-1), perm.And: -1}[b.Redop]
			if _, _, own, ok := b.Redop.Own(); ok {
				v = own
			}
		}
		to, stored := at(0, i)
		if to == dtype.Bool {
			v = math.Abs(v) // all bits of a boolean are 1
		}
		if len(b.Tensors) > 1 && b.Op != "all_reduce" { // add, convert and copy
			typ, element := at(1, i)
			v = typ.Float64(element)
		}
		if b.Op == "add" {
			v += to.Float64(stored)
			if to != dtype.F64 { // sums of 16 bits are rounded twice
				v = float64(float32(v))
			}
		}
		for k := range b.Tensors {
			if typ, element := at(k, i); b.Op == "all_reduce" {
				if v += typ.Float64(element); typ != dtype.F64 {
					v = float64(float32(v))
				}
			}
		}
		to.PutFloat64(stored, v)
		if b.Op == "all_reduce" {
			for k := range b.Tensors {
				_, element := at(k, i)
				copy(element, stored[:to.Size()])
			}
		}
	}
	return nil
}

func (b *naive) BindBuiltin(t *engine.Builtin) (engine.Launchable, error) {
	host := map[engine.Region][]byte{}
	for _, x := range t.Tensors {
		if t.Op != "identity" && t.Op != "copy" && !x.Type.IsFloat() {
			return nil, fmt.Errorf("want %s of floating-point numbers, got %v", t.Op, x.Type)
		}
		if t.Op != "copy" && t.Op != "all_reduce" && x.Memory.(*sealed).device != t.Device {
			return nil, fmt.Errorf("%s on device %d has a tensor on another", t.Op, t.Device)
		}
		host[x.Region] = make([]byte, x.Size)
	}
	return b.launch(&builtin{t, host}, host), nil
}

func (b *naive) BindGroup(form plan.Form, parts []engine.Launchable, over []int) (engine.Launchable, error) {
	return launchable(func(ctx *op.Ctx, r op.Range) error {
		begin := 0
		for i, p := range parts {
			own := r
			if form == plan.Batch { // whose indices lie one after the other
				own = op.Range{Lo: max(r.Lo-begin, 0), Hi: min(r.Hi-begin, over[i])}
				begin += over[i]
			}
			if own.Lo >= own.Hi {
				continue
			}
			if err := p.(launchable)(ctx, own); err != nil {
				err.(*partError).part = i
				return err
			}
		}
		return nil
	}), nil
}

// program runs the tasks of a plan in their order.
type program struct{ *engine.Queues }

func (b *naive) Compile(q *engine.Queues) (engine.Executable, error) { return program{q}, nil }

func (p program) Run(ctx context.Context, step uint64) error {
	for i := range p.Plan.Tasks {
		t := &p.Plan.Tasks[i]
		grid := t.Grid()
		for tile := range grid.Tiles() {
			if t.Tile > 0 && t.Tile != tile+1 {
				continue
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r := grid.Tile(tile)
			begin := time.Now()
			err := p.Tasks[i].(launchable)(&op.Ctx{Step: step}, r)
			if p.Observe != nil {
				p.Observe(engine.Event{Task: i, Step: step, Range: r, Begin: begin, End: time.Now()})
			}
			if pe, ok := err.(*partError); ok {
				return &engine.RangeError{Task: i, Part: pe.part, Range: pe.at, Err: pe.err}
			}
		}
	}
	return nil
}
