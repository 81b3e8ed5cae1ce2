package formula

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// memory holds the tensors of one run of a program.
type memory struct {
	program *compiled
	step    uint64 // number of the training step, from 0
	tensors []elements
	grads   [][]float64 // by tensor; nil without a gradient
	// gradient is the code of the last call of backward.
	gradient *gradientCode
	// computed says which tensors hold values.
	computed []bool
	// left is a lower bound of the operations that may still be computed; nil means no limit.
	left *int
}

// ErrLimit is the error of a formula that takes more operations than the caller allows.
var ErrLimit = errors.New("the formula takes too many operations")

// take subtracts the operations of a loop from the limit before the loop runs: a number of operations at each
// of n indices. It ends the run with ErrLimit if that exceeds the limit.
func (m *memory) take(n, operations int) {
	if m.left == nil || n <= 0 {
		return
	}
	if n > *m.left/operations {
		*m.left = 0
		panic(failure{ErrLimit})
	}
	*m.left -= n * operations
}

// elements holds the elements of a tensor, in the slice for the tensor's kind.
type elements struct {
	real    []float64
	integer []int64
	boolean []bool
}

func newElements(k term.Kind, n int) elements {
	switch k {
	case term.Real:
		return elements{real: make([]float64, n)}
	case term.Integer:
		return elements{integer: make([]int64, n)}
	}
	return elements{boolean: make([]bool, n)}
}

// newMemory returns memory in which all tensors are zero and no slot has a value yet.
func (p *compiled) newMemory() *memory {
	m := &memory{program: p, tensors: make([]elements, len(p.Tensors)), grads: make([][]float64, len(p.Tensors)), computed: make([]bool, len(p.Tensors))}
	for i, t := range p.Tensors {
		m.tensors[i] = newElements(t.Kind, count(t))
		if t.Passed != nil {
			m.pass(i, t.Passed.Values)
		}
	}
	return m
}

// begin starts a run at a training step: it marks all tensors but passed arguments as not computed, and
// clears gradients.
func (m *memory) begin(step uint64) {
	m.step = step
	clear(m.computed)
	clear(m.grads)
	for i, t := range m.program.Tensors {
		m.computed[i] = t.Passed != nil
	}
}

// pass stores the values of an argument that the caller passes, in tensor id.
func (m *memory) pass(id int, values []any) {
	m.computed[id] = true
	e := m.tensors[id]
	for i, v := range values {
		switch {
		case e.real != nil:
			e.real[i] = program.Number(v)
		case e.integer != nil:
			e.integer[i] = program.Whole(v)
		default:
			e.boolean[i] = program.Holds(v)
		}
	}
}

// tensor returns the program's tensor for a slot, or an error if this use has none. number is its number in a
// variadic slot.
func (p *compiled) tensor(slot, number int) (int, error) {
	for i, t := range p.Tensors {
		if t.Slot == slot && t.Number == number {
			return i, nil
		}
	}
	return 0, mistake(p.Operator, fmt.Sprintf("there is no tensor %d of slot %d", number, slot))
}

// set loads the elements of a slot's tensor from data, in the layout of typ.
func (m *memory) set(slot, number int, typ dtype.Type, data []byte) error {
	id, err := m.program.tensor(slot, number)
	if err != nil {
		return err
	}
	if want := count(m.program.Tensors[id]) * typ.Size(); len(data) != want {
		return mistake(m.program.Operator, fmt.Sprintf("%s: want %d bytes, got %d", m.program.Tensors[id].Name, want, len(data)))
	}
	m.computed[id] = true
	m.tensors[id].load(typ, data)
	return nil
}

// get stores the elements of a slot's tensor to data, rounded to typ.
func (m *memory) get(slot, number int, typ dtype.Type, data []byte) error {
	id, err := m.program.tensor(slot, number)
	if err != nil {
		return err
	}
	if ends := m.program.ends(id); typ.IsInteger() && ends.Any() {
		e := m.tensors[id]
		m.tensors[id] = elements{integer: bounded(e.integer, typ, ends)}
		defer func() { m.tensors[id] = e }()
	}
	m.tensors[id].store(typ, data)
	return nil
}

// ends returns which identities (results for empty ranges) of integer max and min reductions an integer
// tensor may hold.
func (p *compiled) ends(tensor int) program.Ends {
	held := map[int]program.Ends{}
	for _, s := range p.Statements {
		held[s.Target] = held[s.Target].Or(program.EndsOf(s.Value, held, p.Unsigned))
	}
	return held[tensor]
}

// bounded replaces the 64-bit identities of max and min by those of a narrower integer type: the bounds of
// the type.
func bounded(x []int64, typ dtype.Type, ends program.Ends) []int64 {
	bits, least, most := 8*typ.Size(), int64(math.MinInt64), int64(math.MaxInt64)
	switch signed := typ == dtype.I8 || typ == dtype.I16 || typ == dtype.I32 || typ == dtype.I64; {
	case signed:
		least, most = least>>(64-bits), most>>(64-bits)
	case bits < 64:
		least, most = 0, 1<<bits-1
	default:
		least, most = 0, -1 // the greatest uint64
	}
	out := slices.Clone(x)
	for i, v := range out {
		switch {
		case ends.Least && v == math.MinInt64:
			out[i] = least
		case ends.Most && v == math.MaxInt64:
			out[i] = most
		}
	}
	return out
}

