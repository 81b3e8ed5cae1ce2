package taskbench

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Helpers are goroutines that run parts beside the calling one. They wait for more without sleep, as workers
// of the engine do between tasks that follow closely: to wake a thread takes as long as some hundred thousand
// elements. They end when none comes for longer.
type Helpers struct {
	all     []helper
	pending atomic.Int64 // how many parts of the current run have not ended
}

// helper is a goroutine, or where one may be.
type helper struct {
	state atomic.Int32
	part  func()
	_     [64]byte // so that helpers that wait share no line of the cache
}

// What a helper does: there is no goroutine, it waits, or it has a part to run.
const (
	absent int32 = iota
	waiting
	given
)

// patience is how long a helper waits, and turns is how often it looks before it lets other goroutines run
// and looks at the clock.
const (
	patience = 2 * time.Millisecond
	turns    = 300
)

// NewHelpers returns n helpers. None of them runs yet.
func NewHelpers(n int) *Helpers { return &Helpers{all: make([]helper, n)} }

// Run calls f for 0 to n-1 at the same time, 0 in this goroutine. There is a helper for each of the others.
func (h *Helpers) Run(n int, f func(int)) {
	h.pending.Store(int64(n - 1))
	for i := n - 1; i > 0; i-- {
		h.all[i-1].give(func() {
			defer h.pending.Add(-1)
			f(i)
		})
	}
	f(0)
	for i := 0; h.pending.Load() > 0; i++ {
		if i >= turns {
			runtime.Gosched()
		}
	}
}

// give makes the helper run a part, which is its only one.
func (h *helper) give(part func()) {
	h.part = part
	if !h.state.CompareAndSwap(waiting, given) {
		h.state.Store(given)
		go h.loop()
	}
}

func (h *helper) loop() {
	for {
		part := h.part
		h.part = nil
		h.state.Store(waiting) // before the part ends, since the next one may come at once
		part()
		begin := time.Now()
		for i := 0; h.state.Load() != given; i++ {
			if i < turns {
				continue
			}
			runtime.Gosched()
			if time.Since(begin) > patience && h.state.CompareAndSwap(waiting, absent) {
				return
			}
		}
	}
}
