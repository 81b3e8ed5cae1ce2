package enginetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// probe is an operator whose kernel is a function of the test: it makes an output from an input of the
// same shape, in ranges of one element.
var probe = opimpl.New(graph.Operator{
	Operator: task.Operator{
		Name: "probe",
		Slots: []task.Slot{
			{Name: "input", Role: task.RoleInput, Type: "f32", Shape: "[N...]"},
			{Name: "output", Role: task.RoleOutput, Type: "f32", Shape: "[N...]"},
		},
		Signatures: []*task.Signature{{
			Task: "forward", ID: task.IDOf("probe", "forward"), Kind: task.KindForward,
			Params: []task.Param{{Slot: 0, Perm: perm.Read}, {Slot: 1, Perm: perm.Write}},
			Steps:  []task.Step{{}},
		}},
		DecodeAttrs: func(data []byte) (task.Attrs, error) {
			var at probeAttrs
			return at, attr.Decode("probe", data, &at)
		},
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ probeAttrs, _ *struct{}) {
			x, _ := r.Tensor(0).RankAtLeast(0)
			r.Set(1, dtype.F32, x...)
			r.WorkBy(task.IDOf("probe", "forward"), 1, shape.Prod(x))
		}),
	},
})

type probeAttrs struct{}

// kernel is what a probe does with a range.
type kernel func(ctx *op.Ctx, a *args, r op.Range) error

// args holds the tensors of a task of a probe, as the generated structs of operators do.
type args struct {
	x tensor.RO[float32]
	y tensor.WO[float32]
}

type probeBody struct {
	kernel kernel
	args   args
}

func (b *probeBody) Run(ctx *op.Ctx, r op.Range) error { return b.kernel(ctx, &b.args, r) }

// increment is a kernel that adds 1.
func increment(_ *op.Ctx, a *args, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.y.Set(i, a.x.At(i)+1)
	}
	return nil
}

// registry returns all operators of the catalogue, and the probe with a kernel.
func (s *suite) registry(t testing.TB, k kernel) *task.Registry {
	t.Helper()
	r := s.catalogue(t)
	sig := probe.Signatures[0]
	if err := r.RegisterTask(sig.ID, "probe forward", sig, task.Variant{Target: s.target.Name, Kernel: k, Bind: k.bind}); err != nil {
		t.Fatal(err)
	}
	return r
}

// bind binds a probe to its tensors.
func (k kernel) bind(a *task.Accessor) ([]op.Body, error) {
	b := opimpl.NewBinder[int](a)
	return []op.Body{&probeBody{k, args{opimpl.ReadOnly[float32](b, 0), opimpl.WriteOnly[float32](b, 1)}}}, b.Err()
}

// apply inserts a probe.
func apply(g *graph.Graph, x graph.Tensor, name string) graph.Tensor {
	return graph.Insert[int](g, 0, probe, probeAttrs{}, graph.Named(name)).Bind(0, x).Node().Tensor(1)
}

// chain returns a program of n probes named p0, p1, ... on an input x of the given size.
func chain(t testing.TB, n, size int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, size)
	for i := range n {
		x = apply(g, x, fmt.Sprint("p", i))
	}
	return inference(t, g, x)
}

func inference(t testing.TB, g *graph.Graph, fetch ...graph.Tensor) *graph.Program {
	t.Helper()
	p, err := graph.Inference(g, fetch...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// copyOf returns a copy of a plan that can be changed.
func copyOf(t testing.TB, p *plan.Plan) *plan.Plan {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// last returns the name of the only fetched tensor.
func last(p *graph.Program) string { return p.Fetched[len(p.Fetched)-1].Name() }
