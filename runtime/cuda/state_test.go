//go:build cuda

package cuda_test

import (
	"context"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// The slots of look, whose spec and device code are those of the generator's tests.
const (
	lookIndex = iota
	lookOutput
	lookTable
	lookMemory
)

// look is an operator that looks up in a table that init makes in memory of the device.
func look() *graph.Operator {
	table := task.Arg{Slot: lookTable, Type: reflect.TypeFor[*task.Block](), From: task.FromInit, Unchecked: true}
	return opimpl.New(graph.Operator{Operator: task.Operator{
		Name: "look",
		Slots: []task.Slot{
			{Name: "index", Role: task.RoleInput, Type: "i32", Shape: "[N]"},
			{Name: "output", Role: task.RoleOutput, Type: "f64", Shape: "[N]"},
			{Name: "table", Role: task.RoleState},
			{Name: "memory", Role: task.RoleArgument},
		},
		Signatures: []*task.Signature{
			{Task: "forward", ID: task.IDOf("look", "forward"), Kind: task.KindForward, Steps: []task.Step{{}},
				Params: []task.Param{{Slot: lookIndex, Perm: perm.Read}, {Slot: lookOutput, Perm: perm.Write}}, Args: []task.Arg{table}},
			{Task: "init", ID: task.IDOf("look", "init"), Kind: task.KindInit, Steps: []task.Step{{}}, Returns: []int{lookTable},
				Args: []task.Arg{{Slot: lookMemory, Type: reflect.TypeFor[*task.Memory](), From: task.FromMemory, Unchecked: true}}},
			{Task: "cleanup", ID: task.IDOf("look", "cleanup"), Kind: task.KindCleanup, Steps: []task.Step{{}}, Args: []task.Arg{table}},
		},
		DecodeAttrs: func(data []byte) (task.Attrs, error) {
			var a noAttrs
			return a, attr.Decode("look", data, &a)
		},
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ noAttrs, _ *struct{}) {
			x, _ := r.Tensor(lookIndex).RankAtLeast(0)
			r.Set(lookOutput, dtype.F64, x...)
			r.Work(task.IDOf("look", "forward"), x[0])
		}),
	}})
}

// looker is the kernel of init and cleanup, which run on the host.
type looker struct {
	t       *testing.T
	block   bool // whether init makes a block, and not a list
	cleaned int
}

func (l *looker) bind(a *task.Accessor) ([]op.Body, error) {
	b := opimpl.NewBinder[int](a)
	if a.Signature.Kind == task.KindCleanup {
		table := opimpl.StateOf[*task.Block](b, lookTable)
		return []op.Body{opimpl.Cleanup(func(*op.Ctx) error {
			l.cleaned++
			roots := make([]float64, 5)
			if err := task.ReadBlock(roots, table); err != nil {
				return err
			}
			if want := []float64{0, 1, math.Sqrt2, math.Sqrt(3), 2}; !slices.Equal(roots, want) {
				l.t.Errorf("the block holds %v in cleanup, want %v", roots, want)
			}
			return nil
		})}, b.Err()
	}
	m := opimpl.Argument[*task.Memory](b, lookMemory)
	return []op.Body{opimpl.Init(b, func(*op.Ctx) ([]any, error) {
		if !l.block {
			return []any{make([]float64, 5)}, nil
		}
		table, err := task.AllocBlock(m, dtype.F64, 5)
		if err != nil {
			return nil, err
		}
		empty := make([]float64, 5)
		if err := task.ReadBlock(empty, table); err != nil || slices.Max(empty) != 0 {
			l.t.Errorf("a new block holds %v, error %v", empty, err)
		}
		if err := task.WriteBlock(table, []float32{1}); err == nil || err.Error() != "want the 40 bytes of the block, got 4 bytes, of 1 elements of f32" {
			l.t.Errorf("writing a part: %v", err)
		}
		return []any{table}, task.WriteBlock(table, []float64{0, 1, math.Sqrt2, math.Sqrt(3), 2})
	}, lookTable)}, b.Err()
}

// TestBlock runs device code by hand, as opgen generates it, on a block that init allocated on the device.
func TestBlock(t *testing.T) {
	text, err := os.ReadFile("../../internal/driver/testdata/emit/plain/generated/look/cuda.cu")
	if err != nil {
		t.Fatal(err)
	}
	hash := regexp.MustCompile(`opgen_look_forward_([0-9a-f]+)\(`).FindSubmatch(text)
	if hash == nil {
		t.Fatal("the device code has no function for forward")
	}
	for _, block := range []bool{true, false} {
		l := &looker{t: t, block: block}
		o := look()
		var r task.Registry
		for _, sig := range o.Signatures[1:] {
			if err := r.RegisterTask(sig.ID, sig.Name(), sig, task.Variant{Target: gpu.CUDA, Kernel: l, Bind: l.bind}); err != nil {
				t.Fatal(err)
			}
		}
		err := gpu.Register(&r, &o.Operator, gpu.Code{
			Source: string(text), Hash: string(hash[1]), Tasks: []gpu.Task{{ID: o.Signatures[0].ID, Block: 64}},
			Numbers: func(a *task.Accessor) *gpu.Numbers {
				return new(gpu.Numbers).Int(a.Resolved.Operands(lookIndex)[0].Shape[0])
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		b, err := cuda.New(cuda.Config{})
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(&r, b, engine.Config{})
		const n = 300
		g := graph.New(1)
		y := graph.Insert[int](g, 0, o, noAttrs{}, graph.Named("look")).Bind(lookIndex, g.Input("x", dtype.I32, n)).Node().Tensor(lookOutput)
		p, err := graph.Inference(g, y)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := planner.Build(p, e.Options()...)
		if err != nil {
			t.Fatal(err)
		}
		in, err := e.Load(pl)
		if !block {
			if want := "operator look, task forward, slot table: want a block that init allocated, got []float64"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		index := make([]int32, n)
		for i := range index {
			index[i] = int32(i)
		}
		if err := engine.Feed(in, "x", index); err != nil {
			t.Fatal(err)
		}
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		got, err := engine.Fetch[float64](in, y.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if want := math.Sqrt(float64(i % 5)); v != want {
				t.Fatalf("element %d is %v, want %v", i, v, want)
			}
		}
		if states := in.States(); len(states) != 1 || states[0].Bytes != 40 {
			t.Errorf("states take %v, want 40 bytes of one", states)
		}
		if err := e.Close(); err != nil || l.cleaned != 1 {
			t.Errorf("closing runs cleanup %d times: %v", l.cleaned, err)
		}
	}
}
