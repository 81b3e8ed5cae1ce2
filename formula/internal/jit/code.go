package jit

import "unsafe"

// Places of arguments, in words.
const (
	mainEnd      = iota // the offset where the main loop ends
	singleEnd           // the offset where the loop over single vectors ends
	tailCount           // how many elements are left then
	tailMask            // the bits of a mask for them
	wholeEnd            // the offset behind the last element
	rowsLeft            // how many rows are left
	tailLanes           // the mask as a vector of 32 bytes
	firstPointer = tailLanes + 4
)

// MostRows is how many rows a call takes at most.
const MostRows = 64

// Compile returns the code of a loop, or nil if there is none.
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
	rows            int // the word of the first number of the first row
	scalars, row    int // how many words the numbers of a row have, and these and its sums
}

// Arguments are those of one call of a loop at a time.
type Arguments []uint64

// Arguments returns new arguments. They begin with a line of the cache, so that no vector among them is in
// two lines.
func (c *Code) Arguments() Arguments {
	const line = 64
	a := make(Arguments, c.words+line/8-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(a))) % line / 8
	return a[skip:][:c.words]
}

// SetPointer sets a pointer to the address of elements, which must stay alive until the loop has run.
func (a Arguments) SetPointer(i int, p unsafe.Pointer) { a[firstPointer+i] = uint64(uintptr(p)) }

// SetStride sets by how many bytes a pointer moves from one row to the next.
func (c *Code) SetStride(a Arguments, i, bytes int) { a[firstPointer+c.pointers+i] = uint64(bytes) }

// Row returns the numbers of a row, which the caller sets, and behind them its sums, which a run sets. The
// type is that of the elements.
func Row[T float32 | float64](c *Code, a Arguments, row int) []T {
	return Rows[T](c, a)[row*c.row:][:c.row]
}

// Rows returns the numbers and sums of all rows, of which each has as many as Code.RowLength says.
func Rows[T float32 | float64](c *Code, a Arguments) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a[c.rows:]))), MostRows*c.row)
}

// RowLength returns how many numbers and sums a row has.
func (c *Code) RowLength() int { return c.row }

// Sum returns a sum of a row of the last run.
func Sum[T float32 | float64](c *Code, a Arguments, row, i int) float64 {
	return float64(Row[T](c, a, row)[c.scalars+i])
}

// Vector returns how many bytes a register holds.
func (c *Code) Vector() int { return c.bytes }

// Aligned reports whether elements at an address can be written past the caches.
func (c *Code) Aligned(p unsafe.Pointer) bool { return uintptr(p)%uintptr(c.bytes) == 0 }

// Run runs the loop on n elements of each of some rows, at most MostRows. Where there is more than one row,
// all strides must be set. If past is true, elements are stored past the caches where the code allows it.
// Their pointers must be aligned in all rows.
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
