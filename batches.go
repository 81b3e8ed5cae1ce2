package opgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/opgen/opgen/runtime/graph"
)

// Batches holds the programs of a network for batches of several sizes, since a program is for batches of one
// size. They share the variables of the session and count their steps together: what depends on the number of
// the step, such as the corrections of an optimizer or what dropout draws, goes on as if all batches had one
// size.
type Batches[N any] struct {
	session *Session
	build   func(size int) (N, *graph.Program, error)
	limit   int

	mu      sync.Mutex
	sizes   map[int]*Batch[N]
	order   []int // of sizes, the least recently used first
	counter *counter
}

// Batch is the program for batches of one size.
type Batch[N any] struct {
	*Program
	Net N // from build
}

// NewBatches returns an empty set of programs. At most limit programs stay loaded, or any number if limit is
// 0; the least recently used one goes first. Build returns the program for batches of a size, and what the
// caller needs to know of it, such as the tensors to feed and to fetch. Nodes must have the same names for
// every size, since variables are shared by name.
func NewBatches[N any](s *Session, limit int, build func(size int) (N, *graph.Program, error)) *Batches[N] {
	return &Batches[N]{session: s, build: build, limit: limit, sizes: map[int]*Batch[N]{}}
}

// For returns the program for batches of a size. The first call for a size builds and loads it.
func (b *Batches[N]) For(ctx context.Context, size int) (*Batch[N], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.sizes[size]; ok {
		b.order = append(slices.DeleteFunc(b.order, func(n int) bool { return n == size }), size)
		return p, nil
	}
	p, err := b.load(ctx, size)
	if err != nil {
		return nil, fmt.Errorf("batches of %d: %w", size, err)
	}
	if b.limit > 0 && len(b.order) >= b.limit {
		oldest := b.order[0]
		err := b.sizes[oldest].instance.Close()
		delete(b.sizes, oldest)
		b.order = b.order[1:]
		if err != nil {
			return nil, fmt.Errorf("batches of %d: %w", oldest, errors.Join(err, p.instance.Close()))
		}
	}
	b.sizes[size] = p
	b.order = append(b.order, size)
	return p, nil
}

func (b *Batches[N]) load(ctx context.Context, size int) (*Batch[N], error) {
	net, prog, err := b.build(size)
	if err != nil {
		return nil, err
	}
	if prog == nil {
		return nil, errors.New("opgen: want a program, got nil")
	}
	if err := b.session.lock(); err != nil {
		return nil, err
	}
	defer b.session.mu.Unlock()
	if b.counter == nil {
		b.counter = b.session.counter(prog.Name)
	}
	p, err := b.session.load(ctx, prog, b.counter)
	if err != nil {
		return nil, err
	}
	return &Batch[N]{p, net}, nil
}

// Close unloads all programs. The variables stay with the session.
func (b *Batches[N]) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, size := range b.order {
		errs = append(errs, b.sizes[size].Close())
	}
	clear(b.sizes)
	b.order = nil
	return errors.Join(errs...)
}
