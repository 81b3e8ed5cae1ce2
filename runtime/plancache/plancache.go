// Package plancache runs one network for batches of several sizes.
//
// A plan is for batches of one size. A Cache makes the plan of a size when it is first wanted; all of
// them share the variables of an engine by name, and count steps together.
package plancache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
)

// Build returns the program for batches of a size, and what callers want to know of it, such as the
// tensors to feed and to fetch. Nodes must have the same names for every size, since variables are
// shared by name.
type Build[N any] func(size int) (N, *graph.Program, error)

// Cache holds the plans of a program for batches of several sizes. It is safe for concurrent use; what
// For returns is not.
type Cache[N any] struct {
	engine *engine.Engine
	build  Build[N]
	limit  int
	opts   []plan.Option

	mu    sync.Mutex
	sizes map[int]*Sized[N]
	order []int // of sizes, the least recently used first
	steps uint64
}

// Sized is the program for batches of one size, loaded into the engine.
type Sized[N any] struct {
	Net      N
	Instance *engine.Instance
	cache    *Cache[N]
}

// New returns an empty cache that keeps at most limit plans loaded, 0 meaning any number: the one that
// was not wanted for the longest time goes first. The options are those of plan.Build;
// plans are scheduled for the engine's workers.
func New[N any](e *engine.Engine, limit int, build Build[N], opts ...plan.Option) *Cache[N] {
	return &Cache[N]{engine: e, build: build, limit: limit, opts: opts, sizes: map[int]*Sized[N]{}}
}

// For returns the program for batches of a size, built and loaded at first use. Variables that nothing
// has written yet get their first values.
func (c *Cache[N]) For(ctx context.Context, size int) (*Sized[N], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.sizes[size]; ok {
		c.order = append(slices.DeleteFunc(c.order, func(n int) bool { return n == size }), size)
		return s, nil
	}
	net, prog, err := c.build(size)
	if err == nil {
		err = c.initialize(ctx, prog)
	}
	var in *engine.Instance
	if err == nil {
		in, err = load(c.engine, prog, c.opts...)
	}
	if err != nil {
		return nil, fmt.Errorf("batches of %d: %w", size, err)
	}
	if c.limit > 0 && len(c.order) >= c.limit {
		oldest := c.order[0]
		err := c.sizes[oldest].Instance.Close()
		delete(c.sizes, oldest)
		c.order = c.order[1:]
		if err != nil {
			return nil, fmt.Errorf("batches of %d: %w", oldest, errors.Join(err, in.Close()))
		}
	}
	s := &Sized[N]{net, in, c}
	c.sizes[size] = s
	c.order = append(c.order, size)
	return s, nil
}

// initialize gives variables of a program that nothing has written their first values.
func (c *Cache[N]) initialize(ctx context.Context, prog *graph.Program) error {
	fresh := &graph.Program{}
	for _, v := range prog.Variables {
		if !c.engine.Written(v.Name()) {
			fresh.Variables = append(fresh.Variables, v)
		}
	}
	if len(fresh.Variables) == 0 {
		return nil
	}
	init, err := graph.Initialization(fresh)
	if err != nil {
		return err
	}
	in, err := load(c.engine, init)
	if err != nil {
		return err
	}
	return errors.Join(in.Run(ctx), in.Close())
}

func load(e *engine.Engine, prog *graph.Program, opts ...plan.Option) (*engine.Instance, error) {
	p, err := plan.Build(prog, append([]plan.Option{plan.Workers(e.Workers())}, opts...)...)
	if err != nil {
		return nil, err
	}
	return e.Load(p)
}

// Sizes returns the sizes whose plans are loaded, the least recently used first.
func (c *Cache[N]) Sizes() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.order)
}

// Close frees the memory of all plans. Variables stay with the engine.
func (c *Cache[N]) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, size := range c.order {
		errs = append(errs, c.sizes[size].Instance.Close())
	}
	clear(c.sizes)
	c.order = nil
	return errors.Join(errs...)
}

// Run runs the program once, as the step that follows the last one of any size: what depends on the
// number of the step, such as an optimiser's corrections or what dropout draws, goes on as if all
// batches had one size.
func (s *Sized[N]) Run(ctx context.Context) error {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.Instance.SetStep(s.cache.steps)
	if err := s.Instance.Run(ctx); err != nil {
		return err
	}
	s.cache.steps++
	return nil
}
