package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// wideProducts reports whether statements contain matrix products of integers that are exact in float64 but
// not in float32.
func wideProducts(statements []*program.Statement, tensors []rewrite.Tensor) bool {
	found := false
	for _, s := range statements {
		s.Value.Walk(func(n *term.Term) {
			vars := slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return !n.Uses(v) })
			x, _, most := rewrite.WholeFactors(vars, n, tensors)
			found = found || x != nil && most > rewrite.Exact32
		})
	}
	return found
}
