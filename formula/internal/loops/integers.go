package loops

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// integerOp is the operation of an instruction on integer strips, whose elements have 64 bits. In the
// comments, z is the strip dst, y is the strip y, and r is the register reg.
type integerOp uint8

const (
	integerUniform      integerOp = iota // z = value
	integerEach                          // z = value, evaluated for each element
	integerCount                         // z = integers with a constant stride, from the one at from
	integerElements                      // z = elements at from
	integerAddElements                   // z += factor * elements at from
	integerAddQuotients                  // z += factor * quotients of integers with a constant stride by divisor
	integerAddRests                      // z += factor * remainders of integers with a constant stride by divisor
	integerAdd                           // z += factor * y
	integerAddTable                      // z += the table's values for the vectorized index
	integerLookup                        // z = elements at the offsets z
	integerTruth                         // z = r, a condition
	integerConverted                     // z = a real number, converted by the function of
	integerSelect                        // z = y where r is 0
	integerWithin                        // z = value where y is not in [lo, hi]
	integerAbs                           // z = abs(z)
	integerBinary                        // z = the operation or function of, applied to z and y
)

// integerInstruction is one operation on integer strips.
type integerInstruction[T simd.Float] struct {
	op              integerOp
	dst, y          int // integer strips
	reg             int
	factor, divisor int
	from            *address[T]
	elements        integerStorage[T] // storage of the elements at from
	of              *term.Term
	value           func(*state[T]) int // scalar code that computes of
	table           []int               // by value of the vectorized index
	lo, hi          int
	real            *doubled[T]
	least, end      float64 // of integerConverted: numbers in [least, end) are converted by truncation
}

// integers is straight-line code on integer strips.
type integers[T simd.Float] struct {
	code []integerInstruction[T]
	uses []int // registers that the code reads
	at   int   // slot of the vectorized index
}

// integerStrip returns an integer strip. A number k below 0 is that of the strip ^k that is not shared with
// other code.
func (s *state[T]) integerStrip(k int) []int {
	if k < 0 {
		return s.apart[^k]
	}
	return s.integers[k]
}

// exec runs the code on n elements.
func (p *integers[T]) exec(s *state[T], n int) {
	for i := range p.code {
		p.code[i].exec(s, s.integerStrip(p.code[i].dst)[:n], p.at)
	}
}

// exec computes strip z. place is the slot of the vectorized index.
func (in *integerInstruction[T]) exec(s *state[T], z []int, place int) {
	switch in.op {
	case integerUniform:
		count(z, in.value(s), 0)
	case integerEach:
		first := s.vars[place]
		for i := range z {
			s.vars[place] = first + i
			z[i] = in.value(s)
		}
		s.vars[place] = first
	case integerCount:
		count(z, in.from.at(s), in.from.step)
	case integerElements:
		in.elements.loadWholes(&s.mem[in.from.tensor], z, in.from.at(s), in.from.step)
	case integerAddElements:
		in.elements.addWholes(&s.mem[in.from.tensor], z, in.from.at(s), in.from.step, in.factor)
	case integerAddQuotients:
		addDigits(z, in.from.at(s), in.from.step, in.divisor, in.factor, 0)
	case integerAddRests:
		addDigits(z, in.from.at(s), in.from.step, in.divisor, 0, in.factor)
	case integerAdd:
		addElements(z, s.integerStrip(in.y), 0, 1, in.factor)
	case integerAddTable:
		for i, v := range in.table[s.vars[place]:][:len(z)] {
			z[i] += v
		}
	case integerLookup:
		in.elements.lookUp(&s.mem[in.from.tensor], z)
	case integerTruth:
		for i, v := range s.regs[in.reg][:len(z)] {
			z[i] = int(v)
		}
	case integerConverted:
		for i, v := range in.real.values(s, len(z)) {
			if v >= in.least && v < in.end {
				z[i] = int(v)
			} else {
				z[i] = in.of.Func.Whole(v)
			}
		}
	case integerSelect:
		y := s.integerStrip(in.y)[:len(z)]
		for i, v := range s.regs[in.reg][:len(z)] {
			if v == 0 {
				z[i] = y[i]
			}
		}
	case integerWithin:
		outsideTo(z, s.integerStrip(in.y), in.lo, in.hi, in.value(s))
	case integerAbs:
		for i, v := range z {
			z[i] = max(v, -v)
		}
	case integerBinary:
		in.join(z, s.integerStrip(in.y)[:len(z)])
	}
}

