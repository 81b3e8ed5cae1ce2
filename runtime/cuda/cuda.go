// Package cuda runs plans on NVIDIA GPUs. It is a backend of package engine. It is part of programs that are
// built with the tag cuda, which takes cgo, a C compiler and the headers of the CUDA toolkit, up to
// version 12. Such programs also start on machines without a GPU or a driver. In other programs, New returns
// an error.
//
// A stream runs each queue of a plan, and events order streams as the plan says. The host waits for a run at
// its end, and for the inputs of kernels that are written in Go, which run on the host.
package cuda

// Config configures a backend.
type Config struct {
	// Devices is the number of devices; 0 means one. They are the first ones that the driver lists.
	Devices int
	// Queues is the number of streams of a device, for which plans are scheduled; 0 means one.
	Queues int
	// Library, unless nil, returns what tasks of a device get as the library of their argument from "handle".
	// It is called once for each device.
	Library func(device int) any
}
