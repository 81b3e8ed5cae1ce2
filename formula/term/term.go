// Package term holds the values of which programs over indices are made: arithmetic, elements of tensors,
// reductions. It compares, renames and folds them.
package term

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"

	"github.com/opgen/opgen/runtime/shape"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Integer Kind = iota
	Real
	Boolean
)

// String names the kind in words.
func (k Kind) String() string { return [...]string{"whole number", "real number", "condition"}[k] }

// Op is what a term does with its operands.
type Op uint8

// The operations. Apply, Reduce and Element have their operands in fields of their own.
const (
	Constant Op = iota
	Symbol      // an extent or an attribute that is left open; Int is its value in this use
	Index       // the value of a variable
	Step        // the number of the training step
	Element     // of a tensor
	Negate
	Add
	Subtract
	Multiply
	Divide   // of real numbers
	Quotient // of integers, rounded down
	Truncate // of integers, rounded towards zero
	Modulo   // of integers, with the sign of the divisor
	Power
	Equal
	Unequal
	Less
	AtMost
	And
	Or
	Not
	Choose // Args[0] ? Args[1] : Args[2]
	Apply  // Func of Args
	Reduce
)

// Term is a value that a program computes: names, runs, attributes and extents are settled.
type Term struct {
	Op        Op
	Kind      Kind
	Name      string  // of a symbol
	Int       int     // of a constant integer or a symbol, or 1 for a condition that holds
	Unknown   bool    // of a symbol: whether nothing may follow from its value
	Float     float64 // of a constant real number
	Var       *Variable
	Func      *Function
	Args      []*Term
	Read      *Read
	Reduction *Reduction
}

// Variable is an index. Its range is Lo to Hi-1.
type Variable struct {
	Name   string
	Lo, Hi *Term
}

// Read is an element of a tensor: the one at Idx of a shape Ext, which is that of the tensor, or any of as
// many elements when an element is taken by its number.
type Read struct {
	Tensor int   // the first, if Which chooses among several
	Which  *Term // nil if there is one
	Count  int   // how many there are
	Idx    []*Term
	Ext    []*Term
	Else   *Term // the value outside; nil if the element must lie inside
	// ByNumber says that the element is taken by its row-major number.
	ByNumber bool
	Text     string // the name of the tensor
}

// Reduction folds Body over all values of Vars for which Guard holds.
type Reduction struct {
	Kind  reduction.Kind
	Vars  []*Variable
	Guard *Term // nil if all indices count
	Body  *Term // nil for count
	Part  int   // which index argmax or argsort gives; all, by number, if it is negative
	// Number is what argmax and argmin give where the present indices are those of the extreme; nil for
	// others.
	Number *Term
	// At is the place in an order that argsort looks up, or the index whose place rank gives. Descending says
	// that the greatest element comes first. At of a logsumexp is the maximum of Body, which the result
	// leaves out: it is the logarithm of the sum of exp(Body - At), and 0 where the maximum is not finite.
	At         []*Term
	Descending bool
	// Detached says that no gradient flows through the result: that of a maximum beside what its logsumexp
	// leaves out flows through the logsumexp.
	Detached bool
}

// Relative reports whether the reduction is a logsumexp that leaves its maximum out.
func (r *Reduction) Relative() bool { return r.Kind == reduction.LogSumExp && len(r.At) > 0 }

// IsOrder reports whether the reduction orders elements.
func (r *Reduction) IsOrder() bool { return r.Kind.Is(reduction.Order) }

// Number returns a whole number.
func Number(v int) *Term {
	if v >= 0 && v < len(small) {
		return &small[v]
	}
	return &Term{Op: Constant, Kind: Integer, Int: v}
}

// small holds the numbers that occur most. Terms do not change, so all programs share them.
var small = func() (numbers [65]Term) {
	for v := range numbers {
		numbers[v] = Term{Op: Constant, Kind: Integer, Int: v}
	}
	return numbers
}()

// RealNumber returns a real number.
func RealNumber(v float64) *Term { return &Term{Op: Constant, Kind: Real, Float: v} }

// Condition returns a condition that holds or does not.
func Condition(v bool) *Term {
	n := &Term{Op: Constant, Kind: Boolean}
	if v {
		n.Int = 1
	}
	return n
}

// IsConst reports whether n is a known integer, and which.
func (n *Term) IsConst() (int, bool) { return n.Int, n.Op == Constant && n.Kind == Integer }

// Is reports whether n is the whole number v.
func (n *Term) Is(v int) bool { i, ok := n.IsConst(); return ok && i == v }

// Known returns the value of an integer in which only constants occur, and symbols whose values are known.
func (n *Term) Known() (int, bool) { return n.fixed(false) }

// Fixed reports whether only constants and symbols occur in an integer, which is the same at all indices then.
func (n *Term) Fixed() bool {
	_, ok := n.fixed(true)
	return ok
}

