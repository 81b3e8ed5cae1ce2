package opimpl

import (
	"testing"

	"github.com/opgen/opgen/runtime/task"
)

// TestDimsOf changes the dimensions of one task. Those of the resolution, which other tasks share, stay.
func TestDimsOf(t *testing.T) {
	type dims struct {
		N    int
		A    []int
		Runs [][]int
		None []int
	}
	d := &dims{1, []int{2, 3}, [][]int{{4}, {5, 6}}, nil}
	b := NewBinder[int](&task.Accessor{Resolved: &task.Resolution{Dims: d}})
	got := DimsOf[dims](b)
	if got.N != 1 || got.A[1] != 3 || got.Runs[1][1] != 6 || got.None != nil {
		t.Errorf("got %v", got)
	}
	got.A[0], got.Runs[0][0], got.Runs[1] = -1, -1, nil
	if d.A[0] != 2 || d.Runs[0][0] != 4 || len(d.Runs[1]) != 2 {
		t.Errorf("the resolution became %v", d)
	}
}
