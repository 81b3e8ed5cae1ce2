package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// half is a register of half the size of a vector.
func (s *set) half() reg.Register {
	if s.wide() {
		return s.YMM()
	}
	return s.XMM()
}

// conversion emits a function between strips of float32 and float64.
func (s *set) conversion(name, signature, doc string, unroll, from, to int, vector, one func(read, write operand.Mem)) {
	s.begin(name, signature, doc)
	z, x := s.Load(s.Param("z").Base(), s.GP64()), s.Load(s.Param("x").Base(), s.GP64())
	left, index := s.Load(s.Param("z").Len(), s.GP64()), s.GP64()
	s.XORQ(index, index)
	loop := func(label, done string, n int, body func()) {
		s.Label(label)
		s.CMPQ(left, operand.I32(n))
		s.jump("JLT", done)
		body()
		s.ADDQ(operand.I32(n), index)
		s.SUBQ(operand.I32(n), left)
		s.jump("JMP", label)
		s.Label(done)
	}
	read := func(i int) operand.Mem { return operand.Mem{Base: x, Index: index, Scale: uint8(from), Disp: i * from} }
	write := func(i int) operand.Mem { return operand.Mem{Base: z, Index: index, Scale: uint8(to), Disp: i * to} }
	width := s.bytes / 8
	loop("vectors", "elements", unroll*width, func() {
		for i := range unroll {
			vector(read(i*width), write(i*width))
		}
	})
	loop("element", "end", 1, func() { one(read(0), write(0)) })
	s.end()
}

func (s *set) conversions() {
	whole := func() reg.Register {
		if s.wide() {
			return s.ZMM()
		}
		return s.YMM()
	}
	s.conversion("widen"+s.title, "func(z []float64, x []float32)", "sets every z[i] to x[i].", 4, 4, 8,
		func(read, write operand.Mem) {
			v := whole()
			s.emit("VCVTPS2PD", read, v)
			s.emit("VMOVUPD", v, write)
		},
		func(read, write operand.Mem) {
			v := s.XMM()
			s.VMOVSS(read, v)
			s.VCVTSS2SD(v, v, v)
			s.VMOVSD(v, write)
		})
	narrow := "VCVTPD2PS" + s.suffixOfHalf()
	s.conversion("narrow"+s.title, "func(z []float32, x []float64)",
		"sets every z[i] to the float32 next to x[i].", 4, 8, 4,
		func(read, write operand.Mem) {
			v := s.half()
			s.emit(narrow, read, v)
			s.emit("VMOVUPS", v, write)
		},
		func(read, write operand.Mem) {
			v := s.XMM()
			s.VMOVSD(read, v)
			s.VCVTSD2SS(v, v, v)
			s.VMOVSS(v, write)
		})
	const ordered = 7 // the predicate of comparisons that holds if both are numbers
	s.conversion("rests"+s.title, "func(z []float32, x []float64)",
		"sets every z[i] to the float32 next to what x[i] has beyond the float32 next to it, or to 0 if that is not finite.", 2, 8, 4,
		func(read, write operand.Mem) {
			v, near, back := whole(), s.half(), whole()
			s.emit("VMOVUPD", read, v)
			s.emit("VCVTPD2PS"+s.suffixOfHalf(), v, near)
			s.emit("VCVTPS2PD", near, back)
			s.emit("VSUBPD", back, v, v)
			s.emit("VSUBPD", back, back, back) // not 0 if the near number is infinite
			if s.wide() {
				k := s.K()
				s.VCMPPD(operand.U8(ordered), back, back, k)
				s.VMOVAPD_Z(v, k, v)
			} else {
				s.VCMPPD(operand.U8(ordered), back, back, back)
				s.VANDPD(back, v, v)
			}
			s.emit("VCVTPD2PS"+s.suffixOfHalf(), v, near)
			s.emit("VMOVUPS", near, write)
		},
		func(read, write operand.Mem) {
			v, w := s.XMM(), s.XMM()
			s.VMOVSD(read, v)
			s.VCVTSD2SS(v, v, w)
			s.VCVTSS2SD(w, w, w)
			s.VSUBSD(w, v, v)
			s.VSUBSD(w, w, w)
			s.VCMPSD(operand.U8(ordered), w, w, w)
			s.VANDPD(w, v, v)
			s.VCVTSD2SS(v, v, v)
			s.VMOVSS(v, write)
		})
}

// suffixOfHalf is how names of conversions to registers of half the size end, if only the size of the operand
// in memory would tell the instruction.
func (s *set) suffixOfHalf() string {
	if s.wide() {
		return ""
	}
	return "Y"
}

// line is how many bytes a line of the cache has.
const line = 64

// fetch emits the function that asks for the lines of the cache that hold bytes.
func (s *set) fetch() {
	s.begin("fetch"+s.title, "func(x []byte)", "asks for the lines of the cache that hold x, and does not wait for them.")
	x, left := s.Load(s.Param("x").Base(), s.GP64()), s.Load(s.Param("x").Len(), s.GP64())
	s.Label("lines")
	s.CMPQ(left, operand.I32(0))
	s.jump("JLE", "end")
	s.PREFETCHT0(operand.Mem{Base: x})
	s.ADDQ(operand.I32(line), x)
	s.SUBQ(operand.I32(line), left)
	s.jump("JMP", "lines")
	s.Label("end")
	s.end()
}