// fixed returns the value of an integer in which only constants and symbols occur.
func (n *Term) fixed(unknown bool) (int, bool) {
	switch {
	case n.Kind != Integer:
		return 0, false
	case n.Op == Constant || n.Op == Symbol && (unknown || !n.Unknown):
		return n.Int, true
	case len(n.Args) == 0 || n.Op == Reduce || n.Op == Element:
		return 0, false
	}
	v := make([]int, len(n.Args))
	for i, a := range n.Args {
		x, ok := a.fixed(unknown)
		if !ok {
			return 0, false
		}
		v[i] = x
	}
	switch n.Op {
	case Negate:
		return -v[0], true
	case Apply:
		switch n.Func {
		case Min:
			return min(v[0], v[1]), true
		case Max:
			return max(v[0], v[1]), true
		case Abs:
			return max(v[0], -v[0]), true
		}
		return 0, false
	case Choose:
		return 0, false
	}
	if Divides(n.Op) && !Divisor(n.Op, v[1]) {
		return 0, false
	}
	return IntegerOf(n.Op, v[0], v[1]), true
}

// Total returns the product of extents.
func Total(extents []*Term) *Term {
	out := Number(1)
	for _, n := range extents {
		out = Arithmetic(Multiply, out, n)
	}
	return out
}

// Value returns a constant as a real number.
func (n *Term) Value() float64 {
	if n.Kind == Real {
		return n.Float
	}
	return float64(n.Int)
}

// Arithmetic returns op of two numbers. Constants are folded.
func Arithmetic(op Op, x, y *Term) *Term {
	k := Integer
	if x.Kind == Real || y.Kind == Real || op == Divide {
		k = Real
	}
	if x.Op == Constant && y.Op == Constant {
		if k == Real {
			return RealNumber(realOf(op, x.Value(), y.Value()))
		}
		if !Divides(op) || Divisor(op, y.Int) {
			return Number(IntegerOf(op, x.Int, y.Int))
		}
	}
	switch {
	case op == Add && x.Is(0), op == Multiply && x.Is(1):
		return y
	case (op == Add || op == Subtract) && y.Is(0), (op == Multiply || op == Quotient) && y.Is(1):
		return x
	case op == Modulo && y.Is(1):
		return Number(0)
	case (op == Quotient || op == Modulo) && x.Op == Index && x.Var.Lo.Is(0) && Identical(x.Var.Hi, y): // an index by its extent
		if op == Quotient {
			return Number(0)
		}
		return x
	}
	return &Term{Op: op, Kind: k, Args: []*Term{x, y}}
}

// RealPower returns a power of integers that may be a fraction.
func RealPower(x, y *Term) *Term {
	if x.Op == Constant && y.Op == Constant {
		return RealNumber(math.Pow(x.Value(), y.Value()))
	}
	return &Term{Op: Power, Kind: Real, Args: []*Term{x, y}}
}

func realOf(op Op, x, y float64) float64 {
	switch op {
	case Add:
		return x + y
	case Subtract:
		return x - y
	case Multiply:
		return x * y
	case Divide:
		return x / y
	}
	return math.Pow(x, y)
}

// IntegerOf returns op of two whole numbers. A divisor is above 0, or not 0 if op is Truncate.
func IntegerOf(op Op, x, y int) int {
	switch op {
	case Add:
		return x + y
	case Subtract:
		return x - y
	case Multiply:
		return x * y
	case Quotient:
		return shape.FloorDiv(x, y)
	case Truncate:
		return x / y
	case Power:
		return IntegerPower(x, y)
	}
	return shape.Mod(x, y)
}

// Divides reports whether an operation of integers has a divisor.
func Divides(op Op) bool { return op == Quotient || op == Truncate || op == Modulo }

// Divisor reports whether op can divide by y: quotients that are rounded down, and their remainders, have
// divisors above 0.
func Divisor(op Op, y int) bool { return y > 0 || y < 0 && op == Truncate }

// IntegerPower returns x to the power of y, which is 0 where it is a fraction.
func IntegerPower(x, y int) int {
	switch {
	case y >= 0:
	case x == 1, x == -1:
		y = -y % 2
	default:
		return 0
	}
	out := 1
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			out *= x
		}
		x *= x
	}
	return out
}

// Compare returns the condition x op y. Constants are folded.
func Compare(op Op, x, y *Term) *Term {
	a, xKnown := x.Settled()
	b, yKnown := y.Settled()
	if xKnown && yKnown {
		switch op {
		case Equal:
			return Condition(a == b)
		case Unequal:
			return Condition(a != b)
		case Less:
			return Condition(a < b)
		}
		return Condition(a <= b)
	}
	return &Term{Op: op, Kind: Boolean, Args: []*Term{x, y}}
}

// Settled returns the value of a number that does not depend on indices and tensors.
func (n *Term) Settled() (float64, bool) {
	if n.Op == Constant {
		return n.Value(), true
	}
	i, ok := n.Known()
	return float64(i), ok
}