// join applies a binary operation to z and y, and sets z to the results.
func (in *integerInstruction[T]) join(z, y []int) {
	switch op := in.of.Op; {
	case in.of.Func == term.Min:
		for i, v := range y {
			z[i] = min(z[i], v)
		}
	case in.of.Func == term.Max:
		for i, v := range y {
			z[i] = max(z[i], v)
		}
	case op == term.Multiply:
		for i, v := range y {
			z[i] *= v
		}
	case op == term.Power:
		for i, v := range y {
			z[i] = term.IntegerPower(z[i], v)
		}
	default:
		for i, d := range y {
			if !term.Divisor(op, d) {
				fail("an integer is divided by %d", d)
			}
			z[i] = term.IntegerOf(op, z[i], d)
		}
	}
}

// count sets out to first, first+step, ...
func count(out []int, first, step int) {
	for i := range out {
		out[i] = first
		first += step
	}
}

// addElements adds multiples of strided elements of x to out.
func addElements[U dtype.Integer | int](out []int, x []U, at, step, factor int) {
	for i := range out {
		out[i] += factor * int(x[at])
		at += step
	}
}

// addDigits adds multiples of the quotients, and of the remainders, of first, first+step, ... by d to out. It
// divides once (strength reduction).
func addDigits(out []int, first, step, d, quotient, rest int) {
	q := shape.FloorDiv(first, d)
	r := first - q*d
	more := shape.FloorDiv(step, d)
	step -= more * d
	for i := range out {
		out[i] += quotient*q + rest*r
		q += more
		if r += step; r >= d {
			r -= d
			q++
		}
	}
}

// text returns the operations of the code for a listing.
func (p *integers[T]) text(l *lister[T]) string {
	names := map[int]string{}
	name := func(k int) string {
		if names[k] == "" {
			names[k] = "i" + strconv.Itoa(len(names))
		}
		return names[k]
	}
	var texts []string
	for i := range p.code {
		in := &p.code[i]
		texts = append(texts, name(in.dst)+in.text(l, name))
	}
	return strings.Join(texts, "; ")
}

func (in *integerInstruction[T]) text(p *lister[T], name func(int) string) string {
	z, sign, times := name(in.dst), " = ", ""
	if in.op >= integerAddElements && in.op <= integerAddTable {
		if sign = " += "; in.factor != 1 && in.op != integerAddTable {
			times = fmt.Sprintf("%d*", in.factor)
		}
	}
	return sign + times + func() string {
		switch in.op {
		case integerUniform:
			return in.of.String()
		case integerEach:
			return in.of.String() + ", one by one"
		case integerAddQuotients:
			return fmt.Sprintf("(%s) / %d", p.address(in.from), in.divisor)
		case integerAddRests:
			return fmt.Sprintf("(%s) %% %d", p.address(in.from), in.divisor)
		case integerAdd:
			return name(in.y)
		case integerAddTable:
			return "table of " + in.of.String()
		case integerLookup:
			return fmt.Sprintf("%v %s@%s", in.from.typ, p.c.nameOf(in.from.tensor), z)
		case integerTruth:
			return p.register(in.reg)
		case integerConverted:
			return in.of.String() + ", in f64"
		case integerSelect:
			return fmt.Sprintf("%s ? %s : %s", p.register(in.reg), z, name(in.y))
		case integerWithin:
			return fmt.Sprintf("%s in %s ? %s : %v", name(in.y), rangeText(in.lo, in.hi), z, in.of)
		case integerAbs:
			return "abs(" + z + ")"
		case integerBinary:
			if in.of.Func != nil {
				return fmt.Sprintf("%s(%s, %s)", in.of.Func.Name, z, name(in.y))
			}
			return fmt.Sprintf("%s %s %s", z, integerNames[in.of.Op], name(in.y))
		}
		return p.address(in.from)
	}()
}

var integerNames = map[term.Op]string{term.Multiply: "*", term.Power: "^", term.Quotient: "/", term.Truncate: "quo", term.Modulo: "%"}
