//go:build cuda

package main

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/test/networks"
)

// losses is how many steps are compared with the losses of a network.
const losses = 10

// open loads a network and its training step on a GPU.
func (m *meter) open(w *networks.Network, opts ...opgen.Option) (*networks.Programs, error) {
	b, err := cuda.New(cuda.Config{})
	if err != nil {
		return nil, err
	}
	s, err := opgen.Open(catalogue.RegisterCUDA, append(opts, opgen.Backend(b))...)
	if err != nil {
		return nil, err
	}
	return w.Open(m.ctx, s)
}

// network measures a network, forward and a training step. Inputs come from the host each time, as they do in
// training. The first steps have to have the losses of the network.
func (m *meter) network(w *networks.Network) (err error) {
	p, err := m.open(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.Load(m.ctx); err != nil || m.load {
		return err
	}
	for range losses {
		if err := p.Step(m.ctx); err != nil {
			return err
		}
	}
	if err := w.Check(p.Losses, 1e-4); err != nil {
		return err
	}
	step, err := m.median(func() error { return p.Step(m.ctx) })
	if err != nil {
		return err
	}
	forward, err := m.median(func() error { return p.Forward(m.ctx) })
	if err != nil {
		return err
	}
	return errors.Join(m.out.Encode(figure{Group: "network", Name: w.Short + " forward" + m.suffix, Seconds: forward}),
		m.out.Encode(figure{Group: "network", Name: w.Short + " training step" + m.suffix, Seconds: step}))
}

// warm is how many steps pass before the times of tasks are recorded, profiled how many are recorded, and
// slowest how many kinds of tasks are told of.
const (
	warm     = 5
	profiled = 50
	slowest  = 8
)

// recorder records the times of tasks, and knows the plans that they are of.
type recorder struct {
	*profile.Recorder
	plans []*plan.Plan
}

func (r *recorder) Observe(p *plan.Plan, workers int) func(engine.Event) {
	r.plans = append(r.plans, p)
	return r.Recorder.Observe(p, workers)
}

// tasks measures the tasks of a network's training step: the sums of those of each kind. Tasks are launched
// one by one then.
func (m *meter) tasks(w *networks.Network) (err error) {
	r := &recorder{Recorder: profile.New(profile.Config{Warmup: warm, Runs: profiled})}
	p, err := m.open(w, opgen.Observe(r))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if m.load {
		return nil
	}
	for range warm + profiled {
		if err := p.Step(m.ctx); err != nil {
			return err
		}
	}
	took := map[string]time.Duration{}
	for _, pl := range r.plans {
		for _, t := range r.Tasks(pl) {
			name := t.Label[strings.Index(t.Label, ": ")+1:] // without the node
			took[strings.TrimSpace(name)] += t.Elapsed.Shortest
		}
	}
	names := slices.Collect(maps.Keys(took))
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(took[b], took[a]), cmp.Compare(a, b)) })
	for _, name := range names[:min(len(names), slowest)] {
		if err := m.out.Encode(figure{Group: "tasks", Name: w.Short + ", all " + name + m.suffix, Seconds: took[name].Seconds()}); err != nil {
			return err
		}
	}
	return nil
}
