package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// draws emits the generator of random words: a position in each lane of 64 bits, of whose words each is in the lower half of one. What is
// in the upper halves meanwhile has no effect.
func (s *set) draws() {
	vector, suffix := func() reg.Register { return s.YMM() }, ""
	if s.wide() {
		vector, suffix = func() reg.Register { return s.ZMM() }, "Q"
	}
	s.begin("draw"+s.title, "func(high, low []uint64, at *[18]uint64)", "draws words at consecutive positions.")
	high, low := s.Load(s.Param("high").Base(), s.GP64()), s.Load(s.Param("low").Base(), s.GP64())
	left, at := s.Load(s.Param("high").Len(), s.GP64()), s.Load(s.Param("at"), s.GP64())
	word := func(i int) operand.Mem { return operand.Mem{Base: at, Disp: 8 * i} }
	everywhere := func(i int) reg.Register {
		v := vector()
		s.emit("VPBROADCASTQ", word(i), v)
		return v
	}
	load, store := "VMOVDQU", "VMOVDQU"
	if s.wide() {
		load, store = "VMOVDQU64", "VMOVDQU64"
	}
	first, factors, steps, mask, lanes := s.GP64(), []reg.Register{everywhere(5), everywhere(6)}, []reg.Register{everywhere(7), everywhere(8)}, everywhere(9), vector()
	s.MOVQ(word(0), first)
	s.emit(load, word(10), lanes)
	index, n := s.GP64(), s.bytes/8
	s.XORQ(index, index)
	s.Label("vectors")
	s.CMPQ(left, operand.I32(n))
	s.jump("JLT", "end")
	c := []reg.Register{vector(), vector(), everywhere(1), everywhere(2)}
	keys := []reg.Register{everywhere(3), everywhere(4)}
	position := s.XMM()
	s.VMOVQ(first, position)
	s.emit("VPBROADCASTQ", position, c[0])
	s.emit("VPADDQ", lanes, c[0], c[0])
	s.emit("VPSRLQ", operand.U8(32), c[0], c[1])
	for round := range 10 {
		p, q := vector(), vector()
		s.emit("VPMULUDQ", c[0], factors[0], p)
		s.emit("VPMULUDQ", c[2], factors[1], q)
		s.emit("VPXOR"+suffix, keys[0], c[1], c[1])
		s.emit("VPXOR"+suffix, keys[1], c[3], c[3])
		s.emit("VPSRLQ", operand.U8(32), q, c[0])
		s.emit("VPSRLQ", operand.U8(32), p, c[2])
		s.emit("VPXOR"+suffix, c[1], c[0], c[0])
		s.emit("VPXOR"+suffix, c[3], c[2], c[2])
		c[1], c[3] = q, p
		for i := range keys {
			if round < 9 {
				s.emit("VPADDQ", steps[i], keys[i], keys[i])
			}
		}
	}
	for i, to := range []reg.Register{high, low} {
		s.emit("VPSLLQ", operand.U8(32), c[2*i], c[2*i])
		s.emit("VPAND"+suffix, mask, c[2*i+1], c[2*i+1])
		s.emit("VPOR"+suffix, c[2*i+1], c[2*i], c[2*i])
		s.emit(store, c[2*i], operand.Mem{Base: to, Index: index, Scale: 8})
	}
	s.ADDQ(operand.I32(n), first)
	s.ADDQ(operand.I32(n), index)
	s.SUBQ(operand.I32(n), left)
	s.jump("JMP", "vectors")
	s.Label("end")
	s.end()
}
