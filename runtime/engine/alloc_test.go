package engine

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/shape"
)

// blocks is a backend that gives memory without bytes.
type blocks struct{ Backend }

func (blocks) Alloc(int, int64) (Memory, error) { return new(int), nil }
func (blocks) Free(Memory) error                { return nil }

func newAllocator(limit int64) *allocator {
	return &allocator{backend: blocks{}, limit: limit, blocks: map[Memory]block{}}
}

func TestAllocator(t *testing.T) {
	a := newAllocator(1000)
	want := func(used, peak int64) {
		t.Helper()
		if got := a.usage(); got != (Usage{used, peak, 1000}) {
			t.Errorf("memory %+v, want %d used, peak %d", got, used, peak)
		}
	}
	var regions []Region
	for _, n := range []int64{1, 63, 0, 64, 872} {
		r, err := a.allocate(0, "test", n)
		if err != nil || r.Size != n || (r.Memory == nil) != (n == 0) {
			t.Fatalf("%d bytes: %+v, %v", n, r, err)
		}
		regions = append(regions, r)
	}
	want(1000, 1000) // exactly the limit
	for _, n := range []int64{1, math.MaxInt64, -1} {
		_, err := a.allocate(0, "test", n)
		var oom *OutOfMemoryError
		if !errors.As(err, &oom) || *oom != (OutOfMemoryError{"test", n, 1000, 1000}) {
			t.Errorf("%d bytes more: %v", n, err)
		}
	}
	if _, err := a.allocate(0, "test", 0); err != nil {
		t.Errorf("0 bytes of full memory: %v", err)
	}
	if err := a.free(regions[4]); err != nil {
		t.Error(err)
	}
	want(128, 1000)
	if _, err := a.allocate(0, "test", 873); err == nil {
		t.Error("more than what was freed is there")
	}
	if err := a.leak(); err == nil || err.Error() != "engine: 128 bytes were not freed: test (1), test (63), test (64)" {
		t.Errorf("%v", err)
	}
	for _, r := range regions[:4] {
		if err := a.free(r); err != nil {
			t.Error(err)
		}
	}
	if err := a.free(regions[0]); err == nil || err.Error() != "engine: want to free memory in use, got 1 bytes that are not" {
		t.Errorf("freed twice: %v", err)
	}
	want(0, 1000)
	if err := a.leak(); err != nil {
		t.Error(err)
	}
	// Without a limit, as much as can be addressed.
	if _, err := newAllocator(0).allocate(0, "test", shape.MaxBytes+1); err == nil {
		t.Error("more than can be addressed is there")
	}
}

// TestAllocatorIsSafe reads the use of memory while others change it.
func TestAllocatorIsSafe(t *testing.T) {
	a := newAllocator(8 * 100)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				r, err := a.allocate(0, "test", 100)
				if err != nil {
					t.Error(err)
					return
				}
				a.usage()
				if err := a.free(r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if m := a.usage(); m.Used != 0 || m.Peak > 800 || m.Peak < 100 {
		t.Errorf("memory %+v", m)
	}
}
