package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/kernels/internal/elements"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// ElementUnary is the kernel of element_unary. It computes in float64.
type ElementUnary[T dtype.Float] struct{}

// Forward applies the function to elements.
func (ElementUnary[T]) Forward(_ *op.Ctx, a *elementunary.Forward[T], r op.Range) error {
	f, _ := unary(&a.Attrs)
	elements.Map(a.Output, a.Input, r.Lo, r.Hi, func(x T) T { return T(f(float64(x))) })
	return nil
}

// Backward multiplies the gradient of elements by the derivative.
func (ElementUnary[T]) Backward(_ *op.Ctx, a *elementunary.Backward[T], r op.Range) error {
	_, df := unary(&a.Attrs)
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, T(float64(a.GradOutput.At(i))*df(float64(a.Input.At(i)))))
	}
	return nil
}

// geluTanhC is the constant of the tanh approximation of GELU.
const geluTanhC = 0.044715

// unary returns a function and its derivative.
func unary(at *elementunary.Attrs) (f, df func(float64) float64) {
	s := at.Scalar.Or(0)
	one := func(float64) float64 { return 1 }
	zero := func(float64) float64 { return 0 }
	switch at.OpType {
	case elementunary.OpTypeExp:
		return math.Exp, math.Exp
	case elementunary.OpTypeLog:
		return math.Log, func(x float64) float64 { return 1 / x }
	case elementunary.OpTypeSqrt:
		return math.Sqrt, func(x float64) float64 { return 0.5 / math.Sqrt(x) }
	case elementunary.OpTypeRsqrt:
		return func(x float64) float64 { return 1 / math.Sqrt(x) }, func(x float64) float64 { return -0.5 / (x * math.Sqrt(x)) }
	case elementunary.OpTypeSin:
		return math.Sin, math.Cos
	case elementunary.OpTypeCos:
		return math.Cos, func(x float64) float64 { return -math.Sin(x) }
	case elementunary.OpTypeCeil:
		return math.Ceil, zero
	case elementunary.OpTypeRound:
		return math.RoundToEven, zero
	case elementunary.OpTypeRelu:
		return func(x float64) float64 { return max(x, 0) }, func(x float64) float64 {
			if x > 0 {
				return 1
			}
			return 0
		}
	case elementunary.OpTypeLeakyrelu:
		slope := at.Scalar.Or(0.01)
		return func(x float64) float64 {
				if x > 0 {
					return x
				}
				return slope * x
			}, func(x float64) float64 {
				if x > 0 {
					return 1
				}
				return slope
			}
	case elementunary.OpTypeElu:
		return func(x float64) float64 {
				if x > 0 {
					return x
				}
				return at.Alpha * math.Expm1(x)
			}, func(x float64) float64 {
				if x > 0 {
					return 1
				}
				return at.Alpha * math.Exp(x)
			}
	case elementunary.OpTypeSigmoid:
		return sigmoid[float64], func(x float64) float64 {
			y := sigmoid(x)
			return y * (1 - y)
		}
	case elementunary.OpTypeTanh:
		return math.Tanh, func(x float64) float64 {
			y := math.Tanh(x)
			return 1 - y*y
		}
	case elementunary.OpTypeGelu:
		return gelu[float64], geluDerivative[float64]
	case elementunary.OpTypeGeluTanh:
		inner := func(x float64) float64 { return math.Sqrt(2/math.Pi) * (x + geluTanhC*x*x*x) }
		return func(x float64) float64 { return 0.5 * x * (1 + math.Tanh(inner(x))) }, func(x float64) float64 {
			t := math.Tanh(inner(x))
			if t == 1 || t == -1 {
				return 0.5 * (1 + t) // the other term is 0, though Inf * 0 is not
			}
			return 0.5*(1+t) + 0.5*x*(1-t*t)*math.Sqrt(2/math.Pi)*(1+3*geluTanhC*x*x)
		}
	case elementunary.OpTypeSilu:
		return func(x float64) float64 { return x * sigmoid(x) }, func(x float64) float64 {
			y := sigmoid(x)
			return y + x*y*(1-y)
		}
	case elementunary.OpTypePow:
		return func(x float64) float64 { return math.Pow(x, s) }, func(x float64) float64 {
			if s == 0 {
				return 0 // also where x^-1 has no value
			}
			return s * math.Pow(x, s-1)
		}
	case elementunary.OpTypeScalarAdd:
		return func(x float64) float64 { return x + s }, one
	case elementunary.OpTypeScalarSub:
		return func(x float64) float64 { return x - s }, one
	case elementunary.OpTypeScalarMultiply:
		return func(x float64) float64 { return x * s }, func(float64) float64 { return s }
	case elementunary.OpTypeScalarTrueDiv:
		return func(x float64) float64 { return x / s }, func(float64) float64 { return 1 / s }
	case elementunary.OpTypeScalarFloorDiv:
		return func(x float64) float64 { return math.Floor(x / s) }, zero
	}
	return func(x float64) float64 { return x }, one // IDENTITY
}
