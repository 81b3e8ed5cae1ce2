//go:build linux && amd64

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
			c := &compiler{Builder: b, encoder: encoder{zmm: wide, element: b.size()}}
			c.analyze()
			c.loops(false)
			prefetch := []byte{0x0f, 0x18, 0x94, 0x01, 0, 0x80, 0, 0} // prefetcht1 [rcx + rax + 32768]
			if got, want := bytes.Contains(c.code, prefetch), operations < mostAsking; got != want {
				t.Errorf("wide %v, %d operations: the loop asks for memory: %v, should be: %v", wide, operations, got, want)
			}
		}
	})
}
