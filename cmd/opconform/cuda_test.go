//go:build cuda

package main

import (
	"testing"

	"github.com/opgen/opgen/internal/cudaemu"
)

func TestMain(m *testing.M) { cudaemu.Main(m) }

// TestCUDA runs the cases of a few operators on the emulator.
func TestCUDA(t *testing.T) {
	status, out, errs := opconform(t, "-engine", "cuda", cases, "-op", "flat,softmax")
	if status != 0 || last(out) != "24 passed, 0 failed, 0 skipped" || errs != "" {
		t.Errorf("status %d, %q, %s", status, out, errs)
	}
}
