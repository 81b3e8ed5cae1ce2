// Package checked runs plans on the CPUs of this machine, and checks that kernels do what their specs say. It
// is a backend of package engine, for tests: it is many times slower than package cpu, and takes several
// times the memory.
//
// Each range of a task runs several times, on copies of the task's tensors. The copies differ where the task
// may not look, so a result that differs shows that it did. The copies lie between guards. The memory of the
// plan gets the results afterwards. Results have the same bits as those of package cpu.
//
// Tasks run one after the other, in the order of the plan. A task that breaks a rule stops the run with an
// *engine.TaskError. It wraps an *Error for each rule and slot.
package checked

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/internal/goroutine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// Backend runs and checks kernels that are written in Go.
type Backend struct {
	*cpu.Backend // memory and built-in operations
}

// New returns a backend. One goroutine runs all ranges, in the name of one worker after the other, so a
// kernel that uses the memory of another worker is found. By default there are two workers.
func New(c cpu.Config) *Backend {
	if c.Workers <= 0 {
		c.Workers = 2
	}
	return &Backend{cpu.New(c)}
}

// step is a bound step of a call.
type step struct {
	call   *call
	number int
	plain  engine.Launchable // on the memory of the plan
}

// Launch runs the step without checks. Init and cleanup tasks have no tensors to check.
func (s *step) Launch() error { return s.plain.Launch() }

// BindCall binds a call to the memory of the plan. Compile binds it to copies.
func (b *Backend) BindCall(c *engine.Call) ([]engine.Launchable, error) {
	plain, err := b.Backend.BindCall(c)
	if err != nil {
		return nil, err
	}
	bound := newCall(c)
	steps := make([]engine.Launchable, len(plain))
	for i := range plain {
		steps[i] = &step{bound, i, plain[i]}
	}
	return steps, nil
}

// group is a fused task. Its parts run one after the other, each over all of its indices.
type group struct{ parts []engine.Launchable }

// Launch runs each part once.
func (g *group) Launch() error {
	for _, p := range g.parts {
		if err := p.Launch(); err != nil {
			return err
		}
	}
	return nil
}

// BindGroup binds a fused task to its parts.
func (b *Backend) BindGroup(_ plan.Form, parts []engine.Launchable, _ []int) (engine.Launchable, error) {
	return &group{parts}, nil
}

// program is a plan with its tasks bound.
type program struct {
	*engine.Queues
	backend *Backend
	calls   map[int]*call     // by number in the plan
	at      engine.RangeError // what runs
}

// Exited returns the error of a run that did not return, since a kernel has ended the goroutine that called
// it.
func (p *program) Exited() error {
	e := p.at
	e.Err = goroutine.ErrExited
	return &e
}

