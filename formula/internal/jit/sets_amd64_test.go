package jit

import "golang.org/x/sys/cpu"

// has reports whether the processor has AVX-512 (wide) or AVX2.
func has(wide bool) bool {
	if wide {
		return cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ
	}
	return cpu.X86.HasAVX2
}

// prefetch asks for memory 32768 bytes behind the current element of the first pointer.
var prefetch = []byte{0x0f, 0x18, 0x94, 0x01, 0, 0x80, 0, 0} // prefetcht1 [rcx + rax + 32768]
