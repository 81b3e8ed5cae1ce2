package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles emits the functions for products of matrices: tiles whose rows are as many as there are registers
// for, or as few as keep the processor busy, or between, and whose columns are those of two vectors or of
// one. A pointer serves three rows, which scaled indices reach.
func (m *machine) tiles() {
	rows := []int{6, 4, 4}
	if m.wide() {
		rows = []int{12, 8, 4}
	}
	for i, r := range rows {
		for j, vectors := range []int{2, 1} {
			operation := fmt.Sprintf("tile%dx%dOf", r, vectors*m.width())
			apart := fmt.Sprintf("tileRows%dx%dOf", r, vectors*m.width())
			if slices.Index(rows, r) == i {
				m.tile(operation, r, vectors, false)
				m.tile(apart, r, vectors, true)
			}
			m.enter(fmt.Sprintf("tiles[%d][%d]", i, j), fmt.Sprintf("tile[%s]{rows: %d, cols: %d, compute: %%s, rowsAt: %s}", m.element(), r, vectors*m.width(), m.name(apart)), operation)
			if i == 0 && !m.wide() {
				m.column(i, j, r, vectors, false)
				m.column(i, j, r, vectors, true)
			}
		}
	}
	for vectors := range mostVectors {
		m.line(vectors + 1)
	}
	m.transposition()
	m.slivers("slivers.cols", 2*m.width())
	if !m.wide() {
		m.packing()
		m.slivers("slivers.rows", rows[0])
	}
}

// tile emits a function that computes a tile of a product. The rows of y are a distance apart, or at places
// of their own.
func (m *machine) tile(operation string, rows, vectors int, places bool) {
	signature := "func(z []T, ld int, x []T, row, col int, y []T, next, k int, more bool)"
	if places {
		signature = "func(z []T, ld int, x []T, row, col int, y []T, at *int, k int, more bool)"
	}
	signature = strings.ReplaceAll(signature, "T", m.element())
	m.begin(m.name(operation), signature, fmt.Sprintf("computes a tile of %d rows of a product.", rows))
	row, col := m.distance("row"), m.distance("col")
	var next reg.Register // the distance, or where the place of the next row is
	if places {
		next = m.Load(m.Param("at"), m.GP64())
	} else {
		next = m.distance("next")
	}
	y, k := m.Load(m.Param("y").Base(), m.GP64()), m.Load(m.Param("k"), m.GP64())
	var x []reg.GPVirtual // each one addresses three rows
	for i := 0; i < rows; i += 3 {
		p := m.GP64()
		if i == 0 {
			m.Load(m.Param("x").Base(), p)
		} else {
			m.LEAQ(operand.Mem{Base: x[len(x)-1], Index: row, Scale: 2}, p)
			m.ADDQ(row, p)
		}
		x = append(x, p)
	}
	sums := m.sums(rows, vectors)
	z, ld := m.Load(m.Param("z").Base(), m.GP64()), m.distance("ld")
	m.ask(z, ld, rows, vectors)
	m.Label("loop")
	m.products(sums, y, next, places, func(i int) operand.Mem {
		from := operand.Mem{Base: x[i/3]}
		if i%3 > 0 {
			from.Index, from.Scale = row, uint8(i%3)
		}
		return from
	})
	for _, p := range x {
		m.ADDQ(col, p)
	}
	m.DECQ(k)
	m.jump("JNE", "loop")
	more := m.Load(m.Param("more"), m.GP8())
	m.TESTB(more, more)
	m.jump("JNE", "add")
	m.put(sums, z, ld, false)
	m.end()
	m.Label("add")
	m.put(sums, z, ld, true)
	m.end()
}

// mostVectors is how many vectors of a line are summed side by side: as many as keep the processor busy.
const mostVectors = 8

// line emits a function that computes a row of a product, of as many columns as some vectors have. The rows
// of y are at places of their own.
func (m *machine) line(vectors int) {
	operation := fmt.Sprintf("line%dOf", vectors*m.width())
	m.begin(m.name(operation), strings.ReplaceAll("func(z, x, y []T, at *int, k int)", "T", m.element()),
		fmt.Sprintf("computes %d columns of a row of a product.", vectors*m.width()))
	x, y := m.Load(m.Param("x").Base(), m.GP64()), m.Load(m.Param("y").Base(), m.GP64())
	next, k := m.Load(m.Param("at"), m.GP64()), m.Load(m.Param("k"), m.GP64())
	sums := m.vectors(vectors)
	m.clear(sums)
	m.Label("loop")
	place, a := m.GP64(), m.vector()
	m.MOVQ(operand.Mem{Base: next}, place)
	m.broadcast(operand.Mem{Base: x}, a)
	for j := range sums {
		m.emit(m.real("VFMADD231"), operand.Mem{Base: y, Index: place, Scale: uint8(m.size()), Disp: j * m.bytes}, a, sums[j])
	}
	m.ADDQ(operand.I32(8), next)
	m.ADDQ(operand.I32(m.size()), x)
	m.DECQ(k)
	m.jump("JNE", "loop")
	z := m.Load(m.Param("z").Base(), m.GP64())
	for j, v := range sums {
		m.emit(m.real("VMOVU"), v, operand.Mem{Base: z, Disp: j * m.bytes})
	}
	m.end()
	m.enter(fmt.Sprintf("lines[%d]", vectors-1), "%s", operation)
}

