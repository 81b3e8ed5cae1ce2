package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/opgen/opgen/internal/base/simd/approx"
)

// rounds is how many rounds the generator has.
const rounds = 10

// threeXor is the table of the exclusive or of three operands.
const threeXor = 0x96

// Words of the memory of draws: those that the caller sets, and behind them vectors of AVX2 with the keys of
// all rounds.
const drawWords = 18

// drawing is what the generators of random words have in common.
type drawing struct {
	*set
	high, low, left, at, first, index reg.Register
}

// drawing begins a generator of random words: a position in each lane of 64 bits, of whose words each is in
// the lower half of one. What is in the upper halves meanwhile has no effect.
func (s *set) drawing() *drawing {
	s.begin("draw"+s.title, "func(high, low []uint64, at *[98]uint64)", "draws words at consecutive positions.")
	return &drawing{s, s.Load(s.Param("high").Base(), s.GP64()), s.Load(s.Param("low").Base(), s.GP64()), s.Load(s.Param("high").Len(), s.GP64()),
		s.Load(s.Param("at"), s.GP64()), s.GP64(), s.GP64()}
}

func (d *drawing) vector() reg.Register {
	if d.wide() {
		return d.ZMM()
	}
	return d.YMM()
}

func (d *drawing) word(i int) operand.Mem { return operand.Mem{Base: d.at, Disp: 8 * i} }

// everywhere returns a vector of copies of a word.
func (d *drawing) everywhere(i int) reg.Register {
	v := d.vector()
	d.emit("VPBROADCASTQ", d.word(i), v)
	return v
}

// loop emits a loop that draws words at some positions at a time.
func (d *drawing) loop(positions int, body func()) {
	d.MOVQ(d.word(0), d.first)
	d.XORQ(d.index, d.index)
	d.Label("vectors")
	d.CMPQ(d.left, operand.I32(positions))
	d.jump("JLT", "end")
	body()
	d.ADDQ(operand.I32(positions), d.first)
	d.ADDQ(operand.I32(positions), d.index)
	d.SUBQ(operand.I32(positions), d.left)
	d.jump("JMP", "vectors")
	d.Label("end")
	d.end()
}

// give writes the words of a vector. The suffix is that of instructions on bits.
func (d *drawing) give(c []reg.Register, mask reg.Register, suffix, store string, vector int) {
	for i, to := range []reg.Register{d.high, d.low} {
		d.emit("VPSLLQ", operand.U8(32), c[2*i], c[2*i])
		d.emit("VPAND"+suffix, mask, c[2*i+1], c[2*i+1])
		d.emit("VPOR"+suffix, c[2*i+1], c[2*i], c[2*i])
		d.emit(store, c[2*i], operand.Mem{Base: to, Index: d.index, Scale: 8, Disp: vector * d.bytes})
	}
}

// draws emits the generator of random words.
func (s *set) draws() {
	if s.wide() {
		s.drawing().wideDraws()
	} else {
		s.drawing().narrowDraws()
	}
}

// wideDraws draws one vector at a time. Registers hold the keys of all rounds.
func (d *drawing) wideDraws() {
	factors, mask, lanes := []reg.Register{d.everywhere(5), d.everywhere(6)}, d.everywhere(9), d.vector()
	steps, keys := []reg.Register{d.everywhere(7), d.everywhere(8)}, [][]reg.Register{{d.everywhere(3), d.everywhere(4)}}
	for len(keys) < rounds {
		last, next := keys[len(keys)-1], []reg.Register{d.vector(), d.vector()}
		for i := range next {
			d.emit("VPADDQ", steps[i], last[i], next[i])
		}
		keys = append(keys, next)
	}
	d.emit("VMOVDQU64", d.word(10), lanes)
	d.loop(d.bytes/8, func() {
		c := []reg.Register{d.vector(), d.vector(), d.everywhere(1), d.everywhere(2)}
		position := d.XMM()
		d.VMOVQ(d.first, position)
		d.emit("VPBROADCASTQ", position, c[0])
		d.emit("VPADDQ", lanes, c[0], c[0])
		d.emit("VPSRLQ", operand.U8(32), c[0], c[1])
		for round := range rounds {
			p, q := d.vector(), d.vector()
			d.emit("VPMULUDQ", c[0], factors[0], p)
			d.emit("VPMULUDQ", c[2], factors[1], q)
			d.emit("VPSRLQ", operand.U8(32), q, c[0])
			d.emit("VPSRLQ", operand.U8(32), p, c[2])
			for i := range keys[round] {
				d.emit("VPTERNLOGQ", operand.U8(threeXor), keys[round][i], c[2*i+1], c[2*i])
			}
			c[1], c[3] = q, p
		}
		d.give(c, mask, "Q", "VMOVDQU64", 0)
	})
}

