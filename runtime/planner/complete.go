package planner

import (
	"errors"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/region"
)

// Complete completes a plan of which only the roots, the calls and the tasks are known: it computes the
// lifetimes and the places of roots, the dependencies of tasks and the queues of workers, and proves the
// plan with verify.Plan. Build does so for programs; Complete serves those who make tasks in another way.
// Only the name, the type, the shape, the use and the device of a root count; an input whose Last is the
// number of tasks can be fetched, too. The plan is changed.
func Complete(p *plan.Plan, opts ...Option) error {
	if p == nil {
		return errors.New("planner: want a plan, got nil")
	}
	d, o := draft{p}, apply(opts)
	p.Target = o.target.Name
	var fetched []region.Root
	for i := range p.Roots {
		r := &p.Roots[i]
		r.Place = region.Place{Bytes: r.Operand().Bytes()}
		if r.Device > 0 {
			p.Devices = max(p.Devices, r.Device+1)
		}
		if r.Use == plan.Fetched || r.Use == plan.Fed && r.Last > 0 && r.Last == len(p.Tasks) {
			fetched = append(fetched, region.Root(i))
		}
	}
	for t := range p.Tasks {
		for i := range p.Tasks[t].Access {
			if r := p.Tasks[t].Access[i].Root; r < 0 || int(r) >= len(p.Roots) {
				return p.Errorf("want roots from 0 to %d, got %d in task %d", len(p.Roots)-1, r, t)
			}
		}
	}
	d.lifetimes(fetched)
	if err := d.place(); err != nil {
		return err
	}
	if err := d.schedule(o); err != nil {
		return err
	}
	return verify.Plan(p)
}
