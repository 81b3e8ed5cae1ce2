//go:build !amd64

package simd

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// hasFMA says that the processor has an instruction for math.FMA. Others than these have it, too, where the
// compiler fuses.
var hasFMA = runtime.GOARCH == "arm" && cpu.ARM.HasVFPv4
