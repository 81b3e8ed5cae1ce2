package tensor

import (
	"testing"

	"github.com/opgen/opgen/runtime/internal/unlock"
)

// at reads an element of a matrix, as a matrix product does.
func at(m ROMat[float64], i, j int) float64 {
	data, ld, trans := unlock.Mat(m.Sealed())
	if trans {
		i, j = j, i
	}
	return data[i*ld+j]
}

// TestMatRanges cuts every rectangle out of a matrix, from both sides and transposed or not, and
// compares its elements with index arithmetic.
func TestMatRanges(t *testing.T) {
	const rows, cols, first = 3, 4, 2
	v := MakeRO(unlock.Seal(numbers(first+rows*cols+1)), []int{first + rows*cols + 1})
	for _, trans := range []bool{false, true} {
		whole := v.Mat(first, rows, cols)
		number := func(i, j int) float64 { return float64(first + i*cols + j) }
		n, m := rows, cols
		if trans {
			whole = whole.T()
			number = func(i, j int) float64 { return float64(first + j*cols + i) }
			n, m = cols, rows
		}
		for r0 := 0; r0 <= n; r0++ {
			for r1 := r0; r1 <= n; r1++ {
				for c0 := 0; c0 <= m; c0++ {
					for c1 := c0; c1 <= m; c1++ {
						for _, part := range []ROMat[float64]{
							whole.RowRange(r0, r1).ColRange(c0, c1),
							whole.ColRange(c0, c1).RowRange(r0, r1),
							whole.T().ColRange(r0, r1).RowRange(c0, c1).T(),
						} {
							if part.Rows() != r1-r0 || part.Cols() != c1-c0 || part.T().Rows() != c1-c0 || part.T().Cols() != r1-r0 {
								t.Fatalf("[%d:%d, %d:%d] is %dx%d", r0, r1, c0, c1, part.Rows(), part.Cols())
							}
							for i := range part.Rows() {
								for j := range part.Cols() {
									if got, want := at(part, i, j), number(r0+i, c0+j); got != want || at(part.T(), j, i) != want {
										t.Fatalf("transposed %v, [%d:%d, %d:%d], element %d, %d: got %v, want %v", trans, r0, r1, c0, c1, i, j, got, want)
									}
								}
							}
							if data, _, _ := unlock.Mat(part.Sealed()); part.Rows() > 0 && part.Cols() > 0 && data[len(data)-1] != number(r1-1, c1-1) {
								t.Fatalf("[%d:%d, %d:%d] reaches to %v", r0, r1, c0, c1, data[len(data)-1])
							}
						}
					}
				}
			}
		}
		for name, f := range map[string]func(){
			"RowRange(-1, 1)":   func() { whole.RowRange(-1, 1) },
			"RowRange(2, 1)":    func() { whole.RowRange(2, 1) },
			"RowRange(0, n+1)":  func() { whole.RowRange(0, n+1) },
			"ColRange(-1, 1)":   func() { whole.ColRange(-1, 1) },
			"ColRange(2, 1)":    func() { whole.ColRange(2, 1) },
			"ColRange(0, m+1)":  func() { whole.ColRange(0, m+1) },
			"part.RowRange":     func() { whole.RowRange(0, 1).RowRange(0, 2) },
			"empty.ColRange":    func() { whole.RowRange(0, 0).ColRange(0, m+1) },
			"part.T().ColRange": func() { whole.RowRange(0, 1).T().ColRange(0, 2) },
		} {
			mustPanic(t, name, f)
		}
	}
}

func TestOutMatRanges(t *testing.T) {
	const rows, cols = 3, 4
	for r0 := 0; r0 <= rows; r0++ {
		for r1 := r0; r1 <= rows; r1++ {
			for c0 := 0; c0 <= cols; c0++ {
				for c1 := c0; c1 <= cols; c1++ {
					data := make([]float64, rows*cols)
					v := MakeWO(unlock.Seal(data), []int{rows, cols})
					part := v.Mat(0, rows, cols).RowRange(r0, r1).ColRange(c0, c1)
					if part.Rows() != r1-r0 || part.Cols() != c1-c0 || part.Mode() != Store {
						t.Fatalf("[%d:%d, %d:%d] is %dx%d, mode %d", r0, r1, c0, c1, part.Rows(), part.Cols(), part.Mode())
					}
					to, ld, _ := unlock.Mat(part.Sealed())
					for i := range part.Rows() {
						for j := range part.Cols() {
							to[i*ld+j] = 1
						}
					}
					for i := range rows {
						for j := range cols {
							want := 0.0
							if r0 <= i && i < r1 && c0 <= j && j < c1 {
								want = 1
							}
							if data[i*cols+j] != want {
								t.Fatalf("[%d:%d, %d:%d] wrote %v", r0, r1, c0, c1, data)
							}
						}
					}
					// An unused gradient has the same sizes, and no elements.
					none := MakeGrad(unlock.Seal[float64](nil), []int{rows, cols}, rows*cols, Discard).Mat(0, rows, cols).RowRange(r0, r1).ColRange(c0, c1)
					if data, _, _ := unlock.Mat(none.Sealed()); none.Rows() != r1-r0 || none.Cols() != c1-c0 || data != nil {
						t.Fatalf("discarding [%d:%d, %d:%d] is %dx%d of %v", r0, r1, c0, c1, none.Rows(), none.Cols(), data)
					}
				}
			}
		}
	}
	out := MakeRW(unlock.Seal(numbers(12)), []int{3, 4}).Out(0, 3, 4, Accumulate)
	if out.Mode() != Accumulate {
		t.Errorf("mode %d", out.Mode())
	}
	mustPanic(t, "RowRange outside", func() { out.RowRange(0, 4) })
	mustPanic(t, "ColRange outside", func() { out.ColRange(1, 5) })
	if m := MakeRW(unlock.Seal(numbers(12)), []int{3, 4}).Mat(4, 2, 4); at(m, 1, 2) != 10 {
		t.Errorf("RW.Mat: %v", at(m, 1, 2))
	}
}
