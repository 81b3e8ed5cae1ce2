package local

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
)

// Allocator hands out memory up to a limit and accounts for every byte of it.
type Allocator struct {
	mu    sync.Mutex
	limit int64
	used  int64
	peak  int64
}

// NewAllocator returns an allocator with a limit in bytes; 0 means as much as can be addressed.
func NewAllocator(limit int64) *Allocator { return &Allocator{limit: limit} }

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
	if err := a.reserve(owner, n); err != nil {
		return nil, err
	}
	if n == 0 {
		return []byte{}, nil
	}
	raw := make([]byte, n+plan.Align-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % plan.Align
	return raw[skip : int64(skip)+n : int64(skip)+n], nil
}

func (a *Allocator) reserve(owner string, n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := a.limit
	if limit == 0 {
		limit = shape.MaxBytes
	}
	if n < 0 || n > limit-a.used {
		return &OutOfMemoryError{Owner: owner, Requested: n, Used: a.used, Limit: limit}
	}
	a.used += n
	a.peak = max(a.peak, a.used)
	return nil
}

// Free gives back what Allocate returned. The memory itself goes when nothing refers to it.
func (a *Allocator) Free(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= int64(len(b))
}

// Memory is a snapshot of an allocator, in bytes.
type Memory struct{ Used, Peak, Limit int64 }

// Memory returns what is in use now, the most that ever was, and the limit.
func (a *Allocator) Memory() Memory {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Memory{a.used, a.peak, a.limit}
}
