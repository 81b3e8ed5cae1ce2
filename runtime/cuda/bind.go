//go:build cuda

package cuda

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
)

// launchable is a bound task of the backend. Its device code is compiled with that of a plan, by job.
type launchable interface {
	engine.Launchable
	// bindings adds the device code of the task to a list.
	bindings(list []*binding) []*binding
	// builtin reports whether the task needs the device code of built-in operations.
	builtin() bool
	// job returns what the task does in a program.
	job(p *program) (job, error)
}

// binding is a call of a task that has device code.
type binding struct {
	call   *engine.Call
	unit   *gpu.Unit
	device *device
	host   []engine.Launchable // the steps on the host; nil unless a plan has tiles of them as tasks
}

// BindCall binds device code, or a Go kernel, which runs on the host.
func (b *Backend) BindCall(c *engine.Call) ([]engine.Launchable, error) {
	if err := b.working(); err != nil {
		return nil, err
	}
	d := b.devices[c.Device]
	if k, ok := c.Variant.Kernel.(gpu.Kernel); ok {
		return b.bindUnit(c, d, k)
	}
	return b.bindHost(c, d)
}

// bindUnit binds device code. It gets addresses that tell tensors apart, but that cannot be read.
func (b *Backend) bindUnit(c *engine.Call, d *device, k gpu.Kernel) ([]engine.Launchable, error) {
	var failed error
	unit, err := k.Lower(c.Accessor(func(r engine.Region) []byte {
		m := r.Memory.(*memory)
		if err := m.reserve(); err != nil {
			failed = err
			return nil
		}
		return m.addresses[r.Off : r.Off+r.Size : r.Off+r.Size]
	}))
	if failed != nil {
		return nil, failed
	}
	if errors.Is(err, gpu.ErrHost) {
		return b.bindHost(c, d)
	}
	if err != nil {
		return nil, err
	}
	if unit == nil {
		return nil, &op.Error{Operator: c.Signature.Operator.Name, Task: c.Signature.Task, Want: "device code", Got: "nil"}
	}
	if err := unit.Check(c.Signature, d.limits); err != nil {
		return nil, err
	}
	x := &binding{call: c, unit: unit, device: d}
	steps := make([]engine.Launchable, len(unit.Steps))
	for i := range steps {
		steps[i] = &unitStep{x, i, b}
	}
	return steps, nil
}

// unitStep is a step of a task with device code.
type unitStep struct {
	*binding
	step    int
	backend *Backend
}

func (s *unitStep) bindings(list []*binding) []*binding { return append(list, s.binding) }
func (s *unitStep) builtin() bool                       { return false }

// Launch compiles the device code of the step and runs it once.
func (s *unitStep) Launch() error { return launch(s.backend, s) }

// onHost returns the step as one that runs on the host: a launch covers all of a step, so tiles that are
// tasks run there.
func (s *unitStep) onHost() (launchable, error) {
	if s.host == nil {
		steps, err := s.backend.bindHost(s.call, s.device)
		if err != nil {
			return nil, fmt.Errorf("a tile runs on the host, since the kernel is device code for whole steps: %w", err)
		}
		s.host = steps
	}
	return s.host[s.step].(launchable), nil
}

// job returns the launches of the step.
func (s *unitStep) job(p *program) (job, error) {
	var k kernels
	for i := range s.unit.Steps[s.step] {
		l, err := p.resolve(s.binding, &s.unit.Steps[s.step][i])
		if err != nil {
			name := s.call.Signature
			return nil, &op.Error{Operator: name.Operator.Name, Task: name.Task, Message: err.Error()}
		}
		k.launches = append(k.launches, l)
	}
	return &k, nil
}

// group is a fused task. Its parts run one after the other.
type group struct {
	parts []launchable
	over  []int
}

// BindGroup returns a task that runs all parts.
func (b *Backend) BindGroup(_ plan.Form, parts []engine.Launchable, over []int) (engine.Launchable, error) {
	g := &group{over: over}
	for _, p := range parts {
		g.parts = append(g.parts, p.(launchable))
	}
	return g, nil
}

func (g *group) bindings(list []*binding) []*binding {
	for _, p := range g.parts {
		list = p.bindings(list)
	}
	return list
}

func (g *group) builtin() bool {
	for _, p := range g.parts {
		if p.builtin() {
			return true
		}
	}
	return false
}

// Launch is never called: engines launch init and cleanup tasks, which are no groups.
func (g *group) Launch() error { return fmt.Errorf("want a task that is no group, got one") }

func (g *group) job(p *program) (job, error) {
	s := &sequence{}
	for i, part := range g.parts {
		j, err := part.job(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		s.parts = append(s.parts, j)
		s.grids = append(s.grids, *op.Line(g.over[i], max(g.over[i], 1)))
	}
	return s, nil
}
