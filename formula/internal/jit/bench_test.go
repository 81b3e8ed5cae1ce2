//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/opgen/opgen/internal/base/simd/elementary"
)

// BenchmarkFunctions measures loops of elementary functions over 4096 float32 elements.
func BenchmarkFunctions(b *testing.B) {
	type writer = elementary.Functions[Value, Mask]
	of := map[string]func(m *writer, x, y Value) Value{
		"Exp":     func(m *writer, x, _ Value) Value { return m.Exp(x) },
		"Log":     func(m *writer, x, _ Value) Value { return m.Log(x) },
		"Tanh":    func(m *writer, x, _ Value) Value { return m.Tanh(x) },
		"Sigmoid": func(m *writer, x, _ Value) Value { return m.Sigmoid(x) },
		"Density": func(m *writer, x, _ Value) Value { return m.Density(x) },
		"Phi":     func(m *writer, x, _ Value) Value { return m.Phi(x) },
		"GELU":    func(m *writer, x, _ Value) Value { return m.Mul(x, m.Phi(x)) },
		"GELUBack": func(m *writer, x, y Value) Value {
			return m.Mul(y, m.Add(m.Phi(x), m.Mul(x, m.Density(x))))
		},
	}
	for name, f := range of {
		b.Run(name, func(b *testing.B) {
			sets(b, func(_ testing.TB, wide bool) {
				k := NewBuilder(false, wide)
				x, y, z := k.Pointer(), k.Pointer(), k.Pointer()
				m := functions(k)
				k.Store(z, f(m, k.Input(x), k.Input(y)), false)
				c := k.Compile()
				in, out := make([]float32, 4096), make([]float32, 4096)
				for i := range in {
					in[i] = float32(rand.NormFloat64())
				}
				a := c.Arguments()
				a.SetPointer(x, unsafe.Pointer(&in[0]))
				a.SetPointer(y, unsafe.Pointer(&in[0]))
				a.SetPointer(z, unsafe.Pointer(&out[0]))
				b.Run(fmt.Sprint("wide=", wide), func(b *testing.B) {
					least := 1e9
					for b.Loop() {
						t := time.Now()
						for range 16 {
							c.Run(a, len(in), 1, false)
						}
						least = min(least, float64(time.Since(t))/float64(16*len(in)))
					}
					b.ReportMetric(least, "least-ns/element")
				})
			})
		})
	}
}
