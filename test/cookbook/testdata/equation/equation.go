// Package equation reads the equations of contract, such as ij,jk->ik.
package equation

import (
	"fmt"
	"strings"
)

// Terms are the labels of the dimensions of two matrices and of the output, and the label that the matrices share.
type Terms struct {
	Lhs, Rhs, Out string
	Shared        byte
}

// Parse reads an equation. The matrices share one label, and the output has the others.
func Parse(equation string) (Terms, error) {
	inputs, out, _ := strings.Cut(equation, "->")
	lhs, rhs, _ := strings.Cut(inputs, ",")
	t := Terms{Lhs: lhs, Rhs: rhs, Out: out}
	if at := strings.IndexAny(lhs, rhs); at >= 0 {
		t.Shared = lhs[at]
	}
	rest := strings.ReplaceAll(lhs+rhs, string(t.Shared), "")
	if len(lhs) != 2 || len(rhs) != 2 || len(rest) != 2 || rest[0] == rest[1] || out != rest && out != rest[1:]+rest[:1] {
		return Terms{}, fmt.Errorf("want an equation such as ij,jk->ik, got %q", equation)
	}
	return t, nil
}

// Check reports what is wrong with an equation.
func Check(equation string) error {
	_, err := Parse(equation)
	return err
}

// Shape returns the shape of the output.
func Shape(equation string, lhs, rhs []int) ([]int, error) {
	t, err := Parse(equation)
	if err != nil {
		return nil, err
	}
	extents, err := t.Extents(lhs, rhs)
	return []int{extents[t.Out[0]], extents[t.Out[1]]}, err
}

// Extents returns the extent of each label.
func (t Terms) Extents(lhs, rhs []int) (map[byte]int, error) {
	if len(lhs) != 2 || len(rhs) != 2 {
		return nil, fmt.Errorf("want two matrices, got the shapes %v and %v", lhs, rhs)
	}
	extents := map[byte]int{t.Lhs[0]: lhs[0], t.Lhs[1]: lhs[1]}
	for i, label := range []byte(t.Rhs) {
		if n, ok := extents[label]; ok && n != rhs[i] {
			return nil, fmt.Errorf("label %c: want one extent, got %d and %d", label, n, rhs[i])
		}
		extents[label] = rhs[i]
	}
	return extents, nil
}
