//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/opgen/opgen/internal/cudaemu"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/engine/enginetest"
)

func TestMain(m *testing.M) { cudaemu.Main(m) }

// open returns a backend with two devices.
func open(t testing.TB) func(workers int) engine.Backend {
	return func(workers int) engine.Backend {
		b, err := cuda.New(cuda.Config{Devices: 2, Queues: workers})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// TestBackend runs the tests that all backends pass, with device code of formulas and by hand. Then nvcc
// compiles all of it.
func TestBackend(t *testing.T) {
	l := &sourceSet{sources: map[string]map[string]bool{}}
	enginetest.Run(t, open(t), l.register)
	l.compile(t)
}
