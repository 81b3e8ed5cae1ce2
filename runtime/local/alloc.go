package local

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
)

// Allocator hands out memory up to a limit and accounts for every byte of it.
type Allocator struct {
	// Admit, if it is set, is asked before each allocation, and may refuse it with an error: for limits
	// that the allocator does not know. It must be set before the first.
	Admit func(owner string, bytes int64) error

	mu     sync.Mutex
	limit  int64
	used   int64
	peak   int64
	blocks map[*byte]block // that are in use
}

// block is memory that was handed out.
type block struct {
	owner string
	bytes int64
}

// NewAllocator returns an allocator with a limit in bytes; 0 means as much as can be addressed.
func NewAllocator(limit int64) *Allocator {
	return &Allocator{limit: limit, blocks: map[*byte]block{}}
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

// Allocate returns n zeroed bytes aligned to a cache line. The owner is named in the error if they
// would exceed the limit; exactly reaching the limit is allowed.
func (a *Allocator) Allocate(owner string, n int64) ([]byte, error) {
	if a.Admit != nil {
		if err := a.Admit(owner, n); err != nil {
			return nil, fmt.Errorf("%s: %w", owner, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := a.limit
	if limit == 0 {
		limit = shape.MaxBytes
	}
	if n < 0 || n > limit-a.used {
		return nil, &OutOfMemoryError{Owner: owner, Requested: n, Used: a.used, Limit: limit}
	}
	if n == 0 {
		return []byte{}, nil
	}
	raw := make([]byte, n+plan.Align-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % plan.Align
	b := raw[skip : int64(skip)+n : int64(skip)+n]
	a.used += n
	a.peak = max(a.peak, a.used)
	a.blocks[&b[0]] = block{owner, n}
	return b, nil
}

// Free gives back what Allocate returned. The memory itself goes when nothing refers to it. What is not
// in use, because it was freed before or is part of a block or of another allocator, is an error and
// changes nothing.
func (a *Allocator) Free(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.blocks[&b[0]]
	if !ok || k.bytes != int64(len(b)) {
		return fmt.Errorf("local: want memory in use to free, got %d bytes that are not", len(b))
	}
	delete(a.blocks, &b[0])
	a.used -= k.bytes
	return nil
}

// Leak returns an error that lists what is in use, or nil if nothing is.
func (a *Allocator) Leak() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used == 0 {
		return nil
	}
	var owners []string
	for _, b := range slices.Collect(maps.Values(a.blocks)) {
		owners = append(owners, fmt.Sprintf("%s (%d)", b.owner, b.bytes))
	}
	slices.Sort(owners)
	return fmt.Errorf("local: %d bytes were not freed: %s", a.used, strings.Join(owners, ", "))
}

// Memory is a snapshot of an allocator, in bytes.
type Memory struct{ Used, Peak, Limit int64 }

// Memory returns what is in use now, the most that ever was, and the limit.
func (a *Allocator) Memory() Memory {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Memory{a.used, a.peak, a.limit}
}
