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
			perElement(b, n, func() { c.run(t, z, w, x, y, a) })
		})
	}
}

// BenchmarkConversions measures conversions between element types with all sets of instructions.
func BenchmarkConversions(b *testing.B) {
	narrow, wide := make([]float32, 1024), make([]float64, 1024)
	for _, s := range sets {
		if s.available {
			s.use()
			b.Run(s.name+"/Widen", func(b *testing.B) { perElement(b, 1024, func() { Widen(wide, narrow) }) })
			b.Run(s.name+"/Narrow", func(b *testing.B) { perElement(b, 1024, func() { Narrow(narrow, wide) }) })
		}
	}
	chosen.use()
}

// BenchmarkStrides measures elements that are not beside one another.
func BenchmarkStrides(b *testing.B) {
	strip, spread := make([]float32, 1024), make([]float32, 3*1024)
	b.Run("Gather", func(b *testing.B) { perElement(b, 1024, func() { Gather(strip, spread, 2, 3) }) })
	b.Run("Scatter", func(b *testing.B) { perElement(b, 1024, func() { Scatter(spread, strip, 2, 3) }) })
}

func perElement(b *testing.B, n int, f func()) {
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
}
