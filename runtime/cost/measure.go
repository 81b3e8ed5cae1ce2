package cost

import (
	"context"
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/task"
)

// measure runs the operator of a node by itself, in a graph and an engine of its own.
func (m *Meter) measure(ctx context.Context, n *graph.Node) (got Metrics, err error) {
	x, err := alone(n)
	if err != nil {
		return Metrics{}, err
	}
	recorder := profile.New(profile.Config{Warmup: m.config.Warmup, Runs: m.config.Runs})
	e := engine.New(m.registry, m.config.Backend(), engine.Config{MemoryLimit: m.config.MemoryLimit, Observer: recorder})
	defer func() { err = errors.Join(err, e.Close()) }()
	if len(x.program.Variables) > 0 {
		init, err := graph.Initialization(x.program)
		if err != nil {
			return Metrics{}, err
		}
		if _, err := x.run(ctx, e, init, 1); err != nil {
			return Metrics{}, err
		}
	}
	p, err := x.run(ctx, e, x.program, m.config.Warmup+m.config.Runs)
	if err != nil {
		return Metrics{}, err
	}
	first := n.Op.Signature(task.KindForward)
	if first == nil {
		first = n.Op.Signature(task.KindUpdate)
	}
	isFirst := func(i int) bool { return p.Tasks[i].Call >= 0 && p.Calls[p.Tasks[i].Call].ID == first.ID }
	got = Metrics{Memory: memory(n, e.Workers()), Sync: m.config.sync(n)}
	got.Forward.Time = recorder.Sum(p, isFirst)
	m.config.compare(&got.Forward, n, first.Kind, moved(p, isFirst))
	if x.backward {
		// Gradients that are scattered into are filled with zeroes first, which is part of backward.
		rest := func(i int) bool { return !isFirst(i) }
		got.Backward.Time = recorder.Sum(p, rest)
		m.config.compare(&got.Backward, n, task.KindBackward, moved(p, rest))
	}
	return got, nil
}

// moved returns the bytes of the tensors that calls read and write; only tasks for which counts holds count, and of
// the steps of a call, which all have the same tensors, the first.
func moved(p *plan.Plan, counts func(int) bool) int64 {
	var bytes int64
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if !counts(i) || i > 0 && t.Call >= 0 && t.Call == p.Tasks[i-1].Call {
			continue
		}
		for _, a := range t.Access {
			if a.Perm.Reads() {
				bytes += p.Roots[a.Root].Place.Bytes
			}
			if a.Perm.Writes() {
				bytes += p.Roots[a.Root].Place.Bytes
			}
		}
	}
	return bytes
}

// single is a program that runs one operator by itself.
type single struct {
	program  *graph.Program
	backward bool
	below    map[string]int // bounds of integers that are fed, by name
}

// alone returns a program with the operator of a node: forward and, if it has a gradient, backward, with all gradients
// that there can be.
func alone(n *graph.Node) (*single, error) {
	x := &single{below: map[string]int{}}
	g := graph.New(0)
	given := n.Resolved.Given()
	var opts []graph.Option
	for i := range n.Op.Slots {
		if given.Requested[i] {
			opts = append(opts, graph.Request(i))
		}
	}
	in := graph.Insert[int](g, 0, n.Op, n.Attrs, opts...)
	var wrt []graph.Tensor
	for i := range n.Op.Slots {
		for _, o := range given.Operands[i] {
			t := g.Input(n.Op.Slots[i].Name, o.Type, o.Shape...)
			if bound, ok := n.Resolved.Below(i); ok {
				x.below[t.Name()] = bound
			}
			if n.Op.Slots[i].Trainable && o.Type.IsFloat() {
				wrt = append(wrt, t)
			}
			in.Bind(i, t)
		}
	}
	node := in.Node()
	if err := g.Err(); err != nil {
		return nil, err
	}
	seeds := map[graph.Tensor]graph.Tensor{}
	var outputs []graph.Tensor
	for i := range n.Op.Slots {
		for _, t := range node.Tensors(i) {
			switch {
			case n.Op.Slots[i].Role == task.RoleWeight && n.Op.Slots[i].Trainable:
				wrt = append(wrt, t)
			case n.Op.Slots[i].Role == task.RoleOutput:
				outputs = append(outputs, t)
				if t.Type().IsFloat() {
					seeds[t] = g.Input("gradient of "+t.Name(), t.Type(), t.Shape()...)
				}
			}
		}
	}
	var err error
	if n.Op.Backward != nil && len(seeds) > 0 && len(wrt) > 0 {
		x.backward = true
		x.program, _, err = graph.Gradients(g, seeds, wrt, outputs...)
	} else {
		x.program, err = graph.Whole(g, outputs...)
	}
	return x, err
}

// run runs a program a number of times and returns its plan, as the engine ran it.
func (x *single) run(ctx context.Context, e *engine.Engine, program *graph.Program, times int) (_ *plan.Plan, err error) {
	p, err := plan.Build(program, append(e.Options(), plan.Plain())...)
	if err != nil {
		return nil, err
	}
	in, err := e.Load(p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for range times {
		for i, t := range program.Fed {
			if err := x.feed(in, t, uint64(i)); err != nil {
				return nil, err
			}
		}
		if err := in.Run(ctx); err != nil {
			return nil, err
		}
	}
	return in.Plan(), nil
}

// feed feeds an input with values that any operator should take: reals between 0.5 and 1.5, integers between 0 and
// their bound, and 1 where they have none, as something may be divided by them.
func (x *single) feed(in *engine.Instance, t graph.Tensor, stream uint64) error {
	bound := x.below[t.Name()] // 0 if there is none
	switch t.Type() {
	case dtype.F32:
		return fill(in, t, stream, func(u float64) float32 { return float32(u) + 0.5 })
	case dtype.F64:
		return fill(in, t, stream, func(u float64) float64 { return u + 0.5 })
	case dtype.Bool:
		return fill(in, t, stream, func(u float64) bool { return u < 0.5 })
	case dtype.I8:
		return fill(in, t, stream, below[int8](bound))
	case dtype.I16:
		return fill(in, t, stream, below[int16](bound))
	case dtype.I32:
		return fill(in, t, stream, below[int32](bound))
	case dtype.I64:
		return fill(in, t, stream, below[int64](bound))
	case dtype.U8:
		return fill(in, t, stream, below[uint8](bound))
	case dtype.U16:
		return fill(in, t, stream, below[uint16](bound))
	case dtype.U32:
		return fill(in, t, stream, below[uint32](bound))
	case dtype.U64:
		return fill(in, t, stream, below[uint64](bound))
	}
	return fmt.Errorf("input %s: want an element type of fixed size, got %v", t.Name(), t.Type())
}

// below returns the function that makes integers below a bound of numbers between 0 and 1; without a bound, they are 1.
func below[T dtype.Integer](bound int) func(float64) T {
	if bound <= 0 {
		return func(float64) T { return 1 }
	}
	return func(u float64) T { return T(u * float64(bound)) }
}

func fill[T dtype.Element](in *engine.Instance, t graph.Tensor, stream uint64, value func(uniform float64) T) error {
	source := rng.New(1, stream)
	data := make([]T, t.Operand().Bytes()/int64(t.Type().Size()))
	for i := range data {
		data[i] = value(source.Uniform(uint64(i)))
	}
	return engine.Feed(in, t.Name(), data)
}
