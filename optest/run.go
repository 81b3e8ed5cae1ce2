package optest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Execution says how Run runs a program. The zero Execution runs it once, by one worker.
type Execution struct {
	Workers int                      // 0: one
	Runs    int                      // 0: one
	Garbage func(dtype.Type) float64 // the value of all elements in memory before each run, such as NaNs; nil: zeros
	Checked bool                     // check what kernels do

	grain int            // indices in a range; 0: as the plan says
	moves bool           // in each run, floating-point inputs have their values one element further on
	tasks *task.Registry // nil: those of the kit
	plans plans          // those that were made before
}

// Run runs a program with the kernels that register adds. It feeds inputs and variables by name before each
// run, and gives the other variables the values of their initializers. It returns the tensors that the
// program fetches after the last run, by name. Integers and booleans are float64 too.
func Run(register func(*task.Registry) error, p *graph.Program, fed map[string][]float64, x Execution) (map[string][]float64, error) {
	x.tasks = &task.Registry{}
	if err := register(x.tasks); err != nil {
		return nil, err
	}
	return run(p, fed, x)
}

// run runs a program with the tasks of the kit, unless x names others.
func (k *Kit) run(p *graph.Program, fed values, x Execution) (values, error) {
	if x.tasks == nil {
		x.tasks = k.tasks
	}
	return run(p, fed, x)
}

// run runs a program in a new engine, and returns the tensors that it fetches after the last run.
func run(p *graph.Program, fed values, x Execution) (values, error) {
	l, err := load(p, x)
	if err != nil {
		return nil, err
	}
	out, err := l.run(fed, x)
	if closed := l.close(); err == nil {
		err = closed
	}
	return out, err
}

// loaded is a program in an engine of its own.
type loaded struct {
	program *graph.Program
	plan    *plan.Plan
	filled  []*plan.Root // those that take garbage
	engine  *engine.Engine
	init    *engine.Instance // initializes variables; nil if there are none
	in      *engine.Instance // nil before the first run
}

// load makes an engine for the plan of a program. It loads what initializes the variables.
func load(p *graph.Program, x Execution) (l *loaded, err error) {
	var backend engine.Backend = cpu.New(cpu.Config{Workers: max(x.Workers, 1)})
	if x.Checked {
		backend = checked.New(cpu.Config{})
	}
	l = &loaded{program: p, engine: engine.New(x.tasks, backend, engine.Config{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if len(p.Variables) > 0 {
		init, err := graph.Initialization(p)
		if err != nil {
			return l, err
		}
		pl, err := planner.Build(init)
		if err != nil {
			return l, err
		}
		if l.init, err = l.engine.Load(pl); err != nil {
			return l, err
		}
	}
	if x.plans == nil {
		x.plans = plans{}
	}
	if l.plan, err = x.plans.of(p); err != nil {
		return l, err
	}
	l.filled = fillable(l.plan, x)
	for i := range l.plan.Tasks {
		if x.grain > 0 && !slices.ContainsFunc(l.plan.Tasks[i].Access, whole) {
			l.plan.Tasks[i].Grain = x.grain
		}
	}
	return l, nil
}

func (l *loaded) close() error { return l.engine.Close() }

// run initializes the variables, and runs the program as often as x says. To the kernels, the first run is
// the first one of the engine.
func (l *loaded) run(fed values, x Execution) (values, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	for number := range max(x.Runs, 1) {
		for _, r := range l.filled {
			g := make([]float64, shape.Prod(r.Shape))
			for i := range g {
				g[i] = x.Garbage(r.Type)
			}
			if err := feed(l.in, r.Name, r.Type, g); err != nil {
				return nil, err
			}
		}
		for _, t := range slices.Concat(l.program.Fed, l.program.Variables) {
			if v, ok := fed[t.Name()]; ok {
				if n := len(v); x.moves && n > 0 && t.Type().IsFloat() && !t.Variable() {
					v = slices.Concat(v[n-number%n:], v[:n-number%n])
				}
				if err := feed(l.in, t.Name(), t.Type(), v); err != nil {
					return nil, err
				}
			}
		}
		if err := l.in.Run(context.Background()); err != nil {
			return nil, err
		}
	}
	out := values{}
	for _, t := range l.program.Fetched {
		var err error
		if out[t.Name()], err = fetch(l.in, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// begin makes an instance that has not run. It loads the plan again only if tasks keep state from run to run.
func (l *loaded) begin() (err error) {
	if l.init != nil {
		if err := l.init.Run(context.Background()); err != nil {
			return err
		}
	}
	if l.in != nil && len(l.plan.States) == 0 {
		l.in.SetStep(0)
		return nil
	}
	if l.in != nil {
		if err := l.in.Close(); err != nil {
			return err
		}
	}
	l.in, err = l.engine.Load(l.plan)
	return err
}

// plans holds the plans of programs that run several times.
type plans map[*graph.Program]*plan.Plan

// of returns a plan of a program whose tasks and roots may be changed.
func (m plans) of(p *graph.Program) (*plan.Plan, error) {
	if m[p] == nil {
		pl, err := planner.Build(p)
		if err != nil {
			return nil, err
		}
		m[p] = pl
	}
	out := *m[p]
	out.Tasks, out.Roots = slices.Clone(out.Tasks), slices.Clone(out.Roots)
	return &out, nil
}

// whole reports whether an access allows no other ranges than those of the plan: tiles have their own, and a
// task that folds runs in one.
func whole(a region.Access) bool { return a.Least != nil || a.Perm == perm.Reduce }

// fillable makes the roots of a plan that tasks write into roots that can be filled before a run, and lists
// them. A root can be filled only if it is fed, and if no other root uses its memory. So it becomes a fed
// one, and moves to the end of the arena.
func fillable(pl *plan.Plan, x Execution) []*plan.Root {
	if x.Garbage == nil {
		return nil
	}
	var out []*plan.Root
	for i := range pl.Roots {
		if r := &pl.Roots[i]; (r.Use == plan.Internal || r.Use == plan.Fetched) && r.First <= r.Last {
			r.Use, r.First = plan.Fed, -1
			r.Place.Off = pl.ArenaBytes
			pl.ArenaBytes += (r.Place.Bytes + plan.Align - 1) / plan.Align * plan.Align
			out = append(out, r)
		}
	}
	return out
}

// run runs a program of the sample, and records which tasks ran.
func (s sample) run(t *testing.T, p *graph.Program, fed values, x Execution) values {
	t.Helper()
	l := s.load(t, p, x)
	defer s.close(t, l)
	return s.runLoaded(t, l, fed, x)
}

// load loads a program of the sample.
func (s sample) load(t *testing.T, p *graph.Program, x Execution) *loaded {
	t.Helper()
	if x.tasks == nil {
		x.tasks = s.observed(t)
	}
	l, err := load(p, x)
	if err != nil {
		s.fatalf(t, "%v", err)
	}
	return l
}

func (s sample) runLoaded(t *testing.T, l *loaded, fed values, x Execution) values {
	t.Helper()
	v, err := l.run(fed, x)
	if err != nil {
		s.fatalf(t, "%v", err)
	}
	return v
}

func (s sample) close(t *testing.T, l *loaded) {
	t.Helper()
	if err := l.close(); err != nil {
		s.errorf(t, "%v", err)
	}
}
