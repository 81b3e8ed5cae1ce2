package optest

import (
	"reflect"
	"slices"
	"testing"
)

// Dimensions checks that the Go functions that specs name return the dimensions that examples state. It
// returns the number of these examples.
func (k *Kit) Dimensions(t *testing.T) int {
	seen := 0
	k.forEachSample(t, "Dimensions", func(t *testing.T, s sample) {
		given := s.op.Examples[s.example].Dims
		if len(given) == 0 {
			return
		}
		seen++
		f := s.fixture(t)
		for name, want := range given {
			if got := dimension(f.node.Resolved.Dims, name); !slices.Equal(got, want) {
				s.errorf(t, "got the dimensions %s = %v, want %v, as the example says", name, got, want)
			}
		}
	})
	return seen
}

// dimension returns a run of dimensions that an operator's rules gave.
func dimension(dims any, name string) []int {
	run, _ := reflect.ValueOf(dims).Elem().FieldByName(name).Interface().([]int)
	return run
}
