package task

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
)

// Block is memory of a device, which a task of KindInit allocated for the state of its node. Device code by
// hand gets the address of the memory where a task takes the state as an argument of type *Block. Go kernels,
// which run on the host, copy elements by ReadBlock and WriteBlock.
type Block struct {
	bytes  int64
	region any
	write  func([]byte) error
	read   func([]byte) error
}

// NewBlock returns a block of memory for an engine. region is the value by which the engine's backends
// identify the memory. write copies all bytes to the memory, and read copies them from it.
func NewBlock(bytes int64, region any, write, read func([]byte) error) *Block {
	return &Block{bytes, region, write, read}
}

// Region returns the value by which the backends of the engine identify the memory.
func (b *Block) Region() any { return b.region }

// Bytes returns the size of the block.
func (b *Block) Bytes() int64 { return b.bytes }

// AllocBlock allocates a block of n elements of type t, which are 0. It returns an error if the block exceeds
// the engine's limit, or if the task may not allocate.
func AllocBlock(m *Memory, t dtype.Type, n int) (*Block, error) {
	if m.block == nil {
		return nil, fmt.Errorf("want an engine that allocates memory of devices, got none")
	}
	if n < 0 || int64(n) > (1<<62)/int64(t.Size()) {
		return nil, fmt.Errorf("want to allocate a number of elements from 0, got %d", n)
	}
	return m.block(int64(n) * int64(t.Size()))
}

// WriteBlock copies elements to a block, which must have as many bytes as they. No task that uses the block
// may run.
func WriteBlock[T dtype.Element](b *Block, from []T) error {
	bytes, err := b.bytesOf(unsafe.Pointer(unsafe.SliceData(from)), len(from), dtype.Of[T]())
	if err != nil {
		return err
	}
	return b.write(bytes)
}

// ReadBlock copies the elements of a block to memory of Go, which must have as many bytes. No task that
// writes the block may run.
func ReadBlock[T dtype.Element](to []T, b *Block) error {
	bytes, err := b.bytesOf(unsafe.Pointer(unsafe.SliceData(to)), len(to), dtype.Of[T]())
	if err != nil {
		return err
	}
	return b.read(bytes)
}

// bytesOf returns the bytes of n elements at p, which must fill the block.
func (b *Block) bytesOf(p unsafe.Pointer, n int, t dtype.Type) ([]byte, error) {
	if got := int64(n) * int64(t.Size()); got != b.bytes {
		return nil, fmt.Errorf("want the %d bytes of the block, got %d bytes, of %d elements of %v", b.bytes, got, n, t)
	}
	return unsafe.Slice((*byte)(p), b.bytes), nil
}
