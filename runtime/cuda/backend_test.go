//go:build cuda

package cuda_test

import (
	"errors"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/cudaemu"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/engine/enginetest"
	"github.com/opgen/opgen/runtime/task"
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

// register registers the catalogue for GPUs.
func register(r *task.Registry) error {
	return errors.Join(catalogue.Register(r), cuda.Fallback(r))
}

// TestBackend runs the tests that all backends pass.
func TestBackend(t *testing.T) {
	enginetest.Run(t, open(t), register)
}
