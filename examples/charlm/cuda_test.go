//go:build cuda

package main

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/engines"
	"github.com/opgen/opgen/examples/internal/opticks"
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/internal/cudaemu"
)

// TestCUDA compares the losses of 20 steps on the emulator with those on the CPU.
func TestCUDA(t *testing.T) {
	if !cudaemu.Inside(t) {
		return
	}
	c, err := opticks.Load()
	if err != nil {
		t.Fatal(err)
	}
	losses := func(engine string) []float64 {
		o := small(t, "-steps", "20", "-dropout", "0.1", "-curve", filepath.Join(t.TempDir(), "curve"))
		register, opts, err := engines.Choose(engine, o.workers, 1)
		if err != nil {
			t.Fatal(err)
		}
		train := func(s *opgen.Session) error {
			tr, err := newTraining(t.Context(), o, c, s, planpage.Recorder(1, false), &bytes.Buffer{})
			if err != nil {
				return err
			}
			return tr.run(t.Context())
		}
		if err := opgen.Do(register, train, append(opts, opgen.Fuse())...); err != nil {
			t.Fatal(err)
		}
		return curveOf(t, o.curve)
	}
	cpu, gpu := losses("cpu"), losses("cuda")
	if len(cpu) != 20 || len(gpu) != len(cpu) {
		t.Fatalf("%d losses on the CPU, %d on the emulator", len(cpu), len(gpu))
	}
	for i := range cpu {
		if !(math.Abs(gpu[i]-cpu[i]) <= 1e-4) {
			t.Errorf("step %d: the loss is %v, on the CPU %v", i+1, gpu[i], cpu[i])
		}
	}
}
