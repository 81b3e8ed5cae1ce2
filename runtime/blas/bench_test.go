package blas

import (
	"fmt"
	"testing"
)

// BenchmarkMultiply times products of square matrices, with b by rows and by columns, and of a few rows.
// Beside them are those of three plain loops in Go, which round products, too.
func BenchmarkMultiply(b *testing.B) {
	for _, s := range [][3]int{{8, 32, 32}, {64, 64, 64}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {8, 1024, 1024}, {1, 1024, 512}, {2, 1024, 512}, {5, 1024, 512}, {128, 128, 64}, {64, 3136, 576}, {64, 4, 64}, {64, 10, 64}, {512, 1, 128}, {512, 3, 128}, {258, 3, 256}, {3, 512, 128}, {64, 4, 32}} {
		for v, name := range []string{"nn", "nt", "tn", "loops"} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", s[0], s[1], s[2], name), func(b *testing.B) {
				m, n, k := s[0], s[1], s[2]
				x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
				for i := range x {
					x[i] = float32(i%1021)/1021 - 0.5
				}
				for i := range y {
					y[i] = float32(i%1013)/1013 - 0.5
				}
				lda, ldb := k, n
				if v == 1 {
					ldb = k
				}
				if v == 2 {
					lda = m
				}
				for b.Loop() {
					if name == "loops" {
						loops(z, x, y, m, n, k)
						continue
					}
					Multiply(z, n, x, lda, v == 2, y, ldb, v == 1, m, n, k, false)
				}
				b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	}
}

// loops stores the product of x and y in z, as three loops do in the order in which they read and write rows.
func loops(z, x, y []float32, m, n, k int) {
	for i := range m {
		to := z[i*n : (i+1)*n]
		clear(to)
		for l := range k {
			f := x[i*k+l]
			for j, v := range y[l*n : (l+1)*n] {
				to[j] += f * v
			}
		}
	}
}