// distance returns a parameter that counts elements, as bytes.
func (m *machine) distance(name string) reg.Register {
	r := m.Load(m.Param(name), m.GP64())
	m.SHLQ(operand.U8(m.size()/4+1), r)
	return r
}

// sums returns the sums of a tile, which are zero.
func (m *machine) sums(rows, vectors int) []value {
	sums := make([]value, rows)
	for i := range sums {
		sums[i] = m.vectors(vectors)
		m.clear(sums[i])
	}
	return sums
}

func (m *machine) clear(v value) {
	for _, v := range v {
		m.emit(m.real("VXOR"), v, v, v)
	}
}

// ask asks for the rows of z. They often lie whole pages apart, so the processor does not foresee them. They
// arrive in the second cache while sums are computed.
func (m *machine) ask(z, ld reg.Register, rows, vectors int) {
	to := m.GP64()
	m.MOVQ(z, to)
	for i := range rows {
		for j := 0; j < vectors*m.bytes; j += 64 {
			m.PREFETCHT1(operand.Mem{Base: to, Disp: j})
		}
		if i < rows-1 {
			m.ADDQ(ld, to)
		}
	}
}

// products adds the products of elements of x, one for each row, and a row of y to the sums. Then it moves on
// to the next row of y: by a distance, or in a list of places.
func (m *machine) products(sums []value, y, next reg.Register, places bool, x func(row int) operand.Mem) {
	b := m.vectors(len(sums[0]))
	from := operand.Mem{Base: y}
	if places {
		place := m.GP64()
		m.MOVQ(operand.Mem{Base: next}, place)
		from.Index, from.Scale = place, uint8(m.size())
	}
	for j := range b {
		from.Disp = j * m.bytes
		m.emit(m.real("VMOVU"), from, b[j])
	}
	for i := range sums {
		a := m.vector()
		if m.double {
			m.emit("VBROADCASTSD", x(i), a)
		} else {
			m.emit("VBROADCASTSS", x(i), a)
		}
		for j := range b {
			m.emit(m.real("VFMADD231"), b[j], a, sums[i][j])
		}
	}
	if places {
		m.ADDQ(operand.I32(8), next)
	} else {
		m.ADDQ(next, y)
	}
}

// put stores sums in the rows of z, or adds them, and moves z behind these rows.
func (m *machine) put(sums []value, z, ld reg.Register, add bool) {
	for i := range sums {
		for j, v := range sums[i] {
			to := operand.Mem{Base: z, Disp: j * m.bytes}
			if add {
				m.emit(m.real("VADD"), to, v, v)
			}
			m.emit(m.real("VMOVU"), v, to)
		}
		m.ADDQ(ld, z)
	}
}

