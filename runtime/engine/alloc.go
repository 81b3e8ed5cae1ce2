package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opgen/opgen/runtime/shape"
)

// allocator allocates memory of a backend up to a limit, and counts every byte of it.
type allocator struct {
	backend Backend
	admit   func(owner string, bytes int64) error // nil: all are admitted

	mu     sync.Mutex
	limit  int64 // in bytes; 0: the largest size that can be addressed
	used   int64
	peak   int64
	blocks map[Memory]block // that are in use
}

// block is memory in use.
type block struct {
	owner string
	bytes int64
}

// OutOfMemoryError reports that an allocation would exceed the limit. Nothing was allocated.
type OutOfMemoryError struct {
	Owner     string // of the memory that was requested
	Requested int64  // bytes
	Used      int64
	Limit     int64
}

func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf("out of memory: %s wants %d bytes; %d of %d are in use", e.Owner, e.Requested, e.Used, e.Limit)
}

// allocate returns n zeroed bytes of a device. If they would exceed the limit, the error names the owner. A
// request that reaches the limit exactly succeeds.
func (a *allocator) allocate(device int, owner string, n int64) (Region, error) {
	if a.admit != nil {
		if err := a.admit(owner, n); err != nil {
			return Region{}, fmt.Errorf("%s: %w", owner, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := a.limit
	if limit == 0 {
		limit = shape.MaxBytes
	}
	if n < 0 || n > limit-a.used {
		return Region{}, &OutOfMemoryError{Owner: owner, Requested: n, Used: a.used, Limit: limit}
	}
	if n == 0 {
		return Region{}, nil
	}
	m, err := a.backend.Alloc(device, n)
	if err != nil {
		return Region{}, fmt.Errorf("%s: %w", owner, err)
	}
	a.used += n
	a.peak = max(a.peak, a.used)
	a.blocks[m] = block{owner, n}
	return Region{Memory: m, Size: n}, nil
}

// free frees what allocate returned. It is an error if that is not in use; then nothing changes.
func (a *allocator) free(r Region) error {
	if r.Size == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if b, ok := a.blocks[r.Memory]; !ok || b.bytes != r.Size {
		return fmt.Errorf("engine: want to free memory in use, got %d bytes that are not", r.Size)
	}
	a.used -= r.Size
	delete(a.blocks, r.Memory)
	return a.backend.Free(r.Memory)
}

// leak returns an error that lists the blocks in use, or nil if there are none.
func (a *allocator) leak() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.blocks) == 0 {
		return nil
	}
	var owners []string
	for _, b := range slices.Collect(maps.Values(a.blocks)) {
		owners = append(owners, fmt.Sprintf("%s (%d)", b.owner, b.bytes))
	}
	slices.Sort(owners)
	return fmt.Errorf("engine: %d bytes were not freed: %s", a.used, strings.Join(owners, ", "))
}

// Usage is the memory of an engine's tensors, in bytes: in use now, the most in use so far, and the limit,
// which is 0 if there is none.
type Usage struct{ Used, Peak, Limit int64 }

func (a *allocator) usage() Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Usage{a.used, a.peak, a.limit}
}
