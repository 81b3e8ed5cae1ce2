package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions that only move elements use registers of 32 bytes with both sets: memory sets their pace.

// spread is how many bytes these registers have.
const spread = 32

// loop emits a loop that runs while n elements are left.
func (s *set) loop(label string, left reg.Register, n int, body func()) {
	done := label + "Done"
	s.Label(label)
	s.CMPQ(left, operand.I32(n))
	s.jump("JLT", done)
	body()
	s.SUBQ(operand.I32(n), left)
	s.jump("JMP", label)
	s.Label(done)
}

// moves emits the functions that move elements of one type.
func (m *machine) moves() {
	m.reversal()
	m.doubling()
	m.halving()
	m.runningSums()
	m.truths()
	m.squares()
}

func (m *machine) typed(signature string) string {
	return strings.ReplaceAll(signature, "T", m.element())
}

// one returns the move of an element through a register of 16 bytes.
func (m *machine) one(from, to operand.Mem) {
	v := m.XMM()
	name := "VMOVSS"
	if m.double {
		name = "VMOVSD"
	}
	m.emit(name, from, v)
	m.emit(name, v, to)
}

// numbers emits numbers of 32 bits, and returns the operand that addresses them.
func (m *machine) numbers(at []uint64) operand.Mem {
	m.label++
	out := m.StaticGlobal(fmt.Sprint(m.name("order"), m.label))
	m.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, n := range at {
		m.AddDatum(4*i, operand.U32(n))
	}
	return out
}

