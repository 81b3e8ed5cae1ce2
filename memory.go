package opgen

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
)

// Memory is memory of the caller in which a tensor of a program lives.
type Memory struct {
	tensor  graph.Tensor
	outside engine.Outside
}

// In puts an input or a fetched tensor of a program in memory of the caller, with its elements in row-major
// order: runs read and write them there, without a copy. An input needs no With then, and no Fetch is needed
// for a fetched tensor.
//
// The slice has as many elements as the tensor, of its type, and begins at a multiple of 64 bytes, as one of
// Aligned does. That of a fetched tensor overlaps with no other. Load checks this. While the program runs,
// nothing may write the elements of an input, nor use those of a fetched tensor. After an error of a run,
// what is in the memory of fetched tensors is undefined.
//
// Tensors of f16 and bf16, and backends of devices that have memory of their own, do not support it, which is
// an error of Load.
func In[T dtype.Element](t graph.Tensor, elements []T) Memory {
	return Memory{t, engine.At(t.Name(), elements)}
}

// Aligned returns n zeros in memory that is aligned as In wants it.
func Aligned[T dtype.Element](n int) []T { return engine.Aligned[T](n) }

// places returns the memory of the caller for tensors of a program. Inputs of other ranks need none.
func (s *Session) places(prog *graph.Program, memory []Memory) (out []engine.Outside, err error) {
	for _, m := range memory {
		if !slices.Contains(prog.Fed, m.tensor) && !slices.Contains(prog.Fetched, m.tensor) {
			return nil, fmt.Errorf("opgen: program %s: want an input or a fetched tensor of its graph in memory of the caller, got %v", prog.Name, m.tensor)
		}
		if s.ranks.elsewhere(m.tensor.Device()) && !slices.Contains(prog.Fetched, m.tensor) {
			continue
		}
		out = append(out, m.outside)
	}
	return out, nil
}
