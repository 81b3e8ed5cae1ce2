// Package term is the typed intermediate representation of the values in a program over indices: arithmetic,
// elements of tensors, and reductions. It compares, substitutes and folds terms.
package term

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/runtime/shape"
)

// Kind is the type of a term.
type Kind uint8

// The kinds of terms.
const (
	Integer Kind = iota
	Real
	Boolean
)

// String describes the kind, for messages.
func (k Kind) String() string { return [...]string{"whole number", "real number", "condition"}[k] }

// Op is the operation of a term.
type Op uint8

// The operations. Apply, Reduce and Element have fields of their own for their operands.
const (
	Constant Op = iota
	Symbol      // an extent or an attribute kept symbolic; Int is its value in this use
	Index       // the value of a variable
	Step        // the number of the training step
	Element     // a load from a tensor
	Negate
	Add
	Subtract
	Multiply
	Divide   // of real numbers
	Quotient // floor division of integers
	Truncate // integer division that truncates toward zero
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

// Term is a node of the intermediate representation. Names, runs, attributes and extents are resolved.
type Term struct {
	Op        Op
	Kind      Kind
	Name      string  // of a symbol
	Int       int     // of an integer constant or a symbol; 1 for true
	Unknown   bool    // of a symbol: whether an analysis must hold for all its values
	Float     float64 // of a real constant
	Var       *Variable
	Func      *Function
	Args      []*Term
	Whole     bool // of a quotient: whether factors of the numerator may overflow or underflow if they are divided one by one
	Read      *Read
	Reduction *Reduction
}

// Variable is an index with the half-open range [Lo, Hi).
type Variable struct {
	Name   string
	Lo, Hi *Term
}

// Read is a load of the element at Idx. Ext is the shape of the tensor. With ByNumber, Idx is a mixed-radix
// flat index, and Ext any shape with as many elements.
type Read struct {
	Tensor int   // the first of Count consecutive tensors
	Which  *Term // selects among them; nil if Count is 1
	Count  int   // the number of tensors that Which selects among
	Idx    []*Term
	Ext    []*Term
	Else   *Term // the default out of bounds; nil if the element must be in bounds
	// ByNumber says that Idx and Ext form a row-major flat index.
	ByNumber bool
	Binade   bool   // whether the element is a power of 2 that function binade computed
	Text     string // the name of the tensor
}

// Reduction is a reduction of Body over all values of Vars for which Guard holds.
type Reduction struct {
	Kind  reduction.Kind
	Vars  []*Variable
	Guard *Term // nil if there is no condition
	Body  *Term // nil for count
	Part  int   // which index argmax or argsort returns; if negative, the flat index
	// Number is the result of argmax or argmin, as an expression of the indices of the extreme; nil for
	// other kinds.
	Number *Term
	// At holds the subscripts behind an order: the position that argsort looks up, or the index whose
	// position rank returns. Descending sorts the greatest element first. In a logsumexp, At is the maximum
	// m of Body, which is left out: the result is log(sum(exp(Body - m))), or 0 if m is not finite.
	At         []*Term
	Descending bool
	// Detached stops the gradient: the maximum m of a logsumexp is detached, since the gradient of m +
	// log(sum(exp(Body - m))) flows through the log.
	Detached bool
}

// Relative reports whether r is log(sum(exp(Body - m))): a logsumexp relative to its maximum m.
func (r *Reduction) Relative() bool { return r.Kind == reduction.LogSumExp && len(r.At) > 0 }

// IsOrder reports whether r sorts: argsort or rank.
func (r *Reduction) IsOrder() bool { return r.Kind.Is(reduction.Order) }

// Number returns an integer constant.
func Number(v int) *Term {
	if v >= 0 && v < len(small) {
		return &small[v]
	}
	return &Term{Op: Constant, Kind: Integer, Int: v}
}

// small caches the most frequent constants. Constants never change, so all programs share them.
var small = func() (numbers [65]Term) {
	for v := range numbers {
		numbers[v] = Term{Op: Constant, Kind: Integer, Int: v}
	}
	return numbers
}()

// RealNumber returns a real constant.
func RealNumber(v float64) *Term { return &Term{Op: Constant, Kind: Real, Float: v} }

// Condition returns a constant condition: true or false.
func Condition(v bool) *Term {
	n := &Term{Op: Constant, Kind: Boolean}
	if v {
		n.Int = 1
	}
	return n
}

// IsConst reports whether n is an integer constant, and returns its value.
func (n *Term) IsConst() (int, bool) { return n.Int, n.Op == Constant && n.Kind == Integer }

// Is reports whether n is the integer constant v.
func (n *Term) Is(v int) bool { i, ok := n.IsConst(); return ok && i == v }

// Known evaluates an integer of constants and symbols with known values, and reports whether n is one. A
// symbol has its value in this use.
func (n *Term) Known() (int, bool) { return n.fixed(false) }

// Fixed reports whether n is an integer of constants and symbols only, so that it depends on no index.
func (n *Term) Fixed() bool {
	_, ok := n.fixed(true)
	return ok
}

// InUse evaluates an integer of constants and symbols as Known does, but symbols that count as unknown have
// their values in this use, too.
func (n *Term) InUse() (int, bool) { return n.fixed(true) }

// fixed evaluates an integer of constants and symbols. If unknown is set, symbols that count as unknown have
// their values in this use; otherwise they have none.
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

// Total returns the product of extents: the number of elements.
func Total(extents []*Term) *Term {
	out := Number(1)
	for _, n := range extents {
		out = Arithmetic(Multiply, out, n)
	}
	return out
}

// Value returns a constant as float64.
func (n *Term) Value() float64 {
	if n.Kind == Real {
		return n.Float
	}
	return float64(n.Int)
}

// Arithmetic returns x op y. It folds constants and identities such as x + 0.
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
	case (op == Quotient || op == Modulo) && x.Op == Index && x.Var.Lo.Is(0) && Identical(x.Var.Hi, y): // an index divided by its extent
		if op == Quotient {
			return Number(0)
		}
		return x
	}
	return &Term{Op: op, Kind: k, Args: []*Term{x, y}}
}

