//go:build cuda

package main

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/cudaemu"
)

// TestCUDA compares the losses of an epoch on the emulator with those on the CPU.
func TestCUDA(t *testing.T) {
	if !cudaemu.Inside(t) {
		return
	}
	losses := func(engine string) (out []float64) {
		o := options{seed: 1, workers: 2, devices: 1, epochs: 1, batch: 64, rates: "constant", fuse: true, engine: engine, curve: filepath.Join(t.TempDir(), "curve")}
		if err := run(t.Context(), o, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(o.curve)
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
			fields := strings.Fields(s.Text())
			v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		return out
	}
	cpu, gpu := losses("cpu"), losses("cuda")
	if len(cpu) < 20 || len(gpu) != len(cpu) {
		t.Fatalf("%d losses on the CPU, %d on the emulator", len(cpu), len(gpu))
	}
	for i := range cpu {
		if !(math.Abs(gpu[i]-cpu[i]) <= 1e-4) {
			t.Errorf("step %d: the loss is %v, on the CPU %v", i, gpu[i], cpu[i])
		}
	}
}
