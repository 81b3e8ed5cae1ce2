package term

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// levels say how closely operations bind, as in formulas.
var levels = map[Op]int{Choose: 0, Or: 2, And: 3, Equal: 4, Unequal: 4, Less: 4, AtMost: 4, Add: 5, Subtract: 5, Multiply: 6, Divide: 6,
	Quotient: 6, Modulo: 6, Negate: 7, Not: 7, Power: 8}

var signs = map[Op]string{Or: "||", And: "&&", Equal: "==", Unequal: "!=", Less: "<", AtMost: "<=", Add: "+", Subtract: "-",
	Multiply: "*", Divide: "/", Quotient: "/", Modulo: "%", Power: "^"}

// String returns n in the notation of formulas.
func (n *Term) String() string { return n.text(0) }

func (n *Term) text(level int) string {
	if n == nil {
		return ""
	}
	s, own := n.plain()
	if own < level {
		return "(" + s + ")"
	}
	return s
}

const closed = 9 // the level of what needs no parentheses

func (n *Term) plain() (string, int) {
	switch n.Op {
	case Constant:
		switch n.Kind {
		case Boolean:
			return strconv.FormatBool(n.Int != 0), closed
		case Integer:
			if n.Int < 0 {
				return strconv.Itoa(n.Int), levels[Negate]
			}
			return strconv.Itoa(n.Int), closed
		}
		s := strconv.FormatFloat(n.Float, 'g', -1, 64)
		if n.Float < 0 {
			return s, levels[Negate]
		}
		return s, closed
	case Symbol:
		return n.Name, closed
	case Index:
		return n.Var.Name, closed
	case Step:
		return "iteration", closed
	case Element:
		return n.Read.plain()
	case Apply:
		return n.Func.Name + "(" + list(n.Args) + ")", closed
	case Truncate:
		return "quotient(" + list(n.Args) + ")", closed
	case Reduce:
		return n.Reduction.String(), closed
	case Negate:
		return "-" + n.Args[0].text(levels[Negate]), levels[Negate]
	case Not:
		return "!" + n.Args[0].text(levels[Not]), levels[Not]
	case Choose:
		return fmt.Sprintf("%s ? %s : %s", n.Args[0].text(1), n.Args[1].text(1), n.Args[2].text(0)), levels[Choose]
	}
	l := levels[n.Op]
	return n.Args[0].text(l) + " " + signs[n.Op] + " " + n.Args[1].text(l+1), l
}

func list(terms []*Term) string {
	var out []string
	for _, t := range terms {
		out = append(out, t.text(0))
	}
	return strings.Join(out, ", ")
}

// plain returns the element in the notation of formulas.
func (r *Read) plain() (string, int) {
	s := r.Text
	if r.Which != nil {
		s += "[" + r.Which.text(0) + "]"
	}
	s += "[" + r.index() + "]"
	if r.Else != nil {
		return s + " else " + r.Else.text(levels[Negate]), levels[Negate]
	}
	return s, closed
}

// index returns what stands in the brackets. An element that is taken by its number has a #.
func (r *Read) index() string {
	switch {
	case !r.ByNumber:
		return list(r.Idx)
	case len(r.Idx) == 1 && r.Idx[0].Op == Index:
		return "#" + r.Idx[0].text(0)
	}
	return "#(" + list(r.Idx) + ")"
}

// String returns the reduction in the notation of formulas.
func (r *Reduction) String() string {
	var vars []string
	for _, v := range r.Vars {
		vars = append(vars, v.Range())
	}
	s := r.Kind + "(" + strings.Join(vars, ", ")
	if r.Guard != nil {
		s += " if " + r.Guard.text(0)
	}
	if r.Body != nil {
		s += ": " + r.Body.text(0)
	}
	if r.Descending {
		s += " descending"
	}
	if r.IsOrder() {
		return s + ")[" + list(r.At) + "]"
	}
	return s + ")"
}

// Range returns the variable with its range, which is left out where it follows from the name.
func (v *Variable) Range() string {
	switch {
	case !v.Lo.Is(0):
		return fmt.Sprintf("%s in %s .. %s", v.Name, v.Lo.text(levels[Add]), v.Hi.text(levels[Add]))
	case v.Hi.Op == Symbol && slices.ContainsFunc([]string{"", "0"}, func(number string) bool { // of a run of one index
		return strings.EqualFold(v.Hi.Name, strings.TrimRight(v.Name, "'")+number)
	}):
		return v.Name
	}
	return fmt.Sprintf("%s < %s", v.Name, v.Hi.text(levels[Add]))
}
