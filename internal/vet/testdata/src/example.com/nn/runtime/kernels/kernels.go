// Package kernels belongs to another module. That its path contains /runtime/ exempts it from nothing.
package kernels

import "github.com/opgen/opgen/runtime/tensor"

var last tensor.RO[float32]

func keep(v tensor.RO[float32]) {
	last = v // want `v, tensor.RO\[float32\], is kept in the package variable last beyond the task`
}
