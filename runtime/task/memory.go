package task

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
)

// Memory is where a task of KindInit allocates memory for the state of its node. The engine counts it, like
// the memory of tensors. It frees what is left after the task of KindCleanup. Other tasks cannot allocate.
type Memory struct {
	alloc func(bytes int64) ([]byte, error)
	free  func([]byte) error
	block func(bytes int64) (*Block, error) // nil if the engine has none
}

// NewMemory returns a memory for an engine. alloc returns zeroed memory that is aligned for every element
// type, and free frees what alloc returned.
func NewMemory(alloc func(bytes int64) ([]byte, error), free func([]byte) error) *Memory {
	return &Memory{alloc: alloc, free: free}
}

// WithBlocks lets tasks allocate blocks, with a function that returns one of so many bytes, which are 0. It
// returns m.
func (m *Memory) WithBlocks(alloc func(bytes int64) (*Block, error)) *Memory {
	m.block = alloc
	return m
}

// Alloc returns n zeros. The error says that they exceed the engine's limit, or that the task may not
// allocate.
func Alloc[T dtype.Element](m *Memory, n int) ([]T, error) {
	size := int64(dtype.Of[T]().Size())
	if n < 0 || int64(n) > (1<<62)/size {
		return nil, fmt.Errorf("want to allocate a number of elements from 0, got %d", n)
	}
	if n == 0 {
		return []T{}, nil
	}
	b, err := m.alloc(int64(n) * size)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// Free frees what Alloc returned, before the engine would. It is an error if that is not in use.
func Free[T dtype.Element](m *Memory, block []T) error {
	if len(block) == 0 {
		return nil
	}
	size := dtype.Of[T]().Size()
	return m.free(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(block))), len(block)*size))
}
