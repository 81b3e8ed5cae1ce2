package rewrite

import (
	"github.com/opgen/opgen/formula/term"
)

// OfIntegers reports whether a value has no random number, and no real element of a tensor outside exacts.
func OfIntegers(n *term.Term, exacts map[int]bool) bool {
	ok := true
	n.Walk(func(m *term.Term) {
		ok = ok && (m.Op != term.Element || m.Kind != term.Real || m.Read.Count == 1 && exacts[m.Read.Tensor]) && m.Op != term.Step && !m.Func.Has(term.Random)
	})
	return ok
}

// Fails reports whether the evaluation of a value may fail: by a division by 0, or by an access out of
// bounds.
func Fails(n *term.Term) bool {
	found := DividesByZero(n)
	n.Walk(func(m *term.Term) {
		found = found || m.Op == term.Reduce || m.Op == term.Element && (len(AccessOf(m.Read).Open) > 0 || m.Read.Which != nil)
	})
	return found
}

// DividesByZero reports whether a value may divide an integer by 0.
func DividesByZero(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) {
		if term.Divides(m.Op) && m.Kind == term.Integer {
			d, known := m.Args[1].Known()
			found = found || !known || !term.Divisor(m.Op, d)
		}
	})
	return found
}
