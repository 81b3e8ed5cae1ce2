package formula_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
)

// lowering is a backend that lowers each call to device code, but runs it on the host.
type lowering struct {
	*cpu.Backend
	t       *testing.T
	sources map[string]bool
	calls   *int
}

func (b lowering) Target() target.Target {
	return target.Target{Name: gpu.CUDA, Compute: dtype.Type.Host, TaskTime: 1, ByteTime: 1, Latency: 1}
}

func (b lowering) BindCall(c *engine.Call) ([]engine.Launchable, error) {
	k, ok := c.Variant.Kernel.(gpu.Kernel)
	if !ok {
		return b.Backend.BindCall(c)
	}
	name := c.Signature.Name()
	first, err := k.Lower(c.Accessor(elsewhere()))
	if err != nil {
		b.t.Errorf("%s: %v", name, err)
		return b.Backend.BindCall(c)
	}
	*b.calls++
	if err := first.Check(c.Signature, gpu.Least); err != nil {
		b.t.Error(err)
	}
	second, err := k.Lower(c.Accessor(elsewhere()))
	if err != nil || second.Source != first.Source {
		b.t.Errorf("%s: want equal device code for equal uses, got %v and\n%s\n%s", name, err, first.Source, second.Source)
	}
	for _, step := range first.Steps {
		for _, l := range step {
			if !strings.Contains(first.Source, " "+l.Entry+"(") {
				b.t.Errorf("%s: the source lacks the function %s", name, l.Entry)
			}
		}
	}
	b.sources[first.Source] = true
	return b.Backend.BindCall(c)
}

// elsewhere returns a function that maps each region to unmapped addresses, so that a load faults.
func elsewhere() func(engine.Region) []byte {
	begin := map[engine.Memory]uintptr{}
	return func(r engine.Region) []byte {
		if r.Size == 0 {
			return nil
		}
		if begin[r.Memory] == 0 {
			begin[r.Memory] = uintptr(1<<46 + len(begin)<<36)
		}
		at := begin[r.Memory] + uintptr(r.Off)
		return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), r.Size)
	}
}

// TestLower lowers all calls of the conformance cases. The device code of each must be within the limits of
// all devices and deterministic. Lowering must read no tensor.
func TestLower(t *testing.T) {
	var r task.Registry
	for _, o := range catalogue.Operators() {
		if len(o.Formula) > 0 {
			if err := formula.RegisterCUDA(&r, &o.Operator); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases, _, err := conform.LoadAll(os.DirFS("../runtime/conform/testdata"))
	if err != nil {
		t.Fatal(err)
	}
	sources, calls := map[string]bool{}, 0
	runner := &conform.Runner{Registry: &r, Operators: catalogue.Operators(), Backend: func() (engine.Backend, error) {
		return lowering{cpu.New(cpu.Config{Workers: 1}), t, sources, &calls}, nil
	}}
	defer runner.Close()
	for _, c := range cases {
		if o := r.Task(task.IDOf(c.Op, "forward")); o == nil {
			continue // an operator without a formula, or one that has no forward task
		}
		if result := runner.Run(context.Background(), c); result.Status == conform.Failed {
			t.Errorf("%s: %s", c.Path, result.Reason)
		}
	}
	if calls < 500 || len(sources) < 200 {
		t.Errorf("want at least 500 calls and 200 units, got %d and %d", calls, len(sources))
	}
}
