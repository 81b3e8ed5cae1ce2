package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// ahead is how many rows ahead memory is asked for, as package simd says.
const ahead = 8

// sumAt emits the function that sums rows at given places. As many columns as there are registers for are
// summed at a time, so sums go to memory once.
func (m *machine) sumAt() {
	m.begin(m.name("sumAt"), m.typed("func(z, x []T, at []int, rows int)"), "sets every z[j] to the sum of x[i+j] for the first places i of at, and asks for rows ahead.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	left, at, rows := m.Load(m.Param("z").Len(), m.GP64()), m.Load(m.Param("at").Base(), m.GP64()), m.Load(m.Param("rows"), m.GP64())
	next, count, place := m.GP64(), m.GP64(), m.GP64()
	// each emits a loop over the rows: first what comes before it, and then body with the operand of a row.
	each := func(label string, bytes int, body func(from operand.Mem)) {
		m.MOVQ(at, next)
		m.MOVQ(rows, count)
		m.TESTQ(count, count)
		m.jump("JEQ", label+"Ends")
		m.Label(label + "Rows")
		m.MOVQ(operand.Mem{Base: next, Disp: 8 * ahead}, place)
		for i := 0; i < bytes; i += line {
			m.PREFETCHT0(operand.Mem{Base: x, Index: place, Scale: uint8(m.size()), Disp: i})
		}
		m.MOVQ(operand.Mem{Base: next}, place)
		body(operand.Mem{Base: x, Index: place, Scale: uint8(m.size())})
		m.ADDQ(operand.I32(8), next)
		m.DECQ(count)
		m.jump("JNE", label+"Rows")
		m.Label(label + "Ends")
	}
	zeros := func(n int) value {
		a := m.vectors(n)
		for _, v := range a {
			m.emit(m.real("VXOR"), v, v, v)
		}
		return a
	}
	most := 8
	if m.wide() {
		most = 16
	}
	for _, n := range []int{most, 1} {
		label := fmt.Sprintf("columns%d", n)
		m.loop(label, left, n*m.width(), func() {
			a := zeros(n)
			each(label, n*m.bytes, func(from operand.Mem) {
				for i, v := range a {
					from.Disp = i * m.bytes
					m.emit(m.real("VADD"), from, v, v)
				}
			})
			for i, v := range a {
				m.emit(m.real("VMOVU"), v, operand.Mem{Base: z, Disp: i * m.bytes})
			}
			m.ADDQ(operand.I32(n*m.bytes), z)
			m.ADDQ(operand.I32(n*m.bytes), x)
		})
	}
	m.TESTQ(left, left)
	m.jump("JEQ", "end")
	k, a := m.tail(&cursor{left: left}), zeros(1)
	each("tail", line, func(from operand.Mem) {
		for i, v := range m.add(a, m.readTail(k, from)) {
			m.emit(m.real("VMOVA"), v, a[i])
		}
	})
	m.writeTail(k, a, operand.Mem{Base: z})
	m.Label("end")
	m.end()
	m.enter("sumAt", "%s", "sumAt")
}
