package simd

import (
	"syscall"
	"testing"
	"unsafe"
)

// TestNothingBeyondIsRead runs all functions on strips that end where memory ends.
func TestNothingBeyondIsRead(t *testing.T) {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 8*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Error(err)
		}
	}()
	for i := 1; i < 8; i += 2 {
		if err := syscall.Mprotect(memory[i*page:(i+1)*page], syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	others(t, func(string) {
		atEnd(functions32, memory, page)
		atEnd(functions64, memory, page)
	})
}

// atEnd calls all functions of a table with operands at the ends of every other page. An access beyond ends
// the test.
func atEnd[T Float](table *table[T], memory []byte, page int) {
	size := int(unsafe.Sizeof(T(0)))
	strip := func(i, n int) []T {
		return unsafe.Slice((*T)(unsafe.Pointer(&memory[(2*i+1)*page-n*size])), n)
	}
	var a Lanes[T]
	for _, c := range calls[T]() {
		for n := 1; n <= 140; n++ {
			c.run(table, strip(0, n), strip(1, n), strip(2, n), strip(3, n), &a)
		}
	}
	for n := 1; n <= 60; n++ { // all elements lie in a page
		s := Squares{Width: 2 * n, Cols: n, Rows: 1 + n%2}
		all := 2 * s.Rows * s.Width
		table.allMaxSquares(strip(1, s.Rows*n), strip(0, all), s)
		table.allMeanSquares(strip(1, s.Rows*n), strip(0, all), s)
		table.allMaxSquaresGrad(strip(0, all), strip(2, all), strip(1, s.Rows*n), s)
	}
	for n := 1; n <= 16; n++ {
		c := MakeColumns(2*n-n%2, n%3, n)
		first := unsafe.Slice((*T)(unsafe.Pointer(&memory[2*page])), 5*n+c.Width) // before it lies the end of other memory
		for _, x := range [][]T{strip(1, len(first)), first} {
			table.splitRows(strip(0, 8*n), 2*n, x, 5*n, c.masks, c.Padding, n, 2)
		}
		table.intoTiles(strip(0, 16*(n+Beyond)), n+Beyond, strip(1, 9*n+Beyond), n, n, n)
		table.outOfTiles(strip(0, 2*(2*n-n%2)), 2*n-n%2, strip(1, 16*n), n, n, 1)
		if rows := table.tiles[n%3][0].rows; n < 3 {
			table.intoFilters(strip(0, 16*rows*n), rows*n, strip(1, 9*rows*n), rows, n)
		}
	}
}
