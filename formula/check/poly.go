package check

import (
	"strings"

	"github.com/opgen/opgen/formula/affine"
)

// poly is a symbolic integer: a polynomial over atoms. Atoms are dimensions, attributes, indices, and other
// operations, such as the quotient C / groups. A nil poly is an unknown integer.
type poly = *affine.Poly[atomName]

// maxName bounds the length of the texts of products and runs. A longer one is unknown.
const maxName = 1 << 10

var limits = &affine.Limits{Products: 64, Key: maxName}

func constant(n int64) poly { return affine.Constant[atomName](n, limits) }

// atom returns the polynomial of one atom. It is nil if the name is longer than maxName.
func atom(name string) poly { return affine.Of(atomName(name), limits) }

// atomName is the name of an atom.
type atomName string

// Key returns the name.
func (n atomName) Key() string { return string(n) }

// String returns the name as formulas write it: without the mark of indices.
func (n atomName) String() string { return strings.TrimPrefix(string(n), indexMark) }

// indexMark precedes the names of atoms for indices, so that an index and an attribute of the same name
// differ.
const indexMark = "@"

// operand writes p as an operand of a quotient or a remainder: a sum in parentheses, and behind the sign a
// product, too.
func operand(p poly, behind bool) string {
	list := p.Products()
	if len(list) > 1 || len(list) == 1 && (list[0].Coefficient < 0 || behind && len(list[0].Factors) > 0 && (list[0].Coefficient != 1 || len(list[0].Factors) > 1)) {
		return "(" + p.String() + ")"
	}
	return p.String()
}
