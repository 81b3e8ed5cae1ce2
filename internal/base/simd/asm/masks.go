package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"
)

// compare tells where a stands in a relation to b.
func (m *machine) compare(a value, p operand.U8, b any) mask {
	n := len(a)
	if v, ok := b.(value); ok {
		n = max(n, len(v))
	}
	z := make(mask, n)
	for i := range z {
		name, operands := m.real("VCMP"), []operand.Op{p}
		switch b := b.(type) {
		case value:
			operands = append(operands, each(b, i))
		case constant:
			operands = append(operands, m.place(b))
			if m.wide() {
				name += "_BCST"
			}
		}
		z[i] = m.maskRegister()
		m.emit(name, append(operands, each(a, i), z[i])...)
	}
	return z
}

func (m *machine) maskRegister() reg.Register {
	if m.wide() {
		return m.K()
	}
	return m.YMM()
}

// both and either combine masks.
func (m *machine) both(a, b mask) mask   { return m.combine("KANDW", "VANDPS", a, b) }
func (m *machine) either(a, b mask) mask { return m.combine("KORW", "VORPS", a, b) }

func (m *machine) combine(wide, narrow string, a, b mask) mask {
	z := make(mask, max(len(a), len(b))) // one that is computed once stands for all vectors
	for i := range z {
		x, y := a[i%len(a)], b[i%len(b)]
		z[i] = m.maskRegister()
		if m.wide() {
			m.emit(wide, y, x, z[i])
		} else {
			m.emit(narrow, y, x, z[i])
		}
	}
	return z
}

// truth is 1 where the mask is set, and otherwise 0.
func (m *machine) truth(k mask) value {
	z := m.vectors(len(k))
	one := m.place(m.number(1))
	for i := range z {
		switch {
		case !m.wide():
			m.emit("VANDPS", one, k[i], z[i])
		case m.double:
			m.emit("VBROADCASTSD_Z", one, k[i], z[i])
		default:
			m.emit("VBROADCASTSS_Z", one, k[i], z[i])
		}
	}
	return z
}

// choose returns a where the mask is set, and otherwise b.
func (m *machine) choose(k mask, a, b value) value {
	z := m.vectors(len(k))
	for i := range z {
		if m.wide() {
			m.blend(each(a, i), each(b, i), k[i], z[i])
		} else {
			m.emit(m.real("VBLENDV"), k[i], each(a, i), each(b, i), z[i])
		}
	}
	return z
}

// blend emits an instruction that chooses by a mask register. Avo takes what is written for an operand that
// is read, too, as it is with most instructions that have a mask.
func (m *machine) blend(a, b operand.Op, k, z reg.Register) {
	emit := x86.VBLENDMPS
	if m.double {
		emit = x86.VBLENDMPD
	}
	i, err := emit(a, b, k, z)
	if err != nil {
		panic(err)
	}
	i.Inputs = []operand.Op{a, b, k}
	m.Instruction(i)
}

// signs is the mask of the lanes whose sign bit is set.
func (m *machine) signs(a value) mask {
	if !m.wide() {
		return mask(a) // instructions look at no other bit
	}
	z := make(mask, len(a))
	for i := range z {
		z[i] = m.K()
		if m.double {
			m.emit("VPMOVQ2M", a[i], z[i])
		} else {
			m.emit("VPMOVD2M", a[i], z[i])
		}
	}
	return z
}
