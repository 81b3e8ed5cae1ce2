// Package shapes computes shapes of operators on lists of tensors.
package shapes

import (
	"fmt"

	"github.com/opgen/opgen/runtime/shape"
)

// Layout says how the dimensions of an output of pick follow from those of its input.
type Layout struct {
	Common []int // the shape that the shapes of all numbers are repeated to
	At     int   // the first of these dimensions in the output
}

// Picking returns the layout for numbers along the dimensions at.
func Picking(x []int, numbers [][]int, at []int) (Layout, error) {
	l := Layout{Common: []int{}}
	for i, s := range numbers {
		if at[i] >= len(x) {
			return l, fmt.Errorf("want numbers along %d dimensions at most, got some along dimension %d", len(x), at[i])
		}
		common, ok := shape.Broadcast(l.Common, s)
		if !ok {
			return l, fmt.Errorf("want numbers of shapes that fit, got %v and %v", l.Common, s)
		}
		l.Common = common
	}
	if n := len(at); n > 0 && at[n-1]-at[0] == n-1 {
		l.At = at[0]
	}
	return l, nil
}

// Picked returns the shape of an output of pick.
func Picked(x []int, numbers [][]int, at []int) ([]int, error) {
	l, err := Picking(x, numbers, at)
	if err != nil {
		return nil, err
	}
	out := []int{}
	k := 0
	for d, n := range x {
		if k < len(at) && at[k] == d {
			k++
			continue
		}
		out = append(out, n)
	}
	return append(out[:l.At:l.At], append(l.Common, out[l.At:]...)...), nil
}
