// Package cuda runs plans on NVIDIA GPUs. It is a backend of package engine. It is part of programs that are
// built with the tag cuda, which takes cgo, a C compiler and the headers of the CUDA toolkit, up to
// version 12. Such programs also start on machines without a GPU or a driver. In other programs, New returns
// an error.
//
// A stream runs each queue of a plan, and events order streams as the plan says. The host waits for a run at
// its end, and for the inputs of kernels that are written in Go, which run on the host.
package cuda

import (
	"fmt"
	"time"
)

// Variables of the environment that stand in for what a Config leaves out.
const (
	// kernelVariable holds "one" if plans run as one kernel: see Config.OneKernel.
	kernelVariable = "OPGEN_CUDA_KERNEL"
	// patienceVariable holds a duration, such as 2s: see Config.Patience.
	patienceVariable = "OPGEN_CUDA_PATIENCE"
)

// Config configures a backend.
type Config struct {
	// Devices is the number of devices; 0 means one. They are the first ones that the driver lists.
	Devices int
	// Queues is the number of streams of a device, for which plans are scheduled; 0 means one.
	Queues int
	// OneKernel says that the launches of a plan are one kernel as far as they can be: those between tasks
	// that a library or the host computes, of device code of formulas and built-in operations. Its blocks
	// stay resident and wait for each other as the plan's tasks depend on each other. Results have the same
	// bits. It takes one queue, and is not used while runs are observed.
	OneKernel bool
	// Patience is how long a block of such a kernel waits for another that makes no progress, before the run
	// fails with a *StuckError; 0 means a second. Where no block waits, the host does so for twice as long.
	Patience time.Duration
	// Library, unless nil, returns what tasks of a device get as the library of their argument from "handle".
	// It is called once for each device.
	Library func(device int) any
}

// StuckError is the error of a run whose kernel is stuck: a block has waited for another block for longer
// than Config.Patience, and that block has finished nothing meanwhile.
type StuckError struct {
	Worker  int    // the block that waited; -1 if it is the host
	Waiting string // the task of the plan that it waited for to begin
	For     int    // the block for which it waits
	At      string // the task at which that is
	Ended   bool   // whether the kernel has ended since, so that the backend can be used
	Waited  time.Duration
	task    int
}

func (e *StuckError) Error() string {
	who := fmt.Sprintf("block %d of the kernel has waited %v to begin %s", e.Worker, e.Waited, e.Waiting)
	if e.Worker < 0 {
		who = fmt.Sprintf("the host has waited %v", e.Waited)
	}
	text := fmt.Sprintf("%s: block %d does not go on at %s", who, e.For, e.At)
	if !e.Ended {
		text += "; the kernel still runs, so another process is needed"
	}
	return text
}
