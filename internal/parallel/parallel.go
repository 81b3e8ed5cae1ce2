// Package parallel shares work among processors.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Do calls f for 0 to n-1, on as many goroutines as there are processors, and waits for all. If a call
// panics, Do panics in turn, so that its caller can recover.
func Do(n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	var panicked atomic.Pointer[string]
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
					panicked.CompareAndSwap(nil, &text)
				}
			}()
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				f(i)
			}
		})
	}
	wg.Wait()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
}
