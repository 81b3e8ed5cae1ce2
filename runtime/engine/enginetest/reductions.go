package enginetest

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

var tallyTypes = []dtype.Type{dtype.F16, dtype.BF16, dtype.F32, dtype.F64, dtype.I32, dtype.I64, dtype.Bool}

// folds reports whether an operator folds elements of a type.
func folds(r perm.Redop, t dtype.Type) bool {
	if r.Bitwise() {
		return t.IsInteger() || t == dtype.Bool
	}
	return t != dtype.Bool
}

// tally is an operator that folds the elements of its input into a scalar.
func tally(redop perm.Redop) *graph.Operator {
	forward := task.IDOf("tally", "forward")
	return opimpl.New(graph.Operator{Operator: task.Operator{
		Name:  "tally",
		Types: []task.TypeVar{{Name: "T", Types: tallyTypes}},
		Slots: []task.Slot{
			{Name: "input", Role: task.RoleInput, Type: "T", Shape: "[N]"},
			{Name: "total", Role: task.RoleOutput, Type: "T", Shape: "[]"},
		},
		Signatures: []*task.Signature{{
			Task: "forward", ID: forward, Kind: task.KindForward, Steps: []task.Step{{}},
			Params: []task.Param{{Slot: 0, Perm: perm.Read}, {Slot: 1, Perm: perm.Reduce, Redop: redop}},
		}},
		DecodeAttrs: func([]byte) (task.Attrs, error) { return probeAttrs{}, nil },
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ probeAttrs, _ *struct{}) {
			r.Set(1, r.BindType("T", 0))
			r.Work(forward, 1)
		}),
	}})
}

// bindTally binds the kernel of tally for elements of type T.
func bindTally[T dtype.Element](a *task.Accessor) ([]op.Body, error) {
	b := opimpl.NewBinder[int](a)
	return []op.Body{&tallyBody[T]{opimpl.ReadOnly[T](b, 0), opimpl.ReduceTo[T](b, 1)}}, b.Err()
}

type tallyBody[T dtype.Element] struct {
	input tensor.RO[T]
	total tensor.Reduction[T]
}

func (b *tallyBody[T]) Run(*op.Ctx, op.Range) error {
	for i := range b.input.Len() {
		b.total.Fold(0, b.input.At(i))
	}
	return nil
}

// testReductions folds the inputs of several tasks into one tensor, for each type of elements and each number
// of workers. Tasks that fold into one tensor do not run side by side.
func (s *suite) testReductions(t *testing.T) {
	const n, tasks = 1 << 13, 4 // sums that each type holds
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	for _, redop := range []perm.Redop{perm.Sum, perm.Prod, perm.Min, perm.Max, perm.Or, perm.And, perm.Xor} {
		o := tally(redop)
		r := s.catalogue(t)
		sig := o.Signatures[0]
		binds := map[dtype.Type]func(*task.Accessor) ([]op.Body, error){
			dtype.F32: bindTally[float32], dtype.F64: bindTally[float64], dtype.I32: bindTally[int32], dtype.I64: bindTally[int64],
			dtype.Bool: bindTally[bool]}
		registered := map[dtype.Type]bool{}
		for _, stored := range tallyTypes {
			typ := s.target.Type(stored)
			if registered[typ] {
				continue
			}
			registered[typ] = true
			bind := binds[typ.Host()] // Go kernels get elements of 16 bits as f32
			v := task.Variant{Target: s.target.Name, Types: []dtype.Type{typ}, Kernel: bind, Bind: bind}
			if err := r.RegisterTask(sig.ID, "tally forward", sig, v); err != nil {
				t.Fatal(err)
			}
		}
		want := 1.0
		switch redop {
		case perm.Sum:
			want = n * tasks
		case perm.Xor:
			want = 0 // of an even number
		}
		for _, workers := range []int{1, 2, 5} {
			t.Run(fmt.Sprint(redop, " ", workers), func(t *testing.T) { // an engine takes much of a GPU, so it is closed before the next
				e := s.engine(t, r, workers, engine.Config{})
				for _, typ := range tallyTypes {
					if !folds(redop, typ) {
						continue
					}
					p, total := tallies(t, o, typ, n, tasks)
					in := s.load(t, e, p)
					if err := feedNumbers(in, "x", typ, ones); err != nil {
						t.Fatal(err)
					}
					run(t, in)
					data, err := in.FetchBytes(total.Name())
					if err != nil {
						t.Fatal(err)
					}
					if got := typ.Float64(data); got != want {
						t.Errorf("%v: got %v, want %v", typ, got, want)
					}
				}
			})
		}
	}
}

