package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opgen/opgen/runtime/shape"
)

// allocator hands out a backend's memory up to a limit and accounts for every byte of it.
type allocator struct {
	backend Backend
	admit   func(owner string, bytes int64) error // nil admits all

	mu     sync.Mutex
	limit  int64 // 0: as much as can be addressed
	used   int64
	peak   int64
	blocks map[Memory]block // that are in use
}

// block is memory that was handed out.
type block struct {
	owner string
	bytes int64
}

// OutOfMemoryError reports that an allocation would exceed the limit. Nothing was allocated.
type OutOfMemoryError struct {
	Owner     string // who asked
	Requested int64  // bytes
	Used      int64
	Limit     int64
}

func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf("out of memory: %s wants %d bytes; %d of %d are in use", e.Owner, e.Requested, e.Used, e.Limit)
}

// allocate returns n zeroed bytes of a device. The owner is named in the error if they would exceed the
// limit; exactly reaching the limit is allowed.
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

// free gives back what allocate returned.
func (a *allocator) free(r Region) error {
	if r.Size == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= a.blocks[r.Memory].bytes
	delete(a.blocks, r.Memory)
	return a.backend.Free(r.Memory)
}

// leak returns an error that lists what is in use, or nil if nothing is.
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

// Usage is the memory of tensors that an engine uses, in bytes: now, at most so far, and its limit, 0 if
// it has none.
type Usage struct{ Used, Peak, Limit int64 }

func (a *allocator) usage() Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Usage{a.used, a.peak, a.limit}
}
