package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// runningSums emits the function that sums all elements up to each one. Four sums of float64 are in a
// register of 32 bytes with both sets.
func (m *machine) runningSums() {
	m.begin(m.name("runningSums"), m.typed("func(z, x []T, sum float64) float64"), "sets every z[i] to the sum and the elements of x up to i, of which there is a multiple of 4, and returns the last.")
	z, x, left := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64()), m.Load(m.Param("x").Len(), m.GP64())
	sum, zero := m.YMM(), m.YMM()
	from, err := m.Param("sum").Resolve()
	if err != nil {
		panic(err)
	}
	m.VBROADCASTSD(from.Addr, sum)
	m.VXORPD(zero, zero, zero)
	m.loop("fours", left, 4, func() {
		v, next := m.YMM(), m.YMM()
		if m.double {
			m.VMOVUPD(operand.Mem{Base: x}, v)
		} else {
			m.VCVTPS2PD(operand.Mem{Base: x}, v)
		}
		m.VUNPCKLPD(v, zero, next)
		m.VADDPD(next, v, v) // x0, x0+x1, x2, x2+x3
		m.VUNPCKHPD(v, v, next)
		m.VPERM2F128(operand.U8(0x08), next, next, next)
		m.VADDPD(next, v, v) // the sum of the first two added to the others
		m.VADDPD(sum, v, next)
		if m.double {
			m.VMOVUPD(next, operand.Mem{Base: z})
		} else {
			out := m.XMM()
			m.VCVTPD2PSY(next, out)
			m.VMOVUPS(out, operand.Mem{Base: z})
		}
		m.VPERMPD(operand.U8(0xff), v, v)
		m.VADDPD(v, sum, sum)
		m.ADDQ(operand.I32(4*m.size()), x)
		m.ADDQ(operand.I32(4*m.size()), z)
	})
	m.Store(sum.AsX(), m.ReturnIndex(0))
	m.end()
	m.enter("runningSums", "%s", "runningSums")
}
