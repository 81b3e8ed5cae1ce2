package cost

import (
	"context"
	"errors"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/internal/single"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/task"
)

// measure runs the operator of a node by itself, in a graph and an engine of its own.
func (m *Meter) measure(ctx context.Context, n *graph.Node) (got Metrics, err error) {
	x, err := single.New(n, true)
	if err != nil {
		return Metrics{}, err
	}
	recorder := profile.New(profile.Config{Warmup: m.config.Warmup, Runs: m.config.Runs})
	e := engine.New(m.registry, m.config.Backend(), engine.Config{MemoryLimit: m.config.MemoryLimit, Observer: recorder})
	defer func() { err = errors.Join(err, e.Close()) }()
	if len(x.Program.Variables) > 0 {
		init, err := graph.Initialization(x.Program)
		if err != nil {
			return Metrics{}, err
		}
		if _, _, err := run(ctx, e, x, init, 1); err != nil {
			return Metrics{}, err
		}
	}
	p, states, err := run(ctx, e, x, x.Program, m.config.Warmup+m.config.Runs)
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
	if x.Backward {
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

// run runs a program a number of times, which feeds what x does. It returns its plan, as the engine ran it,
// and what the states of its nodes took.
func run(ctx context.Context, e *engine.Engine, x *single.Program, program *graph.Program, times int) (_ *plan.Plan, _ []engine.StateUse, err error) {
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
			if err := x.Feed(in, t, uint64(i)); err != nil {
				return nil, nil, err
			}
		}
		if err := in.Run(ctx); err != nil {
			return nil, nil, err
		}
	}
	return in.Plan(), in.States(), nil
}
