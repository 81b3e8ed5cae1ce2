package pages

import (
	"testing"
	"unsafe"
)

// TestBytes asks for memory of several sizes and alignments.
func TestBytes(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 100, least - 1, least, least + 12345, 9 << 20} {
		for _, align := range []int{1, 64, 1 << 16} {
			b := Bytes(n, align)
			if int64(len(b)) != n || int64(cap(b)) != n {
				t.Fatalf("%d bytes: got %d, and room for %d", n, len(b), cap(b))
			}
			if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); n > 0 && at%uintptr(align) != 0 {
				t.Errorf("%d bytes at multiples of %d: got %#x", n, align, at)
			}
			for i, v := range b {
				if v != 0 {
					t.Fatalf("%d bytes: byte %d is %d", n, i, v)
				}
				b[i] = 1 // the heap clears what is used again
			}
		}
	}
}
