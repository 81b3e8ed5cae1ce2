package enginetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/plan"
)

// ledger is a backend that keeps account of what the engine asks of another: it must free all memory that it
// got once, and close the backend once and last.
type ledger struct {
	engine.Backend
	refuse int // number of the allocation, from 1, that fails; 0: none

	mu        sync.Mutex
	allocated int
	bytes     map[engine.Memory]int64 // in use
	closed    int
	faults    []string
}

// open returns a backend. At the end of the test, its ledger must be even.
func (s *suite) open(t testing.TB, workers int) *ledger {
	t.Helper()
	l := &ledger{Backend: s.new(workers), bytes: map[engine.Memory]int64{}}
	t.Cleanup(func() {
		for _, f := range l.faults {
			t.Error(f)
		}
		if len(l.bytes) > 0 || l.closed != 1 {
			t.Errorf("%d blocks of memory were not freed, and the backend was closed %d times", len(l.bytes), l.closed)
		}
	})
	return l
}

// fault notes a misuse. The caller holds the lock.
func (l *ledger) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// Alloc allocates, and checks that the memory is new and zeroed.
func (l *ledger) Alloc(device int, n int64) (engine.Memory, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allocated++
	if l.allocated == l.refuse {
		return nil, errFault
	}
	m, err := l.Backend.Alloc(device, n)
	if err != nil {
		return nil, err
	}
	if _, ok := l.bytes[m]; ok || n <= 0 || device < 0 || device >= l.Devices() || l.closed > 0 {
		l.fault("allocation of %d bytes of device %d, in use before: %v", n, device, ok)
	}
	l.bytes[m] = n
	data := make([]byte, n)
	if err := l.Backend.Read(data, engine.Region{Memory: m, Size: n}); err != nil {
		l.fault("reading new memory: %v", err)
	}
	for i, b := range data {
		if b != 0 {
			l.fault("byte %d of new memory is %d", i, b)
			break
		}
	}
	return m, nil
}

// Free frees, once.
func (l *ledger) Free(m engine.Memory) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.bytes[m]; !ok || l.closed > 0 {
		l.fault("memory is freed that is not in use")
	}
	delete(l.bytes, m)
	return l.Backend.Free(m)
}

// region checks that bytes that are moved lie within memory in use.
func (l *ledger) region(r engine.Region, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, ok := l.bytes[r.Memory]
	if !ok || r.Size != int64(n) || r.Size <= 0 || r.Off < 0 || r.Off+r.Size > size || r.Off%plan.Align != 0 {
		l.fault("%d bytes are moved to or from %d bytes at %d of %d", n, r.Size, r.Off, size)
	}
}

// Write checks the region.
func (l *ledger) Write(to engine.Region, from []byte) error {
	l.region(to, len(from))
	return l.Backend.Write(to, from)
}

// Read checks the region.
func (l *ledger) Read(to []byte, from engine.Region) error {
	l.region(from, len(to))
	return l.Backend.Read(to, from)
}

// Close counts.
func (l *ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed++
	return l.Backend.Close()
}
