package cost

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
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
		if _, _, err := x.run(ctx, e, init, 1); err != nil {
			return Metrics{}, err
		}
	}
	p, states, err := x.run(ctx, e, x.program, m.config.Warmup+m.config.Runs)
	if err != nil {
		return Metrics{}, err
	}
	first := n.Op.Signature(task.KindForward)
	if first == nil {
		first = n.Op.Signature(task.KindUpdate)
	}
	isFirst := func(i int) bool { return p.Tasks[i].Call >= 0 && p.Calls[p.Tasks[i].Call].ID == first.ID }
	got = Metrics{Memory: memory(n, e.Workers()), Sync: m.config.sync(n)}
	for _, s := range states {
		got.Init += s.Init
		got.Memory.State += s.Bytes
	}
	got.Forward.Time = recorder.Sum(p, isFirst)
	m.config.compare(&got.Forward, n, first.Kind, moved(p, isFirst))
	if x.backward {
		// Gradients that are scattered into are filled with zeros first, which is part of backward.
		rest := func(i int) bool { return !isFirst(i) }
		got.Backward.Time = recorder.Sum(p, rest)
		m.config.compare(&got.Backward, n, task.KindBackward, moved(p, rest))
	}
	return got, nil
}

// moved returns the bytes of the tensors that calls read and write; only tasks for which counts holds count,
// and of the steps of a call, which all have the same tensors, the first.
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

// alone returns a program with the operator of a node: forward and, if it has a gradient, backward, with all
// gradients that there can be.
func alone(n *graph.Node) (*single, error) {
	x := &single{below: map[string]int{}}
	g := graph.New(0)
	given := n.Resolved.Given()
	var opts []graph.Option
	for i := range n.Op.Slots {
		if given.Requested[i] > 0 && !n.Op.Slots[i].Asked() {
			opts = append(opts, graph.Request(i))
		}
	}
	in := graph.Insert[int](g, 0, n.Op, n.Attrs, opts...)
	for i := range n.Op.Slots {
		if given.Requested[i] > 0 && n.Op.Slots[i].Asked() {
			in.Ask(i, given.Requested[i])
		}
		if values := n.Passed(i); len(values) > 0 {
			in.BindArg(i, values...)
		}
	}
	var wrt []graph.Tensor
	for i := range n.Op.Slots {
		for k, o := range given.Operands[i] {
			name := n.Op.Slots[i].Name
			if n.Op.Slots[i].Variadic {
				name = fmt.Sprintf("%s.%d", name, k)
			}
			t := g.Input(name, o.Type, o.Shape...)
			if bound, ok := n.Resolved.Bound(i); ok {
				x.below[t.Name()] = bound.Below
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
	if n.Op.Signature(task.KindBackward) != nil && len(seeds) > 0 && len(wrt) > 0 {
		x.backward = true
		x.program, _, err = graph.Gradients(g, seeds, wrt, outputs...)
	} else {
		x.program, err = graph.Whole(g, outputs...)
	}
	return x, err
}

// run runs a program a number of times. It returns its plan, as the engine ran it, and what the states of its
// nodes took.
func (x *single) run(ctx context.Context, e *engine.Engine, program *graph.Program, times int) (_ *plan.Plan, _ []engine.StateUse, err error) {
	p, err := planner.Build(program, append(e.Options(), planner.Plain())...)
	if err != nil {
		return nil, nil, err
	}
	in, err := e.Load(p)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for range times {
		for i, t := range program.Fed {
			if err := x.feed(in, t, uint64(i)); err != nil {
				return nil, nil, err
			}
		}
		if err := in.Run(ctx); err != nil {
			return nil, nil, err
		}
	}
	return in.Plan(), in.States(), nil
}

// feed feeds an input with values that any operator takes: reals between 0.5 and 1.5, and integers
// between 0 and their bound. Integers without a bound are 1, since they may be divisors.
func (x *single) feed(in *engine.Instance, t graph.Tensor, stream uint64) error {
	typ, bound := t.Type(), float64(x.below[t.Name()]) // 0 if there is none
	if typ.GoType() == "" {
		return fmt.Errorf("input %s: want an element type that engines store, got %v", t.Name(), typ)
	}
	source := rng.New(1, stream)
	data := make([]byte, t.Operand().Bytes())
	for i := 0; i < len(data)/typ.Size(); i++ {
		v := source.Uniform(uint64(i))
		switch {
		case typ.IsFloat():
			v += 0.5
		case typ == dtype.Bool:
			v = math.Round(v)
		case bound > 0:
			v *= bound
		default:
			v = 1
		}
		typ.PutFloat64(data[i*typ.Size():], v)
	}
	return in.FeedBytes(t.Name(), data)
}