// column emits a function that computes tiles of a product, one below the other. Elements of x for the rows
// of a tile lie side by side.
func (m *machine) column(i, j, rows, vectors int, places bool) {
	operation, entry, last := fmt.Sprintf("column%dx%dOf", rows, vectors*m.width()), "column", "next int"
	if places {
		operation, entry, last = fmt.Sprintf("columnRows%dx%dOf", rows, vectors*m.width()), "columnAt", "at *int"
	}
	m.begin(m.name(operation), m.typed("func(z []T, ld int, x []T, apart int, y []T, "+last+", k, n int, more bool)"),
		fmt.Sprintf("computes n tiles of %d rows of a product.", rows))
	z, ld, x, apart := m.Load(m.Param("z").Base(), m.GP64()), m.distance("ld"), m.Load(m.Param("x").Base(), m.GP64()), m.distance("apart")
	var distance reg.Register
	if !places {
		distance = m.distance("next")
	}
	n, more := m.Load(m.Param("n"), m.GP64()), m.Load(m.Param("more"), m.GP8())
	sums := make([]value, rows)
	for i := range sums {
		sums[i] = m.vectors(vectors)
	}
	y, k, from := m.GP64(), m.GP64(), m.GP64()
	m.Label("tile")
	for _, v := range sums {
		m.clear(v)
	}
	m.ask(z, ld, rows, vectors)
	m.Load(m.Param("y").Base(), y)
	m.Load(m.Param("k"), k)
	m.MOVQ(x, from)
	next := distance
	if places {
		next = m.Load(m.Param("at"), m.GP64())
	}
	// What lies behind these rows of y often comes next. The last tile asks for it, row by row, when it has
	// used a row. The others ask for what they have.
	ahead := m.GP64()
	if !places {
		m.XORQ(ahead, ahead)
		m.CMPQ(n, operand.I32(1))
		m.jump("JNE", "loop")
		m.MOVQ(k, ahead)
		m.IMULQ(next, ahead)
	}
	m.Label("loop")
	if !places {
		m.PREFETCHT0(operand.Mem{Base: y, Index: ahead, Scale: 1})
	}
	m.products(sums, y, next, places, func(i int) operand.Mem { return operand.Mem{Base: from, Disp: i * m.size()} })
	m.ADDQ(operand.I32(rows*m.size()), from)
	m.DECQ(k)
	m.jump("JNE", "loop")
	m.TESTB(more, more)
	m.jump("JNE", "add")
	m.put(sums, z, ld, false)
	m.jump("JMP", "done")
	m.Label("add")
	m.put(sums, z, ld, true)
	m.Label("done")
	m.ADDQ(apart, x)
	m.DECQ(n)
	m.jump("JNE", "tile")
	m.end()
	m.enter(fmt.Sprintf("tiles[%d][%d].%s", i, j, entry), "%s", operation)
}

// transposition emits a function that transposes blocks side by side, which have as many rows and columns as
// a register of 32 bytes has elements.
func (m *machine) transposition() {
	signature := strings.ReplaceAll("func(z []T, zld int, x []T, xld, n int)", "T", m.element())
	m.begin(m.name("transposeOf"), signature, "transposes n blocks.")
	side, shift := 8, operand.U8(2)
	if m.double {
		side, shift = 4, 3
	}
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	zld, xld, n := m.Load(m.Param("zld"), m.GP64()), m.Load(m.Param("xld"), m.GP64()), m.Load(m.Param("n"), m.GP64())
	m.SHLQ(shift, zld)
	m.SHLQ(shift, xld)
	m.Label("block")
	v := make([]reg.Register, side)
	from := m.GP64()
	m.MOVQ(x, from)
	for i := range v {
		v[i] = m.YMM()
		m.VMOVUPS(operand.Mem{Base: from}, v[i])
		if i < side-1 {
			m.ADDQ(xld, from)
		}
	}
	// pairs emits an instruction for the low halves of two registers and one for the high halves.
	pair := func(low, high string, a, b reg.Register, way ...operand.Op) (reg.Register, reg.Register) {
		p, q := m.YMM(), m.YMM()
		first, second := []operand.Op{b, a, p}, []operand.Op{b, a, q}
		if way != nil {
			first, second = append([]operand.Op{way[0]}, first...), append([]operand.Op{way[1]}, second...)
		}
		m.emit(low, first...)
		m.emit(high, second...)
		return p, q
	}
	if !m.double {
		for i := 0; i < 8; i += 2 { // elements of neighboring rows side by side
			v[i], v[i+1] = pair("VUNPCKLPS", "VUNPCKHPS", v[i], v[i+1])
		}
	}
	w := make([]reg.Register, side)
	if m.double {
		w[0], w[1] = pair("VUNPCKLPD", "VUNPCKHPD", v[0], v[1])
		w[2], w[3] = pair("VUNPCKLPD", "VUNPCKHPD", v[2], v[3])
	} else {
		for i := 0; i < 8; i += 4 {
			w[i], w[i+1] = pair("VUNPCKLPD", "VUNPCKHPD", v[i], v[i+2])
			w[i+2], w[i+3] = pair("VUNPCKLPD", "VUNPCKHPD", v[i+1], v[i+3])
		}
	}
	half := side / 2
	for i := range half { // halves of registers
		v[i], v[i+half] = pair("VPERM2F128", "VPERM2F128", w[i], w[i+half], operand.U8(0x20), operand.U8(0x31))
	}
	for i := range v {
		m.VMOVUPS(v[i], operand.Mem{Base: z})
		m.ADDQ(zld, z)
	}
	m.ADDQ(operand.I32(32), x)
	m.DECQ(n)
	m.jump("JNE", "block")
	m.end()
	m.enter("transpose", "%s", "transposeOf")
}

