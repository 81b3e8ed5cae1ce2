// Package reduction is the table of the reductions that formulas have.
package reduction

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/internal/base/simd"
)

// Kind is a kind of reduction.
type Kind uint8

// The kinds of reductions, in the order in which messages list them. The zero value is none of them.
const (
	Sum Kind = 1 + iota
	Prod
	Max
	Min
	Mean
	Variance
	Norm
	LogSumExp
	Count
	Any
	All
	ArgMax
	ArgMin
	ArgSort
	Rank
)

// entry is what holds of a kind.
type entry struct {
	name       string
	is         Class
	join       *join   // nil if no operation joins elements
	real       float64 // the result of no real numbers
	whole      int     // the result of no integers
	operations int     // for each element, besides its value
}

// join is an operation that joins two elements, or the results of two parts.
type join struct {
	real   func(a, b float64) float64
	whole  func(a, b int) int
	vector simd.Binary
}

var (
	plus     = &join{func(a, b float64) float64 { return a + b }, func(a, b int) int { return a + b }, simd.Add}
	times    = &join{func(a, b float64) float64 { return a * b }, func(a, b int) int { return a * b }, simd.Mul}
	greatest = &join{func(a, b float64) float64 { return max(a, b) }, func(a, b int) int { return max(a, b) }, simd.Max}
	least    = &join{func(a, b float64) float64 { return min(a, b) }, func(a, b int) int { return min(a, b) }, simd.Min}
)

// Class is a set of properties of reductions.
type Class uint16

const (
	// Extreme says that the result is one of the elements: the greatest or the least one.
	Extreme Class = 1 << iota
	// Argument says that the result is the index of an element, an integer.
	Argument
	// Order says that the result is a place in the order of the elements, an integer. An order keeps the
	// place that is asked for in term.Reduction.At.
	Order
	// Truth says that elements and result are conditions.
	Truth
	// Same says that the result is of the kind of the elements: integers have an integer.
	Same
	// Real says that the result is a real number, also of integers.
	Real
	// Running says that the result follows from that of one element less, so that those of all prefixes take
	// one pass.
	Running
	// Fold says that one operation on numbers, such as +, joins the elements, and so the results of parts of
	// them.
	Fold
	// Guarded says that loops over more elements may leave out those for which a condition fails.
	Guarded
)

// table holds each kind. Extremes of no integers are the bounds of integers, where those of real numbers are
// infinite.
var table = [...]entry{
	Sum:       {"sum", Same | Fold | Running | Guarded, plus, 0, 0, 1},
	Prod:      {"prod", Same | Fold | Running | Guarded, times, 1, 1, 1},
	Max:       {"max", Same | Extreme | Fold | Running | Guarded, greatest, math.Inf(-1), math.MinInt, 1},
	Min:       {"min", Same | Extreme | Fold | Running | Guarded, least, math.Inf(1), math.MaxInt, 1},
	Mean:      {"mean", Real | Running, plus, 0, 0, 1},
	Variance:  {"variance", Real, nil, 0, 0, 3},
	Norm:      {"norm", Real, nil, 0, 0, 5}, // as package program writes it
	LogSumExp: {"logsumexp", Real | Running | Guarded, nil, math.Inf(-1), 0, 2},
	Count:     {"count", Fold | Running | Guarded, plus, 0, 0, 1},
	Any:       {"any", Truth | Running | Guarded, greatest, 0, 0, 1},
	All:       {"all", Truth | Running | Guarded, least, 1, 1, 1},
	ArgMax:    {"argmax", Argument, nil, 0, 0, 1},
	ArgMin:    {"argmin", Argument, nil, 0, 0, 1},
	ArgSort:   {"argsort", Argument | Order, nil, 0, 0, 1},
	Rank:      {"rank", Order, nil, 0, 0, 1},
}

// Names are the names of the kinds, in formulas.
var Names = func() []string {
	var out []string
	for _, e := range table[Sum:] {
		out = append(out, e.name)
	}
	return out
}()

// Of returns the kind with a name, and 0 if there is none.
func Of(name string) Kind {
	for k, e := range table {
		if e.name == name && k > 0 {
			return Kind(k)
		}
	}
	return 0
}

// Is reports whether a kind has one of some properties; the zero value has none.
func (k Kind) Is(c Class) bool { return int(k) < len(table) && table[k].is&c != 0 }

// Identity returns what the fold of no real numbers is, or of no conditions, where 1 is true. A mean and a
// variance of nothing divide it by 0.
func (k Kind) Identity() float64 { return table[k].real }

// IntegerIdentity returns what a reduction of no integers is.
func (k Kind) IntegerIdentity() int { return table[k].whole }

// Join returns the operation that joins two real numbers, or conditions as 1 and 0; nil if there is none.
func (k Kind) Join() func(a, b float64) float64 {
	if j := table[k].join; j != nil {
		return j.real
	}
	return nil
}

// IntegerJoin returns the operation that joins two integers; the kind must have one.
func (k Kind) IntegerJoin() func(a, b int) int { return table[k].join.whole }

// Vector returns the operation that joins elements of vectors; the kind must have one.
func (k Kind) Vector() simd.Binary { return table[k].join.vector }

// Operations returns how many operations a reduction takes for each element, besides those of its value.
func (k Kind) Operations() int { return table[k].operations }

// String returns the name of a kind, in formulas.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(table) {
		return fmt.Sprintf("reduction %d", uint8(k))
	}
	return table[k].name
}
