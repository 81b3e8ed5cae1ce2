package rewrite

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Tensor describes the memory of a tensor of the program.
type Tensor struct {
	Type    dtype.Type
	Memory  int  // number of the tensor that owns the memory, which several tensors may share
	Add     bool // whether statements accumulate into the tensor
	Local   bool // whether the tensor is a temporary of the loops
	Planned bool // whether the plan allocates the memory of a temporary
	Below   int  // exclusive upper bound of integers that are not negative, which is checked before they are subscripts; 0 if unknown
}

// Elements returns the number of elements of a tensor.
func Elements(l *program.Local) int {
	n := 1
	for _, d := range l.Shape {
		e, _ := d.Known()
		n *= e
	}
	return n
}

// Box returns the number of iterations of the loops over vars.
func Box(vars []*term.Variable) int {
	n := 1
	for _, v := range vars {
		hi, _ := v.Hi.Known()
		n *= hi
	}
	return n
}

// Extent returns the number of values of an index that starts at 0.
func Extent(v *term.Variable) int {
	hi, _ := v.Hi.Known()
	return max(hi, 0)
}

// IsOpen reports whether the range of an index depends on other indices or on elements of tensors.
func IsOpen(v *term.Variable) bool {
	_, lo := v.Lo.Known()
	_, hi := v.Hi.Known()
	return !lo || !hi
}
