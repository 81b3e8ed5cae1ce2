package task_test

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// TestBlock copies elements to a block and from it, and asks for sizes that a block does not have.
func TestBlock(t *testing.T) {
	var memory []byte
	host := func(int64) ([]byte, error) { return nil, nil }
	m := task.NewMemory(host, func([]byte) error { return nil }).WithBlocks(func(bytes int64) (*task.Block, error) {
		memory = make([]byte, bytes)
		return task.NewBlock(bytes, "here", func(p []byte) error { copy(memory, p); return nil }, func(p []byte) error { copy(p, memory); return nil }), nil
	})
	b, err := task.AllocBlock(m, dtype.F64, 3)
	if err != nil || b.Bytes() != 24 || b.Region() != "here" {
		t.Fatalf("got a block of %d bytes in %v, error %v", b.Bytes(), b.Region(), err)
	}
	if err := task.WriteBlock(b, []float64{1, -2, 0.5}); err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 3)
	if err := task.ReadBlock(got, b); err != nil || !slices.Equal(got, []float64{1, -2, 0.5}) {
		t.Errorf("got %v, error %v", got, err)
	}
	bits := make([]uint32, 6) // as many bytes
	if err := task.ReadBlock(bits, b); err != nil || bits[1] != 0x3ff00000 {
		t.Errorf("got %x, error %v", bits, err)
	}
	_, negative := task.AllocBlock(m, dtype.F64, -1)
	_, none := task.AllocBlock(task.NewMemory(host, nil), dtype.F64, 1)
	for want, err := range map[string]error{
		"want the 24 bytes of the block, got 16 bytes, of 2 elements of f64": task.WriteBlock(b, []float64{1, 2}),
		"want the 24 bytes of the block, got 28 bytes, of 7 elements of f32": task.ReadBlock(make([]float32, 7), b),
		"want to allocate a number of elements from 0, got -1":               negative,
		"want an engine that allocates memory of devices, got none":          none,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
