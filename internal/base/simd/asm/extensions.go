package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/reg"
)

// extensions returns what processors must have that run a set. Package simd asks for those which others do
// not imply.
func (s *set) extensions() []string {
	out := []string{"MMX+", "SSE", "SSE2", "SSE3", "SSSE3", "SSE4.1", "SSE4.2", "AVX", "AVX2", "FMA3", "F16C", "BMI2", "CMOV"}
	if s.wide() {
		out = append(out, "AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL")
	}
	return out
}

// check returns an error if processors that a set is made for cannot run a function: it has an instruction of
// another extension, or takes one of the vector registers that only AVX-512 has. Avo gives out these, too,
// where a function needs more than 16.
func (s *set) check(f *ir.Function) error {
	for _, extension := range f.ISA {
		if !slices.Contains(s.extensions(), extension) {
			return fmt.Errorf("%s: set %s does not have extension %s", f.Name, s.name, extension)
		}
	}
	if s.wide() {
		return nil
	}
	for _, i := range f.Instructions() {
		for _, r := range i.Registers() {
			p, ok := r.(reg.Physical)
			if ok && (p.Kind() == reg.KindVector && p.PhysicalIndex() >= 16 || p.Kind() == reg.KindOpmask) {
				return fmt.Errorf("%s: %s takes register %s, which set %s does not have", f.Name, i.Opcode, p.Asm(), s.name)
			}
		}
	}
	return nil
}