// Truth returns whether n is a known condition, and which.
func (n *Term) Truth() (value, known bool) { return n.Int != 0, n.Op == Constant && n.Kind == Boolean }

// Both returns the condition that x and y hold. Constants are folded.
func Both(x, y *Term) *Term {
	if v, ok := x.Truth(); ok {
		if v {
			return y
		}
		return x
	}
	if v, ok := y.Truth(); ok && v {
		return x
	}
	return &Term{Op: And, Kind: Boolean, Args: []*Term{x, y}}
}

// Either returns the condition that x or y holds. Constants are folded.
func Either(x, y *Term) *Term {
	if v, ok := x.Truth(); ok {
		if v {
			return x
		}
		return y
	}
	if v, ok := y.Truth(); ok && !v {
		return x
	}
	return &Term{Op: Or, Kind: Boolean, Args: []*Term{x, y}}
}

// Negated returns the condition that x does not hold.
func Negated(x *Term) *Term {
	if v, ok := x.Truth(); ok {
		return Condition(!v)
	}
	return &Term{Op: Not, Kind: Boolean, Args: []*Term{x}}
}

// Conditional returns c ? x : y, where c is not known.
func Conditional(c, x, y *Term) *Term {
	k := x.Kind
	if x.Kind != y.Kind {
		k = Real
	}
	return &Term{Op: Choose, Kind: k, Args: []*Term{c, x, y}}
}

// Least returns the smaller, and Greatest the larger, of two integers.
func Least(x, y *Term) *Term    { return extreme(Min, x, y) }
func Greatest(x, y *Term) *Term { return extreme(Max, x, y) }

func extreme(f *Function, x, y *Term) *Term {
	a, known := x.IsConst()
	b, both := y.IsConst()
	if known && both {
		return Number(int(f.Real(float64(a), float64(b))))
	}
	if x == y || Identical(x, y) {
		return x
	}
	return &Term{Op: Apply, Kind: Integer, Func: f, Args: []*Term{x, y}}
}

// Walk calls visit for n and everything below it.
func (n *Term) Walk(visit func(*Term)) {
	n.WalkInto(func(m *Term) bool { visit(m); return true })
}

// WalkInto calls visit for n, and for everything below each value for which visit returns true.
func (n *Term) WalkInto(visit func(*Term) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, a := range n.Args {
		a.WalkInto(visit)
	}
	if r := n.Read; r != nil {
		r.Which.WalkInto(visit)
		r.Else.WalkInto(visit)
		for _, i := range r.Idx {
			i.WalkInto(visit)
		}
		for _, i := range r.Ext {
			i.WalkInto(visit)
		}
	}
	if r := n.Reduction; r != nil {
		for _, v := range r.Vars {
			v.Lo.WalkInto(visit)
			v.Hi.WalkInto(visit)
		}
		r.Guard.WalkInto(visit)
		r.Body.WalkInto(visit)
		r.Number.WalkInto(visit)
		for _, i := range r.At {
			i.WalkInto(visit)
		}
	}
}

// Larger reports whether n consists of more than a number of terms. A term that occurs twice counts twice, as
// it does where a value is compared, printed and compiled. It looks at no more terms than that number.
func (n *Term) Larger(than int) bool { return n.remaining(than) < 0 }

// Size returns of how many terms n consists, as Larger counts them; at most counts no further than that.
func (n *Term) Size(atMost int) int { return atMost - max(n.remaining(atMost), 0) }

// remaining returns how many of a number of terms are left once those of n are taken from it; a negative
// number if there are too few.
func (n *Term) remaining(left int) int {
	if n == nil || left < 0 {
		return left
	}
	left--
	for _, a := range n.Args {
		left = a.remaining(left)
	}
	if r := n.Read; r != nil {
		left = r.Else.remaining(r.Which.remaining(left))
		for _, i := range r.Idx {
			left = i.remaining(left)
		}
	}
	if r := n.Reduction; r != nil {
		left = r.Body.remaining(r.Guard.remaining(left))
		for _, v := range r.Vars {
			left = v.Hi.remaining(v.Lo.remaining(left))
		}
		for _, i := range r.At {
			left = i.remaining(left)
		}
	}
	return left
}

// Free lists the variables of n that no reduction within it goes over, in order of appearance.
func (n *Term) Free() []*Variable {
	bound := map[*Variable]bool{}
	seen := map[*Variable]bool{}
	var out []*Variable
	n.Walk(func(m *Term) {
		if m.Op == Reduce {
			for _, v := range m.Reduction.Vars {
				bound[v] = true
			}
		}
	})
	n.Walk(func(m *Term) {
		if m.Op == Index && !bound[m.Var] && !seen[m.Var] {
			seen[m.Var] = true
			out = append(out, m.Var)
		}
	})
	return out
}
