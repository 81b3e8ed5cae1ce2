package opimpl

import (
	"slices"
	"strings"
	"testing"
)

func TestDims(t *testing.T) {
	r := &Resolver[int]{resolver{op: operator(nil)}}
	dims := []int{2, 3, 4}
	for _, tt := range []struct {
		name      string
		got, want []int
	}{
		{"keep", r.Keep(dims, []int{2, 0}), []int{2, 4}},
		{"drop", r.Drop(dims, []int{2, 0}), []int{3}},
		{"ones", r.Ones(dims, []int{2, 0}), []int{1, 3, 1}},
		{"insert", r.Insert(dims, []int{3, 0}), []int{1, 2, 3, 1, 4}},
		{"insert nothing", r.Insert(dims, nil), dims},
		{"permute", r.Permute(dims, []int{2, 0, 1}), []int{4, 2, 3}},
	} {
		if !slices.Equal(tt.got, tt.want) || r.err != nil {
			t.Errorf("%s: got %v, %v, want %v", tt.name, tt.got, r.err, tt.want)
		}
	}
}

// TestListErrors asks for the greatest element of nothing, and for one index over lists of several lengths.
func TestListErrors(t *testing.T) {
	for _, tt := range []struct {
		call func(r *Resolver[int]) int
		want string
	}{
		{func(r *Resolver[int]) int { return r.Min(nil) }, "want a list with an element, whose least one is asked for, got an empty one"},
		{func(r *Resolver[int]) int { return r.Max(nil) }, "want a list with an element, whose greatest one is asked for, got an empty one"},
		{func(r *Resolver[int]) int { return r.Common(2, 3, 2) }, "want lists of the same length, got lengths [2 3 2]"},
	} {
		r := &Resolver[int]{resolver{op: operator(nil)}}
		if got := tt.call(r); got != 0 || r.err == nil || !strings.HasSuffix(r.err.Error(), tt.want) {
			t.Errorf("got %d, %v, want the error %s", got, r.err, tt.want)
		}
	}
	r := &Resolver[int]{resolver{op: operator(nil)}}
	if got := []int{r.Min([]int{3, 2}), r.Max([]int{3, 4}), r.Common(2, 2)}; !slices.Equal(got, []int{2, 4, 2}) || r.err != nil {
		t.Errorf("got %v, %v", got, r.err)
	}
}
