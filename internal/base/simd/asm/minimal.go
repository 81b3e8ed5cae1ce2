package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// corners is the registers of a function of square tiles of windows, which go through rows of tiles.
type corners struct {
	*machine
	apart, triple reg.Register // how many bytes lie between elements of a tile, and three times as many
}

// at returns the place of element j of a row of four, which begins at a register.
func (c *corners) at(base reg.Register, j int) operand.Mem {
	switch j {
	case 1, 2:
		return operand.Mem{Base: base, Index: c.apart, Scale: uint8(j)}
	case 3:
		return operand.Mem{Base: base, Index: c.triple, Scale: 1}
	}
	return operand.Mem{Base: base}
}

// below returns a register with the address of the row of four that follows one.
func (c *corners) below(base reg.Register) reg.Register {
	out := c.GP64()
	c.LEAQ(operand.Mem{Base: base, Index: c.apart, Scale: 4}, out)
	return out
}

// cornersOf loads the distance of elements, which is a parameter.
func (m *machine) cornersOf() *corners {
	c := &corners{machine: m, apart: m.distance("apart"), triple: m.GP64()}
	m.LEAQ(operand.Mem{Base: c.apart, Index: c.apart, Scale: 2}, c.triple)
	return c
}

// minimal emits the functions for convolution with few products.
func (m *machine) minimal() {
	if m.double {
		return
	}
	m.intoFilters()
	m.splitting()
	m.intoTiles()
	m.outOfTiles()
}

// chosen returns elements of a and b by their numbers.
func (m *machine) chosen(a, b, numbers reg.Register) reg.Register {
	z := m.vector()
	m.VMOVAPS(a, z)
	m.VPERMT2PS(b, numbers, z)
	return z
}

// op returns name(a, b).
func (m *machine) op(name string, a, b operand.Op) reg.Register {
	z := m.vector()
	m.emit(name, b, a, z)
	return z
}

