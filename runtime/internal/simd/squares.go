package simd

import "fmt"

// Squares says where squares of two by two elements lie: Rows rows of Cols squares, side by side in rows of Width elements. Square c of row r has elements 2*c
// and 2*c+1 of rows 2*r and 2*r+1.
type Squares struct{ Width, Cols, Rows int }

// check panics unless there is an element for each of n squares, and all rows are among as many elements as of says.
func (s Squares) check(n, of int) {
	if s.Rows < 0 || s.Cols < 0 || 2*s.Cols > s.Width || n != s.Rows*s.Cols || of != 2*s.Rows*s.Width {
		panic(fmt.Sprintf("simd: %d elements, and %d for squares, want those of %+v", of, n, s))
	}
}

// rest calls f with the numbers of squares that functions of a table leave out, and those of the first elements of their upper and lower rows.
func (s Squares) rest(step int, f func(i, upper, lower int)) {
	done := 0
	if step > 0 {
		done = s.Cols - s.Cols%step
	}
	for r := range s.Rows {
		for c := done; c < s.Cols; c++ {
			upper := 2*r*s.Width + 2*c
			f(r*s.Cols+c, upper, upper+s.Width)
		}
	}
}

// MaxSquares sets z, which has an element for each square of x, to the greatest elements of squares, or to a NaN where one is.
func MaxSquares[T Float](z, x []T, s Squares) { functions[T]().allMaxSquares(z, x, s) }

func (t *table[T]) allMaxSquares(z, x []T, s Squares) {
	s.check(len(z), len(x))
	if t.squares > 0 {
		t.maxSquares(x, z, s.Width, s.Cols, s.Rows)
	}
	s.rest(t.squares, func(i, a, b int) { z[i] = max(max(x[a], x[b]), max(x[a+1], x[b+1])) })
}

// MeanSquares sets z, which has an element for each square of x, to the means of squares. Elements are added in their order, in float64.
func MeanSquares[T Float](z, x []T, s Squares) { functions[T]().allMeanSquares(z, x, s) }

func (t *table[T]) allMeanSquares(z, x []T, s Squares) {
	s.check(len(z), len(x))
	if t.squares > 0 {
		t.meanSquares(x, z, s.Width, s.Cols, s.Rows)
	}
	s.rest(t.squares, func(i, a, b int) {
		sum := 0.0
		for _, v := range [4]T{x[a], x[a+1], x[b], x[b+1]} {
			sum += float64(v)
		}
		z[i] = T(sum * 0.25)
	})
}

// MaxSquaresGrad adds g, which has an element for each square, to x where an element of the square is the greatest one: the first of equal ones, or the first
// NaN. To other elements of squares it adds 0.
func MaxSquaresGrad[T Float](x, of, g []T, s Squares) { functions[T]().allMaxSquaresGrad(x, of, g, s) }

func (t *table[T]) allMaxSquaresGrad(x, of, g []T, s Squares) {
	s.check(len(g), len(of))
	s.check(len(g), len(x))
	if t.squares > 0 {
		t.maxSquaresGrad(x, of, g, s.Width, s.Cols, s.Rows)
	}
	s.rest(t.squares, func(i, a, b int) {
		at := [4]int{a, a + 1, b, b + 1}
		top, left := max(of[a], of[a+1], of[b], of[b+1]), g[i]
		for k, j := range at {
			if v := of[j]; v == top || v != v || k == 3 {
				x[j] += left
				left = 0
			} else {
				x[j] += 0
			}
		}
	})
}
