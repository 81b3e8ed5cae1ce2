package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/shape"
)

func TestGroups(t *testing.T) {
	dims := []int{2, 3, 1, 4}
	tests := []struct {
		axes []int
		size int
	}{
		{nil, 1}, {[]int{0}, 2}, {[]int{1}, 3}, {[]int{2}, 1}, {[]int{3}, 4}, {[]int{3, 0}, 8}, {[]int{0, 1, 2, 3}, 24},
	}
	for _, tt := range tests {
		count := shape.Prod(dims) / tt.size
		for start := range count {
			twice := make([]int, len(dims))
			for d, s := range shape.Strides(dims) {
				twice[d] = 2 * s
			}
			g := NewGroups(dims, tt.axes, start, shape.Strides(dims), twice)
			if g.Size() != tt.size {
				t.Fatalf("axes %v: size %d, want %d", tt.axes, g.Size(), tt.size)
			}
			for i := start; i < count; i++ {
				for range g.All() {
					break // leaves nothing behind
				}
				for range g.Runs() {
					break
				}
				length := 0
				for run := range g.Runs() {
					length += run.Len
				}
				if length != tt.size {
					t.Fatalf("axes %v: runs of %d elements, want %d", tt.axes, length, tt.size)
				}
				var got []string
				for p, k := range g.All() {
					got = append(got, fmt.Sprintf("%d at %d and %d", p, k, g.Offset(1)))
				}
				if want := group(dims, tt.axes, i); !slices.Equal(got, want) {
					t.Fatalf("axes %v, group %d: got %v, want %v", tt.axes, i, got, want)
				}
				g.Next()
			}
		}
	}
}

// group lists the elements of a group the slow way.
func group(dims, axes []int, number int) []string {
	var out []string
	for k := range shape.Prod(dims) {
		outer, inner := 0, 0
		for d, s := range shape.Strides(dims) {
			at := k / s % dims[d]
			if slices.Contains(axes, d) {
				inner = inner*dims[d] + at
			} else {
				outer = outer*dims[d] + at
			}
		}
		if outer == number {
			out = append(out, fmt.Sprintf("%d at %d and %d", inner, k, 2*k))
		}
	}
	return out
}

func TestEmptyGroups(t *testing.T) {
	for range NewGroups([]int{2, 0}, []int{1}, 1).All() {
		t.Error("a group along an extent of 0 has elements")
	}
}

func TestOthers(t *testing.T) {
	if got := Others([]int{2, 0}, 4); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("got %v", got)
	}
}
