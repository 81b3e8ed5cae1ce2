package checked_test

import (
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/engine/enginetest"
)

// TestBackend runs the suite of backends: a program that breaks no rule has the results of package cpu.
func TestBackend(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(workers int) engine.Backend { return checked.New(cpu.Config{Workers: workers, Devices: 2}) }, catalogue.Register)
}