// Compile binds the calls of a plan to copies of their tensors. The calls share the memory of the copies.
func (b *Backend) Compile(q *engine.Queues) (engine.Executable, error) {
	p := &program{Queues: q, backend: b, calls: map[int]*call{}}
	var size int
	for i := range q.Tasks {
		p.each(i, func(_ int, t *plan.Task, l engine.Launchable) error {
			if s, ok := l.(*step); ok {
				s.call.node = q.Plan.Calls[t.Call].Node
				s.call.left.all++
				size = max(size, s.call.size())
				p.calls[t.Call] = s.call
			}
			return nil
		})
	}
	memory := aligned(size)
	for _, c := range p.calls {
		if err := c.bind(memory); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// each calls f for a task of the plan, or for each part if it is fused, until the first error. It returns the
// part.
func (p *program) each(i int, f func(part int, t *plan.Task, l engine.Launchable) error) (int, error) {
	t := &p.Plan.Tasks[i]
	g, ok := p.Tasks[i].(*group)
	if !ok {
		return 0, f(0, t, p.Tasks[i])
	}
	for k, l := range g.parts {
		if err := f(k, &t.Group.Parts[k], l); err != nil {
			return k, err
		}
	}
	return 0, nil
}

// Run runs and checks the tasks of the plan in their order.
func (p *program) Run(ctx context.Context, number uint64) error {
	for _, c := range p.calls {
		c.begin()
	}
	for i := range p.Plan.Tasks {
		begin := time.Now()
		part, err := p.each(i, func(part int, t *plan.Task, l engine.Launchable) error {
			p.at.Task, p.at.Part = i, part
			if s, ok := l.(*step); ok {
				return p.check(ctx, number, t, s)
			}
			return p.builtin(ctx, number, t, l.(op.Body))
		})
		if err != nil {
			if e, ok := err.(*engine.RangeError); ok {
				e.Task, e.Part = i, part
			}
			return err
		}
		p.observe(i, number, begin)
	}
	return nil
}

// observe reports the ranges of a task. Those of a fused task do not run one by one, so all ranges of a task
// share its time.
func (p *program) observe(i int, number uint64, begin time.Time) {
	if p.Observe == nil {
		return
	}
	end := time.Now()
	ranges := rangesOf(&p.Plan.Tasks[i])
	each := end.Sub(begin) / time.Duration(max(len(ranges), 1))
	for k, r := range ranges {
		from := begin.Add(each * time.Duration(k))
		p.Observe(engine.Event{Task: i, Worker: k % p.backend.Workers(), Step: number, Range: r, Begin: from, End: from.Add(each)})
	}
}

// rangesOf returns the ranges that a task runs.
func rangesOf(t *plan.Task) []op.Range {
	g := t.Grid()
	if t.Tile > 0 {
		return []op.Range{g.Tile(t.Tile - 1)}
	}
	ranges := make([]op.Range, g.Tiles())
	for k := range ranges {
		ranges[k] = g.Tile(k)
	}
	return ranges
}

// builtin runs a built-in operation, which needs no check.
func (p *program) builtin(ctx context.Context, number uint64, t *plan.Task, body op.Body) error {
	for k, r := range rangesOf(t) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.at.Range = r
		if err := guarded(body, &op.Ctx{Worker: k % p.backend.Workers(), Step: number}, r); err != nil {
			return &engine.RangeError{Range: r, Err: err}
		}
	}
	return nil
}

// guarded runs a body. A panic becomes an error.
func guarded(body op.Body, ctx *op.Ctx, r op.Range) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &engine.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return body.Run(ctx, r)
}

// divided returns a task of one range, which small tasks have, with two of them: a kernel that confuses
// ranges is then found with small tensors, too. A task that reduces, and one of which a constraint demands
// more, stays whole.
func divided(t *plan.Task) *plan.Task {
	whole := slices.ContainsFunc(t.Access, func(a region.Access) bool { return len(a.Least) > 0 || a.Perm == perm.Reduce })
	if t.Tile > 0 || len(t.Inner) > 0 || t.Over < 2 || t.Grain < t.Over || whole {
		return t
	}
	d := *t
	d.Grain = (t.Over + 1) / 2
	return &d
}

// check runs and judges the ranges of a step of a call.
func (p *program) check(ctx context.Context, number uint64, t *plan.Task, s *step) error {
	c := s.call
	if err := c.load(p.backend); err != nil {
		return err
	}
	if t = divided(t); c.whole(s.number) {
		d := *t
		d.Grain, d.Inner = t.Over, nil
		for _, n := range t.Inner {
			n.Grain = n.Over
			d.Inner = append(d.Inner, n)
		}
		t = &d
	}
	j := &judge{call: c, step: s.number, tile: t.Tile, grid: t.Grid(), ranges: rangesOf(t)}
	for k, r := range j.ranges {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.at.Range = r
		j.ctx = op.Ctx{Worker: k % p.backend.Workers(), Step: number}
		if err := j.run(k, r); err != nil {
			return &engine.RangeError{Range: r, Err: err}
		}
	}
	j.lost()
	if c.left.now--; c.left.now == 0 {
		j.whole()
	}
	if err := j.found.err(); err != nil {
		return &engine.RangeError{Range: j.found.list[0].Range, Err: err}
	}
	if err := c.store(p.backend); err != nil {
		return fmt.Errorf("checked: %w", err)
	}
	return nil
}
