package simd

import "golang.org/x/sys/cpu"

// hasFMA says that the processor has an instruction for math.FMA.
var hasFMA = cpu.X86.HasFMA
