package main

import "testing"

// TestF6Size measures every shape of 2,000 nodes.
func TestF6Size(t *testing.T) {
	for i := range shapes {
		if _, err := measure(&shapes[i], 2000, 2); err != nil {
			t.Errorf("%s: %v", shapes[i].name, err)
		}
	}
}
