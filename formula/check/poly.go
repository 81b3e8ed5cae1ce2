package check

import (
	"strings"

	"github.com/opgen/opgen/formula/affine"
)

// poly is an integer as a polynomial over the names of dimensions and attributes, indices, and what is no sum
// of products, such as C / groups. A nil poly is an unknown integer.
type poly = *affine.Poly[atomName]

// maxName bounds the length of products, and of the names of runs. What is longer is unknown.
const maxName = 1 << 10

var limits = &affine.Limits{Products: 64, Key: maxName}

func constant(n int64) poly { return affine.Constant[atomName](n, limits) }

// atom returns the integer that a name stands for. That of a very long name is unknown.
func atom(name string) poly { return affine.Of(atomName(name), limits) }

// atomName is the name of an atom.
type atomName string

// Key returns the name.
func (n atomName) Key() string { return string(n) }

// String returns the name as a formula has it.
func (n atomName) String() string { return strings.TrimPrefix(string(n), indexMark) }

// indexMark distinguishes the atoms of indices from those of attributes of the same name.
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
