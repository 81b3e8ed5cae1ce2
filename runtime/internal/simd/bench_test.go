package simd

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkStrips measures all functions of all sets of instructions, on strips of 1024 elements.
func BenchmarkStrips(b *testing.B) {
	for _, s := range sets {
		if s.available {
			s.use()
			b.Run(s.name+"/float32", func(b *testing.B) { benchmark(b, functions32) })
			b.Run(s.name+"/float64", func(b *testing.B) { benchmark(b, functions64) })
		}
	}
	chosen.use()
}

func benchmark[T Float](b *testing.B, t *table[T]) {
	const n = 1024
	r := rand.New(rand.NewPCG(9, 10))
	strip := func() []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(3 * r.NormFloat64())
		}
		return x
	}
	z, w, x, y := make([]T, n), strip(), strip(), strip()
	a := new(Lanes[T])
	for _, c := range calls[T]() {
		b.Run(c.name, func(b *testing.B) {
			a.Fill(0)
			for b.Loop() {
				c.run(t, z, w, x, y, a)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
		})
	}
}
