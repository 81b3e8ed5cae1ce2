package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/opgen/opgen/internal/base/simd/elementary"
)

// square emits code for squares of two by two elements, of which two rows are in memory. It works on vectors
// of 32 bytes, or of 16, with both sets: with longer ones there would be more squares that do not fill a
// vector.
//
// The elements of a row's squares are split into left ones and right ones. Those of a vector of 32 bytes are
// out of order meanwhile: the second quarter and the third change places.
type square struct {
	*machine
	bytes int
}

// each calls f for both sizes of vectors.
func (m *machine) squaresOf(f func(q square)) {
	for _, bytes := range []int{spread, spread / 2} {
		f(square{m, bytes})
	}
}

// count is the number of squares of a vector.
func (q square) count() int { return q.bytes / q.size() }

func (q square) vector() reg.Register {
	if q.bytes == spread {
		return q.YMM()
	}
	return q.XMM()
}

// op returns name(a, b).
func (q square) op(name string, a, b operand.Op) reg.Register {
	z := q.vector()
	q.emit(q.real(name), b, a, z)
	return z
}

// greatest returns the greater of a and b, as Max of package elementary does.
func (q square) greatest(a, b operand.Op) reg.Register {
	z := q.op("VAND", q.op("VMAX", a, b), q.op("VMAX", b, a))
	return q.where(q.compared(elementary.Unordered, a, b), q.op("VADD", a, b), z)
}

func (q square) compared(p uint8, a, b operand.Op) reg.Register {
	z := q.vector()
	q.emit(q.real("VCMP"), operand.U8(p), b, a, z)
	return z
}

// where returns a where the mask is set, and otherwise b.
func (q square) where(mask, a, b operand.Op) reg.Register {
	z := q.vector()
	q.emit(q.real("VBLENDV"), mask, a, b, z)
	return z
}

func (q square) load(from operand.Mem) reg.Register {
	v := q.vector()
	q.emit(q.real("VMOVU"), from, v)
	return v
}

func (q square) store(v operand.Op, to operand.Mem) { q.emit(q.real("VMOVU"), v, to) }

// split returns the left and the right elements of two vectors.
func (q square) split(x, y operand.Op) (left, right reg.Register) {
	if q.double {
		return q.op("VUNPCKL", x, y), q.op("VUNPCKH", x, y)
	}
	left, right = q.vector(), q.vector()
	q.emit("VSHUFPS", operand.U8(0x88), y, x, left)
	q.emit("VSHUFPS", operand.U8(0xdd), y, x, right)
	return left, right
}

// join returns the two vectors of which split gives these.
func (q square) join(left, right operand.Op) (x, y reg.Register) {
	return q.op("VUNPCKL", left, right), q.op("VUNPCKH", left, right)
}

// ordered brings results into their order, or what is in order into that of split.
func (q square) ordered(v reg.Register) reg.Register {
	if q.bytes == spread {
		q.emit("VPERMPD", operand.U8(0xd8), v, v)
	}
	return v
}

// row loads the elements of the squares of a row.
func (q square) row(at operand.Mem) (left, right reg.Register) {
	next := at
	next.Disp += q.bytes
	return q.split(q.load(at), q.load(next))
}

// grid is the registers of a function of squares.
type grid struct {
	*machine
	at           map[string]reg.Register // where the current squares of slices are
	width        reg.Register            // how many bytes lie between the two rows of a square
	left         reg.Register            // how many squares of the row are left
	between, per string                  // the slices of elements, and that of squares
}

// upper and lower return the places of vector i of the rows of a slice.
func (g *grid) upper(slice string, q square, i int) operand.Mem {
	return operand.Mem{Base: g.at[slice], Disp: i * q.bytes}
}

func (g *grid) lower(slice string, q square, i int) operand.Mem {
	return operand.Mem{Base: g.at[slice], Index: g.width, Scale: 1, Disp: i * q.bytes}
}

// loop emits a loop over vectors of squares in a row.
func (g *grid) loop(q square, body func()) {
	label := map[bool]string{true: "long", false: "short"}[q.bytes == spread]
	g.machine.loop(label, g.left, q.count(), func() {
		body()
		g.ADDQ(operand.I32(q.bytes), g.at[g.per])
		for _, s := range strings.Split(g.between, ", ") {
			g.ADDQ(operand.I32(2*q.bytes), g.at[s])
		}
	})
}

