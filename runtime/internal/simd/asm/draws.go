package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/opgen/opgen/runtime/internal/simd/approx"
)

// rounds is how many rounds the generator has.
const rounds = 10

// threeXor is the table of the exclusive or of three operands.
const threeXor = 0x96

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
	first, factors, mask, lanes := s.GP64(), []reg.Register{everywhere(5), everywhere(6)}, everywhere(9), vector()
	// Keys of all rounds are computed once where registers hold them.
	steps, all := []reg.Register{everywhere(7), everywhere(8)}, [][]reg.Register{{everywhere(3), everywhere(4)}}
	for s.wide() && len(all) < rounds {
		last, next := all[len(all)-1], []reg.Register{vector(), vector()}
		for i := range next {
			s.emit("VPADDQ", steps[i], last[i], next[i])
		}
		all = append(all, next)
	}
	s.MOVQ(word(0), first)
	s.emit(load, word(10), lanes)
	index, n := s.GP64(), s.bytes/8
	s.XORQ(index, index)
	s.Label("vectors")
	s.CMPQ(left, operand.I32(n))
	s.jump("JLT", "end")
	c := []reg.Register{vector(), vector(), everywhere(1), everywhere(2)}
	keys := all[0]
	if !s.wide() {
		keys = []reg.Register{everywhere(3), everywhere(4)}
	}
	position := s.XMM()
	s.VMOVQ(first, position)
	s.emit("VPBROADCASTQ", position, c[0])
	s.emit("VPADDQ", lanes, c[0], c[0])
	s.emit("VPSRLQ", operand.U8(32), c[0], c[1])
	for round := range rounds {
		p, q := vector(), vector()
		s.emit("VPMULUDQ", c[0], factors[0], p)
		s.emit("VPMULUDQ", c[2], factors[1], q)
		if s.wide() {
			keys = all[round]
		} else {
			s.emit("VPXOR", keys[0], c[1], c[1])
			s.emit("VPXOR", keys[1], c[3], c[3])
		}
		s.emit("VPSRLQ", operand.U8(32), q, c[0])
		s.emit("VPSRLQ", operand.U8(32), p, c[2])
		for i := range keys {
			if s.wide() {
				s.emit("VPTERNLOGQ", operand.U8(threeXor), keys[i], c[2*i+1], c[2*i])
			} else {
				s.emit("VPXOR", c[2*i+1], c[2*i], c[2*i])
			}
		}
		c[1], c[3] = q, p
		for i := range keys {
			if round < rounds-1 && !s.wide() {
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

// units emits the function that makes numbers from 0 to 1 of words: the upper 53 bits, as a number, divided by 2^53.
func (s *set) units() {
	m := &machine{set: s, Constants: &approx.Double, double: true}
	const unit = 1.0 / (1 << 53)
	s.conversion("units"+s.title, "func(z []float64, x []uint64)", "sets every z[i] to the number from 0 to 1 that x[i] stands for.", 4, 8, 8,
		func(read, write operand.Mem) { s.emit("VMOVUPD", m.mul(m.whole(read), m.number(unit))[0], write) },
		func(read, write operand.Mem) {
			word, v := s.GP64(), s.XMM()
			s.MOVQ(read, word)
			s.SHRQ(operand.U8(11), word)
			s.VXORPD(v, v, v)
			s.VCVTSI2SDQ(word, v, v)
			s.VMULSD(m.place(m.number(unit)), v, v)
			s.VMOVSD(v, write)
		})
}

// whole returns the upper 53 bits of words in memory, as numbers.
func (m *machine) whole(words operand.Mem) value {
	v := m.vectors(1)
	if m.wide() {
		m.VMOVDQU64(words, v[0])
		v = m.down(v, 11)
		m.emit("VCVTUQQ2PD", v[0], v[0])
		return v
	}
	// Each half of the word is below 2^32. As the lower bits of a great number it is a number itself.
	m.VMOVDQU(words, v[0])
	v = m.down(v, 11)
	const low, high = 1 << 52, 1 << 84
	lower := m.or(m.and(v, m.word(1<<32-1)), m.number(low))
	upper := m.or(m.down(v, 32), m.number(high))
	return m.add(m.sub(upper, m.number(high+low)), lower)
}

// normals emits the function that makes numbers of the normal distribution of pairs of words. The number of elements is a multiple of 8.
func (s *set) normals() {
	m := &machine{set: s, Constants: &approx.Double, double: true}
	s.begin("normals"+s.title, "func(z []float64, high, low []uint64)", "sets every z[i] to a number of the normal distribution that is made of high[i] and low[i].")
	c := m.cursorOf("z", "z", "high", "low")
	for _, n := range slices.Compact([]int{m.most(2), 1}) {
		loop, done := fmt.Sprintf("loop%d", n), fmt.Sprintf("done%d", n)
		s.Label(loop)
		s.CMPQ(c.left, operand.I32(n*m.width()))
		s.jump("JLT", done)
		read := func(slice string) (v value) {
			for i := range n {
				v = append(v, m.whole(m.address(c, slice, i))...)
			}
			return v
		}
		m.write(c, "z", m.functions().Normal(read("high"), read("low")).(value))
		m.advance(c, n*m.width())
		s.jump("JMP", loop)
		s.Label(done)
	}
	s.end()
}