// setGrad loads the gradient of a slot's tensor from data, in the layout of typ.
func (m *memory) setGrad(slot, number int, typ dtype.Type, data []byte) error {
	id, err := m.program.tensor(slot, number)
	if err != nil {
		return err
	}
	e := newElements(term.Real, len(data)/typ.Size())
	e.load(typ, data)
	m.grads[id] = e.real
	return nil
}

// grad returns the gradient of a slot's tensor, or nil if no gradient reaches it.
func (m *memory) grad(slot, number int) ([]float64, error) {
	id, err := m.program.tensor(slot, number)
	if err != nil {
		return nil, err
	}
	return m.grads[id], nil
}

// at returns element i converted to a real number.
func (e elements) at(i int) float64 {
	switch {
	case e.real != nil:
		return e.real[i]
	case e.integer != nil:
		return float64(e.integer[i])
	}
	return term.Truth(e.boolean[i])
}

func (e elements) put(i int, v float64) {
	switch {
	case e.real != nil:
		e.real[i] = v
	case e.integer != nil:
		e.integer[i] = int64(v)
	default:
		e.boolean[i] = v != 0
	}
}

func (e elements) putInteger(i, v int) {
	if e.integer != nil {
		e.integer[i] = int64(v)
		return
	}
	e.put(i, float64(v))
}

// as reinterprets bytes as a slice of T without a copy.
func as[T any](data []byte) []T {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(*new(T))))
}

// load decodes elements of a storage type.
func (e elements) load(typ dtype.Type, data []byte) {
	if p, ok := typ.Packed(); ok {
		wide := make([]float32, len(data)/typ.Size())
		p.Decode(wide, data)
		for i, v := range wide {
			e.put(i, float64(v))
		}
		return
	}
	switch typ {
	case dtype.F32:
		for i, v := range as[float32](data) {
			e.put(i, float64(v))
		}
	case dtype.F64:
		for i, v := range as[float64](data) {
			e.put(i, v)
		}
	case dtype.Bool:
		copy(e.boolean, as[bool](data))
	default:
		integersOf(typ).load(e.integer, data)
	}
}

// store encodes elements, rounded to a storage type.
func (e elements) store(typ dtype.Type, data []byte) {
	if p, ok := typ.Packed(); ok {
		wide := make([]float32, len(data)/typ.Size())
		for i := range wide {
			wide[i] = float32(e.at(i))
		}
		p.Encode(data, wide)
		return
	}
	switch typ {
	case dtype.F32:
		for i, out := 0, as[float32](data); i < len(out); i++ {
			out[i] = float32(e.at(i))
		}
	case dtype.F64:
		for i, out := 0, as[float64](data); i < len(out); i++ {
			out[i] = e.at(i)
		}
	case dtype.Bool:
		copy(as[bool](data), e.boolean)
	default:
		integersOf(typ).store(data, e.integer)
	}
}

// integers converts between int64 and an integer storage type.
type integers struct {
	load  func(to []int64, data []byte)
	store func(data []byte, from []int64)
}

// integersOf returns the conversions of an integer storage type.
func integersOf(typ dtype.Type) integers {
	switch typ {
	case dtype.I8:
		return integersAs[int8]()
	case dtype.I16:
		return integersAs[int16]()
	case dtype.I32:
		return integersAs[int32]()
	case dtype.U8:
		return integersAs[uint8]()
	case dtype.U16:
		return integersAs[uint16]()
	case dtype.U32:
		return integersAs[uint32]()
	case dtype.U64:
		return integersAs[uint64]()
	}
	return integersAs[int64]()
}

func integersAs[T dtype.Integer]() integers {
	return integers{
		func(to []int64, data []byte) {
			for i, v := range as[T](data) {
				to[i] = int64(v)
			}
		},
		func(data []byte, from []int64) {
			for i, out := 0, as[T](data); i < len(out); i++ {
				out[i] = T(from[i])
			}
		},
	}
}

// storeGrad stores a gradient to the memory of a task. It adds to the memory if the mode is
// tensor.Accumulate.
func storeGrad(grad []float64, typ dtype.Type, mode tensor.Mode, data []byte) {
	n := len(data) / typ.Size()
	e := elements{real: make([]float64, n)}
	if mode == tensor.Accumulate {
		e.load(typ, data)
	}
	for i, g := range grad {
		e.real[i] += g
	}
	e.store(typ, data)
}

// outside returns the error for an access out of bounds.
func outside(r *term.Read, l *program.Local, idx []int) error {
	return fmt.Errorf("%s%s lies outside %s%s", l.Name, shape.Format(idx), l.Name, shape.Format(extents(r.Ext)))
}

var negativeInfinity = math.Inf(-1)
