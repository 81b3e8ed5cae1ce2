package term

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// levels holds the precedence of operations, as in formulas: a greater level binds more tightly.
var levels = map[Op]int{Choose: 0, Or: 2, And: 3, Equal: 4, Unequal: 4, Less: 4, AtMost: 4, Add: 5, Subtract: 5, Multiply: 6, Divide: 6,
	Quotient: 6, Modulo: 6, Negate: 7, Not: 7, Power: 8}

var signs = map[Op]string{Or: "||", And: "&&", Equal: "==", Unequal: "!=", Less: "<", AtMost: "<=", Add: "+", Subtract: "-",
	Multiply: "*", Divide: "/", Quotient: "/", Modulo: "%", Power: "^"}

// String prints n in the syntax of formulas.
func (n *Term) String() string {
	var p printer
	p.term(n, 0)
	return p.String()
}

// printer appends terms to one buffer, so that it prints a deep term in linear time.
type printer struct{ strings.Builder }

const closed = 9 // the precedence of terms that never need parentheses

// level returns the precedence of n.
func (n *Term) level() int {
	switch n.Op {
	case Constant:
		switch {
		case n.Kind == Real && n.Float-n.Float != 0: // a quotient
			return levels[Divide]
		case n.Kind == Integer && n.Int < 0 || n.Kind == Real && (n.Float < 0 || n.Float == 0 && math.Signbit(n.Float)):
			return levels[Negate]
		}
	case Element:
		if n.Read.Else != nil {
			return levels[Negate]
		}
	case Symbol, Index, Step, Apply, Truncate, Reduce:
	default:
		return levels[n.Op]
	}
	return closed
}

// term prints n, in parentheses if its precedence is below level.
func (p *printer) term(n *Term, level int) {
	switch {
	case n == nil:
	case n.level() < level:
		p.WriteByte('(')
		p.plain(n)
		p.WriteByte(')')
	default:
		p.plain(n)
	}
}

func (p *printer) plain(n *Term) {
	own := levels[n.Op]
	switch n.Op {
	case Constant:
		p.constant(n)
	case Symbol:
		p.WriteString(n.Name)
	case Index:
		p.WriteString(n.Var.Name)
	case Step:
		p.WriteString("iteration")
	case Element:
		p.read(n.Read)
	case Apply:
		p.call(n.Func.Name, n.Args)
	case Truncate:
		p.call("quotient", n.Args)
	case Reduce:
		p.reduction(n.Reduction)
	case Negate:
		p.WriteByte('-')
		p.term(n.Args[0], own)
	case Not:
		p.WriteByte('!')
		p.term(n.Args[0], own)
	case Choose:
		p.term(n.Args[0], 1)
		p.WriteString(" ? ")
		p.term(n.Args[1], 1)
		p.WriteString(" : ")
		p.term(n.Args[2], 0)
	default:
		left := own
		if n.Op == Power { // x ^ y ^ z is x ^ (y ^ z)
			left++
		}
		p.term(n.Args[0], left)
		p.WriteString(" " + signs[n.Op] + " ")
		p.term(n.Args[1], own+1)
	}
}

func (p *printer) constant(n *Term) {
	switch n.Kind {
	case Boolean:
		p.WriteString(strconv.FormatBool(n.Int != 0))
	case Integer:
		p.WriteString(strconv.Itoa(n.Int))
	default:
		switch {
		case math.IsInf(n.Float, 1):
			p.WriteString("inf")
		case math.IsInf(n.Float, -1):
			p.WriteString("-inf")
		case math.IsNaN(n.Float):
			p.WriteString("0 / 0")
		default:
			p.WriteString(strconv.FormatFloat(n.Float, 'g', -1, 64))
		}
	}
}

func (p *printer) call(name string, args []*Term) {
	p.WriteString(name + "(")
	p.list(args)
	p.WriteByte(')')
}

func (p *printer) list(terms []*Term) {
	for i, t := range terms {
		if i > 0 {
			p.WriteString(", ")
		}
		p.term(t, 0)
	}
}

// read prints an element in the syntax of formulas: with # before a flat index.
func (p *printer) read(r *Read) {
	p.WriteString(r.Text)
	if r.Which != nil {
		p.WriteByte('[')
		p.term(r.Which, 0)
		p.WriteByte(']')
	}
	p.WriteByte('[')
	switch {
	case !r.ByNumber:
		p.list(r.Idx)
	case len(r.Idx) == 1 && r.Idx[0].Op == Index:
		p.WriteByte('#')
		p.term(r.Idx[0], 0)
	default:
		p.WriteString("#(")
		p.list(r.Idx)
		p.WriteByte(')')
	}
	p.WriteByte(']')
	if r.Else != nil {
		p.WriteString(" else ")
		p.term(r.Else, levels[Negate])
	}
}

// String prints the reduction in the syntax of formulas.
func (r *Reduction) String() string {
	var p printer
	p.reduction(r)
	return p.String()
}

func (p *printer) reduction(r *Reduction) {
	p.WriteString(r.Kind.String() + "(")
	for i, v := range r.Vars {
		if i > 0 {
			p.WriteString(", ")
		}
		p.variable(v)
	}
	if r.Guard != nil {
		p.WriteString(" if ")
		p.term(r.Guard, 0)
	}
	switch {
	case r.Relative():
		p.WriteString(": ")
		p.term(Arithmetic(Subtract, r.Body, r.At[0]), 0)
	case r.Body != nil:
		p.WriteString(": ")
		p.term(r.Body, 0)
	}
	if r.Descending {
		p.WriteString(" descending")
	}
	p.WriteByte(')')
	if r.IsOrder() {
		p.WriteByte('[')
		p.list(r.At)
		p.WriteByte(']')
	}
}

// Range prints the variable with its range, unless the variable's name implies the range: n of extent N.
func (v *Variable) Range() string {
	var p printer
	p.variable(v)
	return p.String()
}

func (p *printer) variable(v *Variable) {
	p.WriteString(v.Name)
	switch {
	case !v.Lo.Is(0):
		p.WriteString(" in ")
		p.term(v.Lo, levels[Add])
		p.WriteString(" .. ")
	case v.Hi.Op == Symbol && slices.ContainsFunc([]string{"", "0"}, func(number string) bool { // N, or N0 of a run of one dimension
		return strings.EqualFold(v.Hi.Name, strings.TrimRight(v.Name, "'")+number)
	}):
		return
	default:
		p.WriteString(" < ")
	}
	p.term(v.Hi, levels[Add])
}
