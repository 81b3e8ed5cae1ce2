package engine

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

// stateMemory is the memory of the state of a node. Init and cleanup tasks allocate and free it.
type stateMemory struct {
	from   *allocator
	owner  string
	device int
	open   bool // while an init or a cleanup task runs
	blocks map[Memory]Region
	host   map[*byte]Region // by the first byte as a kernel on the host sees it
}

func (e *Engine) newStateMemory(c *plan.Call) *stateMemory {
	return &stateMemory{from: e.alloc, owner: "state of node " + c.Node, device: c.Device, blocks: map[Memory]Region{}, host: map[*byte]Region{}}
}

// alloc returns zeroed memory of the node's device. The engine counts it as that of the state, and frees what
// is left after cleanup.
func (m *stateMemory) alloc(bytes int64) (Region, error) {
	if !m.open {
		return Region{}, fmt.Errorf("%s: want an allocation by init or cleanup, got one by another task", m.owner)
	}
	r, err := m.from.allocate(m.device, m.owner, bytes)
	if err == nil && r.Size > 0 {
		m.blocks[r.Memory] = r
	}
	return r, err
}

// free frees what alloc returned.
func (m *stateMemory) free(r Region) error {
	if r.Size == 0 {
		return nil
	}
	if !m.open || m.blocks[r.Memory] != r {
		return fmt.Errorf("%s: want to free its memory in init or cleanup, got %d bytes that are not", m.owner, r.Size)
	}
	delete(m.blocks, r.Memory)
	return m.from.free(r)
}

// onHost returns the memory for kernels that run on the host. bytes returns the bytes of a region as they see
// them.
func (m *stateMemory) onHost(bytes func(Region) []byte) *task.Memory {
	return task.NewMemory(func(n int64) ([]byte, error) {
		r, err := m.alloc(n)
		if err != nil || r.Size == 0 {
			return nil, err
		}
		b := bytes(r)
		m.host[unsafe.SliceData(b)] = r
		return b, nil
	}, func(b []byte) error {
		r := m.host[unsafe.SliceData(b)]
		if r.Size != int64(len(b)) {
			return fmt.Errorf("%s: want to free a block that it holds, got %d bytes that are not", m.owner, len(b))
		}
		delete(m.host, unsafe.SliceData(b))
		return m.free(r)
	}).WithBlocks(m.block)
}

// block allocates memory that tasks know as that of the device.
func (m *stateMemory) block(bytes int64) (*task.Block, error) {
	r, err := m.alloc(bytes)
	if err != nil {
		return nil, err
	}
	b := m.from.backend
	return task.NewBlock(bytes, r, func(p []byte) error { return b.Write(r, p) }, func(p []byte) error { return b.Read(p, r) }), nil
}

// bytes returns how many bytes the state holds.
func (m *stateMemory) bytes() (n int64) {
	for _, r := range m.blocks {
		n += r.Size
	}
	return n
}
