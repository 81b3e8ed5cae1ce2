package cpu

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
)

// slice returns the memory of a tensor as elements. Engines align memory to more than any element.
func slice[T dtype.Element](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/dtype.Of[T]().Size())
}

// BindBuiltin returns the body of a built-in operation.
func (b *Backend) BindBuiltin(t *engine.Builtin) (engine.Launchable, error) {
	if t.Op == "send" || t.Op == "receive" {
		return b.bindMessage(t)
	}
	body, err := builtin(t)
	return launchable{body, true}, err
}

func builtin(t *engine.Builtin) (op.Body, error) {
	typ := t.Tensors[0].Type
	to := host(t.Tensors[0].Region)
	switch t.Op {
	case "identity":
		v, ok := identities[t.Redop]
		_, _, own, isOwn := t.Redop.Own()
		switch {
		case isOwn:
			v = own
		case !ok:
			return nil, fmt.Errorf("want a reduction operator, got %q", t.Redop)
		case t.Redop.Bitwise() && !typ.IsInteger() && typ != dtype.Bool:
			return nil, fmt.Errorf("want a reduction of integers or bool, got %v", typ)
		case !t.Redop.Bitwise() && !typ.IsInteger() && !typ.IsFloat():
			return nil, fmt.Errorf("want a reduction of numbers, got %v", typ)
		case t.Redop == perm.And && typ == dtype.Bool:
			v = 1
		}
		return newFill(typ, to, v), nil
	case "fill":
		if typ.IsFloat() {
			return newFill(typ, to, t.Value), nil
		}
		return nil, wrong(t, typ)
	case "all_reduce":
		return newAllReduce(t)
	}
	from, source := t.Tensors[1].Type, host(t.Tensors[1].Region)
	p, packed := typ.Packed()
	q, fromPacked := from.Packed()
	switch {
	case t.Op == "copy" && from == typ:
		return transfer{typ.Size(), to, source}, nil
	case t.Op == "convert" && packed && from == dtype.F32:
		return &encode{p, typ.Size(), to, slice[float32](source)}, nil
	case t.Op == "convert" && fromPacked && typ == dtype.F32:
		return &decode{q, from.Size(), slice[float32](to), source}, nil
	case t.Op == "add" && packed && (from == typ || from == dtype.F32):
		return &addPacked{p, typ.Size(), to, source, from == typ}, nil
	case t.Op == "add" && from == typ && typ == dtype.F32:
		return add[float32]{slice[float32](to), slice[float32](source)}, nil
	case t.Op == "add" && from == typ && typ == dtype.F64:
		return add[float64]{slice[float64](to), slice[float64](source)}, nil
	}
	return nil, wrong(t, typ, from)
}

func wrong(t *engine.Builtin, got ...dtype.Type) error {
	return fmt.Errorf("want %s of f32, f64, f16 or bf16, got %s", t.Op, dtype.Format(got))
}

// identities holds the identity element of each reduction. In an integer type, an infinity stands for the
// bound of the type. All bits of -1 are set.
var identities = map[perm.Redop]float64{perm.Sum: 0, perm.Prod: 1, perm.Min: math.Inf(1), perm.Max: math.Inf(-1),
	perm.Or: 0, perm.And: -1, perm.Xor: 0}

// fill repeats an element.
type fill struct{ to, element []byte }

func newFill(typ dtype.Type, to []byte, v float64) fill {
	element := make([]byte, typ.Size())
	typ.PutFloat64(element, v)
	return fill{to, element}
}

func (f fill) Run(_ *op.Ctx, r op.Range) error {
	n := len(f.element)
	to := f.to[r.Lo*n : r.Hi*n]
	for done := copy(to, f.element); done < len(to); done *= 2 {
		copy(to[done:], to[:done])
	}
	return nil
}

// transfer copies a tensor.
type transfer struct {
	size     int
	to, from []byte
}

func (c transfer) Run(_ *op.Ctx, r op.Range) error {
	copy(c.to[r.Lo*c.size:r.Hi*c.size], c.from[r.Lo*c.size:r.Hi*c.size])
	return nil
}

type add[T dtype.Float] struct{ to, from []T }

func (a add[T]) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.to[i] += a.from[i]
	}
	return nil
}

type encode struct {
	p    *dtype.Packed
	size int
	to   []byte
	from []float32
}

func (c *encode) Run(_ *op.Ctx, r op.Range) error {
	c.p.Encode(c.to[r.Lo*c.size:r.Hi*c.size], c.from[r.Lo:r.Hi])
	return nil
}

type decode struct {
	p    *dtype.Packed
	size int
	to   []float32
	from []byte
}

func (c *decode) Run(_ *op.Ctx, r op.Range) error {
	c.p.Decode(c.to[r.Lo:r.Hi], c.from[r.Lo*c.size:r.Hi*c.size])
	return nil
}

// addPacked adds, in 32 bits, a tensor to a packed one.
type addPacked struct {
	p        *dtype.Packed
	size     int
	to, from []byte
	packed   bool // whether from is packed
}

func (a *addPacked) Run(_ *op.Ctx, r op.Range) error {
	var sum, terms [256]float32
	for lo := r.Lo; lo < r.Hi; lo += len(sum) {
		hi := min(lo+len(sum), r.Hi)
		s, t := sum[:hi-lo], terms[:hi-lo]
		to := a.to[lo*a.size : hi*a.size]
		if a.packed {
			a.p.Decode(t, a.from[lo*a.size:hi*a.size])
		} else {
			t = slice[float32](a.from)[lo:hi]
		}
		a.p.Decode(s, to)
		for i := range s {
			s[i] += t[i]
		}
		a.p.Encode(to, s)
	}
	return nil
}

func newAllReduce(t *engine.Builtin) (op.Body, error) {
	typ := t.Tensors[0].Type
	if t.Redop != perm.Sum || !typ.IsFloat() {
		return nil, wrong(t, typ)
	}
	a := &allReduce{typ: typ}
	for _, x := range t.Tensors {
		if x.Type != typ {
			return nil, wrong(t, typ, x.Type)
		}
		a.tensors = append(a.tensors, host(x.Region))
	}
	return a, nil
}

// allReduce replaces tensors by their sum. Types of 16 bits are added in 32 bits and rounded once.
type allReduce struct {
	typ     dtype.Type
	tensors [][]byte
}

func (a *allReduce) Run(_ *op.Ctx, r op.Range) error {
	size := a.typ.Size()
	p, packed := a.typ.Packed()
	var sum, term [256]float32
	for lo := r.Lo; lo < r.Hi; lo += len(sum) {
		hi := min(lo+len(sum), r.Hi)
		first := a.tensors[0][lo*size : hi*size]
		if packed {
			p.Decode(sum[:hi-lo], first)
		}
		for _, x := range a.tensors[1:] {
			from := x[lo*size : hi*size]
			switch {
			case packed:
				p.Decode(term[:hi-lo], from)
				accumulate(sum[:hi-lo], term[:hi-lo])
			case a.typ == dtype.F32:
				accumulate(slice[float32](first), slice[float32](from))
			default:
				accumulate(slice[float64](first), slice[float64](from))
			}
		}
		if packed {
			p.Encode(first, sum[:hi-lo])
		}
		for _, x := range a.tensors[1:] {
			copy(x[lo*size:hi*size], first)
		}
	}
	return nil
}

func accumulate[T dtype.Float](to, from []T) {
	for i, v := range from {
		to[i] += v
	}
}