// reversal emits the function that reverses a strip.
func (m *machine) reversal() {
	var order operand.Mem
	if !m.double {
		order = m.numbers([]uint64{7, 6, 5, 4, 3, 2, 1, 0})
	}
	m.begin(m.name("reverse"), m.typed("func(z, x []T)"), "sets z to the elements of x, the last one first.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	left, n := m.Load(m.Param("z").Len(), m.GP64()), spread/m.size()
	var places reg.Register
	if !m.double {
		places = m.YMM()
		m.VMOVDQU(order, places)
	}
	at := func(k int) operand.Mem { return operand.Mem{Base: x, Index: left, Scale: uint8(m.size()), Disp: -k} }
	m.loop("vectors", left, n, func() {
		v := m.YMM()
		if m.double {
			m.VPERMPD(operand.U8(0x1b), at(spread), v)
		} else {
			m.VPERMPS(at(spread), places, v)
		}
		m.VMOVUPS(v, operand.Mem{Base: z})
		m.ADDQ(operand.I32(spread), z)
	})
	m.loop("elements", left, 1, func() {
		m.one(at(m.size()), operand.Mem{Base: z})
		m.ADDQ(operand.I32(m.size()), z)
	})
	m.end()
	m.enter("reverse", "%s", "reverse")
}

// doubling emits the function that repeats each element of a strip.
func (m *machine) doubling() {
	var low, high operand.Mem
	if !m.double {
		low, high = m.numbers([]uint64{0, 0, 1, 1, 2, 2, 3, 3}), m.numbers([]uint64{4, 4, 5, 5, 6, 6, 7, 7})
	}
	m.begin(m.name("twice"), m.typed("func(z, x []T)"), "sets z to the elements of x, each of them two times.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	left, n := m.Load(m.Param("x").Len(), m.GP64()), spread/m.size()
	var places [2]reg.Register
	for i, from := range []operand.Mem{low, high} {
		if !m.double {
			places[i] = m.YMM()
			m.VMOVDQU(from, places[i])
		}
	}
	m.loop("vectors", left, n, func() {
		v := [2]reg.Register{m.YMM(), m.YMM()}
		for i, half := range []int{0x50, 0xfa} {
			if m.double {
				m.VPERMPD(operand.U8(half), operand.Mem{Base: x}, v[i])
			} else {
				m.VPERMPS(operand.Mem{Base: x}, places[i], v[i])
			}
		}
		for i := range v {
			m.VMOVUPS(v[i], operand.Mem{Base: z, Disp: i * spread})
		}
		m.ADDQ(operand.I32(spread), x)
		m.ADDQ(operand.I32(2*spread), z)
	})
	m.loop("elements", left, 1, func() {
		m.one(operand.Mem{Base: x}, operand.Mem{Base: z})
		m.one(operand.Mem{Base: x}, operand.Mem{Base: z, Disp: m.size()})
		m.ADDQ(operand.I32(m.size()), x)
		m.ADDQ(operand.I32(2*m.size()), z)
	})
	m.end()
	m.enter("twice", "%s", "twice")
}

// halving emits the function that adds every second element of a strip. The last one has no neighbor, so it
// is not in a vector.
func (m *machine) halving() {
	m.begin(m.name("addSeconds"), m.typed("func(z, x []T)"), "adds every second element of x, from the first one on, to those of z.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	left, n := m.Load(m.Param("z").Len(), m.GP64()), spread/m.size()
	m.DECQ(left)
	m.loop("vectors", left, n, func() {
		v := m.YMM()
		m.VMOVUPS(operand.Mem{Base: x}, v)
		second := operand.Mem{Base: x, Disp: spread}
		if m.double { // each half of a register has elements of both
			m.VUNPCKLPD(second, v, v)
		} else {
			m.VSHUFPS(operand.U8(0x88), second, v, v)
		}
		m.VPERMPD(operand.U8(0xd8), v, v)
		m.emit(m.real("VADD"), operand.Mem{Base: z}, v, v)
		m.VMOVUPS(v, operand.Mem{Base: z})
		m.ADDQ(operand.I32(2*spread), x)
		m.ADDQ(operand.I32(spread), z)
	})
	m.INCQ(left)
	m.loop("elements", left, 1, func() {
		v, move, add := m.XMM(), "VMOVSS", "VADDSS"
		if m.double {
			move, add = "VMOVSD", "VADDSD"
		}
		m.emit(move, operand.Mem{Base: x}, v)
		m.emit(add, operand.Mem{Base: z}, v, v)
		m.emit(move, v, operand.Mem{Base: z})
		m.ADDQ(operand.I32(2*m.size()), x)
		m.ADDQ(operand.I32(m.size()), z)
	})
	m.end()
	m.enter("addSeconds", "%s", "addSeconds")
}

// truths emits the function that makes numbers of conditions.
func (m *machine) truths() {
	m.begin(m.name("truths"), m.typed("func(z []T, x []bool)"), "sets every z[i] to 1 where x[i] holds, and to 0 elsewhere.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	left, n := m.Load(m.Param("z").Len(), m.GP64()), spread/m.size()
	zero, ones := m.YMM(), m.YMM()
	m.VPXOR(zero, zero, zero)
	extend, equals := "VPMOVZXBD", "VPCMPEQD"
	if m.double {
		extend, equals = "VPMOVZXBQ", "VPCMPEQQ"
	}
	m.emit(map[bool]string{false: "VBROADCASTSS", true: "VBROADCASTSD"}[m.double], m.place(m.number(1)), ones)
	m.loop("vectors", left, n, func() {
		v := m.YMM()
		m.emit(extend, operand.Mem{Base: x}, v)
		m.emit(equals, zero, v, v)
		m.VANDNPS(ones, v, v)
		m.VMOVUPS(v, operand.Mem{Base: z})
		m.ADDQ(operand.I32(n), x)
		m.ADDQ(operand.I32(spread), z)
	})
	m.loop("elements", left, 1, func() {
		b, v := m.GP64(), m.XMM()
		m.MOVBQZX(operand.Mem{Base: x}, b)
		m.NEGQ(b)
		m.SBBQ(b, b) // all ones where the condition holds
		m.VMOVQ(b, v)
		m.VANDPS(ones.(reg.Vec).AsX(), v, v)
		m.emit(map[bool]string{false: "VMOVSS", true: "VMOVSD"}[m.double], v, operand.Mem{Base: z})
		m.INCQ(x)
		m.ADDQ(operand.I32(m.size()), z)
	})
	m.end()
	m.enter("truths", "%s", "truths")
}

// streams emits the function that writes to memory past the caches, and the one that waits until what was
// written so can be seen.
func (s *set) streams() {
	s.begin("stream"+s.title, "func(z, x []byte)", "copies x, whose length is a multiple of 64, to z, which begins at a line of the cache.")
	z, x := s.Load(s.Param("z").Base(), s.GP64()), s.Load(s.Param("x").Base(), s.GP64())
	left := s.Load(s.Param("x").Len(), s.GP64())
	n := line / s.bytes
	vector := func() reg.Register { return s.YMM() }
	if s.wide() {
		vector = func() reg.Register { return s.ZMM() }
	}
	lines := func(label string, count int) {
		s.loop(label, left, count*line, func() {
			v := make([]reg.Register, count*n)
			for i := range v {
				v[i] = vector()
				s.emit("VMOVUPS", operand.Mem{Base: x, Disp: i * s.bytes}, v[i])
			}
			for i := range v {
				s.emit("VMOVNTPS", v[i], operand.Mem{Base: z, Disp: i * s.bytes})
			}
			s.ADDQ(operand.I32(count*line), x)
			s.ADDQ(operand.I32(count*line), z)
		})
	}
	lines("lines", 4)
	lines("line", 1)
	s.end()
	s.begin("drain"+s.title, "func()", "waits until what was written past the caches can be seen.")
	s.SFENCE()
	s.RET()
}

// below emits the functions that tell whether all integers are from 0 to a bound.
func (s *set) below() {
	for _, bits := range []int{32, 64} {
		name, kind, size := "below32", "int32", 4
		broadcast, subtract, signs := "VPBROADCASTD", "VPSUBD", "VMOVMSKPS"
		if bits == 64 {
			name, kind, size = "below64", "int64", 8
			broadcast, subtract, signs = "VPBROADCASTQ", "VPSUBQ", "VMOVMSKPD"
		}
		s.begin(name+s.title, "func(x []"+kind+", last "+kind+") bool", "reports whether all elements are from 0 to last, which is not negative.")
		x, left := s.Load(s.Param("x").Base(), s.GP64()), s.Load(s.Param("x").Len(), s.GP64())
		last, single := s.YMM(), s.XMM()
		if bits == 64 {
			s.VMOVQ(s.Load(s.Param("last"), s.GP64()), single)
		} else {
			s.VMOVD(s.Load(s.Param("last"), s.GP32()), single)
		}
		s.emit(broadcast, single, last)
		const unroll = 4
		any := make([]reg.Register, unroll) // its sign tells of an element outside
		for i := range any {
			any[i] = s.YMM()
			s.VPXOR(any[i], any[i], any[i])
		}
		width := spread / size
		vectors := func(label string, count int) {
			s.loop(label, left, count*width, func() {
				for i := range count {
					v, d := s.YMM(), s.YMM()
					s.VMOVDQU(operand.Mem{Base: x, Disp: i * spread}, v)
					s.emit(subtract, v, last, d)
					s.VPOR(v, any[i], any[i])
					s.VPOR(d, any[i], any[i])
				}
				s.ADDQ(operand.I32(count*spread), x)
			})
		}
		vectors("four", unroll)
		vectors("vectors", 1)
		s.loop("elements", left, 1, func() {
			v, d := s.XMM(), s.XMM()
			if bits == 64 {
				s.VMOVQ(operand.Mem{Base: x}, v)
			} else {
				s.VMOVD(operand.Mem{Base: x}, v)
			}
			s.emit(subtract, v, last.(reg.Vec).AsX(), d)
			w := s.YMM()
			s.VPXOR(w, w, w)
			s.VPOR(d, v, d)
			// The other lanes of the difference are those of last, which is not negative.
			s.VINSERTI128(operand.U8(0), d, w, w)
			s.VPOR(w, any[0], any[0])
			s.ADDQ(operand.I32(size), x)
		})
		for i := 1; i < unroll; i++ {
			s.VPOR(any[i], any[0], any[0])
		}
		mask := s.GP32()
		s.emit(signs, any[0], mask)
		s.TESTL(mask, mask)
		inside := s.GP8()
		s.SETEQ(inside)
		s.Store(inside, s.ReturnIndex(0))
		s.end()
	}
}