// fading is a reduction of one's own, of which the order of values matters: each takes half of what was
// there.
const fading perm.Redop = "github.com/opgen/opgen/runtime/engine/enginetest.Fade, 0"

func fade[T dtype.Float](x, y T) T { return x/2 + y }

// bindFading binds the kernel of tally with a reduction of one's own.
func bindFading[T dtype.Float](a *task.Accessor) ([]op.Body, error) {
	b := opimpl.NewBinder[int](a)
	return []op.Body{&tallyBody[T]{opimpl.ReadOnly[T](b, 0), opimpl.ReduceBy[T, int](fade[T])(b, 1)}}, b.Err()
}

// testOwnReduction folds values with a function of one's own. Any number of workers folds them in one order,
// so the result has the same bits.
func (s *suite) testOwnReduction(t *testing.T) {
	const n, tasks = 100, 4
	o := tally(fading)
	r := s.catalogue(t)
	sig := o.Signatures[0]
	for typ, bind := range map[dtype.Type]func(*task.Accessor) ([]op.Body, error){dtype.F32: bindFading[float32], dtype.F64: bindFading[float64]} {
		v := task.Variant{Target: s.target.Name, Types: []dtype.Type{typ}, Kernel: bind, Bind: bind}
		if err := r.RegisterTask(sig.ID, "tally forward", sig, v); err != nil {
			t.Fatal(err)
		}
	}
	values, want := make([]float64, n), 0.0
	for i := range values {
		values[i] = float64(i%7 - 3)
	}
	for range tasks {
		for _, v := range values {
			want = fade(want, v)
		}
	}
	p, total := tallies(t, o, dtype.F64, n, tasks)
	for _, workers := range []int{1, 2, 5} {
		in := s.load(t, s.engine(t, r, workers, engine.Config{}), p)
		if err := feedNumbers(in, "x", dtype.F64, values); err != nil {
			t.Fatal(err)
		}
		run(t, in)
		data, err := in.FetchBytes(total.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := dtype.F64.Float64(data); got != want {
			t.Errorf("%d workers: got %v, want %v", workers, got, want)
		}
	}
}

// tallies returns a program in which several tasks fold one input into one tensor.
func tallies(t *testing.T, o *graph.Operator, typ dtype.Type, n, tasks int) (*graph.Program, graph.Tensor) {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", typ, n)
	total := graph.Insert[int](g, 0, o, probeAttrs{}).Bind(0, x).Node().Tensor(1)
	p := inference(t, g, total)
	for k := range tasks - 1 {
		node := graph.Insert[int](g, 0, o, probeAttrs{}, graph.Named(fmt.Sprint("more", k))).Bind(0, x).Node()
		inv, err := graph.NewBinding[int](node, task.KindForward).Bind(0, x).Bind(1, total).Invocation()
		if err != nil {
			t.Fatal(err)
		}
		p.Steps = append(p.Steps, graph.Step{Phase: graph.Forward, Invocation: inv})
	}
	return p, total
}

// feedNumbers feeds a tensor of any type.
func feedNumbers(in *engine.Instance, name string, typ dtype.Type, data []float64) error {
	stored := make([]byte, len(data)*typ.Size())
	for i, v := range data {
		typ.PutFloat64(stored[i*typ.Size():], v)
	}
	return in.FeedBytes(name, stored)
}
