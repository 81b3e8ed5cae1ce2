package main

import (
	"math"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gather emits a function that folds the lanes at a into one element: lane i with lane i+32, then with lane i+16, and
// so on. It works on whole vectors, of which lanes that count no more hold anything.
func (m *machine) gather(field, doc string, body func(a, b value) value) {
	operation := field + "Lanes"
	m.begin(m.name(operation), strings.ReplaceAll("func(a *[64]T) T", "T", m.element()), doc)
	base := m.Load(m.Param("a"), m.GP64())
	load := func(i int) value {
		v := m.vectors(1)
		m.emit(m.real("VMOVU"), operand.Mem{Base: base, Disp: i * m.bytes}, v[0])
		return v
	}
	n := lanes / m.width() / 2
	v := make(value, n)
	for i := range v {
		v[i] = body(load(i), load(i+n))[0]
	}
	m.Store(m.halve(v, body)[0].(reg.Vec).AsX(), m.ReturnIndex(0))
	m.end()
	m.enter(operation, "foldLanes(%s)", operation)
}

// halve folds vectors into one element, the first of what it returns: in halves, as gather does.
func (m *machine) halve(v value, body func(a, b value) value) value {
	v = slices.Clone(v)
	for n := len(v); n > 1; n /= 2 {
		for i := range n / 2 {
			v[i] = body(v[i:i+1], v[i+n/2:i+n/2+1])[0]
		}
	}
	v = v[:1]
	for lane := m.width() / 2; lane > 0; lane /= 2 {
		v = body(v, m.upper(v, lane))
	}
	return v
}

// mostLanes is how many vectors of lanes rows are folded with at most, so that registers suffice.
const mostLanes = 8

// rows emits a function that folds each of several rows, as a fold of its elements into lanes that hold first does, and then a gather of these.
// The lanes stay in registers. Rows have a multiple of as many elements as there are lanes.
func (m *machine) rows(field, doc string, first float64, unroll int, body func(a, b value) value) {
	total := lanes / m.width()
	if total > mostLanes {
		return
	}
	m.begin(m.name(field), "func(z, x []"+m.element()+", n, apart int)", doc)
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	left, blocks, apart := m.Load(m.Param("z").Len(), m.GP64()), m.Load(m.Param("n"), m.GP64()), m.Load(m.Param("apart"), m.GP64())
	m.SHRQ(operand.U8(6), blocks)
	shift := operand.U8(2)
	if m.double {
		shift = 3
	}
	m.SHLQ(shift, apart)
	start := m.load(m.number(first))
	m.Label("row")
	m.TESTQ(left, left)
	m.jump("JEQ", "end")
	a := m.vectors(total)
	for i := range a {
		m.emit(m.real("VMOVA"), start[0], a[i])
	}
	at, count := m.GP64(), m.GP64()
	m.MOVQ(x, at)
	m.MOVQ(blocks, count)
	m.Label("block")
	m.TESTQ(count, count)
	m.jump("JEQ", "gather")
	for i := 0; i < total; i += unroll {
		v := m.vectors(unroll)
		for j := range v {
			m.emit(m.real("VMOVU"), operand.Mem{Base: at, Disp: (i + j) * m.bytes}, v[j])
		}
		for j, w := range body(a[i:i+unroll], v) {
			m.emit(m.real("VMOVA"), w, a[i+j])
		}
	}
	m.ADDQ(operand.I32(lanes*m.size()), at)
	m.DECQ(count)
	m.jump("JMP", "block")
	m.Label("gather")
	to := operand.Mem{Base: z}
	if out := m.halve(a, body)[0].(reg.Vec).AsX(); m.double {
		m.VMOVSD(out, to)
	} else {
		m.VMOVSS(out, to)
	}
	m.ADDQ(operand.I32(m.size()), z)
	m.ADDQ(apart, x)
	m.DECQ(left)
	m.jump("JMP", "row")
	m.Label("end")
	m.end()
	m.enter(field, "%s", field)
}

// upper returns a vector that begins with the given lane of v, one of as many as are left.
func (m *machine) upper(v value, lane int) value {
	z := m.vectors(1)
	from, to := v[0].(reg.Vec), z[0].(reg.Vec)
	short := func(v reg.Vec) reg.Register { // of all registers, AVX-512 alone has short instructions for the first 16 only
		if m.wide() {
			return v.AsZ()
		}
		return v.AsX()
	}
	switch lane * m.size() {
	case 32:
		m.VEXTRACTF64X4(operand.U8(1), from.AsZ(), to.AsY())
	case 16:
		if m.wide() {
			m.VEXTRACTF32X4(operand.U8(1), from.AsZ(), to.AsX())
		} else {
			m.VEXTRACTF128(operand.U8(1), from.AsY(), to.AsX())
		}
	case 8:
		m.emit("VPERMILPD", operand.U8(1), short(from), short(to))
	case 4:
		m.emit("VPERMILPS", operand.U8(1), short(from), short(to))
	}
	return z
}

func (m *machine) gathers() {
	m.gather("sum", "returns the sum of lanes.", func(a, b value) value { return m.add(a, b) })
	m.gather("prod", "returns the product of lanes.", func(a, b value) value { return m.mul(a, b) })
	m.gather("max", "returns the greatest of lanes.", m.greatest)
	m.gather("min", "returns the least of lanes.", m.least)
	m.rows("sumRows", "sets every z[i] to the sum of n elements of x from i*apart on.", 0, 4, func(a, b value) value { return m.add(a, b) })
	m.rows("maxRows", "sets every z[i] to the greatest of n elements of x from i*apart on.", math.Inf(-1), 2, m.greatest)
	m.rows("minRows", "sets every z[i] to the least of n elements of x from i*apart on.", math.Inf(1), 2, m.least)
}
