package opimpl

import (
	"slices"
	"testing"
)

func TestDims(t *testing.T) {
	r := &Resolver[int]{op: operator(nil)}
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
