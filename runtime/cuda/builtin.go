//go:build cuda

package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/internal/onekernel"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
)

// builtinTask is a built-in operation.
type builtinTask struct {
	*engine.Builtin
	device *device
	entry  string // of the device code; "" for copy
	value  uint64 // the bits of an element that is filled in
}

// entries lists the device code of builtins.cu for operations, by their element types.
var entries = map[string][]string{
	"convert":    {"f16_f32", "bf16_f32", "f32_f16", "f32_bf16"},
	"add":        {"f32_f32", "f64_f64", "f16_f16", "f16_f32", "bf16_bf16", "bf16_f32"},
	"all_reduce": {"f32", "f64", "f16", "bf16"},
}

// identities holds the identity element of each reduction. In an integer type, an infinity stands for the
// bound of the type. All bits of -1 are set.
var identities = map[perm.Redop]float64{perm.Sum: 0, perm.Prod: 1, perm.Min: math.Inf(1), perm.Max: math.Inf(-1),
	perm.Or: 0, perm.And: -1, perm.Xor: 0}

// BindBuiltin binds a built-in operation.
func (b *Backend) BindBuiltin(t *engine.Builtin) (engine.Launchable, error) {
	x := &builtinTask{Builtin: t, device: b.devices[t.Device]}
	typ := t.Tensors[0].Type
	switch t.Op {
	case "fill":
		if !typ.IsFloat() {
			return nil, wrongTypes(t)
		}
		x.fill(t.Value)
		return x, nil
	case "identity":
		v, err := identity(t.Redop, typ)
		x.fill(v)
		return x, err
	case "copy":
		if t.Tensors[1].Type != typ {
			return nil, wrongTypes(t)
		}
		return x, nil
	case "all_reduce":
		for _, o := range t.Tensors {
			if o.Type != typ || t.Redop != perm.Sum {
				return nil, wrongTypes(t)
			}
		}
		return x.of("sum_", typ.String())
	}
	return x.of(t.Op+"_", typ.String()+"_"+t.Tensors[1].Type.String())
}

// of makes the task one that runs device code for types.
func (t *builtinTask) of(prefix, types string) (engine.Launchable, error) {
	if !slices.Contains(entries[t.Op], types) {
		return nil, wrongTypes(t.Builtin)
	}
	t.entry = "builtin_" + prefix + types
	return t, nil
}

// fill makes the task one that fills its tensor.
func (t *builtinTask) fill(v float64) {
	var element [8]byte
	typ := t.Tensors[0].Type
	typ.PutFloat64(element[:typ.Size()], v)
	t.value = binary.LittleEndian.Uint64(element[:])
	t.entry = fmt.Sprintf("builtin_fill_%d", typ.Size())
}

// identity returns the identity element of a reduction of a type.
func identity(r perm.Redop, typ dtype.Type) (float64, error) {
	v, ok := identities[r]
	_, _, own, isOwn := r.Own()
	switch {
	case isOwn:
		return own, nil
	case !ok:
		return 0, fmt.Errorf("want a reduction operator, got %q", r)
	case r.Bitwise() && !typ.IsInteger() && typ != dtype.Bool:
		return 0, fmt.Errorf("want a reduction of integers or bool, got %v", typ)
	case !r.Bitwise() && !typ.IsInteger() && !typ.IsFloat():
		return 0, fmt.Errorf("want a reduction of numbers, got %v", typ)
	case r == perm.And && typ == dtype.Bool:
		return 1, nil
	}
	return v, nil
}

func wrongTypes(t *engine.Builtin) error {
	var types []dtype.Type
	for _, o := range t.Tensors {
		types = append(types, o.Type)
	}
	return fmt.Errorf("want %s of f32, f64, f16 or bf16, got %s", t.Op, dtype.Format(types))
}

func (t *builtinTask) bindings(list []*binding) []*binding { return list }
func (t *builtinTask) builtin() bool                       { return t.entry != "" }

// Launch is never called: engines launch init and cleanup tasks, which are no built-in operations.
func (t *builtinTask) Launch() error {
	return fmt.Errorf("want a task of an operator, got a built-in operation")
}

// The threads of a block, and the most blocks of a launch.
const (
	builtinThreads = 256
	builtinBlocks  = 2048
)

// job returns the launch of the operation, or its copies.
func (t *builtinTask) job(p *program) (job, error) {
	n := int64(t.Over)
	if n == 0 {
		return &sequence{}, nil
	}
	to := uint64(address(t.Tensors[0].Region))
	switch t.Op {
	case "fill", "identity":
		return t.kernel(p, to, t.value, uint64(n))
	case "copy":
		return newTransfer(t.Tensors[0].Region, t.Tensors[1].Region), nil
	case "all_reduce":
		return t.sum(p)
	}
	return t.kernel(p, to, uint64(address(t.Tensors[1].Region)), uint64(n))
}

// kernel returns the launch of the device code with arguments.
func (t *builtinTask) kernel(p *program, args ...uint64) (job, error) {
	f, err := p.function(t.device, true, t.entry)
	if err != nil {
		return nil, err
	}
	blocks := min((t.Over+builtinThreads-1)/builtinThreads, builtinBlocks)
	l := kernel{function: f, grid: [3]uint32{uint32(blocks), 1, 1}, block: [3]uint32{builtinThreads, 1, 1}, args: args, body: onekernel.Body{Name: t.entry + "_on", Memory: t.entry + "_memory"}}
	return &kernels{[]kernel{l}}, nil
}

// sum returns what replaces tensors by their sum. Tensors of other devices are copied to this one, and the
// sum is copied back.
func (t *builtinTask) sum(p *program) (job, error) {
	s := &sequence{}
	var back []job
	var addresses []byte
	for _, o := range t.Tensors {
		at := address(o.Region)
		if from := o.Memory.(*memory).device; from != t.device {
			copy, err := p.buffer(t.device, o.Size)
			if err != nil {
				return nil, err
			}
			s.parts = append(s.parts, &transfer{copy, at, t.device, from, o.Size})
			back = append(back, &transfer{at, copy, from, t.device, o.Size})
			at = copy
		}
		addresses = binary.LittleEndian.AppendUint64(addresses, uint64(at))
	}
	list, err := p.constant(t.device, addresses)
	if err != nil {
		return nil, err
	}
	k, err := t.kernel(p, uint64(list), uint64(len(t.Tensors)), uint64(t.Over))
	if err != nil {
		return nil, err
	}
	s.parts = append(append(s.parts, k), back...)
	s.grids = make([]op.Grid, len(s.parts))
	return s, nil
}

// transfer copies bytes of a device, to the same or to another.
type transfer struct {
	to, from             cu.DevicePtr
	toDevice, fromDevice *device
	bytes                int64
}

func newTransfer(to, from engine.Region) *transfer {
	return &transfer{address(to), address(from), to.Memory.(*memory).device, from.Memory.(*memory).device, to.Size}
}