// packing emits a function that copies 6 rows side by side, as tiles of as many rows read them. A block has
// as many columns as a register of 32 bytes has elements. Halves of registers are two neighboring columns of
// float32, or one of float64, of two rows each.
func (m *machine) packing() {
	const rows = 6
	m.begin(m.name("packOf"), m.typed("func(z, x []T, row, n int)"), "copies n blocks of 6 rows.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	row, n := m.distance("row"), m.Load(m.Param("n"), m.GP64())
	low, high := "VUNPCKLPS", "VUNPCKHPS"
	if m.double {
		low, high = "VUNPCKLPD", "VUNPCKHPD"
	}
	other := m.GP64() // the fourth row
	m.LEAQ(operand.Mem{Base: x, Index: row, Scale: 2}, other)
	m.ADDQ(row, other)
	m.Label("block")
	var first, second []reg.Register // of all rows: the columns that come first in each half, and those that come second
	for i := 0; i < rows; i += 2 {
		var v [2]reg.Register
		for j := range v {
			from := operand.Mem{Base: x}
			if i+j >= 3 {
				from.Base = other
			}
			if k := (i + j) % 3; k > 0 {
				from.Index, from.Scale = row, uint8(k)
			}
			v[j] = m.YMM()
			m.VMOVUPS(from, v[j])
		}
		p, q := m.YMM(), m.YMM()
		m.emit(low, v[1], v[0], p)
		m.emit(high, v[1], v[0], q)
		first, second = append(first, p), append(second, q)
	}
	if !m.double {
		first, second = m.columns(first), m.columns(second)
	}
	all := append(first, second...)
	for half := range 2 {
		for i := 0; i < rows; i += 2 {
			v := m.YMM()
			m.VPERM2F128(operand.U8(0x20+0x11*half), all[i+1], all[i], v)
			m.VMOVUPS(v, operand.Mem{Base: z, Disp: (half*rows/2 + i/2) * spread})
		}
	}
	m.ADDQ(operand.I32(spread), x)
	m.ADDQ(operand.I32(spread), other)
	m.ADDQ(operand.I32(rows*spread), z)
	m.DECQ(n)
	m.jump("JNE", "block")
	m.end()
	m.enter("pack", "%s", "packOf")
}

// columns returns the elements of two columns, one column after the other in each half, given pairs of rows.
func (m *machine) columns(pairs []reg.Register) []reg.Register {
	out := []reg.Register{m.YMM(), m.YMM(), m.YMM()}
	m.VUNPCKLPD(pairs[1], pairs[0], out[0])
	m.VSHUFPD(operand.U8(0b1010), pairs[0], pairs[2], out[1])
	m.VUNPCKHPD(pairs[2], pairs[1], out[2])
	return out
}

// slivers emits a function that copies rows into lists, of a number of elements for each row. It asks for a
// row some rows ahead, since rows may lie pages apart.
func (m *machine) slivers(target string, elements int) {
	operation := fmt.Sprintf("slivers%dOf", elements)
	m.begin(m.name(operation), m.typed("func(z, x []T, next, count, n int)"), fmt.Sprintf("copies n rows into count lists of %d elements a row.", elements))
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	next, count, n := m.distance("next"), m.Load(m.Param("count"), m.GP64()), m.Load(m.Param("n"), m.GP64())
	apart := m.GP64()
	m.IMUL3Q(operand.I32(elements*m.size()), n, apart)
	to, from, left, later := m.GP64(), m.GP64(), m.GP64(), m.GP64()
	m.Label("row")
	m.MOVQ(z, to)
	m.MOVQ(x, from)
	m.MOVQ(count, left)
	m.LEAQ(operand.Mem{Base: x, Index: next, Scale: ahead}, later)
	m.Label("sliver")
	for at := 0; at < elements*m.size(); at += 64 {
		m.PREFETCHT0(operand.Mem{Base: later, Disp: at})
	}
	for at := 0; at < elements*m.size(); {
		v, name, bytes := reg.Register(m.YMM()), "VMOVUPS", spread
		switch left := elements*m.size() - at; {
		case left < 16:
			v, name, bytes = m.XMM(), "VMOVSD", 8
		case left < spread:
			v, bytes = m.XMM(), 16
		}
		m.emit(name, operand.Mem{Base: from, Disp: at}, v)
		m.emit(name, v, operand.Mem{Base: to, Disp: at})
		at += bytes
	}
	m.ADDQ(operand.I32(elements*m.size()), from)
	m.ADDQ(operand.I32(elements*m.size()), later)
	m.ADDQ(apart, to)
	m.DECQ(left)
	m.jump("JNE", "sliver")
	m.ADDQ(operand.I32(elements*m.size()), z)
	m.ADDQ(next, x)
	m.DECQ(n)
	m.jump("JNE", "row")
	m.end()
	m.enter(target, "%s", operation)
}
