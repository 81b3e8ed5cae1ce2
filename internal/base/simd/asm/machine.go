package main

import (
	"fmt"
	"math"
	"reflect"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/opgen/opgen/internal/base/simd/approx"
)

// set is a set of instructions.
type set struct {
	name  string // as OPGEN_SIMD names it
	title string // as names of functions end
	bytes int    // of a register
	*build.Context
	pool []constant
	at   map[constant]int
	// entries are the statements that enter functions into the table of each element type.
	entries [2][]string
}

// constant is an element or a mask in all lanes.
type constant struct {
	bits   uint64
	double bool
}

// machine emits code for one set of instructions and one element type.
type machine struct {
	*set
	*approx.Constants
	double bool
	label  int
}

// value holds vectors that are computed side by side. A value of one vector stands for as many as needed.
type value []reg.Register

// mask holds what a comparison gives for each vector: a mask register, or a vector of lanes of ones or zeros.
type mask []reg.Register

func (s *set) wide() bool { return s.bytes == 64 }

// size is the number of bytes of an element, and width that of the elements of a vector.
func (m *machine) size() int {
	if m.double {
		return 8
	}
	return 4
}

func (m *machine) width() int { return m.bytes / m.size() }

// element is the Go name of the element type.
func (m *machine) element() string { return fmt.Sprintf("float%d", 8*m.size()) }

// name returns the name of the function for an operation.
func (m *machine) name(operation string) string {
	return fmt.Sprintf("%s%d%s", operation, 8*m.size(), m.title)
}

// number is a constant with the value v.
func (m *machine) number(v float64) constant {
	if m.double {
		return constant{math.Float64bits(v), true}
	}
	return constant{uint64(math.Float32bits(float32(v))), false}
}

// word is a constant with the given bits.
func (m *machine) word(bits uint64) constant {
	if !m.double {
		bits = uint64(uint32(bits))
	}
	return constant{bits, m.double}
}

// sign is the sign bit.
func (m *machine) sign() constant { return m.word(1 << (8*m.size() - 1)) }

// poolName is the symbol of the constants of a set.
func (s *set) poolName() string { return "constants" + s.title }

// step is the distance of constants in the pool: one element for instructions that repeat it, otherwise a
// vector.
func (s *set) step() int {
	if s.wide() {
		return 8
	}
	return s.bytes
}

// place returns the operand that addresses a constant.
func (s *set) place(c constant) operand.Mem {
	at, ok := s.at[c]
	if !ok {
		at = len(s.pool)
		s.at[c] = at
		s.pool = append(s.pool, c)
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(s.poolName()), at*s.step())
}

// writePool emits the constants.
func (s *set) writePool() {
	s.StaticGlobal(s.poolName())
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, c := range s.pool {
		size := 4
		if c.double {
			size = 8
		}
		for offset := 0; offset < s.step(); offset += size {
			if c.double {
				s.AddDatum(i*s.step()+offset, operand.U64(c.bits))
			} else {
				s.AddDatum(i*s.step()+offset, operand.U32(c.bits))
			}
		}
	}
}

// emit adds the instruction of a name.
func (s *set) emit(name string, operands ...operand.Op) {
	method := reflect.ValueOf(s.Context).MethodByName(name)
	if !method.IsValid() {
		panic("avo has no instruction " + name)
	}
	var in []reflect.Value
	for _, o := range operands {
		in = append(in, reflect.ValueOf(o))
	}
	method.Call(in)
}

// real and integer complete the names of instructions for the element type.
func (m *machine) real(name string) string {
	if m.double {
		return name + "PD"
	}
	return name + "PS"
}

func (m *machine) integer(name string) string {
	if m.double {
		return name + "Q"
	}
	return name + "D"
}

func (m *machine) vector() reg.Register {
	if m.wide() {
		return m.ZMM()
	}
	return m.YMM()
}

func (m *machine) vectors(n int) value {
	v := make(value, n)
	for i := range v {
		v[i] = m.vector()
	}
	return v
}

// each returns the operand of vector i.
func each(v value, i int) operand.Op { return v[i%len(v)] }

// load returns a constant in a register.
func (m *machine) load(c constant) value {
	v := m.vectors(1)
	m.broadcast(m.place(c), v[0])
	return v
}

// broadcast repeats an element of memory, or loads what the pool holds as a vector.
func (m *machine) broadcast(from operand.Mem, to reg.Register) {
	switch {
	case !m.wide() && from.Symbol.Name == m.poolName():
		m.emit("VMOVUPS", from, to)
	case m.double:
		m.emit("VBROADCASTSD", from, to)
	default:
		m.emit("VBROADCASTSS", from, to)
	}
}

// apply emits an instruction that computes name(a, b) for each vector. Operand b is a value or a constant.
func (m *machine) apply(name string, a value, b any) value {
	n := len(a)
	if v, ok := b.(value); ok {
		n = max(n, len(v))
	}
	z := m.vectors(n)
	for i := range z {
		switch b := b.(type) {
		case value:
			m.emit(name, each(b, i), each(a, i), z[i])
		case constant:
			if m.wide() {
				m.emit(name+"_BCST", m.place(b), each(a, i), z[i])
			} else {
				m.emit(name, m.place(b), each(a, i), z[i])
			}
		default:
			panic(fmt.Sprintf("an operand is a %T", b))
		}
	}
	return z
}

func (m *machine) add(a value, b any) value { return m.apply(m.real("VADD"), a, b) }
func (m *machine) sub(a value, b any) value { return m.apply(m.real("VSUB"), a, b) }
func (m *machine) mul(a value, b any) value { return m.apply(m.real("VMUL"), a, b) }
func (m *machine) div(a value, b any) value { return m.apply(m.real("VDIV"), a, b) }
func (m *machine) and(a value, b any) value { return m.apply(m.real("VAND"), a, b) }
func (m *machine) or(a value, b any) value  { return m.apply(m.real("VOR"), a, b) }
func (m *machine) xor(a value, b any) value { return m.apply(m.real("VXOR"), a, b) }

// addInt adds bits as integers.
func (m *machine) addInt(a value, b any) value { return m.apply(m.integer("VPADD"), a, b) }

// above returns a where a > b, and otherwise b, which may be a NaN. below returns a where a < b.
func (m *machine) above(a value, b any) value { return m.apply(m.real("VMAX"), a, b) }
func (m *machine) below(a value, b any) value { return m.apply(m.real("VMIN"), a, b) }

func (m *machine) abs(a value) value { return m.and(a, m.word(^m.sign().bits)) }

func (m *machine) sqrt(a value) value {
	z := m.vectors(len(a))
	for i := range z {
		m.emit(m.real("VSQRT"), a[i], z[i])
	}
	return z
}

// shift moves bits by n places, up or down.
func (m *machine) shift(name string, a value, n uint) value {
	z := m.vectors(len(a))
	for i := range z {
		m.emit(m.integer(name), operand.U8(n), a[i], z[i])
	}
	return z
}

func (m *machine) up(a value, n uint) value   { return m.shift("VPSLL", a, n) }
func (m *machine) down(a value, n uint) value { return m.shift("VPSRL", a, n) }

func (m *machine) round(a value, way operand.U8) value {
	z := m.vectors(len(a))
	for i := range z {
		if m.wide() {
			m.emit(m.real("VRNDSCALE"), way, a[i], z[i])
		} else {
			m.emit(m.real("VROUND"), way, a[i], z[i])
		}
	}
	return z
}
