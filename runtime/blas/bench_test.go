package blas

import (
	"fmt"
	"testing"
)

// BenchmarkMultiply times products of square matrices, with b by rows and by columns, and of a few rows.
func BenchmarkMultiply(b *testing.B) {
	for _, s := range [][3]int{{8, 32, 32}, {64, 64, 64}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {8, 1024, 1024}, {128, 128, 64}, {64, 3136, 576}} {
		for v, name := range []string{"nn", "nt", "tn"} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", s[0], s[1], s[2], name), func(b *testing.B) {
				m, n, k := s[0], s[1], s[2]
				x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
				lda, ldb := k, n
				if v == 1 {
					ldb = k
				}
				if v == 2 {
					lda = m
				}
				for b.Loop() {
					Multiply(z, n, x, lda, v == 2, y, ldb, v == 1, m, n, k, false)
				}
				b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	}
}
