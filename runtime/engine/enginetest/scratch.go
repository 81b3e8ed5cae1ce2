package enginetest

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// scratchBody is a task with three kinds of scratch memory: two of each worker, and one of the task.
type scratchBody struct {
	small  tensor.PerWorker[float32]
	large  tensor.PerWorker[float64]
	common tensor.RW[int32]
	output tensor.WO[float32]
}

// Run fills the worker's memory, lets others run, and checks that the memory has not changed.
func (b *scratchBody) Run(ctx *op.Ctx, r op.Range) error {
	small, large := b.small.Of(ctx.Worker), b.large.Of(ctx.Worker)
	if small.Len() != 3 || large.Len() != 5 {
		return fmt.Errorf("scratch memory of %d and %d elements", small.Len(), large.Len())
	}
	for range 10 {
		for i := range 3 {
			small.Set(i, float32(r.Lo))
		}
		for i := range 5 {
			large.Set(i, float64(-r.Lo))
		}
		runtime.Gosched()
		for i := range 3 {
			if small.At(i) != float32(r.Lo) {
				return fmt.Errorf("small[%d] became %v", i, small.At(i))
			}
		}
		for i := range 5 {
			if large.At(i) != float64(-r.Lo) {
				return fmt.Errorf("large[%d] became %v", i, large.At(i))
			}
		}
	}
	b.common.Set(r.Lo, int32(r.Lo))
	b.output.Set(r.Lo, float32(b.common.At(r.Lo)))
	return nil
}

func (s *suite) testScratchMemory(t *testing.T) {
	const n = 64
	scratch := graph.NewOperator(graph.Operator{
		Operator: task.Operator{
			Name: "scratch",
			Slots: []task.Slot{
				{Name: "input", Role: task.RoleInput, Type: "f32", Shape: "[N]"},
				{Name: "small", Role: task.RoleScratch, Type: "f32", Shape: "[3]", PerWorker: true},
				{Name: "common", Role: task.RoleScratch, Type: "i32", Shape: "[N]"},
				{Name: "large", Role: task.RoleScratch, Type: "f64", Shape: "[5]", PerWorker: true},
				{Name: "output", Role: task.RoleOutput, Type: "f32", Shape: "[N]"},
			},
			Signatures: []*task.Signature{{
				Task: "forward", ID: task.IDOf("scratch", "forward"), Kind: task.KindForward, Steps: []task.Step{{}},
				Params: []task.Param{{Slot: 0, Perm: perm.Read}, {Slot: 1, Perm: perm.Scratch}, {Slot: 2, Perm: perm.Scratch}, {Slot: 3, Perm: perm.Scratch}, {Slot: 4, Perm: perm.Write}},
			}},
			DecodeAttrs: func([]byte) (task.Attrs, error) { return probeAttrs{}, nil },
			Resolve: func(_ task.Attrs, r *task.Resolution) {
				task.Set(r, 1, dtype.F32, 3)
				task.Set(r, 2, dtype.I32, n)
				task.Set(r, 3, dtype.F64, 5)
				task.Set(r, 4, dtype.F32, n)
				r.SetWork(0, 0, n, 1)
			},
		},
		Invoke: func(n *graph.Node) (*graph.Invocation, error) {
			return graph.NewBinding[int](n, task.KindForward).Bind(0, n.Tensor(0)).Bind(4, n.Tensor(4)).Invocation()
		},
	})
	r := s.catalogue(t)
	bind := func(a *task.Accessor) ([]op.Body, error) {
		return []op.Body{&scratchBody{task.Local[float32](a, 1), task.Local[float64](a, 3), task.ReadWrite[int32](a, 2), task.WriteOnly[float32](a, 4)}}, a.Err()
	}
	sig := scratch.Signatures[0]
	if err := r.RegisterTask(sig.ID, "scratch forward", sig, task.Variant{Target: s.target.Name, Kernel: bind, Bind: bind}); err != nil {
		t.Fatal(err)
	}
	g := graph.New(1)
	p := inference(t, g, graph.Insert[int](g, 0, scratch, probeAttrs{}).Bind(0, g.Input("x", dtype.F32, n)).Node().Tensor(4))
	if got := s.build(t, p).WorkerBytes; got != 128 {
		t.Errorf("a worker needs %d bytes, want 64 for each kind", got)
	}
	for _, workers := range []int{1, 2, 5} {
		in := s.load(t, s.engine(t, r, workers, engine.Config{}), p)
		for range 20 {
			feed(t, in, "x", make([]float32, n)...)
			run(t, in)
			for i, v := range fetch[float32](t, in, last(p)) {
				if v != float32(i) {
					t.Fatalf("%d workers: element %d is %v", workers, i, v)
				}
			}
		}
	}
}