// narrowDraws draws two vectors side by side, since each round waits for the one before. Registers do not
// suffice for the keys, so memory holds them.
func (d *drawing) narrowDraws() {
	const vectors = 2
	factors := []reg.Register{d.everywhere(5), d.everywhere(6)}
	key := func(round, i int) operand.Mem { return d.word(drawWords + 4*(2*round+i)) }
	for i := range 2 {
		k, step := d.everywhere(3+i), d.everywhere(7+i)
		for round := range rounds {
			d.emit("VMOVDQU", k, key(round, i))
			d.emit("VPADDQ", step, k, k)
		}
	}
	d.loop(vectors*d.bytes/8, func() {
		var c [vectors][]reg.Register
		position := d.XMM()
		d.VMOVQ(d.first, position)
		for v := range c {
			c[v] = []reg.Register{d.vector(), d.vector(), d.everywhere(1), d.everywhere(2)}
			d.emit("VPBROADCASTQ", position, c[v][0])
			d.emit("VPADDQ", d.word(10+4*v), c[v][0], c[v][0])
			d.emit("VPSRLQ", operand.U8(32), c[v][0], c[v][1])
		}
		for round := range rounds {
			for v := range c {
				c := c[v]
				p, q := d.vector(), d.vector()
				d.emit("VPMULUDQ", c[0], factors[0], p)
				d.emit("VPMULUDQ", c[2], factors[1], q)
				d.emit("VPXOR", key(round, 0), c[1], c[1])
				d.emit("VPXOR", key(round, 1), c[3], c[3])
				d.emit("VPSRLQ", operand.U8(32), q, c[0])
				d.emit("VPSRLQ", operand.U8(32), p, c[2])
				d.emit("VPXOR", c[1], c[0], c[0])
				d.emit("VPXOR", c[3], c[2], c[2])
				c[1], c[3] = q, p
			}
		}
		mask := d.everywhere(9)
		for v := range c {
			d.give(c[v], mask, "", "VMOVDQU", v)
		}
	})
}

// units emits the function that makes numbers from 0 to 1 of words: the upper 53 bits, as a number, divided
// by 2^53.
func (s *set) units() {
	m := &machine{set: s, Constants: &approx.Double, double: true}
	const unit = 1.0 / (1 << 53)
	s.conversion("units"+s.title, "func(z []float64, x []uint64)", "sets every z[i] to the number from 0 to 1 that x[i] stands for.", 4, 8, 8,
		func(read, write operand.Mem) { s.emit("VMOVUPD", m.mul(m.whole(read), m.number(unit))[0], write) },
		func(read, write operand.Mem) {
			word, v := s.GP64(), s.XMM()
			s.MOVQ(read, word)
			s.SHRQ(operand.U8(11), word)
			s.VXORPD(v, v, v)
			s.VCVTSI2SDQ(word, v, v)
			s.VMULSD(m.place(m.number(unit)), v, v)
			s.VMOVSD(v, write)
		})
}

// whole returns the upper 53 bits of words in memory, as numbers.
func (m *machine) whole(words operand.Mem) value {
	v := m.vectors(1)
	if m.wide() {
		m.VMOVDQU64(words, v[0])
		v = m.down(v, 11)
		m.emit("VCVTUQQ2PD", v[0], v[0])
		return v
	}
	m.VMOVDQU(words, v[0])
	return m.functions().Whole(v).(value)
}

// normals emits the function that makes numbers of the normal distribution of pairs of words. The number of
// elements is a multiple of 8.
func (s *set) normals() {
	m := &machine{set: s, Constants: &approx.Double, double: true}
	s.begin("normals"+s.title, "func(z []float64, high, low []uint64)", "sets every z[i] to a number of the normal distribution that is made of high[i] and low[i].")
	c := m.cursorOf("z", "z", "high", "low")
	for _, n := range slices.Compact([]int{m.most(2), 1}) {
		loop, done := fmt.Sprintf("loop%d", n), fmt.Sprintf("done%d", n)
		s.Label(loop)
		s.CMPQ(c.left, operand.I32(n*m.width()))
		s.jump("JLT", done)
		read := func(slice string) (v value) {
			for i := range n {
				v = append(v, m.whole(m.address(c, slice, i))...)
			}
			return v
		}
		m.write(c, "z", m.functions().Normal(read("high"), read("low")).(value))
		m.advance(c, n*m.width())
		s.jump("JMP", loop)
		s.Label(done)
	}
	s.end()
}
