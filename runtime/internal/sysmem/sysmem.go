// Package sysmem finds how much memory this process can have.
package sysmem

import (
	"math"
	"runtime/debug"
	"sync"
)

// Limit returns the most bytes that this process can have, as far as it is known: the least of the memory
// limit of the Go runtime (GOMEMLIMIT), and on Linux of the machine's memory and swap space, of the control
// groups of the process, and of its address space (ulimit -v). Without any of them it is math.MaxInt64.
func Limit() int64 { return min(debug.SetMemoryLimit(-1), system()) }

// system returns what the system gives. It does not change while a process runs, or seldom.
var system = sync.OnceValue(func() int64 {
	limit := int64(math.MaxInt64)
	for _, n := range limits() {
		limit = min(limit, n)
	}
	return limit
})
