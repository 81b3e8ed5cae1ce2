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

// State is per-device state, which the task init makes and the task cleanup frees.
type State struct {
	Freed  bool
	Tables []float64
}

type Train struct {
	Attrs Attrs
	Dims  Dims
	State *State
	Input tensor.RO[float32]
}

type Cleanup[T any] struct {
	Attrs  Attrs
	Dims   Dims
	State  *State
	Second map[string]T
}
