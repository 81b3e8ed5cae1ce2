//go:build linux && (amd64 || arm64)

package jit

import (
	"bytes"
	"testing"
)

// TestAhead looks for the instruction that asks for memory. Loops that compute much have none; what loops
// compute is tested elsewhere.
func TestAhead(t *testing.T) {
	sets(t, func(t testing.TB, wide bool) {
		for _, operations := range []int{1, mostAsking - 2, mostAsking + 1} {
			b := NewBuilder(false, wide)
			in, out := b.Pointer(), b.Pointer()
			v := b.Input(in)
			b.Ahead(in, 1<<15)
			for range operations {
				v = b.Mul(v, v)
			}
			b.Store(out, v, false)
			c := &compiler{Builder: b, encoder: newEncoder(b)}
			c.analyze()
			c.loops(false)
			if got, want := bytes.Contains(c.code, prefetch), operations < mostAsking; got != want {
				t.Errorf("wide %v, %d operations: the loop asks for memory: %v, should be: %v", wide, operations, got, want)
			}
		}
	})
}
