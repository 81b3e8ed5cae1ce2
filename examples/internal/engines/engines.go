// Package engines chooses what runs the programs of an example: the CPUs of this machine or a GPU.
package engines

import (
	"io"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/task"
)

// Names lists what may run programs.
var Names = []string{"auto", "cpu", "cuda"}

// Choose returns what registers kernels, and the options of a session, for the engine of a name. The engine
// auto is a GPU if there is one. The devices of the CPUs all have memory of this machine. It is an error if
// there is no GPU, and the name is cuda.
func Choose(name string, workers, devices int) (register func(*task.Registry) error, opts []opgen.Option, err error) {
	opts = []opgen.Option{opgen.Workers(workers), opgen.Devices(devices)}
	if name != "auto" && name != "cuda" {
		return catalogue.Register, opts, nil
	}
	gpu, err := cuda.New(cuda.Config{Devices: devices, Queues: workers})
	if err != nil {
		if name == "auto" {
			return catalogue.Register, opts, nil
		}
		return nil, nil, err
	}
	return catalogue.RegisterCUDA, []opgen.Option{opgen.Backend(gpu)}, nil
}

// First is for programs of several ranks, of which the first prints and writes files: on others it clears the
// paths, and returns a writer that discards what they print.
func First(s *opgen.Session, w io.Writer, paths ...*string) io.Writer {
	if rank, _ := s.Rank(); rank == 0 {
		return w
	}
	for _, path := range paths {
		*path = ""
	}
	return io.Discard
}
