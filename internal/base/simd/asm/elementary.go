package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/opgen/opgen/internal/base/simd/elementary"
)

// emitter writes the operations of package elementary as instructions. Its values are values or constants.
type emitter struct{ m *machine }

func (m *machine) functions() *elementary.Functions[any, mask] {
	return &elementary.Functions[any, mask]{Machine: emitter{m}, Constants: m.Constants, Double: m.double}
}

// of and ofTwo return what writes a function of values.
func of(f func(x any) any) func(value) value { return func(x value) value { return f(x).(value) } }

func ofTwo(f func(x, y any) any) func(x, y value) value {
	return func(x, y value) value { return f(x, y).(value) }
}

func (e emitter) Number(v float64) any       { return e.m.number(v) }
func (e emitter) Word(bits uint64) any       { return e.m.word(bits) }
func (e emitter) Load(c any) any             { return e.m.load(c.(constant)) }
func (e emitter) Add(a, b any) any           { return e.m.add(a.(value), b) }
func (e emitter) Sub(a, b any) any           { return e.m.sub(a.(value), b) }
func (e emitter) Mul(a, b any) any           { return e.m.mul(a.(value), b) }
func (e emitter) Div(a, b any) any           { return e.m.div(a.(value), b) }
func (e emitter) And(a, b any) any           { return e.m.and(a.(value), b) }
func (e emitter) Or(a, b any) any            { return e.m.or(a.(value), b) }
func (e emitter) Xor(a, b any) any           { return e.m.xor(a.(value), b) }
func (e emitter) Sqrt(a any) any             { return e.m.sqrt(a.(value)) }
func (e emitter) AddInt(a, b any) any        { return e.m.addInt(a.(value), b) }
func (e emitter) SubInt(a, b any) any        { return e.m.apply(e.m.integer("VPSUB"), a.(value), b) }
func (e emitter) Above(a, b any) any         { return e.m.above(a.(value), b) }
func (e emitter) Below(a, b any) any         { return e.m.below(a.(value), b) }
func (e emitter) Up(a any, n uint) any       { return e.m.up(a.(value), n) }
func (e emitter) Down(a any, n uint) any     { return e.m.down(a.(value), n) }
func (e emitter) Signs(a any) mask           { return e.m.signs(a.(value)) }
func (e emitter) Both(a, b mask) mask        { return e.m.both(a, b) }
func (e emitter) Either(a, b mask) mask      { return e.m.either(a, b) }
func (e emitter) Truth(k mask) any           { return e.m.truth(k) }
func (e emitter) Round(a any, way uint8) any { return e.m.round(a.(value), operand.U8(way)) }

func (e emitter) Compare(a any, p uint8, b any) mask { return e.m.compare(a.(value), operand.U8(p), b) }

func (e emitter) Choose(k mask, a, b any) any { return e.m.choose(k, a.(value), b.(value)) }

// Scale rounds once, as Go code does.
func (e emitter) Scale(x, n any) (any, bool) {
	if !e.m.wide() {
		return nil, false
	}
	return e.m.apply(e.m.real("VSCALEF"), x.(value), n), true
}

func (e emitter) MulAdd(a, b, c any) any     { return e.m.fused("VFMADD", a.(value), b, c) }
func (e emitter) MulSubFrom(a, b, c any) any { return e.m.fused("VFNMADD", a.(value), b, c) }

// fused emits instructions that add products of a and b to c, or subtract them from it.
func (m *machine) fused(name string, a value, b, c any) value {
	n := len(a)
	for _, x := range []any{b, c} {
		if v, ok := x.(value); ok {
			n = max(n, len(v))
		}
	}
	z := m.vectors(n)
	for i := range z {
		number, constantC := c.(constant)
		if v, ok := b.(value); ok && constantC {
			m.emit(m.real("VMOVA"), each(a, i), z[i]) // z = b*z + c
			m.memoryOperand(m.real(name+"213"), number, each(v, i), z[i])
			continue
		}
		if constantC {
			m.broadcast(m.place(number), z[i])
		} else {
			m.emit(m.real("VMOVA"), each(c.(value), i), z[i])
		}
		switch b := b.(type) { // z = a*b + z
		case value:
			m.emit(m.real(name+"231"), each(b, i), each(a, i), z[i])
		case constant:
			m.memoryOperand(m.real(name+"231"), b, each(a, i), z[i])
		}
	}
	return z
}

// memoryOperand emits an instruction whose first operand is a constant in memory.
func (m *machine) memoryOperand(name string, c constant, x operand.Op, z reg.Register) {
	if m.wide() {
		name += "_BCST"
	}
	m.emit(name, m.place(c), x, z)
}
