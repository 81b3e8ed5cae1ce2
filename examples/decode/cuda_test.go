//go:build cuda

package main

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/internal/cudaemu"
)

// TestCUDA draws the same on the emulator as on the CPU, by launches of a graph and by one kernel.
func TestCUDA(t *testing.T) {
	if !cudaemu.Inside(t) {
		return
	}
	const n = 4
	o := defaults()
	o.temperature = 0.8
	want := texts(t, o, n)
	o.engine = "cuda"
	for _, kernel := range []string{"", "one"} {
		t.Setenv("OPGEN_CUDA_KERNEL", kernel)
		if got := texts(t, o, n); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("OPGEN_CUDA_KERNEL=%s: want %v, got %v", kernel, want, got)
		}
	}
}
