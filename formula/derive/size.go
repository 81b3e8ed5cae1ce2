package derive

import (
	"fmt"

	"github.com/opgen/opgen/formula/term"
)

// A gradient of more than maxFactor terms is stored before it is handed on, since it may stand in several
// products: so what is derived grows with the formula, and not with the power of its depth. One of more than
// maxFactors terms cannot be stored, and maxTerms bounds all that is derived of a formula.
const (
	maxFactor  = 1 << 7
	maxFactors = 1 << 11
	maxTerms   = 1 << 14
)

// TooLarge is the error of a gradient that would take too long to derive.
type TooLarge struct{ Terms int }

// Error says what to do about it.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("the gradient consists of more than %d parts: give parts of the formula names, by statements of their own", e.Terms)
}

// grow notes that a number of terms more were derived.
func (d *deriver) grow(terms ...*term.Term) error {
	for _, n := range terms {
		if d.size += n.Size(maxTerms); d.size > maxTerms {
			return &TooLarge{maxTerms}
		}
	}
	return nil
}

// short returns the gradient of a value as an element of a tensor if it is long.
func (d *deriver) short(g *term.Term, vars []*term.Variable, guard *term.Term) (*term.Term, error) {
	if !g.Larger(maxFactor) {
		return g, nil
	}
	if g.Larger(maxFactors) {
		return nil, &TooLarge{maxFactors}
	}
	if guard != nil {
		g = term.Chosen(guard, g, term.Number(0)) // elsewhere it may read outside of a tensor
	}
	return d.aside("upstream", vars, g), d.grow(g)
}