// intoFilters emits the function that transforms filters, of which those of a tile of a product lie side by
// side. They fill a vector at most.
func (m *machine) intoFilters() {
	m.begin(m.name("intoFilters"), m.typed("func(z []T, apart int, x []T, rows, n int)"), "transforms n times as many filters as rows says.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	c, rows, n := m.cornersOf(), m.Load(m.Param("rows"), m.GP64()), m.Load(m.Param("n"), m.GP64())
	k := m.first(rows)
	m.SHLQ(operand.U8(2), rows)
	four := func(a, b, c value) [4]value {
		sum := m.add(a, c)
		return [4]value{a, m.mul(m.add(sum, b), m.number(0.5)), m.mul(m.sub(sum, b), m.number(0.5)), c}
	}
	m.loop("filters", n, 1, func() {
		var g [3][3]value
		for i := range g {
			for j := range g[i] {
				g[i][j] = m.readTail(k, operand.Mem{Base: x})
				m.ADDQ(rows, x)
			}
		}
		var t [4][3]value
		for j := range 3 {
			for i, v := range four(g[0][j], g[1][j], g[2][j]) {
				t[i][j] = v
			}
		}
		base := reg.Register(z)
		for i := range t {
			if i > 0 {
				base = c.below(base)
			}
			for j, v := range four(t[i][0], t[i][1], t[i][2]) {
				m.writeTail(k, v, c.at(base, j))
			}
		}
		m.ADDQ(rows, z)
	})
	m.end()
	m.enter("intoFilters", "%s", "intoFilters")
}

// rowsOfTile are the rows of pixels of which rows of a tile are sums or differences, in this order.
var rowsOfTile = [4]struct {
	name   string
	first  int
	second int
}{{"VSUBPS", 0, 2}, {"VADDPS", 1, 2}, {"VSUBPS", 2, 1}, {"VSUBPS", 1, 3}}

// splitting emits the function that splits rows of pixels into lists of columns. Pixels beyond an image are
// 0: masks leave them out.
func (m *machine) splitting() {
	var orders [4]operand.Mem
	if m.wide() {
		for i, number := range []func(i int) int{
			func(i int) int { return 2 * i },
			func(i int) int { return 2*i + 1 },
			func(i int) int { return i + 1 },
			func(i int) int { return i + 1 + i/15 },
		} {
			orders[i] = m.order(number)
		}
	}
	m.begin(m.name("splitRows"), m.typed("func(z []T, apart int, x []T, width int, masks []int32, shift, cols, rows int)"),
		"splits rows of pixels into four lists of each second column, from neighboring columns on.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	c, width, shift := m.cornersOf(), m.distance("width"), m.distance("shift")
	m.SUBQ(shift, x)
	rows := m.Load(m.Param("rows"), m.GP64())
	left, from, to, masks := m.GP64(), m.GP64(), m.GP64(), m.GP64()
	var order [4]reg.Register
	for i, s := range orders {
		if m.wide() {
			order[i] = m.vector()
			m.VMOVUPS(s, order[i])
		}
	}
	pixels := func(at int) reg.Register {
		return m.readTail(m.pixelMask(operand.Mem{Base: masks, Disp: 4 * at}), operand.Mem{Base: from, Disp: m.size() * at})[0]
	}
	split := func() [4]reg.Register {
		if m.wide() {
			a, b, behind := pixels(0), pixels(m.width()), pixels(2*m.width())
			even, odd := m.chosen(a, b, order[0]), m.chosen(a, b, order[1])
			return [4]reg.Register{even, odd, m.chosen(even, behind, order[2]), m.chosen(odd, behind, order[3])}
		}
		q := square{m, spread}
		var out [4]reg.Register
		for i := 0; i < 4; i += 2 {
			l, r := q.split(pixels(i), pixels(m.width()+i))
			out[i], out[i+1] = q.ordered(l), q.ordered(r)
		}
		return out
	}
	m.loop("row", rows, 1, func() {
		m.MOVQ(x, from)
		m.MOVQ(z, to)
		m.Load(m.Param("masks").Base(), masks)
		m.Load(m.Param("cols"), left)
		m.LEAQ(operand.Mem{Base: z, Index: left, Scale: uint8(m.size())}, z)
		m.loop("whole", left, m.width(), func() {
			for j, v := range split() {
				m.VMOVUPS(v, c.at(to, j))
			}
			m.ADDQ(operand.I32(2*m.bytes), from)
			m.ADDQ(operand.I32(2*m.bytes), masks)
			m.ADDQ(operand.I32(m.bytes), to)
		})
		m.TESTQ(left, left)
		m.jump("JEQ", "next")
		k := m.first(left)
		for j, v := range split() {
			m.writeTail(k, value{v}, c.at(to, j))
		}
		m.Label("next")
		m.ADDQ(width, x)
	})
	m.end()
	m.enter("splitRows", "%s", "splitRows")
}

// pixelMask returns the mask whose lanes are numbers of 32 bits in memory.
func (m *machine) pixelMask(from operand.Mem) reg.Register {
	v := m.vector()
	m.VMOVUPS(from, v)
	if !m.wide() {
		return v
	}
	k := m.K()
	m.VPMOVD2M(v, k)
	return k
}

// order emits the numbers of elements that a permutation of two vectors takes.
func (m *machine) order(number func(i int) int) operand.Mem {
	at := make([]uint64, m.width())
	for i := range at {
		at[i] = uint64(number(i))
	}
	return m.numbers(at)
}

// intoTiles emits the function that transforms pixels, of a vector of tiles at a time.
func (m *machine) intoTiles() {
	m.begin(m.name("intoTiles"), m.typed("func(z []T, to int, x []T, apart, below, n int)"), "transforms tiles of four by four pixels, of which columns are in lists.")
	z, x := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64())
	c, n := m.cornersOf(), m.Load(m.Param("n"), m.GP64())
	out := &corners{machine: m, apart: m.distance("to"), triple: m.GP64()}
	m.LEAQ(operand.Mem{Base: out.apart, Index: out.apart, Scale: 2}, out.triple)
	below := m.distance("below")
	var bases [4]reg.Register // of rows of pixels
	for i := range bases {
		switch i {
		case 0:
			bases[i] = x
		case 1:
			bases[i] = c.below(x)
		default:
			bases[i] = m.GP64()
			m.LEAQ(operand.Mem{Base: bases[i-2], Index: below, Scale: 1}, bases[i])
		}
	}
	m.Label("tiles")
	sums := func(i, j int) reg.Register {
		r, v := rowsOfTile[i], m.vector()
		m.VMOVUPS(c.at(bases[r.first], j), v)
		m.emit(r.name, c.at(bases[r.second], j), v, v)
		return v
	}
	if m.wide() { // there are registers for all pixels
		var all [4][4]reg.Register
		for j := range 4 {
			var v [4]reg.Register
			for i := range v {
				v[i] = m.vector()
				m.VMOVUPS(c.at(bases[i], j), v[i])
			}
			for i, r := range rowsOfTile {
				all[i][j] = m.op(r.name, v[r.first], v[r.second])
			}
		}
		sums = func(i, j int) reg.Register { return all[i][j] }
	}
	base := reg.Register(z)
	for i := range 4 {
		if i > 0 {
			base = out.below(base)
		}
		var s [4]reg.Register
		for j := range s {
			s[j] = sums(i, j)
		}
		for j, r := range rowsOfTile {
			m.VMOVUPS(m.op(r.name, s[r.first], s[r.second]), out.at(base, j))
		}
	}
	for _, b := range append(bases[:], z) {
		m.ADDQ(operand.I32(m.bytes), b)
	}
	m.SUBQ(operand.I32(m.width()), n)
	m.jump("JGT", "tiles")
	m.end()
	m.enter("intoTiles", "%s", "intoTiles")
}

// outOfTiles emits the function that transforms sums of products back. It reads and writes what belongs to
// the tiles alone, by masks.
func (m *machine) outOfTiles() {
	var joins [2]operand.Mem
	if m.wide() {
		for i := range joins {
			joins[i] = m.order(func(j int) int { return i*m.width()/2 + j/2 + j%2*m.width() })
		}
	}
	m.begin(m.name("outOfTiles"), m.typed("func(z []T, width int, x []T, apart, cols, rows int) bool"), "transforms sums of tiles back, and reports whether results are finite.")
	z, x, width := m.Load(m.Param("z").Base(), m.GP64()), m.Load(m.Param("x").Base(), m.GP64()), m.distance("width")
	c, rows := m.cornersOf(), m.Load(m.Param("rows"), m.GP64())
	left, pixels, to := m.GP64(), m.GP64(), m.GP64()
	zero, seen := m.vector(), m.vector()
	m.emit("VXORPS", zero, zero, zero)
	m.emit("VXORPS", seen, seen, seen)
	var order [2]reg.Register
	for i, s := range joins {
		if m.wide() {
			order[i] = m.vector()
			m.VMOVUPS(s, order[i])
		}
	}
	var bases [4]reg.Register
	for i := range bases {
		bases[i] = m.GP64()
	}
	body := func(load func(from operand.Mem) reg.Register, put func(half int, v reg.Register, to operand.Mem)) {
		var upper, lower [4]reg.Register
		for j := range 4 {
			var v [4]reg.Register
			for i := range v[:3] {
				v[i] = load(c.at(bases[i], j))
			}
			upper[j] = m.op("VADDPS", m.op("VADDPS", v[0], v[1]), v[2])
			lower[j] = m.op("VSUBPS", v[1], v[2])
			m.emit("VSUBPS", load(c.at(bases[3], j)), lower[j], lower[j])
		}
		for k, s := range [][4]reg.Register{upper, lower} {
			a := m.op("VADDPS", m.op("VADDPS", s[0], s[1]), s[2])
			b := m.op("VSUBPS", m.op("VSUBPS", s[1], s[2]), s[3])
			m.VFMADD231PS(zero, a, seen)
			m.VFMADD231PS(zero, b, seen)
			at := operand.Mem{Base: to}
			if k == 1 {
				at.Index, at.Scale = width, 1
			}
			first, second := m.joined(a, b, order)
			put(0, first, at)
			at.Disp = m.bytes
			put(1, second, at)
		}
	}
	m.loop("row", rows, 1, func() {
		m.MOVQ(x, bases[0])
		for i := range bases[:3] {
			m.LEAQ(operand.Mem{Base: bases[i], Index: c.apart, Scale: 4}, bases[i+1])
		}
		m.MOVQ(z, to)
		m.Load(m.Param("cols"), left)
		m.LEAQ(operand.Mem{Base: x, Index: left, Scale: uint8(m.size())}, x)
		m.Load(m.Param("width"), pixels)
		m.LEAQ(operand.Mem{Base: z, Index: width, Scale: 2}, z)
		full := m.GP64() // the last vector of a row is cut
		m.MOVQ(left, full)
		m.DECQ(full)
		m.loop("whole", full, m.width(), func() {
			body(func(from operand.Mem) reg.Register {
				v := m.vector()
				m.VMOVUPS(from, v)
				return v
			}, func(_ int, v reg.Register, to operand.Mem) { m.VMOVUPS(v, to) })
			for _, b := range bases {
				m.ADDQ(operand.I32(m.bytes), b)
			}
			m.ADDQ(operand.I32(2*m.bytes), to)
			m.SUBQ(operand.I32(2*m.width()), pixels)
			m.SUBQ(operand.I32(m.width()), left)
		})
		k := m.first(left)
		body(func(from operand.Mem) reg.Register { return m.readTail(k, from)[0] }, func(half int, v reg.Register, to operand.Mem) {
			n := m.GP64()
			m.MOVQ(pixels, n)
			if half == 0 {
				most := m.GP64()
				m.MOVQ(operand.I32(m.width()), most)
				m.CMPQ(n, most)
				m.CMOVQGT(most, n)
			} else {
				none := m.GP64()
				m.XORQ(none, none)
				m.SUBQ(operand.I32(m.width()), n)
				m.CMOVQLT(none, n)
			}
			m.writeTail(m.first(n), value{v}, to)
		})
	})
	finite := m.GP8()
	if m.wide() {
		k, bits := m.K(), m.GP32()
		m.VCMPPS(operand.U8(3), seen, seen, k)
		m.KMOVW(k, bits)
		m.TESTL(bits, bits)
	} else {
		bits := m.GP32()
		m.VCMPPS(operand.U8(3), seen, seen, seen)
		m.VMOVMSKPS(seen, bits)
		m.TESTL(bits, bits)
	}
	m.SETEQ(finite)
	m.Store(finite, m.ReturnIndex(0))
	m.end()
	m.enter("outOfTiles", "%s", "outOfTiles")
}

// first returns the mask of the first lanes, as many as a register says, at most those of a vector.
func (m *machine) first(n reg.Register) reg.Register { return m.tail(&cursor{left: n}) }

// joined returns the elements of a and b in turn: two vectors.
func (m *machine) joined(a, b reg.Register, order [2]reg.Register) (first, second reg.Register) {
	if m.wide() {
		return m.chosen(a, b, order[0]), m.chosen(a, b, order[1])
	}
	low, high := m.op("VUNPCKLPS", a, b), m.op("VUNPCKHPS", a, b)
	first, second = m.YMM(), m.YMM()
	m.VPERM2F128(operand.U8(0x20), high, low, first)
	m.VPERM2F128(operand.U8(0x31), high, low, second)
	return first, second
}
