package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// begin begins a function that does not split the stack.
func (s *set) begin(name, signature, doc string) {
	s.Function(name)
	s.Attributes(attr.NOSPLIT)
	s.SignatureExpr(signature)
	s.Doc(name + " " + doc)
	s.Pragma("noescape")
}

func (s *set) end() {
	s.VZEROUPPER()
	s.RET()
}

// jump emits a conditional or unconditional jump.
func (s *set) jump(name, label string) { s.emit(name, operand.LabelRef(label)) }

// parameter returns a parameter that is an element, in all lanes.
func (m *machine) parameter(name string) value {
	p, err := m.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := m.vectors(1)
	m.broadcast(p.Addr, v[0])
	return v
}

// cursor walks over strips.
type cursor struct {
	bases map[string]reg.Register
	index reg.Register // the number of the next element
	left  reg.Register // how many elements are left
}

// cursorOf loads the addresses of the slices of a function, and the length of one of them.
func (m *machine) cursorOf(length string, slices ...string) *cursor {
	c := &cursor{bases: map[string]reg.Register{}}
	for _, s := range slices {
		c.bases[s] = m.Load(m.Param(s).Base(), m.GP64())
	}
	c.left = m.Load(m.Param(length).Len(), m.GP64())
	c.index = m.GP64()
	m.XORQ(c.index, c.index)
	return c
}

// address returns the operand for vector i after the current element of a slice.
func (m *machine) address(c *cursor, slice string, i int) operand.Mem {
	return operand.Mem{Base: c.bases[slice], Index: c.index, Scale: uint8(m.size()), Disp: i * m.bytes}
}

// advance goes on by n elements.
func (m *machine) advance(c *cursor, n int) {
	m.ADDQ(operand.I32(n), c.index)
	m.SUBQ(operand.I32(n), c.left)
}

// read loads n vectors.
func (m *machine) read(c *cursor, slice string, n int) value {
	v := m.vectors(n)
	for i := range v {
		m.emit(m.real("VMOVU"), m.address(c, slice, i), v[i])
	}
	return v
}

func (m *machine) write(c *cursor, slice string, v value) {
	for i := range v {
		m.emit(m.real("VMOVU"), v[i], m.address(c, slice, i))
	}
}

// tail returns the mask of as many lanes as elements are left, which are less than a vector.
func (m *machine) tail(c *cursor) reg.Register {
	if m.wide() {
		ones, k := m.GP64(), m.K()
		m.MOVQ(operand.I32(-1), ones)
		m.BZHIQ(c.left, ones, ones)
		m.emit("KMOVW", ones.As32(), k)
		return k
	}
	table, mask := m.GP64(), m.YMM()
	m.LEAQ(operand.NewDataAddr(operand.NewStaticSymbol("tails"), 32), table)
	offset := m.GP64()
	m.MOVQ(c.left, offset)
	if m.double {
		m.SHLQ(operand.U8(3), offset)
	} else {
		m.SHLQ(operand.U8(2), offset)
	}
	m.SUBQ(offset, table)
	m.VMOVDQU(operand.Mem{Base: table}, mask)
	return mask
}

// writeTails emits the table in which masks of tails are found: ones before offset 32, and zeros from there
// on.
func (s *set) writeTails() {
	s.StaticGlobal("tails")
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		bits := operand.U64(0)
		if i < 4 {
			bits = ^bits
		}
		s.AddDatum(8*i, bits)
	}
}

func (m *machine) readTail(k reg.Register, from operand.Mem) value {
	v := m.vectors(1)
	if m.wide() {
		m.emit(m.real("VMOVU")+"_Z", from, k, v[0])
	} else {
		m.emit(m.real("VMASKMOV"), from, k, v[0])
	}
	return v
}

func (m *machine) writeTail(k reg.Register, v value, to operand.Mem) {
	if m.wide() {
		m.emit(m.real("VMOVU"), v[0], k, to)
	} else {
		m.emit(m.real("VMASKMOV"), v[0], k, to)
	}
}

// strip emits a function of slices and elements that sets every element of slice z to what body computes from
// the elements of the other slices, listed in the order of parameters. It works on unroll vectors at a time.
func (m *machine) strip(operation, parameters, doc string, unroll int, body func(in map[string]value) value) {
	signature := "func(" + strings.ReplaceAll(parameters, "T", m.element()) + ")"
	m.begin(m.name(operation), signature, doc)
	strips, scalars := names(parameters)
	c := m.cursorOf("z", strips...)
	in := map[string]value{}
	for _, s := range scalars {
		in[s] = m.parameter(s)
	}
	step := func(read func(slice string) value, write func(value)) {
		for _, s := range strips[1:] {
			in[s] = read(s)
		}
		write(body(in))
	}
	for _, n := range slices.Compact([]int{unroll, 1}) {
		loop, done := fmt.Sprintf("loop%d", n), fmt.Sprintf("done%d", n)
		m.Label(loop)
		m.CMPQ(c.left, operand.I32(n*m.width()))
		m.jump("JLT", done)
		step(func(s string) value { return m.read(c, s, n) }, func(v value) { m.write(c, "z", v) })
		m.advance(c, n*m.width())
		m.jump("JMP", loop)
		m.Label(done)
	}
	m.TESTQ(c.left, c.left)
	m.jump("JEQ", "end")
	k := m.tail(c)
	step(func(s string) value { return m.readTail(k, m.address(c, s, 0)) },
		func(v value) { m.writeTail(k, v, m.address(c, "z", 0)) })
	m.Label("end")
	m.end()
}

// names splits a list of parameters into slices and other parameters, in their order.
func names(parameters string) (slices, scalars []string) {
	var group []string
	for _, p := range strings.Split(parameters, ", ") {
		name, kind, typed := strings.Cut(p, " ")
		group = append(group, name)
		switch {
		case !typed:
			continue
		case strings.HasPrefix(kind, "[]"):
			slices = append(slices, group...)
		case kind == "T":
			scalars = append(scalars, group...)
		}
		group = nil
	}
	return slices, scalars
}
