// Package oracle says what a formula means: it computes the elements and the gradients that a formula gives
// in one use of its operator, straight from the syntax tree, one element after the other, as docs/spec.md
// describes the language. It is what tests compare kernels, loops and derived gradients with, so it shares
// nothing with them but the syntax.
//
// Real numbers are float64, whatever the types of elements are, and each has a bound of the error that
// rounding makes in the type in which an implementation computes. Integers are exact. Gradients are computed
// forward, with dual numbers, a few elements of the inputs at a time. Where rounding may change which of two
// numbers is the greater one, and the results differ for it, bounds cover both; if an integer depends on it,
// the use is ambiguous.
package oracle

import (
	"errors"
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Use is one use of an operator: plain facts.
type Use struct {
	Formula []string          // its lines
	Types   map[string]string // the element types of dtype variables
	Dims    map[string]any    // int, []int, or [][]int where each tensor of a variadic slot has its own
	Attrs   map[string]any    // as encoding/json decodes them, with json.Number; nil is absent
	// Args holds the values of arguments from expressions, the seed, and what the caller passes: int,
	// float64, bool, string, or a list of them.
	Args    map[string]any
	Step    int // the number of the training step
	Slots   []*Slot
	Callees []task.Callee // the operators that the formula applies
	// Type is the type of real numbers: f64 unless it is set. Kernels compute in f32 with f16 and bf16, and
	// round what a tensor holds to the type.
	Type dtype.Type
	// MaxSteps bounds how many operations an evaluation may take; 0 stands for 1 << 24.
	MaxSteps int
}

// Slot is a slot of the operator with its tensors, none if it is absent.
type Slot struct {
	Name, Shape string // Shape is as the spec writes it: [N, K...]
	Type        string // an element type or a dtype variable
	Variadic    bool
	Trainable   bool // an input or a weight that has a gradient
	Tensors     []*Tensor
}

// Tensor holds the elements of a tensor in row-major order. Elements of inputs and weights are given; those
// of other slots are nil.
type Tensor struct {
	Type  dtype.Type
	Shape []int
	Real  []float64 // of floating-point types
	Whole []int64   // of integers, those of u64 by their bits, and of booleans, 0 and 1
}

// ErrAmbiguous says that rounding decides about an integer.
var ErrAmbiguous = errors.New("rounding decides which element is meant")

// ErrTooLong says that the evaluation would take too many operations.
var ErrTooLong = errors.New("the formula takes more operations than the evaluation may")

// formulaError is a mistake in a formula, or in what it is applied to.
type formulaError struct {
	Line    string
	Message string
}

func (e *formulaError) Error() string { return fmt.Sprintf("%s: %s", e.Line, e.Message) }

// Element is an element of a result.
type Element struct {
	Real  float64
	Whole int64
	// Bound is by how much a result may differ from Real. It may be infinite.
	Bound float64
}

// Result holds the elements of a tensor.
type Result struct {
	Type     dtype.Type
	Shape    []int
	Elements []Element
}

// Place names an element of an input: of tensor Tensor of a slot, number Number.
type Place struct {
	Slot           string
	Tensor, Number int
}

// precision is what a type of real numbers represents.
type precision struct {
	unit     float64 // the rounding error, relative
	greatest float64
	least    float64 // above the least normal number, below which rounding errors are not relative
}

// precisions are those of the types in which results are judged; dtype.Invalid stands for f64.
var precisions = map[dtype.Type]precision{
	dtype.Invalid: {0x1p-53, math.MaxFloat64, 1e-300},
	dtype.F64:     {0x1p-53, math.MaxFloat64, 1e-300},
	dtype.F32:     {0x1p-24, math.MaxFloat32, 1e-35},
	dtype.F16:     {0x1p-11, 65504, 1e-4},
	dtype.BF16:    {0x1p-8, 0xffp120, 1e-35},
}

// Greatest returns the greatest number of a type of real numbers.
func Greatest(t dtype.Type) float64 { return precisions[t].greatest }

// unit returns the rounding error of the type.
func (u *Use) unit() float64 { return precisions[u.Type].unit }

// coarser returns the type whose rounding error is larger.
func coarser(x, y dtype.Type) dtype.Type {
	if precisions[y].unit > precisions[x].unit {
		return y
	}
	return x
}

// Allows reports whether a result of a type is the element, within its bound. What may overflow may be
// anything.
func (x Element) Allows(got float64, t dtype.Type) bool {
	least, most := precisions[t].least, Greatest(t)
	w := x.Real
	switch {
	case math.IsNaN(x.Bound) || math.IsInf(x.Bound, 0), math.IsNaN(got) && math.IsNaN(w), got == w:
		return true
	case math.IsInf(w, 0):
		return false
	case math.Abs(w)+x.Bound > most/4 && !math.IsNaN(w):
		return true
	}
	return math.Abs(got-w) <= x.Bound+least
}

// rounded returns a real number within the range of the type.
func (e *evaluation) rounded(n number) value {
	return realValue(n.within(e.greatest()))
}

// greatest returns the greatest number that tensors hold. What f32 computes beyond it for f16 is not known.
func (e *evaluation) greatest() float64 {
	return Greatest(e.use.Type)
}

// stored returns a value as tensor a holds it, which rounds to f16 or bf16 what is computed in f32.
func (e *evaluation) stored(a *array, v value) value {
	if a.kind != real || e.use.Type != dtype.F16 && e.use.Type != dtype.BF16 {
		return v
	}
	n := v.number()
	n.err += abs(n.v)
	for i := range n.d {
		n.de[i] += abs(n.d[i])
	}
	return realValue(n)
}
