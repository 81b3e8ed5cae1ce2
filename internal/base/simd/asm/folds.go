package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
)

// lanes is the number of accumulators of a fold.
const lanes = 64

// fold emits a function that folds slices into the lanes at a. Body returns lanes after one more vector of
// each slice. Accumulators stay in registers: those of all lanes, or of as many as group says, in one pass
// over the slices for each group. Body is called for unroll vectors at a time.
func (m *machine) fold(operation, parameters, doc string, group, unroll int,
	body func(a value, in map[string]value) value) {
	signature := "func(a *[64]T, " + parameters + ")"
	m.begin(m.name(operation), "func("+strings.ReplaceAll(signature[5:], "T", m.element()), doc)
	slices, scalars := names(parameters)
	c := m.cursorOf("x", slices...)
	base := m.Load(m.Param("a"), m.GP64())
	in := map[string]value{}
	for _, s := range scalars {
		in[s] = m.parameter(s)
	}
	total := lanes / m.width()
	group = min(group, total)
	unroll = min(unroll, group)
	blocks := m.GP64()
	m.MOVQ(c.left, blocks)
	m.SHRQ(operand.U8(6), blocks)
	m.jump("JEQ", "rest")
	for first := 0; first < total; first += group {
		loop := fmt.Sprintf("group%d", first)
		a := m.vectors(group)
		for i := range a {
			m.emit(m.real("VMOVU"), operand.Mem{Base: base, Disp: (first + i) * m.bytes}, a[i])
		}
		count := m.GP64()
		m.MOVQ(blocks, count)
		m.XORQ(c.index, c.index)
		m.Label(loop)
		for i := 0; i < group; i += unroll {
			for _, s := range slices {
				v := m.vectors(unroll)
				for j := range v {
					m.emit(m.real("VMOVU"), m.address(c, s, first+i+j), v[j])
				}
				in[s] = v
			}
			for j, v := range body(a[i:i+unroll], in) {
				m.emit(m.real("VMOVA"), v, a[i+j])
			}
		}
		m.ADDQ(operand.I32(lanes), c.index)
		m.DECQ(count)
		m.jump("JNE", loop)
		for i := range a {
			m.emit(m.real("VMOVU"), a[i], operand.Mem{Base: base, Disp: (first + i) * m.bytes})
		}
	}
	m.Label("rest")
	m.ANDQ(operand.I32(lanes-1), c.left)
	m.Label("vector")
	m.CMPQ(c.left, operand.I32(m.width()))
	m.jump("JLT", "tail")
	for _, s := range slices {
		in[s] = m.read(c, s, 1)
	}
	a := m.vectors(1)
	m.emit(m.real("VMOVU"), operand.Mem{Base: base}, a[0])
	m.emit(m.real("VMOVU"), body(a, in)[0], operand.Mem{Base: base})
	m.ADDQ(operand.I32(m.bytes), base)
	m.advance(c, m.width())
	m.jump("JMP", "vector")
	m.Label("tail")
	m.TESTQ(c.left, c.left)
	m.jump("JEQ", "end")
	k := m.tail(c)
	for _, s := range slices {
		in[s] = m.readTail(k, m.address(c, s, 0))
	}
	a = m.readTail(k, operand.Mem{Base: base})
	m.writeTail(k, body(a, in), operand.Mem{Base: base})
	m.Label("end")
	m.end()
}
