// Package parallel shares work among processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls f for 0 to n-1, on as many goroutines as there are processors, and waits for all.
func Do(n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				f(i)
			}
		})
	}
	wg.Wait()
}
