package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mostThin is how many columns the products of rows with few columns have at most.
const mostThin = 4

// quarter is how many bytes the parts of registers have within which elements are moved at no cost.
const quarter = 16

// thin emits the functions that multiply rows by up to four columns. A register has an element of each of
// as many rows: blocks of rows are transposed in registers, so they need no copy. Two groups of rows are
// summed side by side, since a sum waits for the one before, where there are registers for both.
func (m *machine) thin() {
	for n := 1; n <= mostThin; n++ {
		groups := 2
		if !m.wide() && n > 2 {
			groups = 1
		}
		m.thinOf(n, groups)
	}
}

// thinOf emits the function for a number of columns and of groups of rows.
func (m *machine) thinOf(n, groups int) {
	operation := fmt.Sprintf("thin%dOf", n)
	m.begin(m.name(operation), m.typed("func(z, x []T, ld int, y []T, row, col, k int)"),
		fmt.Sprintf("adds products of %d rows and %s to z.", groups*m.width(), count(n)))
	each := quarter / m.size() // columns of a block
	ld := m.distance("ld")
	apart := map[int]reg.Register{1: ld} // distances that scales do not reach
	for _, odd := range []int{3, 5, 7} {
		if odd < min(groups*m.width(), 8) {
			apart[odd] = m.GP64()
		}
	}
	if r := apart[3]; r != nil {
		m.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 2}, r)
	}
	if r := apart[5]; r != nil {
		m.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 4}, r)
		m.LEAQ(operand.Mem{Base: apart[3], Index: ld, Scale: 4}, apart[7])
	}
	var x []reg.GPVirtual // each one addresses eight rows
	for i := 0; i < groups*m.width(); i += 8 {
		p := m.GP64()
		if i == 0 {
			m.Load(m.Param("x").Base(), p)
		} else {
			m.LEAQ(operand.Mem{Base: x[len(x)-1], Index: ld, Scale: 8}, p)
		}
		x = append(x, p)
	}
	part := func(i int) operand.Mem { // the next elements of row i
		from := operand.Mem{Base: x[i/8]}
		if i %= 8; i > 0 {
			scale := i & -i
			from.Index, from.Scale = apart[i/scale], uint8(scale)
		}
		return from
	}
	y, row, k := m.Load(m.Param("y").Base(), m.GP64()), m.distance("row"), m.Load(m.Param("k"), m.GP64())
	columns := []operand.Mem{{Base: y}}
	if n > 1 {
		col := m.distance("col")
		for j := 1; j < n; j++ {
			c := operand.Mem{Base: y, Index: col, Scale: uint8(j)}
			if j == 3 {
				c.Index, c.Scale = m.GP64(), 1
				m.LEAQ(operand.Mem{Base: col, Index: col, Scale: 2}, c.Index)
			}
			columns = append(columns, c)
		}
	}
	sums := make([]value, n) // of a column, for each group
	all := func(do func(v reg.Register, at operand.Mem)) {
		z := m.Load(m.Param("z").Base(), m.GP64())
		for j, s := range sums {
			for g, v := range s {
				do(v, operand.Mem{Base: z, Disp: (j*groups + g) * m.bytes})
			}
		}
	}
	for j := range sums {
		sums[j] = m.vectors(groups)
	}
	all(func(v reg.Register, at operand.Mem) { m.emit(m.real("VMOVU"), at, v) })
	m.Label("loop")
	block := make([]value, groups)
	for g := range block {
		block[g] = m.turned(func(i int) operand.Mem { return part(g*m.width() + i) })
	}
	for _, p := range x {
		m.ADDQ(operand.I32(quarter), p)
	}
	for c := range each {
		for j := range sums {
			a := m.vector()
			m.broadcast(columns[j], a)
			for g, v := range sums[j] {
				m.emit(m.real("VFMADD231"), a, block[g][c], v)
			}
		}
		m.ADDQ(row, y)
	}
	m.SUBQ(operand.I32(each), k)
	m.jump("JNE", "loop")
	all(func(v reg.Register, at operand.Mem) { m.emit(m.real("VMOVU"), v, at) })
	m.end()
	m.enter(fmt.Sprintf("thin[%d]", n-1), fmt.Sprintf("thin[%s]{rows: %d, add: %%s}", m.element(), groups*m.width()), operation)
}

// count returns a number of columns in words.
func count(n int) string {
	if n == 1 {
		return "a column"
	}
	return fmt.Sprintf("%d columns", n)
}

// turned loads some elements of each of as many rows as a register has elements, and returns the columns.
// A quarter of a register takes neighboring elements of a row. Rows that lie one quarter apart share a
// register, so that moves within quarters bring the elements of a column into the order of rows.
func (m *machine) turned(part func(row int) operand.Mem) value {
	each := quarter / m.size()
	v := m.vectors(each)
	for q := range v {
		// A load of a quarter alone would leave the others to what was there before.
		repeat, insert := "VBROADCASTF128", "VINSERTF128"
		if m.wide() {
			repeat, insert = "VBROADCASTF32X4", "VINSERTF32X4"
		}
		m.emit(repeat, part(q), v[q])
		for p := 1; p < m.bytes/quarter; p++ {
			m.emit(insert, operand.U8(p), part(p*each+q), v[q], v[q])
		}
	}
	// pair interleaves two registers, quarter by quarter.
	pair := func(kind string, a, b reg.Register) (low, high reg.Register) {
		low, high = m.vector(), m.vector()
		m.emit("VUNPCKL"+kind, b, a, low)
		m.emit("VUNPCKH"+kind, b, a, high)
		return low, high
	}
	w := make(value, each)
	if m.double {
		w[0], w[1] = pair("PD", v[0], v[1])
		return w
	}
	a, b := pair("PS", v[0], v[1])
	c, d := pair("PS", v[2], v[3])
	w[0], w[1] = pair("PD", a, c)
	w[2], w[3] = pair("PD", b, d)
	return w
}
