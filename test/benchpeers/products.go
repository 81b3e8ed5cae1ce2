package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/opgen/opgen/internal/pages"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/plan"
)

// product measures a product of square matrices beside OpenBLAS. The workers share the rows.
func (b *bench) product(n int, double bool) (row, error) {
	r := row{title: fmt.Sprintf("float32, %d", n)}
	own, stop := multiply[float32](n, b.threads)
	if double {
		stop()
		r.title = fmt.Sprintf("float64, %d", n)
		own, stop = multiply[float64](n, b.threads)
	}
	defer stop()
	if _, err := b.peer.ask(command{Do: "product", N: n, Double: double}); err != nil {
		return r, err
	}
	var err error
	r.forward, err = b.pair("multiply", own)
	return r, err
}

// multiply returns what computes a product, and what ends its workers.
func multiply[T float32 | float64](n, workers int) (product func() error, stop func()) {
	x, y, z := matrix[T](n), matrix[T](n), matrix[T](n)
	for i := range x {
		x[i], y[i] = T(i%7)/7, T(i%5)/5
	}
	part := func(lo, hi int) { blas.Multiply(z[lo*n:], n, x[lo*n:], n, false, y, n, false, hi-lo, n, n, false) }
	var helpers []*helper
	for w := 1; w < workers; w++ {
		helpers = append(helpers, newHelper(func() { part(n*w/workers, n*(w+1)/workers) }))
	}
	return func() error {
			for _, h := range helpers {
				h.start()
			}
			part(0, n/workers) // the caller is a worker, as of plans
			for _, h := range helpers {
				h.wait()
			}
			return nil
		}, func() {
			for _, h := range helpers {
				close(h.wake)
			}
		}
}

// helper is a worker that waits for the next run without sleep for a while, as workers of plans and those of the peer do.
type helper struct {
	begun, ended atomic.Int64
	asleep       atomic.Bool
	wake         chan struct{} // a token wakes it, and it ends when this is closed
}

// turns is how often a helper looks for a run before it sleeps.
const turns = 10_000

func newHelper(work func()) *helper {
	h := &helper{wake: make(chan struct{}, 1)}
	go func() {
		for run := int64(1); h.next(run); run++ {
			work()
			h.ended.Add(1)
		}
	}()
	return h
}

// next waits until a run begins. It returns false if there is none.
func (h *helper) next(run int64) bool {
	for range turns {
		if h.begun.Load() >= run {
			return true
		}
	}
	h.asleep.Store(true)
	if h.begun.Load() >= run && h.asleep.CompareAndSwap(true, false) {
		return true
	}
	_, ok := <-h.wake
	return ok
}

// start begins a run, and wait waits for its end.
func (h *helper) start() {
	h.begun.Add(1)
	if h.asleep.CompareAndSwap(true, false) {
		h.wake <- struct{}{}
	}
}

func (h *helper) wait() {
	for h.ended.Load() < h.begun.Load() {
		runtime.Gosched()
	}
}

// matrix returns a square matrix in memory as plans have it.
func matrix[T float32 | float64](n int) []T {
	data := pages.Bytes(int64(n*n)*int64(unsafe.Sizeof(T(0))), plan.Align)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n*n)
}
