package simd

import "golang.org/x/sys/cpu"

func init() {
	sets = append(sets,
		set{"avx2", cpu.X86.HasAVX2 && cpu.X86.HasBMI2, func() {
			use(table32AVX2(), table64AVX2(), conversionTable{widenAVX2, narrowAVX2})
		}},
		set{"avx512", cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2, func() {
			use(table32AVX512(), table64AVX512(), conversionTable{widenAVX512, narrowAVX512})
		}})
}
