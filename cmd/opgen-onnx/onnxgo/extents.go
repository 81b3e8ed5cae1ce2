package onnxgo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// symbol is an extent of an input that callers choose.
type symbol struct {
	name  string // as the file calls it; "" for none
	input int    // the first input that has it, and the place there
	axis  int
	// hint is the extent that was given, or the one of the first build.
	hint int
	// fixed says that the network is built for the hint only.
	fixed bool
	// given says that the caller wants it fixed.
	given bool
	// sum is 1 more than the numbers of the two symbols whose sum it is; zeros for none.
	sum [2]int
	// same is 1 more than the number of the symbol that it is one with; 0 for none.
	same int
	// seen are the extents of the builds, one for each.
	seen []int
}

// atom is an extent that expressions read: that of a symbol, or of an operand of a node.
type atom struct {
	symbol  int // -1 for none
	operand int // of the node
	axis    int
	seen    []int
}

// extent is an integer of a node that depends on the extents of inputs: a product of atoms times a factor,
// divided by a divisor, plus an offset.
type extent struct {
	atoms                   []atom
	under                   []atom // by which the product is divided, too
	factor, divisor, offset int
	before                  int // added before it is divided
}

// constantExtent is an integer that depends on nothing.
func constantExtent(n int) extent { return extent{factor: 1, divisor: 1, offset: n} }

// constant reports whether the extent depends on nothing.
func (e extent) constant() bool { return len(e.atoms) == 0 }

// at returns the value in a build.
func (e extent) at(build int) int {
	if e.constant() {
		return e.offset
	}
	n := e.factor
	for _, a := range e.atoms {
		n *= a.seen[build]
	}
	d := e.divisor
	for _, a := range e.under {
		d *= a.seen[build]
	}
	if d == 0 {
		return e.offset
	}
	return (n+e.before)/d + e.offset
}

// gives reports whether the extent is what the builds have.
func (e extent) gives(values []int) bool {
	for i, v := range values {
		if e.at(i) != v {
			return false
		}
	}
	return true
}

// text writes the extent as Go.
func (e extent) text(name func(atom) string) string {
	if e.constant() {
		return strconv.Itoa(e.offset)
	}
	var parts []string
	if e.factor != 1 {
		parts = append(parts, strconv.Itoa(e.factor))
	}
	for _, a := range e.atoms {
		parts = append(parts, name(a))
	}
	s := strings.Join(parts, "*")
	if e.before != 0 {
		s = fmt.Sprintf("(%s%+d)", s, e.before)
	}
	if e.divisor != 1 {
		s += "/" + strconv.Itoa(e.divisor)
	}
	for _, a := range e.under {
		s += "/max(" + name(a) + ", 1)"
	}
	if e.offset != 0 {
		s = fmt.Sprintf("%s%+d", s, e.offset)
	}
	return s
}

// maxDivisor bounds the divisors of extents: builds have so many extents that follow on each other.
const maxDivisor = 8

// fit finds how an integer follows from extents. values holds it for each build. operands holds, for each
// operand of the node, the extents of each dimension in each build.
func fit(values []int, symbols []symbol, operands [][][]int) (extent, bool) {
	if !slices.ContainsFunc(values, func(v int) bool { return v != values[0] }) {
		return constantExtent(values[0]), true
	}
	var chosen, read []atom
	for i := range symbols {
		if !symbols[i].fixed {
			chosen = append(chosen, atom{symbol: i, seen: symbols[i].seen})
		}
	}
	var lists [][]atom // of each operand
	for k, dims := range operands {
		var list []atom
		for axis, seen := range dims {
			a := atom{symbol: -1, operand: k, axis: axis, seen: seen}
			for _, s := range chosen {
				if slices.Equal(s.seen, seen) {
					a = s
				}
			}
			list = append(list, a)
		}
		lists, read = append(lists, list), append(read, list...)
	}
	one := func(atoms ...atom) extent { return extent{atoms: atoms, factor: 1, divisor: 1} }
	for _, atoms := range [][]atom{chosen, read} {
		for _, a := range atoms {
			if e := one(a); e.gives(values) {
				return e, true
			}
		}
	}
	// A product of symbols, or of neighboring extents of an operand, times a factor.
	for i := range chosen {
		for j := i + 1; j <= len(chosen); j++ {
			if e, ok := scaled(values, chosen[i:j]); ok {
				return e, true
			}
		}
	}
	for _, list := range lists {
		for n := len(list); n > 0; n-- {
			for from := 0; from+n <= len(list); from++ {
				if e, ok := scaled(values, varying(list[from:from+n])); ok {
					return e, true
				}
			}
		}
	}
	// Of any symbol and any extent of an operand.
	for _, s := range chosen {
		for _, a := range read {
			if e, ok := scaled(values, []atom{s, a}); ok {
				return e, true
			}
		}
	}
	// All elements of an operand, divided by a symbol: what is left of a dimension.
	for _, list := range lists {
		for _, s := range chosen {
			quotients := make([]int, len(values))
			for i, v := range values {
				quotients[i] = v * s.seen[i]
			}
			if e, ok := scaled(quotients, varying(list)); ok {
				e.under = []atom{s}
				if e.gives(values) {
					return e, true
				}
			}
		}
	}
	for _, a := range append(chosen, read...) {
		if e, ok := linear(values, a); ok {
			return e, true
		}
		for divisor := 2; divisor <= maxDivisor; divisor++ {
			for before := range divisor {
				e := one(a)
				e.divisor, e.before = divisor, before
				e.offset = values[0] - e.at(0)
				if e.gives(values) {
					return e, true
				}
			}
		}
	}
	return extent{}, false
}

// varying leaves out extents that are the same in all builds.
func varying(atoms []atom) []atom {
	return slices.DeleteFunc(slices.Clone(atoms), func(a atom) bool {
		return !slices.ContainsFunc(a.seen, func(n int) bool { return n != a.seen[0] })
	})
}

// scaled finds a factor or a divisor of a product.
func scaled(values []int, atoms []atom) (extent, bool) {
	if len(atoms) == 0 {
		return extent{}, false
	}
	e := extent{atoms: atoms, factor: 1, divisor: 1}
	n := e.at(0)
	if n == 0 {
		return e, false
	}
	if values[0]%n == 0 {
		e.factor = values[0] / n
	} else if values[0] != 0 && n%values[0] == 0 {
		e.divisor = n / values[0]
		for i := range values {
			if (extent{atoms: atoms, factor: 1, divisor: 1}).at(i)%e.divisor != 0 {
				return e, false
			}
		}
	}
	return e, e.gives(values)
}

// linear finds a factor of an extent and an offset.
func linear(values []int, a atom) (extent, bool) {
	e := extent{atoms: []atom{a}, factor: 1, divisor: 1}
	for i := range values {
		if d := a.seen[i] - a.seen[0]; d != 0 {
			if (values[i]-values[0])%d != 0 {
				return e, false
			}
			e.factor = (values[i] - values[0]) / d
			break
		}
	}
	e.offset = values[0] - e.factor*a.seen[0]
	return e, e.gives(values)
}
