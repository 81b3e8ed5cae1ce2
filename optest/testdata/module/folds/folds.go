// Package folds has the reductions of the module's own.
package folds

import "github.com/opgen/opgen/runtime/dtype"

// Farther returns the number that is farther from 0; of two that are equally far, the greater one. Its identity is 0.
func Farther[T dtype.Number](x, y T) T {
	if a, b := max(x, -x), max(y, -y); a > b || a == b && x > y {
		return x
	}
	return y
}

// Cap adds numbers, up to 100. Its identity is 0.
func Cap(x, y int32) int32 { return min(x+y, 100) }
