package jit

import "unsafe"

// Offsets in the argument block, in words of 8 bytes.
const (
	mainEnd      = iota // byte offset at which the main loop ends
	singleEnd           // byte offset at which the loop over single vectors ends
	tailCount           // elements of the remainder
	tailMask            // AVX-512 mask of the remainder
	wholeEnd            // byte offset after the last element
	rowsLeft            // number of rows that are not yet done
	tailLanes           // AVX2 mask of the remainder, 32 bytes
	firstPointer = tailLanes + 4
)

// MostRows is the maximum number of rows in one call of Code.Run.
const MostRows = 64

// Compile generates the machine code of the loop. It returns nil if the platform is not supported or
// registers do not suffice.
func (b *Builder) Compile() *Code {
	code, past, unroll, words, rows := b.compile()
	if code == nil {
		return nil
	}
	entry := install(code)
	if entry == 0 {
		return nil
	}
	c := &Code{entry: entry, past: entry, bytes: b.bytes(), shift: 2, unroll: unroll, words: words, pointers: b.pointers,
		rows: rows, scalars: b.scalars, row: b.scalars + b.sums}
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
	rows            int // word offset of the first row's scalars
	scalars, row    int // number of scalars of a row, and of scalars and sums of a row
}

// Arguments is the argument block of a call. Calls at the same time need a block each.
type Arguments []uint64

// Arguments allocates an argument block, aligned to a cache line so that no vector in it crosses a line.
func (c *Code) Arguments() Arguments {
	const line = 64
	a := make(Arguments, c.words+line/8-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(a))) % line / 8
	return a[skip:][:c.words]
}

// SetPointer sets pointer i. The memory must stay alive until the loop has run.
func (a Arguments) SetPointer(i int, p unsafe.Pointer) { a[firstPointer+i] = uint64(uintptr(p)) }

// SetStride sets the distance between the elements of two rows at pointer i, in bytes.
func (c *Code) SetStride(a Arguments, i, bytes int) { a[firstPointer+c.pointers+i] = uint64(bytes) }

// Row returns the scalars of a row, which the caller sets, and behind them the sums of the row, which Run
// sets. T is the element type of the loop.
func Row[T float32 | float64](c *Code, a Arguments, row int) []T {
	return Rows[T](c, a)[row*c.row:][:c.row]
}

// Rows returns the scalars and sums of all rows, RowLength numbers for each. T is the element type of the
// loop.
func Rows[T float32 | float64](c *Code, a Arguments) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a[c.rows:]))), MostRows*c.row)
}

// RowLength returns the number of scalars and sums of a row, together.
func (c *Code) RowLength() int { return c.row }

// Sum returns sum i of a row, as the last run computed it.
func Sum[T float32 | float64](c *Code, a Arguments, row, i int) float64 {
	return float64(Row[T](c, a, row)[c.scalars+i])
}

// Vector returns the size of a register in bytes.
func (c *Code) Vector() int { return c.bytes }

// Aligned reports whether an address is aligned for non-temporal stores.
func (c *Code) Aligned(p unsafe.Pointer) bool { return uintptr(p)%uintptr(c.bytes) == 0 }

// Run runs the loop on n elements of each of at most MostRows rows. With several rows, all strides must be
// set. If past is true, stores that allow it are non-temporal, and their pointers must be aligned in all
// rows.
func (c *Code) Run(a Arguments, n, rows int, past bool) {
	a[rowsLeft] = uint64(rows)
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