// squareFunction emits a function of rows of squares. Slice per has an element for each square, and those of
// between have the elements of squares.
func (m *machine) squareFunction(operation, between, per, doc string, body func(g *grid)) {
	m.begin(m.name(operation), m.typed("func("+between+", "+per+" []T, width, cols, rows int)"), doc)
	slices := append(strings.Split(between, ", "), per)
	g := &grid{machine: m, at: map[string]reg.Register{}, between: between, per: per, left: m.GP64()}
	first := map[string]reg.Register{}
	for _, s := range slices {
		first[s], g.at[s] = m.Load(m.Param(s).Base(), m.GP64()), m.GP64()
	}
	size := operand.U8(2)
	if m.double {
		size = 3
	}
	g.width = m.Load(m.Param("width"), m.GP64())
	m.SHLQ(size, g.width)
	cols, rows := m.Load(m.Param("cols"), m.GP64()), m.Load(m.Param("rows"), m.GP64())
	m.loop("row", rows, 1, func() {
		for _, s := range slices {
			m.MOVQ(first[s], g.at[s])
			if s == per {
				m.LEAQ(operand.Mem{Base: first[s], Index: cols, Scale: uint8(m.size())}, first[s])
			} else {
				m.LEAQ(operand.Mem{Base: first[s], Index: g.width, Scale: 2}, first[s])
			}
		}
		m.MOVQ(cols, g.left)
		body(g)
	})
	m.end()
	m.enter(operation, "%s", operation)
}

// squares emits the functions of squares. They leave out those of a row that do not fill a vector.
func (m *machine) squares() {
	m.squareFunction("maxSquares", "x", "z", "sets elements of z to the greatest elements of squares.", func(g *grid) {
		m.squaresOf(func(q square) {
			g.loop(q, func() {
				var halves [2]reg.Register
				for i := range halves {
					halves[i] = q.greatest(q.load(g.upper("x", q, i)), q.load(g.lower("x", q, i)))
				}
				l, r := q.split(halves[0], halves[1])
				q.store(q.ordered(q.greatest(l, r)), operand.Mem{Base: g.at["z"]})
			})
		})
	})
	m.squareFunction("meanSquares", "x", "z", "sets elements of z to the means of squares.", m.means)
	m.squareFunction("maxSquaresGrad", "x, of", "g", "adds elements of g to those of x that belong to the first of the greatest elements of squares.", func(g *grid) {
		m.squaresOf(func(q square) { g.loop(q, func() { q.gradients(g) }) })
	})
	m.note(m.double, fmt.Sprint("t.squares = ", spread/2/m.size()))
}

// gradients adds the gradients of a vector of squares. The first element that is the greatest gets one: the
// first NaN, if there is one.
func (q square) gradients(g *grid) {
	a0, a1 := q.row(g.upper("of", q, 0))
	b0, b1 := q.row(g.lower("of", q, 0))
	top := q.greatest(q.greatest(a0, b0), q.greatest(a1, b1))
	left := q.ordered(q.load(operand.Mem{Base: g.at["g"]})) // what is not given away yet
	parts := make([]reg.Register, 4)
	for i, x := range []reg.Register{a0, a1, b0} {
		is := q.op("VOR", q.compared(elementary.Equal, x, top), q.compared(elementary.Unordered, x, x))
		parts[i] = q.op("VAND", is, left)
		left = q.op("VANDN", is, left)
	}
	parts[3] = left
	for i, place := range []func(string, square, int) operand.Mem{g.upper, g.lower} {
		first, second := q.join(parts[2*i], parts[2*i+1])
		for j, v := range []reg.Register{first, second} {
			to := place("x", q, j)
			q.store(q.op("VADD", q.load(to), v), to)
		}
	}
}

// means emits the loops of meanSquares. Sums of float32 are of float64.
func (m *machine) means(g *grid) {
	quarter := m.YMM()
	wide := &machine{set: m.set, Constants: m.Constants, double: true}
	m.VBROADCASTSD(m.place(wide.number(0.25)), quarter)
	zero := m.YMM()
	m.VXORPS(zero, zero, zero)
	mean := func(q square, parts [4]reg.Register, zero, quarter reg.Register) reg.Register {
		sum := zero
		for _, x := range parts {
			sum = q.op("VADD", sum, x)
		}
		return q.op("VMUL", sum, quarter)
	}
	if !m.double {
		q := square{m, spread / 2}
		g.loop(q, func() {
			var parts [4]reg.Register
			for i, place := range []func(string, square, int) operand.Mem{g.upper, g.lower} {
				l, r := q.row(place("x", q, 0))
				for j, v := range []reg.Register{l, r} {
					parts[2*i+j] = m.YMM()
					m.emit("VCVTPS2PD", v, parts[2*i+j])
				}
			}
			out := m.XMM()
			m.emit("VCVTPD2PSY", mean(square{wide, spread}, parts, zero, quarter), out)
			q.store(out, operand.Mem{Base: g.at["z"]})
		})
		return
	}
	m.squaresOf(func(q square) {
		g.loop(q, func() {
			var parts [4]reg.Register
			parts[0], parts[1] = q.row(g.upper("x", q, 0))
			parts[2], parts[3] = q.row(g.lower("x", q, 0))
			none, factor := reg.Register(zero), reg.Register(quarter)
			if q.bytes < spread {
				none, factor = zero.(reg.Vec).AsX(), quarter.(reg.Vec).AsX()
			}
			q.store(q.ordered(mean(q, parts, none, factor)), operand.Mem{Base: g.at["z"]})
		})
	})
}
