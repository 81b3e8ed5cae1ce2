package jit

import (
	"math"
	"unsafe"
)

// Places of arguments, in words.
const (
	mainEnd      = iota // the offset where the main loop ends
	singleEnd           // the offset where the loop over single vectors ends
	tailCount           // how many elements are left then
	tailMask            // the bits of a mask for them
	wholeEnd            // the offset behind the last element
	tailLanes           // the mask as a vector of 32 bytes
	firstPointer = tailLanes + 4
)

// Compile returns the code of a loop, or nil if there is none.
func (b *Builder) Compile() *Code {
	code, past, unroll, words := b.compile()
	if code == nil {
		return nil
	}
	entry := install(code)
	if entry == 0 {
		return nil
	}
	c := &Code{entry: entry, past: entry, bytes: b.bytes(), shift: 2, unroll: unroll, words: words, pointers: b.pointers,
		results: firstPointer + b.pointers + b.scalars}
	if past > 0 {
		c.past = entry + uintptr(past)
	}
	if b.double {
		c.shift = 3
	}
	return c
}

// Code is a compiled loop.
type Code struct {
	entry, past     uintptr
	bytes, unroll   int
	shift           uint
	words, pointers int
	results         int // the word of the first sum
}

// Arguments are those of one call of a loop at a time.
type Arguments []uint64

// Arguments returns new arguments.
func (c *Code) Arguments() Arguments { return make(Arguments, c.words) }

// SetPointer sets a pointer to the address of elements, which must stay alive until the loop has run.
func (a Arguments) SetPointer(i int, p unsafe.Pointer) { a[firstPointer+i] = uint64(uintptr(p)) }

// SetSingle and SetDouble set an argument. The code's Scalar numbers begin behind its pointers.
func (c *Code) SetSingle(a Arguments, i int, bits uint32) {
	a[firstPointer+c.pointers+i] = uint64(bits)
}
func (c *Code) SetDouble(a Arguments, i int, bits uint64) { a[firstPointer+c.pointers+i] = bits }

// Result returns a sum of the last run.
func (c *Code) Result(a Arguments, i int) float64 {
	if c.shift == 3 {
		return math.Float64frombits(a[c.results+i])
	}
	return float64(math.Float32frombits(uint32(a[c.results+i])))
}

// Aligned reports whether elements at an address can be written past the caches.
func (c *Code) Aligned(p unsafe.Pointer) bool { return uintptr(p)%uintptr(c.bytes) == 0 }

// Run runs the loop on n elements. If past is true, elements are stored past the caches where the code allows it. Their pointers must
// be aligned.
func (c *Code) Run(a Arguments, n int, past bool) {
	total := n << c.shift
	a[mainEnd] = uint64(total &^ (c.bytes*c.unroll - 1)) // both are powers of 2
	single := total &^ (c.bytes - 1)
	a[singleEnd] = uint64(single)
	left := (total - single) >> c.shift
	a[tailCount] = uint64(left)
	a[wholeEnd] = uint64(total)
	if left > 0 {
		a[tailMask] = 1<<left - 1
		if c.bytes == 32 {
			mask := unsafe.Slice((*byte)(unsafe.Pointer(&a[tailLanes])), 32)
			full := left << c.shift
			for i := range mask {
				mask[i] = 0
				if i < full {
					mask[i] = 0xff
				}
			}
		}
	}
	entry := c.entry
	if past {
		entry = c.past
	}
	call(entry, &a[0])
}
