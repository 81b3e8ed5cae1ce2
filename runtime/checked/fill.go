package checked

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// load returns the bits of element i.
func load(b []byte, size, i int) uint64 {
	switch size {
	case 1:
		return uint64(b[i])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b[2*i:]))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return binary.NativeEndian.Uint64(b[8*i:])
}

// save sets the bits of element i.
func save(b []byte, size, i int, v uint64) {
	switch size {
	case 1:
		b[i] = byte(v)
	case 2:
		binary.NativeEndian.PutUint16(b[2*i:], uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(b[4*i:], uint32(v))
	default:
		binary.NativeEndian.PutUint64(b[8*i:], v)
	}
}

// at returns the bits of element i of what the copy holds, held before the last trial, and what the plan
// holds.
func (x *cell) at(i int) uint64    { return load(x.copy, x.size, i) }
func (x *cell) began(i int) uint64 { return load(x.start, x.size, i) }
func (x *cell) held(i int) uint64  { return load(x.now, x.size, i) }

// poison returns the bits with which memory is filled that a task must not read. The two kinds differ in
// every type. For floating-point numbers, the first is NaN and the second is small, so that arithmetic
// changes one of them.
func poison(t dtype.Type, kind int) uint64 {
	switch {
	case t == dtype.Bool:
		return uint64(kind)
	case t == dtype.F32:
		return [2]uint64{0x7fc5a5a5, uint64(math.Float32bits(-1234.5678))}[kind]
	case t == dtype.F64:
		return [2]uint64{0x7ff85a5a5a5a5a5a, math.Float64bits(-1234.5678)}[kind]
	}
	return [2]uint64{0x5a5a5a5a5a5a5a5a, 0xa5a5a5a5a5a5a5a5}[kind]
}

// another returns a value other than v for an element that a range must not read. An index stays within its
// bound.
func (c *call) another(x *cell, i int) uint64 {
	v, t := x.held(i), x.tensor.Type
	switch {
	case t == dtype.Bool:
		return v ^ 1
	case t.IsFloat():
		return poison(t, i%2)
	}
	if bound, ok := c.bound(x); ok {
		n := int(t.Float64(x.now[i*x.size:]))
		if bound.Holds(n + 1) {
			return uint64(n + 1)
		}
		if n == 0 && bound.HasExcept {
			return uint64(bound.Except)
		}
		return 0
	}
	return v + 1
}

// bound returns the bound of the values of a tensor.
func (c *call) bound(x *cell) (task.Bound, bool) {
	p := c.Signature.Params[x.param]
	if p.Grad || !x.tensor.Type.IsInteger() {
		return task.Bound{}, false
	}
	return c.Resolved.Bound(p.Slot)
}

// text formats an element.
func (x *cell) text(v uint64) string {
	var b [8]byte
	save(b[:], x.size, 0, v)
	if x.tensor.Type == dtype.Bool {
		return strconv.FormatBool(v != 0)
	}
	if x.tensor.Type.IsFloat() && (v == poison(x.tensor.Type, 0) || v == poison(x.tensor.Type, 1)) {
		return "what the memory held"
	}
	return fmt.Sprint(x.tensor.Type.Float64(b[:]))
}