// RealPower returns x^y as a real number, for integers x and y of which y may be negative.
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

// IntegerOf computes x op y for integers. A divisor must be > 0, or != 0 for Truncate.
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

// Divides reports whether op is an integer division or a remainder.
func Divides(op Op) bool { return op == Quotient || op == Truncate || op == Modulo }

// Divisor reports whether y is a valid divisor of op: y > 0, or y != 0 for Truncate.
func Divisor(op Op, y int) bool { return y > 0 || y < 0 && op == Truncate }

// IntegerPower returns x^y, truncated to 0 if y is negative and x is not 1 or -1.
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

// Compare returns the condition x op y, folded if both sides are known.
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

// Settled returns the value of a number without indices and elements: a constant, or an integer for which
// Known has a value. It returns false for other terms.
func (n *Term) Settled() (float64, bool) {
	if n.Op == Constant {
		return n.Value(), true
	}
	i, ok := n.Known()
	return float64(i), ok
}

// FewestBits is the least number of significant bits that a type of real elements has: that of bf16.
const FewestBits = 8

// Short reports whether n is a constant that all types of real elements represent exactly, also bf16.
func (n *Term) Short() bool {
	if n.Op != Constant {
		return false
	}
	v := n.Value()
	m, e := math.Frexp(v)
	m = math.Ldexp(m, FewestBits)
	const least, most = -13, 16 // exponents of normal numbers of f16, as math.Frexp counts them
	return m == math.Trunc(m) && (v == 0 || math.IsInf(v, 0) || least <= e && e <= most)
}

// Truth reports whether n is a constant condition, and returns its value.
func (n *Term) Truth() (value, known bool) { return n.Int != 0, n.Op == Constant && n.Kind == Boolean }

// Both returns x && y, folded if one is constant.
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

// Either returns x || y, folded if one is constant.
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

// Negated returns !x.
func Negated(x *Term) *Term {
	if v, ok := x.Truth(); ok {
		return Condition(!v)
	}
	return &Term{Op: Not, Kind: Boolean, Args: []*Term{x}}
}

// Conditional returns c ? x : y without folding. The result is real if the kinds of x and y differ.
func Conditional(c, x, y *Term) *Term {
	k := x.Kind
	if x.Kind != y.Kind {
		k = Real
	}
	return &Term{Op: Choose, Kind: k, Args: []*Term{c, x, y}}
}

// Least returns min(x, y), and Greatest max(x, y), of two integers, folded if both are constant.
func Least(x, y *Term) *Term    { return extreme(Min, x, y) }
func Greatest(x, y *Term) *Term { return extreme(Max, x, y) }

func extreme(f *Function, x, y *Term) *Term {
	a, known := x.IsConst()
	b, both := y.IsConst()
	if known && both {
		return Number(f.Keep(a, b))
	}
	if x == y || Identical(x, y) {
		return x
	}
	return &Term{Op: Apply, Kind: Integer, Func: f, Args: []*Term{x, y}}
}

// Walk calls visit for n and all terms below it, in preorder.
func (n *Term) Walk(visit func(*Term)) {
	n.WalkInto(func(m *Term) bool { visit(m); return true })
}

// WalkInto calls visit for n and all terms below it, in preorder, but skips the operands of a term for which
// visit returns false.
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

// Larger reports whether n has more than than nodes as a tree. A shared subterm counts each time, as it does
// when n is compared, printed and compiled. It stops counting at that number.
func (n *Term) Larger(than int) bool { return n.remaining(than) < 0 }

// Size returns the number of nodes of n as a tree, or atMost if there are more.
func (n *Term) Size(atMost int) int { return atMost - max(n.remaining(atMost), 0) }

// remaining returns left minus the number of nodes of n. It stops at a negative number.
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

// Free returns the free variables of n, in order of appearance: those that no reduction in n binds.
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
