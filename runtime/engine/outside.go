package engine

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// Outside is memory of the caller in which a tensor of a plan lives: an input, or a fetched tensor.
//
//   - Alignment: the memory begins at a multiple of plan.Align bytes, as that of Aligned does, and has the
//     size of the tensor.
//   - Lifetime: the instance keeps slices reachable until it is closed. Memory that Go does not manage, such
//     as a mapped file, must stay until then.
//   - Aliasing: the memory of a fetched tensor overlaps with no other memory of the instance. Those of inputs
//     may overlap each other.
//   - While the plan runs, nothing may write the memory of an input, nor use that of a fetched tensor. In
//     between the caller may do as it likes: the plan reads the elements that an input has when a run begins,
//     and each run writes those of a fetched tensor.
//
// Load checks all of these that can be checked. The memory does not count toward the limit of the engine. The
// arena of the plan keeps its place for the tensor, of which no page is touched.
type Outside struct {
	name  string
	typ   dtype.Type
	bytes []byte
}

// At puts a tensor in memory of the caller: its elements, in row-major order.
func At[T dtype.Element](name string, elements []T) Outside {
	return Outside{name, dtype.Of[T](), bytesOf(elements)}
}

// Aligned returns n zeros in memory that is aligned as Outside wants it.
func Aligned[T dtype.Element](n int) []T {
	size := int(unsafe.Sizeof(*new(T)))
	all := make([]T, n+(plan.Align-1)/size)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all)))%plan.Align) / size
	return all[skip : skip+n : skip+n]
}

// Adopter is a backend whose kernels work in memory of the host, and so in memory of the caller.
type Adopter interface {
	// Adopt returns the caller's memory as memory of a device. It is aligned to plan.Align, and is not freed.
	Adopt(device int, data []byte) (Memory, error)
}

// adopt places tensors of the plan in memory of the caller.
func (in *Instance) adopt(outside []Outside) error {
	if len(outside) == 0 {
		return nil
	}
	a, ok := in.engine.backend.(Adopter)
	if !ok {
		return fmt.Errorf("engine: want a backend whose tensors may live in memory of the caller, got one for target %s, whose memory is its own", in.engine.target.Name)
	}
	in.outside = make([]bool, len(in.plan.Roots))
	var placed []Outside
	for _, o := range outside {
		r, root, err := in.root(o.name)
		if err != nil {
			return err
		}
		fail := func(want, got string) error {
			return fmt.Errorf("engine: plan %s, tensor %s: want %s, got %s", in.plan.Name, o.name, want, got)
		}
		switch size := root.Operand().Bytes(); {
		case root.Use != plan.Fed && root.Use != plan.Fetched:
			return fail("an input or a fetched tensor in memory of the caller", "one that is neither")
		case in.outside[r]:
			return fail("memory of the caller once", "twice")
		case o.typ != root.Type: // as is each of f16 and bf16, which have no type in Go
			return fail("elements of type "+root.Type.String(), o.typ.String())
		case int64(len(o.bytes)) != size:
			return fail(fmt.Sprintf("%d bytes of memory", size), fmt.Sprint(len(o.bytes)))
		case root.Use == plan.Fed && in.written(r):
			return fail("an input that the plan only reads", "one that it writes")
		}
		in.outside[r] = true
		if len(o.bytes) == 0 {
			continue
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(o.bytes))); at%plan.Align != 0 {
			return fail(fmt.Sprintf("memory aligned to %d bytes, as that of engine.Aligned is", plan.Align), fmt.Sprintf("address %#x", at))
		}
		for _, p := range placed {
			_, other, _ := in.root(p.name) // is one of the plan's
			if overlap(o.bytes, p.bytes) && (root.Use == plan.Fetched || other.Use == plan.Fetched) {
				return fail("memory of its own for a fetched tensor", "memory that overlaps with that of "+p.name)
			}
		}
		m, err := a.Adopt(root.Device, o.bytes)
		if err != nil {
			return fmt.Errorf("engine: plan %s, tensor %s: %w", in.plan.Name, o.name, err)
		}
		in.data[r] = Region{Memory: m, Size: int64(len(o.bytes))}
		placed = append(placed, o)
	}
	return nil
}

// written reports whether a task of the plan writes a root.
func (in *Instance) written(r region.Root) bool {
	for i := range in.plan.Tasks {
		for _, a := range in.plan.Tasks[i].Access {
			if a.Root == r && a.Perm.Writes() {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two memories have a byte in common.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}

var errOutside = errors.New("want a tensor in memory of the engine to feed, got one in memory of the caller, which the plan reads there")
