package cost

import (
	"runtime"
	"sync"
	"time"

	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Machine holds the peak rates of a machine, for the number of workers that will be used.
type Machine struct {
	F32, F64  float64 // floating-point operations a second
	Bandwidth float64 // bytes a second, between memory and CPUs
}

// MeasureMachine measures the peak rates of this machine with a number of workers; 0 means one for each CPU
// that Go may use. The rate of floating-point operations is that of large matrix products, and the bandwidth
// is that of copying blocks that do not fit into a cache. It takes about a second.
func MeasureMachine(workers int) Machine {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return Machine{F32: gemmRate[float32](workers), F64: gemmRate[float64](workers), Bandwidth: copyRate(workers)}
}

// gemmRate returns the floating-point operations a second of matrix products, one for each worker.
func gemmRate[T dtype.Float](workers int) float64 {
	const n = 384
	return best(workers, func() (float64, func()) {
		a, b, c := make([]T, n*n), make([]T, n*n), make([]T, n*n)
		for i := range a {
			a[i], b[i] = T(i%7), T(i%5)
		}
		shape := []int{n, n}
		am, bm := tensor.MakeRO(unlock.Seal(a), shape).Mat(0, n, n), tensor.MakeRO(unlock.Seal(b), shape).Mat(0, n, n)
		cm := tensor.MakeRW(unlock.Seal(c), shape).Out(0, n, n, tensor.Store)
		return 2 * n * n * n, func() { blas.Gemm(cm, 1, am, bm) }
	})
}

// copyRate returns the bytes a second that copying reads and writes.
func copyRate(workers int) float64 {
	const bytes = 64 << 20
	return best(workers, func() (float64, func()) {
		from, to := make([]byte, bytes), make([]byte, bytes)
		for i := range from {
			from[i], to[i] = byte(i), 1 // so that the pages are mapped
		}
		return 2 * bytes, func() { copy(to, from) }
	})
}

// best runs a piece of work on every worker at the same time, several times, and returns the highest amount
// of work a second of all workers together.
func best(workers int, prepare func() (amount float64, work func())) float64 {
	const rounds = 4
	var total, rate float64
	works := make([]func(), workers)
	for w := range works {
		var amount float64
		amount, works[w] = prepare()
		total += amount
	}
	for range rounds {
		var done sync.WaitGroup
		start := time.Now()
		for _, work := range works {
			done.Go(work)
		}
		done.Wait()
		rate = max(rate, total/time.Since(start).Seconds())
	}
	return rate
}
