package main

import (
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
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			v[i] = body(v[i:i+1], v[i+n/2:i+n/2+1])[0]
		}
	}
	v = v[:1]
	for lane := m.width() / 2; lane > 0; lane /= 2 {
		v = body(v, m.upper(v, lane))
	}
	m.Store(v[0].(reg.Vec).AsX(), m.ReturnIndex(0))
	m.end()
	m.enter(operation, "foldLanes(%s)", operation)
}

// upper returns a vector that begins with the given lane of v, one of as many as are left.
func (m *machine) upper(v value, lane int) value {
	z := m.vectors(1)
	from, to := v[0].(reg.Vec), z[0].(reg.Vec)
	switch lane * m.size() {
	case 32:
		m.VEXTRACTF64X4(operand.U8(1), from.AsZ(), to.AsY())
	case 16:
		m.VEXTRACTF128(operand.U8(1), from.AsY(), to.AsX())
	case 8:
		m.VPERMILPD(operand.U8(1), from.AsX(), to.AsX())
	case 4:
		m.VPERMILPS(operand.U8(1), from.AsX(), to.AsX())
	}
	return z
}

func (m *machine) gathers() {
	m.gather("sum", "returns the sum of lanes.", func(a, b value) value { return m.add(a, b) })
	m.gather("prod", "returns the product of lanes.", func(a, b value) value { return m.mul(a, b) })
	m.gather("max", "returns the greatest of lanes.", ofTwo(m.functions().Max))
	m.gather("min", "returns the least of lanes.", ofTwo(m.functions().Min))
}
