package main

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/internal/base/pages"
	"github.com/opgen/opgen/internal/taskbench"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/plan"
)

// product measures a product of square matrices beside OpenBLAS. The workers share the rows.
func (b *bench) product(n int, double bool) (row, error) {
	r := row{title: fmt.Sprintf("float32, %d", n)}
	own := multiply[float32](n, b.threads)
	if double {
		r.title, own = fmt.Sprintf("float64, %d", n), multiply[float64](n, b.threads)
	}
	if _, err := b.peer.ask(command{Do: "product", N: n, Double: double}); err != nil {
		return r, err
	}
	var err error
	r.forward, err = b.pair("multiply", own)
	return r, err
}

func multiply[T float32 | float64](n, workers int) func() error {
	x, y, z := matrix[T](n), matrix[T](n), matrix[T](n)
	for i := range x {
		x[i], y[i] = T(i%7)/7, T(i%5)/5
	}
	helpers := taskbench.NewHelpers(workers - 1)
	part := func(w int) {
		lo, hi := n*w/workers, n*(w+1)/workers
		blas.Multiply(z[lo*n:], n, x[lo*n:], n, false, y, n, false, hi-lo, n, n, false)
	}
	return func() error {
		helpers.Run(workers, part)
		return nil
	}
}

// matrix returns a square matrix in memory as plans have it.
func matrix[T float32 | float64](n int) []T {
	data := pages.Bytes(int64(n*n)*int64(unsafe.Sizeof(T(0))), plan.Align)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n*n)
}
