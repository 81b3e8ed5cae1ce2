package dtype

import (
	"encoding/binary"
	"fmt"
	"math"
)

// storage says how elements of a type lie in memory, little endian.
type storage struct {
	goType string // in which kernels see elements; "" if elements are only read
	get    func(b []byte) float64
	put    func(b []byte, v float64) // nil if elements are only read
	packed *Packed
}

// Float64 returns the element at the start of b, and 0 or 1 for bool. 64-bit integers beyond 2^53 lose
// digits. t must be readable.
func (t Type) Float64(b []byte) float64 { return t.info().storage.get(b) }

// PutFloat64 writes v as the element at the start of b. It rounds to the nearest number; integers lose
// their fraction, and those outside of the range become the nearest bound; NaN becomes the integer 0. A
// bool is true unless v is 0. t must be stored.
func (t Type) PutFloat64(b []byte, v float64) { t.info().storage.put(b, v) }

// Host returns the type of the Go elements with which tensors of t are fed and fetched: F32 for packed
// types, and t itself for all others.
func (t Type) Host() Type {
	if _, ok := t.Packed(); ok {
		return F32
	}
	return t
}

// Packed converts between float32 and a type that is only stored. Conversion to it rounds to the
// nearest number, and to even where two are equally near; numbers beyond the largest become infinite.
type Packed struct {
	size  int
	bits  func(float32) uint16
	value func(uint16) float32
}

// Packed returns how elements of t are converted; ok is false if kernels compute in t itself.
func (t Type) Packed() (p *Packed, ok bool) {
	s := t.info().storage
	if s == nil {
		return nil, false
	}
	return s.packed, s.packed != nil
}

// Encode writes the elements of src to dst, which has their size in the packed type.
func (p *Packed) Encode(dst []byte, src []float32) {
	if p.size == 1 {
		for i, x := range src {
			dst[i] = byte(p.bits(x))
		}
		return
	}
	for i, x := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], p.bits(x))
	}
}

// Decode writes the elements of src, which are packed, to dst.
func (p *Packed) Decode(dst []float32, src []byte) {
	if p.size == 1 {
		for i := range dst {
			dst[i] = p.value(uint16(src[i]))
		}
		return
	}
	for i := range dst {
		dst[i] = p.value(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

var boolean = &storage{goType: "bool",
	get: func(b []byte) float64 { return float64(b[0]) },
	put: func(b []byte, v float64) {
		b[0] = 0
		if v != 0 {
			b[0] = 1
		}
	}}

var single = &storage{goType: "float32",
	get: func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) },
	put: func(b []byte, v float64) { binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v))) }}

var double = &storage{goType: "float64",
	get: func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) },
	put: func(b []byte, v float64) { binary.LittleEndian.PutUint64(b, math.Float64bits(v)) }}

func packed(size int, bits func(float32) uint16, value func(uint16) float32) *storage {
	p := &Packed{size, bits, value}
	return &storage{goType: "float32", packed: p,
		get: func(b []byte) float64 {
			var x [1]float32
			p.Decode(x[:], b)
			return float64(x[0])
		},
		put: func(b []byte, v float64) { p.Encode(b, []float32{toOdd(v)}) }}
}

// toOdd returns v as a float32, rounded to odd: one of the two neighbors of a number that lies between them,
// the one whose last bit is 1. What is rounded again to fewer digits is then what v is rounded to at once,
// since no such number is half way.
func toOdd(v float64) float32 {
	x := float32(v)
	if d := float64(x) - v; d == 0 || d != d || math.IsInf(float64(x), 0) || math.Float32bits(x)&1 == 1 {
		return x
	} else if d > 0 {
		return math.Nextafter32(x, float32(math.Inf(-1)))
	}
	return math.Nextafter32(x, float32(math.Inf(1)))
}

// readable makes the storage of a type of 8 bits that no engine stores.
func readable(value func(byte) float64) *storage {
	return &storage{get: func(b []byte) float64 { return value(b[0]) }}
}

func integer[T Integer]() *storage {
	var zero T
	size := binary.Size(zero)
	least, greatest := T(0), ^T(0)
	if greatest < 0 { // T is signed
		least = T(1) << (8*size - 1)
		greatest = -(least + 1)
	}
	// Both bounds are powers of two or 0, so they are exact: numbers from lo to just below end fit.
	lo, end := float64(least), float64(greatest/2+1)*2
	return &storage{goType: fmt.Sprintf("%T", zero),
		get: func(b []byte) float64 {
			var u uint64
			for i := size - 1; i >= 0; i-- {
				u = u<<8 | uint64(b[i])
			}
			return float64(T(u))
		},
		put: func(b []byte, v float64) {
			var x T
			switch {
			case v >= end:
				x = greatest
			case v >= lo:
				x = T(v)
			case v < lo:
				x = least
			}
			for i := range size {
				b[i] = byte(uint64(x) >> (8 * i))
			}
		}}
}
