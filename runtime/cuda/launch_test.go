//go:build cuda

package cuda_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/task"
)

// bench is a backend with two tensors of one element, which a call of a unary operator reads and writes.
type bench struct {
	t       *testing.T
	backend engine.Backend
	memory  [2]engine.Tensor
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, backend: open(t)(1)}
	for i := range b.memory {
		m, err := b.backend.Alloc(0, 4)
		if err != nil {
			t.Fatal(err)
		}
		b.memory[i] = engine.Tensor{Operand: task.Operand{Type: dtype.F32, Shape: []int{1}}, Region: engine.Region{Memory: m, Size: 4}}
	}
	t.Cleanup(func() {
		if err := errors.Join(b.backend.Free(b.memory[0].Memory), b.backend.Free(b.memory[1].Memory), b.backend.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// call binds a call from tensor from to tensor to.
func (b *bench) call(v task.Variant, from, to int) engine.Launchable {
	b.t.Helper()
	o := unary("unary")
	c := &engine.Call{Signature: o.Signatures[0], Variant: v, Attrs: noAttrs{}, Resolved: &task.Resolution{}, Params: [][]engine.Tensor{{b.memory[from]}, {b.memory[to]}}}
	l, err := b.backend.BindCall(c)
	if err != nil {
		b.t.Fatal(err)
	}
	return l[0]
}

func (b *bench) set(tensor int, v float32) {
	b.t.Helper()
	if err := b.backend.Write(b.memory[tensor].Region, binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(tensor int) float32 {
	b.t.Helper()
	data := make([]byte, 4)
	if err := b.backend.Read(data, b.memory[tensor].Region); err != nil {
		b.t.Fatal(err)
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(data))
}

// twice is device code that doubles, and leaves a fault for 13.
func twice() task.Variant {
	c := &code{source: `
extern "C" __global__ void twice(const float *in, float *out, float *scratch, record *r) {
	if (*in == 13) fault(r, 1, 13, 0, 0);
	*scratch = 2 * *in;
	*out = *scratch;
}`, launches: []gpu.Launch{{Entry: "twice", Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Args: []gpu.Arg{in, out, {Kind: gpu.Scratch}, {Kind: gpu.Fault}}}}, scratch: []int64{4}}
	return task.Variant{Target: gpu.CUDA, Kernel: c, Bind: c.bind}
}

// increment is a Go kernel that adds 1, and fails for 13.
func increment() task.Variant {
	bind := func(a *task.Accessor) ([]op.Body, error) {
		b := opimpl.NewBinder[int](a)
		x, y := opimpl.ReadOnly[float32](b, 0), opimpl.WriteOnly[float32](b, 1)
		return []op.Body{body(func() error {
			if x.At(0) == 13 {
				return errors.New("unlucky")
			}
			y.Set(0, x.At(0)+1)
			return nil
		})}, b.Err()
	}
	return task.Variant{Target: gpu.CUDA, Kernel: bind, Bind: bind}
}

type body func() error

func (b body) Run(*op.Ctx, op.Range) error { return b() }

// TestLaunch launches tasks outside of a plan, as engines do with init and cleanup tasks.
func TestLaunch(t *testing.T) {
	b := newBench(t)
	for want, l := range map[float32]engine.Launchable{14: b.call(twice(), 0, 1), 8: b.call(increment(), 0, 1)} {
		b.set(0, 7)
		if err := l.Launch(); err != nil || b.get(1) != want {
			t.Errorf("got %v, %v, want %v", b.get(1), err, want)
		}
		b.set(0, 13)
		if err := l.Launch(); err == nil {
			t.Error("want an error for 13, got none")
		}
	}
}

// TestGroup runs a task with parts on the device and on the host. The error of a part has its number.
func TestGroup(t *testing.T) {
	b := newBench(t)
	parts := []engine.Launchable{b.call(twice(), 0, 1), b.call(increment(), 1, 0), b.call(twice(), 0, 1), b.call(increment(), 1, 0)}
	g, err := b.backend.BindGroup(plan.Chain, parts, []int{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{Tasks: []plan.Task{{Call: -1, Over: 1, Grain: 1}}, Schedule: schedule.Schedule{Tasks: 1, Queues: [][]schedule.Op{{0}}}}
	x, err := b.backend.Compile(&engine.Queues{Plan: p, Tasks: []engine.Launchable{g}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := x.(interface{ Close() error }).Close(); err != nil {
			t.Error(err)
		}
	}()
	b.set(0, 1)
	if err := x.Run(t.Context(), 0); err != nil || b.get(0) != 7 {
		t.Errorf("got %v, %v, want 7", b.get(0), err)
	}
	b.set(0, 2.75) // 5.5, 6.5 and 13
	var re *engine.RangeError
	if err := x.Run(t.Context(), 1); !errors.As(err, &re) || re.Part != 3 || !strings.Contains(err.Error(), "unlucky") {
		t.Errorf("got %v", err)
	}
}

// TestTiles runs a tile of a step as a task, which the host does although the kernel is device code.
func TestTiles(t *testing.T) {
	b := newBench(t)
	v := twice()
	v.Bind = increment().Bind
	p := &plan.Plan{Tasks: []plan.Task{{Over: 1, Grain: 1, Tile: 1}}, Schedule: schedule.Schedule{Tasks: 1, Queues: [][]schedule.Op{{0}}}}
	x, err := b.backend.Compile(&engine.Queues{Plan: p, Tasks: []engine.Launchable{b.call(v, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := x.(interface{ Close() error }).Close(); err != nil {
			t.Error(err)
		}
	}()
	b.set(0, 7)
	if err := x.Run(t.Context(), 0); err != nil || b.get(1) != 8 {
		t.Errorf("got %v, %v, want 8", b.get(1), err)
	}
	if _, err := b.backend.Compile(&engine.Queues{Plan: p, Tasks: []engine.Launchable{b.call(twice(), 0, 1)}}); err == nil {
		t.Error("want an error, since the kernel has no form for the host, got none")
	}
}
