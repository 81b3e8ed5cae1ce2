// Package reduction is the table of reductions of formulas, such as sum and argmax, with their properties.
package reduction

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/internal/base/simd"
)

// Kind is a kind of reduction.
type Kind uint8

// The kinds of reductions, in the order in which messages list them. The zero value is no kind.
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

// entry holds the properties of a kind.
type entry struct {
	name       string
	is         Class
	join       *join   // the binary operation; nil if there is none
	real       float64 // the identity for real numbers
	whole      int     // the identity for integers
	operations int     // floating-point operations per element, without those of the body
}

// join is an associative operation that combines two elements or two partial results.
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
	// Extreme says that the result is the greatest or the least element.
	Extreme Class = 1 << iota
	// Argument says that the result is the index of an element: an integer.
	Argument
	// Order says that the reduction sorts (argsort, rank) and that the result is an integer. The position
	// that is looked up in the sorted order is in term.Reduction.At.
	Order
	// Truth says that elements and result are conditions.
	Truth
	// Same says that the result has the kind of the elements: integer for integers.
	Same
	// Real says that the result is a real number, also for integer elements.
	Real
	// Running says that the result follows from the last element and the result for the elements before it,
	// so that a scan computes the results of all prefixes in one pass.
	Running
	// Fold says that one binary operation, such as +, combines elements, and also partial results.
	Fold
	// Guarded says that loops may run over a larger range and skip the elements for which a guard is false.
	Guarded
)

// table holds the properties of each kind. The identity of max and min is infinite for real numbers, and the
// greatest or least int for integers.
var table = [...]entry{
	Sum:       {"sum", Same | Fold | Running | Guarded, plus, 0, 0, 1},
	Prod:      {"prod", Same | Fold | Running | Guarded, times, 1, 1, 1},
	Max:       {"max", Same | Extreme | Fold | Running | Guarded, greatest, math.Inf(-1), math.MinInt, 1},
	Min:       {"min", Same | Extreme | Fold | Running | Guarded, least, math.Inf(1), math.MaxInt, 1},
	Mean:      {"mean", Real | Running, plus, 0, 0, 1},
	Variance:  {"variance", Real, nil, 0, 0, 3},
	Norm:      {"norm", Real, nil, 0, 0, 5}, // as lowered by package program
	LogSumExp: {"logsumexp", Real | Running | Guarded, nil, math.Inf(-1), 0, 2},
	Count:     {"count", Fold | Running | Guarded, plus, 0, 0, 1},
	Any:       {"any", Truth | Running | Guarded, greatest, 0, 0, 1},
	All:       {"all", Truth | Running | Guarded, least, 1, 1, 1},
	ArgMax:    {"argmax", Argument, nil, 0, 0, 1},
	ArgMin:    {"argmin", Argument, nil, 0, 0, 1},
	ArgSort:   {"argsort", Argument | Order, nil, 0, 0, 1},
	Rank:      {"rank", Order, nil, 0, 0, 1},
}

// Names lists the names of the kinds in formulas.
var Names = func() []string {
	var out []string
	for _, e := range table[Sum:] {
		out = append(out, e.name)
	}
	return out
}()

// Of returns the kind named name, or 0 if there is none.
func Of(name string) Kind {
	for k, e := range table {
		if e.name == name && k > 0 {
			return Kind(k)
		}
	}
	return 0
}

// Is reports whether a kind has at least one of the properties in c. The zero value has none.
func (k Kind) Is(c Class) bool { return int(k) < len(table) && table[k].is&c != 0 }

// Identity returns the result for an empty range, of real numbers or of conditions, where 1 is true. For mean
// and variance it is the initial sum, which is then divided by the count 0.
func (k Kind) Identity() float64 { return table[k].real }

// IntegerIdentity returns the result for an empty range of integers.
func (k Kind) IntegerIdentity() int { return table[k].whole }

// Join returns the combiner of two real numbers, or of two conditions as 1 and 0. It returns nil if there is
// none.
func (k Kind) Join() func(a, b float64) float64 {
	if j := table[k].join; j != nil {
		return j.real
	}
	return nil
}

// IntegerJoin returns the combiner of two integers. The kind must have a combiner.
func (k Kind) IntegerJoin() func(a, b int) int { return table[k].join.whole }

// Vector returns the vector instruction of the combiner. The kind must have a combiner.
func (k Kind) Vector() simd.Binary { return table[k].join.vector }

// Operations returns the number of operations per element, without those of the body.
func (k Kind) Operations() int { return table[k].operations }

// String returns the name of a kind in formulas.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(table) {
		return fmt.Sprintf("reduction %d", uint8(k))
	}
	return table[k].name
}
