package main

import (
	"strings"
	"testing"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
)

// TestCheck gives check functions that processors with AVX2 alone cannot run, and one that they can.
func TestCheck(t *testing.T) {
	vectors := func(n int) func(*set) {
		return func(s *set) {
			x, m := s.Load(s.Param("x").Base(), s.GP64()), &machine{set: s}
			v := m.vectors(n)
			for i := range v {
				s.VMOVUPS(operand.Mem{Base: x, Disp: i * s.bytes}, v[i])
			}
			for i := range v {
				s.VMOVUPS(v[i], operand.Mem{Base: x, Disp: i * s.bytes})
			}
		}
	}
	for _, c := range []struct {
		name string
		body func(*set)
		want string
	}{
		{"16 vectors", vectors(16), ""},
		{"17 vectors", vectors(17), "f: VMOVUPS takes register Y16, which set avx2 does not have"},
		{"three operands", func(s *set) { v := s.YMM(); s.VPTERNLOGQ(operand.U8(0), v, v, v) }, "f: set avx2 does not have extension AVX512F"},
		{"mask", func(s *set) { k := s.K(); s.KXORW(k, k, k) }, "f: set avx2 does not have extension AVX512F"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &set{name: "avx2", title: "AVX2", bytes: 32, Context: build.NewContext(), at: map[constant]int{}}
			s.ConstraintExpr("amd64")
			s.begin("f", "func(x []float32)", "is a test.")
			c.body(s)
			s.end()
			file, err := s.Result()
			if err != nil {
				t.Fatal(err)
			}
			f := file.Functions()[0]
			if err := pass.Compile.Execute(&ir.File{Sections: []ir.Section{f}}); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.check(f); err != nil {
				got = err.Error()
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}
