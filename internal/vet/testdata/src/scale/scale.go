// Package scale stands for a generated package.
package scale

import "github.com/opgen/opgen/runtime/tensor"

type Slot int

var Operator = new(int)

type Attrs struct{ Factor float64 }

type Dims struct{ A []int }

type Forward struct {
	Attrs Attrs
	Dims  Dims
	Input tensor.RO[float32]
}
