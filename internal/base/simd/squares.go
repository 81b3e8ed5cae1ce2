package simd

import "fmt"

// Squares says where squares of two by two elements lie: Rows rows of Cols squares, side by side in rows of
// Width elements. Square c of row r has elements 2*c and 2*c+1 of rows 2*r and 2*r+1.
type Squares struct{ Width, Cols, Rows int }

// check panics unless there is an element for each of n squares, and all rows are among as many elements as
// of says.
func (s Squares) check(n, of int) {
	if s.Rows < 0 || s.Cols < 0 || 2*s.Cols > s.Width || n != s.Rows*s.Cols || of != 2*s.Rows*s.Width {
		panic(fmt.Sprintf("simd: %d elements, and %d for squares, want those of %+v", of, n, s))
	}
}

// whole returns how many squares of a row functions of a table compute. They leave out those at the end that
// are no multiple of a number, or all if it is 0.
func (s Squares) whole(step int) int {
	if step > 0 {
		return s.Cols - s.Cols%step
	}
	return 0
}

// rowOfSquares returns the upper and the lower elements of a row of squares, and what belongs to these
// squares in a list that has an element for each square.
func rowOfSquares[T Float](s Squares, r int, x, z []T) (upper, lower, of []T) {
	at := 2 * r * s.Width
	return x[at : at+2*s.Cols], x[at+s.Width : at+s.Width+2*s.Cols], z[r*s.Cols : (r+1)*s.Cols]
}

// MaxSquares sets z, which has an element for each square of x, to the greatest elements of squares, or to a
// NaN where one is.
func MaxSquares[T Float](z, x []T, s Squares) { functions[T]().allMaxSquares(z, x, s) }

func (t *table[T]) allMaxSquares(z, x []T, s Squares) {
	s.check(len(z), len(x))
	if t.squares > 0 {
		t.maxSquares(x, z, s.Width, s.Cols, s.Rows)
	}
	for r := range s.Rows {
		upper, lower, to := rowOfSquares(s, r, x, z)
		for c := s.whole(t.squares); c < len(to); c++ {
			p, q := (*[2]T)(upper[2*c:]), (*[2]T)(lower[2*c:])
			to[c] = max(max(p[0], q[0]), max(p[1], q[1]))
		}
	}
}

// MeanSquares sets z, which has an element for each square of x, to the means of squares. Elements are added
// in their order, in float64.
func MeanSquares[T Float](z, x []T, s Squares) { functions[T]().allMeanSquares(z, x, s) }

func (t *table[T]) allMeanSquares(z, x []T, s Squares) {
	s.check(len(z), len(x))
	if t.squares > 0 {
		t.meanSquares(x, z, s.Width, s.Cols, s.Rows)
	}
	for r := range s.Rows {
		upper, lower, to := rowOfSquares(s, r, x, z)
		for c := s.whole(t.squares); c < len(to); c++ {
			p, q := (*[2]T)(upper[2*c:]), (*[2]T)(lower[2*c:])
			to[c] = T((float64(p[0]) + float64(p[1]) + float64(q[0]) + float64(q[1])) * 0.25)
		}
	}
}

// MaxSquaresGrad adds g, which has an element for each square, to x where an element of the square is the
// greatest one: the first of equal ones, or the first NaN. To other elements of squares it adds 0.
func MaxSquaresGrad[T Float](x, of, g []T, s Squares) { functions[T]().allMaxSquaresGrad(x, of, g, s) }

func (t *table[T]) allMaxSquaresGrad(x, of, g []T, s Squares) {
	s.check(len(g), len(of))
	s.check(len(g), len(x))
	if t.squares > 0 {
		t.maxSquaresGrad(x, of, g, s.Width, s.Cols, s.Rows)
	}
	for r := range s.Rows {
		upper, lower, grad := rowOfSquares(s, r, of, g)
		first, second, _ := rowOfSquares(s, r, x, g)
		for c := s.whole(t.squares); c < len(grad); c++ {
			p, q := (*[2]T)(upper[2*c:]), (*[2]T)(lower[2*c:])
			var to [4]T
			to[firstGreatest(p[0], p[1], q[0], q[1])&3] = grad[c]
			u, v := (*[2]T)(first[2*c:]), (*[2]T)(second[2*c:])
			u[0], u[1] = u[0]+to[0], u[1]+to[1]
			v[0], v[1] = v[0]+to[2], v[1]+to[3]
		}
	}
}

// firstGreatest returns the number of the first one that is the greatest, or of the first NaN. It does not
// jump: which one it is often is random.
func firstGreatest[T Float](a, b, c, d T) int {
	top, at := max(a, b, c, d), 3
	if c == top {
		at = 2
	}
	if c != c {
		at = 2
	}
	if b == top {
		at = 1
	}
	if b != b {
		at = 1
	}
	if a == top {
		at = 0
	}
	if a != a {
		at = 0
	}
	return at
}
