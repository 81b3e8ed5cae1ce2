package cname

import "testing"

func TestOf(t *testing.T) {
	for name, want := range map[string]string{"softmax": "softmax", "union": "union_", "or": "or_", "unions": "unions", "Int": "Int"} {
		if got := Of(name); got != want {
			t.Errorf("Of(%q) = %q, want %q", name, got, want)
		}
	}
}
