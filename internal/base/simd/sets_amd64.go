package simd

import "golang.org/x/sys/cpu"

// ofProcessor returns the sets of instructions beside that of Go, the fastest last.
func ofProcessor() []set {
	x := &cpu.X86
	return []set{
		{"avx2", x.HasAVX2 && x.HasFMA && x.HasBMI2, func() {
			t, wide := table32AVX2(), table64AVX2()
			setPow(t, wide)
			setLongPow(wide, longPow64AVX2)
			use(t, wide, conversionTable{widenAVX2, narrowAVX2, restsAVX2, drawAVX2, unitsAVX2, normalsAVX2, fetchAVX2, streamAVX2, drainAVX2, below32AVX2, below64AVX2})
		}, 32},
		{"avx512", x.HasAVX512F && x.HasAVX512DQ && x.HasBMI2, func() {
			t, wide := table32AVX512(), table64AVX512()
			setPow(t, wide)
			setLongPow(wide, longPow64AVX512)
			use(t, wide, conversionTable{widenAVX512, narrowAVX512, restsAVX512, drawAVX512, unitsAVX512, normalsAVX512, fetchAVX512, streamAVX512, drainAVX512, below32AVX512, below64AVX512})
		}, 64},
	}
}
