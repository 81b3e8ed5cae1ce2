//go:build linux

package jit

import (
	"encoding/binary"
	"testing"
)

// TestCounts counts the instructions of main loops, which docs/performance.md compares with those of a
// compiler. A count that changes is better or worse code: the page follows.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name           string
		double         bool
		loop           func(b *Builder)
		want, elements int
	}{
		{"z = x + y", false, func(b *Builder) {
			x, y, z := b.Pointer(), b.Pointer(), b.Pointer()
			b.Store(z, b.Add(b.Input(x), b.Input(y)), false)
		}, 23, 16},
		{"z = x + y", true, func(b *Builder) {
			x, y, z := b.Pointer(), b.Pointer(), b.Pointer()
			b.Store(z, b.Add(b.Input(x), b.Input(y)), false)
		}, 23, 8},
		{"z = a*x + y", false, func(b *Builder) {
			x, y, z := b.Pointer(), b.Pointer(), b.Pointer()
			b.Store(z, b.Add(b.Mul(b.Input(x), b.Argument(b.Scalar())), b.Input(y)), false)
		}, 29, 16},
		{"z = x > 0 ? x : 0", false, func(b *Builder) {
			x, z := b.Pointer(), b.Pointer()
			b.Store(z, b.Above(b.Input(x), b.Number(0)), false)
		}, 24, 16},
		{"z = x / (1 + x*x)", false, func(b *Builder) {
			x, z := b.Pointer(), b.Pointer()
			v := b.Input(x)
			b.Store(z, b.Div(v, b.Add(b.Mul(v, v), b.Number(1))), false)
		}, 28, 16},
		{"sum of x*y in 64 lanes", false, func(b *Builder) {
			x, y := b.Pointer(), b.Pointer()
			b.Sum(b.Mul(b.Input(x), b.Input(y)))
		}, 99, 64},
		{"exp", false, func(b *Builder) {
			x, z := b.Pointer(), b.Pointer()
			b.Store(z, functions(b).Exp(b.Input(x)), false)
		}, 133, 16},
		{"tanh", false, func(b *Builder) {
			x, z := b.Pointer(), b.Pointer()
			b.Store(z, functions(b).Tanh(b.Input(x)), false)
		}, 143, 16},
	} {
		b := NewBuilder(c.double, false)
		c.loop(b)
		code, _, unroll, _, _ := b.compile()
		if got := mainLoop(code); got != c.want || unroll*b.width() != c.elements {
			t.Errorf("%s, float64 %v: %d instructions for %d elements, want %d for %d", c.name, c.double, got, unroll*b.width(), c.want, c.elements)
		}
	}
}

// mainLoop returns how many instructions the first loop of the code has: up to the first jump back.
func mainLoop(code []byte) int {
	for i := 0; i < len(code); i += 4 {
		w := binary.LittleEndian.Uint32(code[i:])
		if distance := int32(w<<8) >> 13; w>>24 == 0x54 && distance < 0 {
			return int(1 - distance)
		}
	}
	return 0
}
