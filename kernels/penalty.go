package kernels

import (
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// penaltyOf returns the penalty of elements, without its factor lambda.
func penaltyOf[T dtype.Float](p penalty.Penalty, x tensor.ROLane[T]) float64 {
	if p == penalty.L1 {
		return vec.AbsTotal(x)
	}
	return vec.SquareTotal(x) / 2
}

// penaltySlope returns the derivative of a penalty at an element, without its factor lambda.
func penaltySlope[T dtype.Float](p penalty.Penalty, x T) T {
	if p == penalty.L1 {
		return sign(x)
	}
	return x
}

func sign[T dtype.Float](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}
