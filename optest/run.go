package optest

import (
	"context"
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
}

// Run runs a program with the kernels that register adds. It feeds inputs and variables by name before each run, and gives
// the other variables the values of their initializers. It returns the tensors that the program fetches after the last run,
// by name. Integers and booleans are float64 too.
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
func run(p *graph.Program, fed values, x Execution) (out values, err error) {
	var backend engine.Backend = cpu.New(cpu.Config{Workers: max(x.Workers, 1)})
	if x.Checked {
		backend = checked.New(cpu.Config{})
	}
	e := engine.New(x.tasks, backend, engine.Config{})
	defer func() {
		if closed := e.Close(); err == nil {
			err = closed
		}
	}()
	if len(p.Variables) > 0 {
		init, err := graph.Initialization(p)
		if err != nil {
			return nil, err
		}
		if _, err := runIn(e, init, nil, Execution{}); err != nil {
			return nil, err
		}
	}
	return runIn(e, p, fed, x)
}

// runIn does the same in an engine that may have variables already.
func runIn(e *engine.Engine, p *graph.Program, fed values, x Execution) (values, error) {
	pl, err := planner.Build(p)
	if err != nil {
		return nil, err
	}
	filled := fillable(pl, x)
	for i := range pl.Tasks {
		if x.grain > 0 && !slices.ContainsFunc(pl.Tasks[i].Access, whole) {
			pl.Tasks[i].Grain = x.grain
		}
	}
	in, err := e.Load(pl)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for number := range max(x.Runs, 1) {
		for _, r := range filled {
			g := make([]float64, shape.Prod(r.Shape))
			for i := range g {
				g[i] = x.Garbage(r.Type)
			}
			if err := feed(in, r.Name, r.Type, g); err != nil {
				return nil, err
			}
		}
		for _, t := range slices.Concat(p.Fed, p.Variables) {
			if v, ok := fed[t.Name()]; ok {
				if n := len(v); x.moves && n > 0 && t.Type().IsFloat() && !t.Variable() {
					v = slices.Concat(v[n-number%n:], v[:n-number%n])
				}
				if err := feed(in, t.Name(), t.Type(), v); err != nil {
					return nil, err
				}
			}
		}
		if err := in.Run(context.Background()); err != nil {
			return nil, err
		}
	}
	out := values{}
	for _, t := range p.Fetched {
		if out[t.Name()], err = fetch(in, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// whole reports whether an access allows no other ranges than those of the plan: tiles have their own, and a task that folds
// runs in one.
func whole(a region.Access) bool { return a.Least != nil || a.Perm == perm.Reduce }

// fillable makes the roots of a plan that tasks write into roots that can be filled before a run, and lists them. A root can
// be filled only if it is fed, and if no other root uses its memory. So it becomes a fed one, and moves to the end of the
// arena.
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
	if x.tasks == nil {
		x.tasks = s.observed(t)
	}
	v, err := run(p, fed, x)
	if err != nil {
		s.fatalf(t, "%v", err)
	}
	return v
}
