package derive

import (
	"fmt"

	"github.com/opgen/opgen/formula/term"
)

// A gradient of more than maxFactor terms is stored before it is propagated, since it may become a factor of
// several products. So the derived code grows linearly with the formula, and not exponentially with its
// depth. A gradient of more than maxFactors terms is not stored but rejected. maxTerms bounds all terms
// derived from a formula.
const (
	maxFactor  = 1 << 7
	maxFactors = 1 << 11
	maxTerms   = 1 << 14
)

// TooLarge is the error for a gradient of more than Terms terms.
type TooLarge struct{ Terms int }

// Error states the limit and how to stay below it.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("the gradient consists of more than %d parts: give parts of the formula names, by statements of their own", e.Terms)
}

// grow adds the sizes of terms to the total, and returns TooLarge if that exceeds maxTerms.
func (d *deriver) grow(terms ...*term.Term) error {
	for _, n := range terms {
		if d.size += n.Size(maxTerms); d.size > maxTerms {
			return &TooLarge{maxTerms}
		}
	}
	return nil
}

// short returns g itself if it is small, else an element of a temporary that holds g.
func (d *deriver) short(g *term.Term, vars []*term.Variable, guard *term.Term) (*term.Term, error) {
	if !g.Larger(maxFactor) {
		return g, nil
	}
	if g.Larger(maxFactors) {
		return nil, &TooLarge{maxFactors}
	}
	if guard != nil {
		g = term.Chosen(guard, g, term.Number(0)) // elsewhere g may load out of bounds
	}
	return d.aside("upstream", vars, g), d.grow(g)
}
