package shape_test

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/shape"
)

func TestIndex(t *testing.T) {
	s := []int{2, 3, 4}
	for i := range shape.Prod(s) {
		at := shape.Index(i, s)
		if got := (at[0]*3+at[1])*4 + at[2]; got != i || at[0] >= 2 || at[1] >= 3 || at[2] >= 4 {
			t.Errorf("element %d: got %v", i, at)
		}
	}
	if at := shape.Index(0, nil); len(at) != 0 {
		t.Errorf("a scalar: got %v", at)
	}
}

func TestElements(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"[]", nil},
		{"[N]", []string{"N"}},
		{"[A..., R, prod(X[1:])]", []string{"A...", "R", "prod(X[1:])"}},
		{"[min(K, N), X[:axis]..., 3]", []string{"min(K, N)", "X[:axis]...", "3"}},
	} {
		if got := shape.Elements(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
