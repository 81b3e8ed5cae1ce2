package main

import (
	"math"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/opgen/opgen/internal/base/simd/elementary"
)

// gather emits a function that folds the lanes at a into one element: lane i with lane i+32, then with lane
// i+16, and so on. It works on whole vectors, of which lanes that count no more hold anything.
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

// rows emits a function that folds each of several rows, as a fold of its elements into lanes that hold first
// does, and then a gather of these. The lanes stay in registers. Rows have a multiple of as many elements as
// there are lanes. Instruction quick, unless it is empty, folds as body does where there is neither a NaN nor
// a result of 0, so rows are folded with body only if they have one.
func (m *machine) rows(field, doc string, first float64, unroll int, body func(a, b value) value, quick string) {
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
	at, count := m.GP64(), m.GP64()
	to := operand.Mem{Base: z}
	store := func(v value) {
		if out := v[0].(reg.Vec).AsX(); m.double {
			m.VMOVSD(out, to)
		} else {
			m.VMOVSS(out, to)
		}
	}
	if quick != "" {
		m.quickRow(start, x, at, blocks, count, total, quick, store)
	}
	a := m.copies(start, total)
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
	store(m.halve(a, body))
	m.Label("next")
	m.ADDQ(operand.I32(m.size()), z)
	m.ADDQ(apart, x)
	m.DECQ(left)
	m.jump("JMP", "row")
	m.Label("end")
	m.end()
	m.enter(field, "%s", field)
}

// quickRow emits the fold of a row by an operation that may be wrong where there is a NaN or where the result
// is 0. It goes to the next row unless that is so. The sum of all elements is a NaN if one of them is, and
// otherwise only if they have infinities of both signs.
func (m *machine) quickRow(start value, x, at, blocks, count reg.Register, total int, quick string, store func(value)) {
	a, sums := m.copies(start, total), m.vectors(min(total, 4))
	for _, v := range sums {
		m.emit(m.real("VXOR"), v, v, v)
	}
	m.MOVQ(x, at)
	m.MOVQ(blocks, count)
	m.Label("quickBlock")
	for i := range a {
		v := m.vectors(1)
		m.emit(m.real("VMOVU"), operand.Mem{Base: at, Disp: i * m.bytes}, v[0])
		m.emit(quick, a[i], v[0], a[i])
		sum := sums[i%len(sums)]
		m.emit(m.real("VADD"), v[0], sum, sum)
	}
	m.ADDQ(operand.I32(lanes*m.size()), at)
	m.DECQ(count)
	m.jump("JNE", "quickBlock")
	for n := len(sums) / 2; n > 0; n /= 2 {
		for i := range n {
			m.emit(m.real("VADD"), sums[i], sums[i+n], sums[i])
		}
	}
	k := m.compare(value{sums[0]}, elementary.Unordered, value{sums[0]})[0]
	if m.wide() {
		m.emit("KORTESTW", k, k)
	} else {
		found := m.GP32()
		m.emit(m.real("VMOVMSK"), k, found)
		m.TESTL(found, found)
	}
	m.jump("JNE", "slow")
	out, zero := m.halve(a, func(a, b value) value { return m.apply(quick, a, b) }), m.XMM()
	m.VXORPS(zero, zero, zero)
	m.emit(map[bool]string{false: "VUCOMISS", true: "VUCOMISD"}[m.double], zero, out[0].(reg.Vec).AsX())
	m.jump("JEQ", "slow")
	store(out)
	m.jump("JMP", "next")
	m.Label("slow")
}

// copies returns vectors that are copies of one.
func (m *machine) copies(v value, n int) value {
	z := m.vectors(n)
	for i := range z {
		m.emit(m.real("VMOVA"), v[0], z[i])
	}
	return z
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
	m.gather("max", "returns the greatest of lanes.", ofTwo(m.functions().Max))
	m.gather("min", "returns the least of lanes.", ofTwo(m.functions().Min))
	m.rows("sumRows", "sets every z[i] to the sum of n elements of x from i*apart on.", 0, 4, func(a, b value) value { return m.add(a, b) }, "")
	m.rows("maxRows", "sets every z[i] to the greatest of n elements of x from i*apart on.", math.Inf(-1), 2, ofTwo(m.functions().Max), m.real("VMAX"))
	m.rows("minRows", "sets every z[i] to the least of n elements of x from i*apart on.", math.Inf(1), 2, ofTwo(m.functions().Min), m.real("VMIN"))
}
