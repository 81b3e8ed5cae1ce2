package tensor

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
)

// ROMat is a matrix for reading: a rectangle of a row-major matrix, possibly transposed.
type ROMat[T dtype.Element] struct {
	_          [0]asRO
	data       []T
	rows, cols int // as stored, before transposition
	ld         int // distance between the starts of stored rows
	trans      bool
}

// Rows returns the number of rows.
func (m ROMat[T]) Rows() int {
	if m.trans {
		return m.cols
	}
	return m.rows
}

// Cols returns the number of columns.
func (m ROMat[T]) Cols() int {
	if m.trans {
		return m.rows
	}
	return m.cols
}

// T returns the transpose, without moving anything.
func (m ROMat[T]) T() ROMat[T] {
	m.trans = !m.trans
	return m
}

// RowRange returns rows lo to hi-1.
func (m ROMat[T]) RowRange(lo, hi int) ROMat[T] {
	if m.trans {
		m.data, m.cols = colRange(m.data, m.rows, m.cols, m.ld, lo, hi)
	} else {
		m.data, m.rows = rowRange(m.data, m.rows, m.cols, m.ld, lo, hi)
	}
	return m
}

// ColRange returns columns lo to hi-1.
func (m ROMat[T]) ColRange(lo, hi int) ROMat[T] { return m.T().RowRange(lo, hi).T() }

// Sealed returns the stored matrix in a form that only the runtime's own packages can open.
func (m ROMat[T]) Sealed() (p unlock.Part[T], ld int, trans bool) {
	return unlock.SealPart(m.data), m.ld, m.trans
}

// OutMat is a matrix that receives results: a rectangle of a row-major matrix that is stored to,
// added to, or, for an unused gradient, left alone.
type OutMat[T dtype.Element] struct {
	_          [0]asOut
	data       []T
	rows, cols int
	ld         int
	mode       Mode
}

// Rows returns the number of rows.
func (m OutMat[T]) Rows() int { return m.rows }

// Cols returns the number of columns.
func (m OutMat[T]) Cols() int { return m.cols }

// Mode returns what happens to results.
func (m OutMat[T]) Mode() Mode { return m.mode }

// RowRange returns rows lo to hi-1.
func (m OutMat[T]) RowRange(lo, hi int) OutMat[T] {
	if m.mode == Discard {
		m.rows = hi - lo
		return m
	}
	m.data, m.rows = rowRange(m.data, m.rows, m.cols, m.ld, lo, hi)
	return m
}

// ColRange returns columns lo to hi-1.
func (m OutMat[T]) ColRange(lo, hi int) OutMat[T] {
	if m.mode == Discard {
		m.cols = hi - lo
		return m
	}
	m.data, m.cols = colRange(m.data, m.rows, m.cols, m.ld, lo, hi)
	return m
}

// Sealed returns the stored matrix in a form that only the runtime's own packages can open.
func (m OutMat[T]) Sealed() (p unlock.Part[T], ld int, trans bool) {
	return unlock.SealPart(m.data), m.ld, false
}

// matrix returns elements lo to lo+rows*cols-1. Sizes whose product overflows have more elements than any
// tensor.
func matrix[T any](data []T, lo, rows, cols int) []T {
	data = data[lo:]
	if rows < 0 || cols < 0 || cols > 0 && rows > len(data)/cols {
		panic("tensor: matrix outside the tensor")
	}
	return data[:rows*cols]
}

func rowRange[T any](data []T, rows, cols, ld, lo, hi int) ([]T, int) {
	if lo < 0 || hi < lo || hi > rows {
		panic("tensor: row range outside the matrix")
	}
	if lo == hi || cols == 0 {
		return nil, hi - lo
	}
	return data[lo*ld : (hi-1)*ld+cols], hi - lo
}

func colRange[T any](data []T, rows, cols, ld, lo, hi int) ([]T, int) {
	if lo < 0 || hi < lo || hi > cols {
		panic("tensor: column range outside the matrix")
	}
	if lo == hi || rows == 0 {
		return nil, hi - lo
	}
	return data[lo : (rows-1)*ld+hi], hi - lo
}

// Out returns elements lo to lo+rows*cols-1 as a row-major matrix that stores or, with Accumulate,
// adds what is put into it.
func (v RW[T]) Out(lo, rows, cols int, mode Mode) OutMat[T] {
	return OutMat[T]{data: matrix(v.data, lo, rows, cols), rows: rows, cols: cols, ld: cols, mode: mode}
}

// Mat returns elements lo to lo+rows*cols-1 as a row-major matrix for reading.
func (v RW[T]) Mat(lo, rows, cols int) ROMat[T] { return v.RO().Mat(lo, rows, cols) }
